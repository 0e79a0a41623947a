"""The sample Wasserstein shape metric: optimal transport between trials (eq. 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from repshape._arrays import condition_weights
from repshape.coordinates.trials import coordinates_for
from repshape.errors import Rule, check_real
from repshape.groups import GROUPS, Oracle, Transform, nearest_orthogonal
from repshape.metrics.base import (
    SEARCH_RULES,
    Alignment,
    Prepared,
    PreparedNative,
    ShapeMetric,
    prepared_transform,
)
from repshape.metrics.energy import EnergyShapeMetric, read_trials
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.moments import estimate_without_warning
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.responses import Gaussians, Trials
from repshape.solvers.plans import Planner, entropic_plan, exact_plan, squared_gaps
from repshape.solvers.starts import make_starts
from repshape.solvers.transport import Descent, TransportProblem, descend

FloatArray = npt.NDArray[np.float64]

# "auto" starts from the means, from the alignments of the Gaussian and the energy metric, and from
# this many other points.
AUTO_OTHERS = 6
# The other starts are screened on a few conditions and trials for a few steps, and only the best of
# them are finished.
SCREEN_CONDITIONS, SCREEN_TRIALS, SCREEN_STEPS, FINALISTS = 24, 24, 4, 2


@dataclass(frozen=True)
class PreparedTransport(Prepared):
    """A network's trials in its own coordinates, and the network as prepared for its starts.

    Attributes
    ----------
    trials : tuple of M arrays of shape (L_m, s)
    means : array of shape (M, s)
    energy, gaussian : PreparedNative
        The network as prepared for the two metrics whose alignments are starts.
    """

    trials: tuple[FloatArray, ...]
    means: FloatArray
    energy: PreparedNative
    gaussian: PreparedNative

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.means.shape[1])


def _check_regularization(name: str, value: float | None, *, owner: str) -> None:
    if value is not None:
        check_real(name, value, 0, closed="neither", owner=owner)


class WassersteinShapeMetric(ShapeMetric[PreparedTransport]):
    r"""Wasserstein distance between the trials of networks, minimised over a group.

    .. math:: d_p(x, y)^2 = \min_T \sum_m w_m W_p(X_m, T Y_m)^2, \qquad
              W_p(X, Y)^p = \min_\Gamma \sum_{lk} \Gamma_{lk} |x_l - y_k|^p

    The plan :math:`\Gamma` moves mass 1/L from each trial of x, and delivers 1/K to each trial of
    y. No family of distributions is assumed, but many trials are needed: the distance between two
    samples of the same distribution decreases only as :math:`L^{-1/n}`.

    Parameters
    ----------
    p : float, at least 1
        Power of the distance between single trials.
    regularization : float or None
        None computes exact transport. A positive number adds an entropic penalty, in units of
        the mean of :math:`(|x|^2 + |y|^2)^{p/2}` in each condition, and subtracts the
        self-transports (the Sinkhorn divergence). Use it for many hundreds of trials. Below about
        0.01 it is slower than exact transport.
    n_starts : "auto" or int
        Number of starting points: first the alignment of the means, then that of
        `GaussianShapeMetric`, then that of `EnergyShapeMetric`, then principal axes and random
        ones. "auto" finishes the first three and the most promising of the others, so that the
        result is never worse than the alignments of those metrics.
    tol : float
        The search stops when an alternation reduces the squared distance by less than the fraction
        ``tol``.
    max_iter : int
        Maximum number of alternations per start.
    group, preprocess, weights, random_state
        As in `GaussianShapeMetric`.

    Notes
    -----
    For p of at least 2, the lower bound is that of the Gaussian metric at ``alpha=1``, because no
    coupling of distributions with the same means and covariances costs less than that of the
    Gaussians. For smaller p it is the distance between means. With regularization it is zero unless
    p = 2.

    Unequal numbers of trials and regularization need the package POT (``repshape[ot]``).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(6, 20, 3))  # conditions, trials, neurons
    >>> Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    >>> metric = WassersteinShapeMetric()
    >>> metric.distance(x, x @ Q) < 1e-7
    True
    >>> metric.distance(x, x[:, :12]) > 0  # numbers of trials may differ
    True
    """

    title = "Wasserstein"
    full_title = "Sample Wasserstein shape distance"
    key_parameter = ("p", "p")
    _rules: ClassVar[Mapping[str, Rule]] = {
        "p": partial(check_real, low=1, closed="left"),
        "regularization": _check_regularization,
        **SEARCH_RULES,
    }

    def __init__(
        self,
        p: float = 2.0,
        *,
        group: str = "orthogonal",
        regularization: float | None = None,
        preprocess: Preprocess | None = None,
        weights: npt.ArrayLike | None = None,
        n_starts: int | str = "auto",
        tol: float = 1e-9,
        max_iter: int = 200,
        random_state: int = 0,
    ) -> None:
        self.p = p
        self.group = group
        self.regularization = regularization
        self.preprocess = preprocess
        self.weights = weights
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _sentence(self) -> str:
        return f"Optimal transport between trials with p = {self.p:g}, after alignment."

    def _weights(self, n_conditions: int) -> FloatArray:
        return condition_weights(self.weights, n_conditions)

    def _energy(self) -> EnergyShapeMetric:
        return EnergyShapeMetric(
            group=self.group,
            estimator="v",
            weights=self.weights,
            random_state=self.random_state,
        )

    def _gaussian(self) -> GaussianShapeMetric:
        return GaussianShapeMetric(
            group=self.group, weights=self.weights, random_state=self.random_state
        )

    def _prepare(
        self, network: Trials | Gaussians, phi: FittedPreprocess | None
    ) -> PreparedTransport:
        trials = read_trials(network, type(self).__name__)
        weights = self._weights(trials.n_conditions)
        coordinates = coordinates_for(self.group, trials, weights)
        return PreparedTransport(
            phi,
            trials.n_conditions,
            trials.n_neurons,
            trials.conditions,
            tuple(np.split(coordinates.rows, np.cumsum(trials.n_trials)[:-1])),
            coordinates.means,
            self._energy().prepare(trials),
            self._gaussian().prepare(estimate_without_warning(trials, "mle", 0)),
            basis=coordinates.basis,
        )

    def _align_prepared(self, x: PreparedTransport, y: PreparedTransport) -> Alignment:
        swapped = y.energy.native < x.energy.native  # the larger network first, then by content
        first, second = (y, x) if swapped else (x, y)
        search = _Search(self, first, second)
        best, n_starts = search.run()
        core = best.transform if swapped else best.transform.T
        distance = float(np.sqrt(best.values[-1]))
        lower = distance if self.group == "identity" else min(search.lower_bound(), distance)
        return Alignment(
            distance=distance,
            lower_bound=lower,
            mean_distance=float("nan"),
            covariance_distance=float("nan"),
            converged=best.converged,
            n_iterations=len(best.values) - 1,
            n_starts=n_starts,
            n_agreeing=1,
            _map=prepared_transform(core, x, y, self.group),
            _phi=(x.phi, y.phi),
        )

    def _problem(
        self, x: tuple[FloatArray, ...], y: tuple[FloatArray, ...], weights: FloatArray
    ) -> TransportProblem:
        planners, offsets = zip(*map(self._planner, x, y), strict=True)
        return TransportProblem(x, y, weights, self.p, planners, np.array(offsets))

    def _planner(self, x: FloatArray, y: FloatArray) -> tuple[Planner, float]:
        """Return the planner of one condition, and the self-transport to subtract."""
        if self.regularization is None:
            return exact_plan, 0.0
        power = (x**2).sum() / len(x) + (y**2).sum() / len(y)
        strength = max(self.regularization * power ** (self.p / 2), 1e-300)
        planner = partial(entropic_plan, regularization=strength)
        selves = [planner(squared_gaps(one, one) ** (self.p / 2)).cost for one in (x, y)]
        return planner, 0.5 * sum(selves)

    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        first, second = (read_trials(one, type(self).__name__) for one in (x, y))
        if first.n_neurons < second.n_neurons:  # the residual is in the larger space
            first, second, fixed = second, first, fixed.reversed()
        moved = tuple(fixed.apply(one) for one in second.responses)
        problem = self._problem(first.responses, moved, self._weights(first.n_conditions))
        return float(np.sqrt(problem.at(np.eye(first.n_neurons))[0]))


class _Search:
    """Starts, screening and descent for one pair in canonical order: x is the larger network."""

    def __init__(
        self, metric: WassersteinShapeMetric, x: PreparedTransport, y: PreparedTransport
    ) -> None:
        self.metric, self.x, self.y = metric, x, y
        self.weights = metric._weights(x.n_conditions)
        self.problem = metric._problem(x.trials, y.trials, self.weights)
        self.oracle = self._oracle()
        means = (x.means * self.weights[:, None]).T @ y.means
        self.from_means = self.oracle(means)

    def _oracle(self) -> Oracle:
        sizes = {self.x.size, self.y.size, self.x.n_neurons, self.y.n_neurons}
        if self.metric.group == "rotation" and len(sizes) > 1:
            return nearest_orthogonal  # with a spare direction, every T is part of a rotation
        return GROUPS[self.metric.group]

    def run(self) -> tuple[Descent, int]:
        """Return the best descent, and the number of starts."""
        if self.metric.group == "identity":
            T = self.from_means
            return Descent(T, (self.problem.at(T)[0],), True), 1
        auto = self.metric.n_starts == "auto"
        count = 3 + AUTO_OTHERS if auto else int(self.metric.n_starts)
        starts = [start for start, _ in zip(self._starts(count), range(count), strict=False)]
        finished = starts[:3] + self._screen(starts[3:]) if auto else starts
        return min((self._descend(T) for T in finished), key=lambda d: d.values[-1]), count

    def _descend(self, start: FloatArray) -> Descent:
        metric = self.metric
        return descend(
            self.problem, start, self.oracle, tol=float(metric.tol), max_iter=int(metric.max_iter)
        )

    def _starts(self, count: int) -> Iterator[FloatArray]:
        yield self.from_means
        x, y, metric = self.x, self.y, self.metric
        yield self._translate(metric._gaussian().align_prepared(x.gaussian, y.gaussian))
        yield self._translate(metric._energy().align_prepared(x.energy, y.energy))
        for start in make_starts(x.size, max(count - 3, 1), int(metric.random_state)):
            yield self.oracle(start[:, : y.size])

    def _translate(self, alignment: Alignment) -> FloatArray:
        """Return an alignment of y to x in the coordinates of the trials, (s_x, s_y)."""
        core = alignment._map.between(self.y.basis, self.x.basis)
        return self.oracle(np.ascontiguousarray(core.T))

    def _screen(self, starts: list[FloatArray]) -> list[FloatArray]:
        """Return the most promising starts, improved on a few conditions and trials."""
        M = self.x.n_conditions
        kept = np.unique(np.linspace(0, M - 1, min(M, SCREEN_CONDITIONS)).astype(int))
        weights = self.weights[kept] if self.weights[kept].any() else np.ones(len(kept))
        thin = [tuple(_thinned(net.trials[m]) for m in kept) for net in (self.x, self.y)]
        few = self.metric._problem(thin[0], thin[1], weights / weights.sum())
        runs = [
            descend(few, T, self.oracle, tol=float(self.metric.tol), max_iter=SCREEN_STEPS)
            for T in starts
        ]
        runs.sort(key=lambda run: run.values[-1])
        return [run.transform for run in runs[:FINALISTS]]

    def lower_bound(self) -> float:
        """Return a lower bound for all transforms of the group; see the notes of the metric."""
        if self.metric.regularization is not None and self.metric.p != 2:
            return 0.0
        if self.metric.regularization is None and self.metric.p >= 2:
            gaussian = self.metric._gaussian().set_params(n_starts=1)
            bound = gaussian.align_prepared(self.x.gaussian, self.y.gaussian).lower_bound
            return float(bound)
        gaps = self.x.means - self.y.means @ self.from_means.T
        return float(np.sqrt(self.weights @ (gaps**2).sum(1)))


def _thinned(trials: FloatArray) -> FloatArray:
    kept = np.linspace(0, len(trials) - 1, min(len(trials), SCREEN_TRIALS)).astype(int)
    return np.asarray(trials[kept])
