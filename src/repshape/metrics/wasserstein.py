"""The sample Wasserstein shape metric: optimal transport between trials (eq. 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from repshape._arrays import ORDINARY_DIGITS, extreme_unit
from repshape._native import Solution
from repshape.coordinates.trials import coordinates_for
from repshape.errors import Rule, check_real
from repshape.groups import Transform, spare_neurons
from repshape.metrics.base import Alignment, ShapeMetric
from repshape.metrics.energy import EnergyShapeMetric, read_trials
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.native import PreparedNative
from repshape.metrics.parameters import SEARCH_RULES, SearchParameters
from repshape.metrics.prepared import OrderedPair, Prepared, pair_oracle
from repshape.moments import estimate_without_warning
from repshape.preprocess import FittedPreprocess
from repshape.reference.gaussian import mean_gap, mean_term
from repshape.responses import Gaussians, Trials
from repshape.solvers.correspondence import Correspondence, Moments, spread_conditions
from repshape.solvers.plans import Planner, entropic_plan, exact_plan, squared_gaps
from repshape.solvers.search import Found, Policy, Search, suggest
from repshape.solvers.starts import tie_broken
from repshape.solvers.transport import TransportProblem

FloatArray = npt.NDArray[np.float64]

# When a search stops. The number of starts is limited so that at most PLENTY pairs of trials are
# compared in one step of all of them.
TRANSPORT, PLENTY = Policy(), 2e6


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

    def precedes(self, other: PreparedTransport) -> bool:
        """Return whether the network comes first in its pairs."""
        return self.energy.precedes(other.energy)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.means.shape[1])

    def in_unit(self, unit: float) -> PreparedTransport:
        """Return the network with its trials divided by a unit, but not what its starts need."""
        if unit == 1:
            return self
        return replace(
            self, trials=tuple(one / unit for one in self.trials), means=self.means / unit
        )


def _check_regularization(name: str, value: float | None, *, owner: str) -> None:
    if value is not None:
        check_real(name, value, 0, closed="neither", owner=owner)


@dataclass(eq=False, repr=False)
class WassersteinShapeMetric(SearchParameters, ShapeMetric[PreparedTransport]):
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
        Number of starting points of the search; the first ones are the alignments of the means, of
        `GaussianShapeMetric` and of `EnergyShapeMetric`. "auto" adds starts until enough of them
        agree on the best optimum, 12 to 64 in all. `Alignment.agreement` says how many agreed.
    tol : float
        The search stops when an alternation reduces the squared distance by less than the fraction
        ``tol``.
    max_iter : int
        Maximum number of alternations per start.
    group, preprocess, weights, pad_to, random_state
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

    p: float = 2.0
    _: KW_ONLY
    regularization: float | None = None
    pad_to: int | None = None
    max_iter: int = 200

    def _sentence(self) -> str:
        return f"Optimal transport between trials with p = {self.p:g}, after alignment."

    def _energy(self) -> EnergyShapeMetric:
        return EnergyShapeMetric(
            group=self.group,
            estimator="v",
            weights=self.weights,
            pad_to=self.pad_to,
            random_state=self.random_state,
        )

    def _gaussian(self) -> GaussianShapeMetric:
        return GaussianShapeMetric(
            group=self.group,
            weights=self.weights,
            pad_to=self.pad_to,
            random_state=self.random_state,
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
            padded=self._is_padded(trials.n_neurons),
        )

    def _solve_pair(self, x: PreparedTransport, y: PreparedTransport) -> Solution:
        pair = OrderedPair(x, y)
        search = _Search(self, pair.first, pair.second)
        found = search.run()
        best = found.best
        distance = search.unit * float(np.sqrt(best.cost))
        lower = distance if self.group == "identity" else search.lower_bound()
        T = pair.outward(best.transform[: pair.first.size])
        return found.solution(distance, lower, T)

    def _problem(
        self, x: Sequence[FloatArray], y: Sequence[FloatArray], weights: FloatArray
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

    def _compare(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        first, second = (read_trials(one, type(self).__name__) for one in (x, y))
        unit = self._unit(first.pooled, second.pooled)
        first, second = first.in_unit(unit), second.in_unit(unit)
        moved = tuple(fixed.apply(one) for one in second.responses)
        problem = self._problem(first.responses, moved, self._weights(first.n_conditions))
        return unit * float(np.sqrt(problem.at(np.eye(first.n_neurons))[0]))

    def _unit(self, *trials: FloatArray) -> float:
        """Return a unit of responses in which their p-th powers, squared, are numbers."""
        return extreme_unit(*trials, digits=int(2 * ORDINARY_DIGITS / max(self.p, 2.0)))


class _Search:
    """Starts and descent for one pair in canonical order: x is the larger network."""

    def __init__(
        self, metric: WassersteinShapeMetric, x: PreparedTransport, y: PreparedTransport
    ) -> None:
        self.unit = metric._unit(*x.trials, *y.trials)
        self.metric, self.x, self.y = metric, x.in_unit(self.unit), y.in_unit(self.unit)
        x, y = self.x, self.y
        self.weights = metric._weights(x.n_conditions)
        permuted = metric.group == "permutation"
        self.spare = spare_neurons(metric.pad_to, x.size, y.size) if permuted else 0
        trials = [np.pad(one, ((0, 0), (0, self.spare))) for one in x.trials]
        self.problem = metric._problem(trials, y.trials, self.weights)
        self.oracle = pair_oracle(metric.group, x, y, (x.size, y.size))
        self.gain = mean_term(x.means, y.means, self.weights)
        self.from_means = self.oracle(self._silent_rows(tie_broken(self.gain)))

    def _silent_rows(self, gain: FloatArray, value: FloatArray | float = 0.0) -> FloatArray:
        """Return a gain (s_x, s_y) with rows for the silent neurons of x."""
        return np.vstack([gain, np.full((self.spare, self.y.size), value)])

    def run(self) -> Found:
        """Return the best descent, and how many starts agree on it."""
        metric = self.metric
        pairs = sum(len(a) * len(b) for a, b in zip(self.x.trials, self.y.trials, strict=True))
        limits = float(metric.tol), int(metric.max_iter)
        search = Search(self.problem, self.oracle, *limits, self._policy(pairs))
        n_starts = 1 if metric.group == "identity" else metric.n_starts
        return search.solve(self._starts, n_starts, [int(metric.random_state), self.x.size])

    @staticmethod
    def _policy(pairs: int) -> Policy:
        """Return how many starts to make if one step compares this many pairs of trials."""
        most = int(np.clip(PLENTY / pairs, TRANSPORT.fewest, TRANSPORT.most))
        return replace(TRANSPORT, most=most, moves=TRANSPORT.moves * most // TRANSPORT.most)

    def _starts(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        yield self.from_means
        x, y, metric = self.x, self.y, self.metric
        yield self._translate(metric._gaussian().align_prepared(x.gaussian, y.gaussian))
        yield self._translate(metric._energy().align_prepared(x.energy, y.energy))
        kept = spread_conditions(x.n_conditions)
        first, second = (Moments.of_trials([net.trials[m] for m in kept]) for net in (x, y))
        suggestions = Correspondence(first, second, self.weights[kept], rng)
        yield from suggest(self.oracle, lambda: self._silent_rows(suggestions()), rng)

    def _translate(self, alignment: Alignment) -> FloatArray:
        """Return an alignment of y to x in the coordinates of the trials, (s_x, s_y)."""
        core = np.ascontiguousarray(alignment._map.between(self.y.basis, self.x.basis).T)
        # Neurons of y without a partner prefer silent neurons.
        return self.oracle(self._silent_rows(core, np.where(core.any(axis=0), 0.0, 0.5)))

    def lower_bound(self) -> float:
        """Return a lower bound for all transforms of the group; see the notes of the metric."""
        if self.metric.regularization is not None and self.metric.p != 2:
            return 0.0
        if self.metric.regularization is None and self.metric.p >= 2:
            gaussian = self.metric._gaussian().set_params(n_starts=1)
            bound = gaussian.align_prepared(self.x.gaussian, self.y.gaussian).lower_bound
            return float(bound)
        best = self.oracle(self._silent_rows(self.gain))
        means = np.pad(self.x.means, ((0, 0), (0, self.spare)))
        return self.unit * float(np.sqrt(mean_gap(means, self.y.means, best, self.weights)))
