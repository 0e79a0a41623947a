"""The energy shape metric: whole distributions, compared trial by trial (eq. 4, App. D.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from repshape import _core
from repshape._arrays import condition_weights, name_condition
from repshape.coordinates.trials import Coordinates, in_neurons
from repshape.errors import InputError, check_choice, check_real
from repshape.groups import Transform
from repshape.metrics.base import Alignment, PairResults, check_search
from repshape.metrics.gaussian import GROUP_CODES
from repshape.metrics.native import NativeShapeMetric, PreparedNative
from repshape.metrics.trialwise import as_trials, coordinates_for
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.responses import Gaussians, Trials
from repshape.solvers.starts import count_starts, make_starts

FloatArray = npt.NDArray[np.float64]

ESTIMATORS = ("u", "v")


class EnergyShapeMetric(NativeShapeMetric[PreparedNative]):
    r"""Energy distance between networks, minimised over a group.

    .. math:: d_q(x, y)^2 = \min_T \sum_m w_m \left[ E |X_m - T Y_m|^q
              - \tfrac12 E |X_m - X_m'|^q - \tfrac12 E |Y_m - Y_m'|^q \right]

    It sees the whole distribution of responses and assumes no family. X' and Y' are independent
    copies; expectations are means over pairs of trials. At ``q=2`` it is the distance of means.

    Parameters
    ----------
    q : float in (0, 2]
        Power of the distance between single trials.
    group : {"orthogonal", "rotation", "permutation", "identity"}
        Transforms that do not count. Where numbers of neurons differ, the smaller network is
        matched with a part of the larger, and what is left over counts.
    estimator : {"u", "v"}
        "u" takes the within-terms over distinct pairs of trials: unbiased at a fixed transform,
        but the squared distance may be negative, and the distance is then reported as the
        negative root, -sqrt(abs(squared)). "v" takes them over all pairs: a true metric on the
        samples, biased upward by noise.
    preprocess : Preprocess or None
        Applied to each network first.
    weights : array of shape (M,) or None
        Weights of the conditions; they are normalised to sum to one. Default: equal.
    n_starts : "auto" or int
        Starting points of the search. 1 is the start from the means alone; "auto" screens a few
        dozen on a few conditions and trials, and finishes the best.
    tol : float
        The search stops when the gradient on the group falls below ``tol`` of its scale.
    max_iter : int
        Most gradients, over all trials, of one start.
    random_state : int
        Seed of the random starts. The same seed gives the same bits.

    Notes
    -----
    Responses are trials: `Trials`, a 3-D array or a list. A 2-D array of points is one trial for
    each condition, which "v" accepts: the distance is then that of Diracs, whose squared terms are
    :math:`|x - T y|^q`. Numbers of trials may differ by condition and by network.

    Where trials meet exactly the loss has a kink, and its gradient never gets small: such an
    alignment has converged if reweighted least squares promises no more than rounding.

    The lower bound of an alignment is what holds for every transform: zero for "v", and for "u"
    the negative constant by which "u" differs from "v". It is sharp only for identical networks.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(6, 20, 3))  # conditions, trials, neurons
    >>> Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    >>> metric = EnergyShapeMetric(q=1.0, estimator="v")
    >>> metric.distance(x, x @ Q) < 1e-6
    True
    >>> round(metric.distance(x, 2 * x), 3) == round(metric.distance(2 * x, x), 3)
    True
    """

    title = "Energy"
    full_title = "Energy shape distance"
    key_parameter = ("q", "q")

    def __init__(
        self,
        q: float = 1.0,
        *,
        group: str = "orthogonal",
        estimator: str = "u",
        preprocess: Preprocess | None = None,
        weights: npt.ArrayLike | None = None,
        n_starts: int | str = "auto",
        tol: float = 1e-9,
        max_iter: int = 500,
        random_state: int = 0,
    ) -> None:
        self.q = q
        self.group = group
        self.estimator = estimator
        self.preprocess = preprocess
        self.weights = weights
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def is_metric(self) -> bool:
        """Whether the estimate itself is a distance between samples: "v" is, "u" is not."""
        return self.estimator == "v"

    def _sentence(self) -> str:
        kind = (
            "unbiased estimate over distinct pairs of trials, which may come out negative"
            if self.estimator == "u"
            else "all pairs of trials, biased upward by noise"
        )
        whole = f"Energy shape distance with q = {self.q:g}"
        return f"{whole}: it sees the whole distribution of trials ({kind})."

    def _validate_parameters(self) -> None:
        owner = type(self).__name__
        check_real("q", self.q, 0, 2, closed="right", owner=owner)
        check_choice("estimator", self.estimator, ESTIMATORS, owner=owner)
        check_search(self, owner)

    def _trials(self, network: Trials | Gaussians) -> Trials:
        trials = as_trials(network, type(self).__name__)
        if self.estimator == "u" and trials.n_trials.min() < 2:
            alone = name_condition(int(np.argmin(trials.n_trials)), trials.conditions)
            raise InputError(
                "The estimator 'u' needs at least two trials of every condition. "
                f"Got one at {alone}. Use estimator='v' for single trials."
            )
        return trials

    def _native(self, coordinates: Coordinates, trials: Trials) -> _core.Samples:
        rows = np.ascontiguousarray(coordinates.rows)
        counts = trials.n_trials.astype(np.int64)
        return _core.Samples(rows, counts, trials.n_neurons, float(self.q))

    def _prepare(self, network: Trials | Gaussians, phi: FittedPreprocess | None) -> PreparedNative:
        trials = self._trials(network)
        weights = condition_weights(self.weights, trials.n_conditions)
        coordinates = coordinates_for(self.group, trials, weights)
        native = self._native(coordinates, trials)
        return PreparedNative(
            phi,
            trials.n_conditions,
            trials.n_neurons,
            trials.conditions,
            native,
            coordinates.basis,
        )

    def _options(self, n_conditions: int, size: int) -> _core.EnergyOptions:
        """Return the native settings for pairs whose larger network has ``size`` dimensions."""
        auto = self.n_starts == "auto"
        count = count_starts(self.n_starts, size, self.group)
        starts = make_starts(size, count, int(self.random_state))
        return _core.EnergyOptions(
            group=GROUP_CODES[self.group],
            q=float(self.q),
            unbiased=self.estimator == "u",
            weights=condition_weights(self.weights, n_conditions),
            tolerance=float(self.tol),
            max_iterations=int(self.max_iter),
            starts=starts,
            n_starts=len(starts),
            screen=auto,
        )

    def _align_prepared(self, x: PreparedNative, y: PreparedNative) -> Alignment:
        options = self._options(x.n_conditions, max(x.native.neurons, y.native.neurons))
        found = _core.energy_align(x.native, y.native, options)
        distance, lower, _, converged, n_iterations, n_starts, _, core = found
        rotation = self.group == "rotation" and x.n_neurons == y.n_neurons
        return Alignment(
            distance=distance,
            lower_bound=lower,
            mean_distance=float("nan"),
            covariance_distance=float("nan"),
            converged=converged,
            n_iterations=n_iterations,
            n_starts=n_starts,
            _map=Transform(core, y.basis, x.basis, rotation),
            _phi=(x.phi, y.phi),
        )

    def _solve_natively(
        self,
        handles: list[Any],
        index: npt.NDArray[np.int64],
        options: dict[int, Any],
        starts: list[FloatArray],
        keep: bool,
    ) -> PairResults:
        found, kept = _core.energy_align_pairs(handles, index, options, starts, keep)
        return PairResults(found[:, 0], found[:, 1], found[:, 2] == 1.0, kept if keep else None)

    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        first, second = self._trials(x), self._trials(y)
        if first.n_neurons < second.n_neurons:  # the residual lives in the larger space
            first, second, fixed = second, first, fixed.reversed()
        weights = condition_weights(self.weights, first.n_conditions)
        moved = Trials._trusted(
            fixed.apply(second.pooled), second.n_trials, second.n_dropped, second.conditions
        )
        nets = [self._native(in_neurons(one), one) for one in (first, moved)]
        loss = _core.energy_loss(nets[0], nets[1], np.eye(first.n_neurons), weights, self.q)
        biased, correction = 0.0, 0.0
        for net, one in zip(nets, (first, moved), strict=True):
            halves = 0.5 * weights * net.within[0]
            biased += halves.sum()
            if self.estimator == "u":
                correction += (halves / (one.n_trials - 1)).sum()
        return signed_root(max(loss - biased, 0.0) - correction)


def signed_root(squared: float) -> float:
    """Return sqrt(squared), or -sqrt(-squared) where an unbiased estimate fell below zero.

    >>> signed_root(4.0), signed_root(-4.0)
    (2.0, -2.0)
    """
    return float(np.copysign(np.sqrt(abs(squared)), squared))
