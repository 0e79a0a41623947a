"""The energy shape metric: distributions of single trials (eq. 4, App. D.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape._arrays import extreme_unit, name_condition
from repshape.coordinates.trials import coordinates_for
from repshape.errors import InputError, Rule, check_choice, check_real
from repshape.groups import Transform
from repshape.metrics.alternating import EnergyObjective
from repshape.metrics.base import signed_root
from repshape.metrics.native import NativeShapeMetric, PreparedNative, PreparedSoft, rescaled
from repshape.metrics.parameters import SEARCH_RULES, SOFT_RULE
from repshape.metrics.soft import EnergySoftProblem
from repshape.preprocess import FittedPreprocess
from repshape.reference.energy import within_terms
from repshape.responses import Gaussians, Trials
from repshape.solvers.correspondence import Moments

FloatArray = npt.NDArray[np.float64]
ESTIMATORS = ("u", "v")
# Sums of squares of smaller responses do not overflow.
LARGEST_RESPONSE = 1e152


@dataclass(frozen=True)
class TinyTrials:
    """Trials whose squares the core takes for rounding, with what it takes to make their handle.

    Attributes
    ----------
    rows : array of shape (sum of trials, s)
    n_trials : array of shape (M,)
    n_neurons : int
    unit : float
        The power of two of the largest response.
    """

    rows: FloatArray
    n_trials: npt.NDArray[np.int_]
    n_neurons: int
    unit: float

    @classmethod
    def of(
        cls, rows: FloatArray, n_trials: npt.NDArray[np.int_], n_neurons: int
    ) -> TinyTrials | None:
        """Return the trials, or None if they are not tiny; zeros have the unit 0."""
        unit = extreme_unit(rows) if rows.any() else 0.0
        return cls(rows, n_trials, n_neurons, unit) if unit < 1 else None


def _common_unit(*networks: PreparedNative) -> float:
    """Return the unit of the largest network if all of them are tiny, and 1 otherwise."""
    return max(1.0 if one.tiny is None else float(one.tiny.unit) for one in networks) or 1.0


def _in_unit(network: PreparedNative, unit: float, q: float) -> PreparedNative:
    """Return a tiny network with a handle whose trials are divided by a unit."""
    tiny: TinyTrials = network.tiny
    handle = _native.make_samples(tiny.rows / unit, tiny.n_trials, tiny.n_neurons, q)
    return replace(network, native=handle, tiny=None)


@dataclass(eq=False, repr=False)
class EnergyShapeMetric(NativeShapeMetric):
    r"""Energy distance between networks, minimised over a group.

    .. math:: d_q(x, y)^2 = \min_T \sum_m w_m \left[ E |X_m - T Y_m|^q
              - \tfrac12 E |X_m - X_m'|^q - \tfrac12 E |Y_m - Y_m'|^q \right]

    It compares whole distributions of responses, and assumes no parametric family. X' and Y' are
    independent copies of X and Y, and expectations are means over pairs of trials. At ``q=2`` it is
    the distance between means.

    Parameters
    ----------
    q : float in (0, 2]
        Power of the distance between single trials.
    estimator : {"u", "v"}
        "u" computes the last two expectations over distinct pairs of trials. This is unbiased at
        a fixed transform, but the squared distance may be negative; the distance is then
        -sqrt(abs(squared)). "v" computes them over all pairs: a true metric between samples, which
        noise biases upward.
    n_starts : "auto" or int
        Number of starting points of the search; 1 starts only from the alignment of the means.
        "auto" adds starts until enough of them agree on the best optimum. `Alignment.agreement`
        says how many agreed.
    max_iter : int
        Maximum number of gradient evaluations, over all trials, per start.
    group, preprocess, weights, pad_to, tol, random_state
        As in `GaussianShapeMetric`.

    Notes
    -----
    Responses must be trials: `Trials`, a 3-D array or a list. A 2-D array of points is read as one
    trial per condition, which "v" accepts; each condition then contributes
    :math:`|x - T y|^q`. Numbers of trials may differ between conditions and networks.

    Where two trials coincide exactly, the loss has a kink and its gradient does not become small.
    Such an alignment counts as converged if a step of reweighted least squares would gain no more
    than rounding.

    The lower bound of an alignment holds for every transform: it is zero for "v", and for "u" the
    negative constant by which "u" differs from "v". It is tight only for identical networks.

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
    _rules: ClassVar[Mapping[str, Rule]] = {
        "q": partial(check_real, low=0, high=2, closed="right"),
        "estimator": partial(check_choice, choices=ESTIMATORS),
        **SEARCH_RULES,
        "group": SOFT_RULE,
    }

    q: float = 1.0
    _: KW_ONLY
    estimator: str = "u"

    @property
    def is_metric(self) -> bool:
        """Whether the estimate is a metric between samples: "v" is, and "u" is not.

        The group must act on one space; see `GaussianShapeMetric.is_metric`.
        """
        return self.estimator == "v" and self._has_one_space

    def _sentence(self) -> str:
        kind = (
            "unbiased estimate over distinct pairs of trials, which may be negative"
            if self.estimator == "u"
            else "over all pairs of trials, biased upward by noise"
        )
        title = f"Energy shape distance with q = {self.q:g}"
        return f"{title}: it sees the whole distribution of trials ({kind})."

    def _trials(self, network: Trials | Gaussians) -> Trials:
        trials = read_trials(network, type(self).__name__)
        if self.estimator == "u" and trials.n_trials.min() < 2:
            alone = name_condition(int(np.argmin(trials.n_trials)), trials.conditions)
            raise InputError(
                "The estimator 'u' needs at least two trials in every condition. "
                f"Got one at {alone}. Use estimator='v' for single trials."
            )
        largest = max(float(trials.pooled.max()), -float(trials.pooled.min()))
        if largest > LARGEST_RESPONSE:
            raise InputError(
                f"EnergyShapeMetric squares responses, which must be below {LARGEST_RESPONSE:g}. "
                f"The largest is {largest:.3g}. Divide all networks by the same number."
            )
        return trials

    def _prepare(self, network: Trials | Gaussians, phi: FittedPreprocess | None) -> PreparedNative:
        trials = self._trials(network)
        coordinates = coordinates_for(self.group, trials, self._weights(trials.n_conditions))
        padded = self._is_padded(trials.n_neurons)
        space = trials.n_neurons if self.pad_to is None else int(self.pad_to)
        handle = _native.make_samples(coordinates.rows, trials.n_trials, space, self.q)

        def moments(kept: npt.NDArray[np.intp]) -> Moments:
            return Moments.of_trials([trials.responses[m] for m in kept])

        found = self._prepared(
            trials, phi, handle, trials.means, moments, trials.responses, coordinates.basis, padded
        )
        return replace(found, tiny=TinyTrials.of(coordinates.rows, trials.n_trials, space))

    def _solve_pair(
        self,
        x: PreparedNative,
        y: PreparedNative,
        starts: FloatArray | None = None,
        brief: int | None = None,
    ) -> _native.Solution:
        unit = _common_unit(x, y)
        if unit == 1 or self.group == "soft":  # which has units of its own
            return super()._solve_pair(x, y, starts, brief)
        x, y = (_in_unit(one, unit, self.q) for one in (x, y))
        return rescaled(super()._solve_pair(x, y, starts, brief), unit ** (self.q / 2))

    def _in_bulk(self, prepared: Sequence[PreparedNative], index: _native.IndexArray) -> bool:
        units = (_common_unit(prepared[i], prepared[j]) for i, j in index.tolist())
        return super()._in_bulk(prepared, index) and all(unit == 1 for unit in units)

    def _soft_problem(self, x: PreparedSoft, y: PreparedSoft) -> EnergySoftProblem:
        weights, unbiased = self._weights(x.n_conditions), self.estimator == "u"
        return EnergySoftProblem(x.responses, y.responses, self.q, weights, unbiased)

    def _permutation_scale(self, n: int) -> float:
        return float(n ** (-self.q / 4))

    def _core_options(self) -> dict[str, Any]:
        return {"q": float(self.q), "unbiased": self.estimator == "u"}

    def rate_starts(
        self, prepared: Sequence[PreparedNative], pairs: npt.ArrayLike, starts: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return minus the loss at each start of each pair, as `solve_pairs` takes them."""
        if self.group == "soft":
            return self._rate_plans(prepared, pairs, starts)
        weights = self._weights(prepared[0].n_conditions)
        unit = _common_unit(*prepared)
        if unit != 1:
            prepared = [_in_unit(one, unit, self.q) for one in prepared]
        handles = [x.native for x in prepared]
        index = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        return _native.rate_energy(handles, index, starts, weights, self.q)

    def _objective(self, x: PreparedNative, y: PreparedNative) -> EnergyObjective:
        return EnergyObjective(x.native, y.native, self._weights(x.n_conditions), float(self.q))

    def _compare(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        first, second = self._trials(x), self._trials(y)
        unit = extreme_unit(first.pooled, second.pooled)
        first, second = first.in_unit(unit), second.in_unit(unit)
        weights, n = self._weights(first.n_conditions), first.n_neurons
        still = _native.make_samples(first.pooled, first.n_trials, n, self.q)
        moved = _native.make_samples(fixed.apply(second.pooled), second.n_trials, n, self.q)
        loss = _native.energy_loss(still, moved, np.eye(n), weights, self.q)
        unbiased = self.estimator == "u"
        terms = [
            within_terms(net.within[0], trials.n_trials, weights, unbiased)
            for net, trials in ((still, first), (moved, second))
        ]
        biased, correction = (sum(one) for one in zip(*terms, strict=True))
        return float(unit ** (self.q / 2)) * signed_root(max(loss - biased, 0.0) - correction)


def read_trials(network: Trials | Gaussians, owner: str) -> Trials:
    """Return a network as trials; points become one trial per condition.

    >>> read_trials(Gaussians.points(np.eye(2)), "EnergyShapeMetric")
    Trials(2 conditions, 1 trial each, 2 neurons)
    """
    if isinstance(network, Trials):
        return network
    if network.stored.any():
        raise InputError(
            f"{owner} compares single trials, and Gaussians have none. Pass Trials or a 3-D array "
            "(conditions, trials, neurons), or use GaussianShapeMetric."
        )
    ones = np.ones(network.n_conditions, dtype=np.intp)
    return Trials._trusted(network.means, ones, 0 * ones, network.conditions)
