"""The search for the mean of networks: alternate between alignment and averaging."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._compact import compact_repr
from repshape._parallel import run_all
from repshape.analysis.averages import average_for
from repshape.analysis.tangent_mean import mean_point
from repshape.analysis.tangent_space import ShapeSpace
from repshape.errors import InputError
from repshape.groups import Transform
from repshape.metrics.base import warm_start
from repshape.metrics.process import PositionShapeMetric
from repshape.responses import NetworkLike

FloatArray = npt.NDArray[np.float64]

# The iteration starts from the most central of this many networks; trying all K would take K^2
# alignments.
MAX_CANDIDATES = 8
# Candidates are compared by about this many alignments in all.
CANDIDATE_PAIRS = 64
# From this many neurons on, a search stops when further steps promise to change the distance by
# less than the fraction `tol` of the metric, and a mean cannot be found more precisely.
LARGE = 48
# Alignments are searched from all starts once, when the variance changes by less than this
# fraction. Later, networks in a poor alignment would slow the iteration; until then, few steps of
# each alignment are enough.
SETTLED = 1e-3
FEW_STEPS = 12
# Squared distances below this fraction of the squared responses are rounding.
ROUNDING = 1e-14


@compact_repr
@dataclass(frozen=True, eq=False)
class FrechetMean:
    """The mean of networks in shape space.

    Attributes
    ----------
    mean : Gaussians, Trials or PositionNetwork
        The mean network, in the coordinates of the network that the iteration started from. Like
        every shape, it is defined up to transforms of the group. It has as many neurons as the
        largest network of positive weight.
    distances : ndarray, shape (K,)
        Distance of each network to the mean.
    variance : float
        Weighted mean of the squared distances, which the mean minimises.
    transforms : tuple of K ndarrays, shape (n_k, n)
        ``responses_k @ transforms[k]`` is aligned to the mean.
    weights : ndarray, shape (K,)
        Weights of the networks, which sum to 1.
    converged : bool
        Whether the last iteration reduced the variance by less than the tolerance.
    n_iterations : int
        Number of iterations of alignment and averaging.
    """

    mean: Any
    distances: FloatArray
    variance: float
    transforms: tuple[FloatArray, ...]
    weights: FloatArray
    converged: bool
    n_iterations: int


def mean_problem(
    networks: Iterable[NetworkLike], metric: Any, workers: int | None
) -> MeanProblem | PositionMeanProblem:
    """Return the problem of finding means of networks, for any metric whose networks have one."""
    if isinstance(metric, PositionShapeMetric):
        return PositionMeanProblem(networks, metric, workers)
    return MeanProblem(networks, metric, workers)


class MeanProblem:
    """Networks that are preprocessed and prepared once, for any number of means.

    Attributes
    ----------
    networks : list
        The networks in the space of the mean.
    """

    def __init__(self, networks: Iterable[NetworkLike], metric: Any, workers: int | None) -> None:
        # From here on, everything is in the preprocessed space.
        self._average = average_for(networks, metric, workers)
        self._metric = self._average.metric
        self.networks = self._average.networks
        self._prepared = [self._metric.prepare(one) for one in self.networks]
        self._workers = workers

    def solve(
        self,
        share: FloatArray,
        tol: float = 1e-8,
        max_iter: int = 100,
        near: FrechetMean | None = None,
    ) -> FrechetMean:
        """Return the mean of the networks, searched from one with similar weights if given."""
        if near is None:
            first, transforms = self._central(share)
            mean = self._average.start(first)
        else:
            mean, transforms = near.mean, list(near.transforms)
        used = np.flatnonzero(share > 0)
        floor = ROUNDING * sum(share[k] * self._average.scale(int(k)) for k in used)
        tol = max(tol, self._precision)
        previous, searched, converged, iteration = np.inf, near is not None, False, 0
        while not converged and iteration < max_iter:
            iteration += 1
            mean = self._average.average(transforms, share, mean)
            metric = self._metric if searched else self._limited(max_iter=FEW_STEPS)
            distances, transforms = self._align(metric, mean, transforms)
            variance = float(share @ distances**2)
            gain = previous - variance
            converged = searched and gain <= tol * variance + floor
            if not searched and gain <= max(tol, SETTLED) * variance + floor:
                distances, transforms = self._search(self._metric, mean, distances, transforms)
                searched = True
            previous = float(share @ distances**2)
        return FrechetMean(
            mean, distances, previous, tuple(transforms), share, converged, iteration
        )

    @property
    def _precision(self) -> float:
        """Return how precise the squared distances of alignments are, as a fraction."""
        return float(getattr(self._metric, "tol", 0.0)) if self._average.size >= LARGE else 0.0

    def distances_to(self, mean: Any) -> FloatArray:
        """Return the distance of every network to a given one."""
        return self._search(self._metric, mean, np.full(len(self.networks), np.inf), [])[0]

    def distance_to(self, mean: Any, k: int) -> float:
        """Return the distance of one network to a given one."""
        metric = self._metric
        return float(metric.align_prepared(metric.prepare(mean), self._prepared[k]).distance)

    def _central(self, share: FloatArray) -> tuple[int, list[FloatArray]]:
        """Return the candidate with the smallest variance about it, and the transforms onto it.

        The alignments are searched from one start only: those to the mean are searched again.
        """
        used = np.flatnonzero(share > 0)
        size = max(self.networks[k].n_neurons for k in used)
        pool = [int(k) for k in used if self.networks[k].n_neurons == size]
        count = min(MAX_CANDIDATES, max(1, CANDIDATE_PAIRS // len(used)))
        few = len(used) * count <= CANDIDATE_PAIRS // 2
        quick = self._metric if few else self._limited(n_starts=1)
        nothing = np.full(len(self.networks), np.inf)
        step = -(-len(pool) // count)
        tried = [(k, *self._search(quick, self.networks[k], nothing, [])) for k in pool[::step]]
        first, _, transforms = min(tried, key=lambda one: float(share @ one[1] ** 2))
        return first, transforms

    def _limited(self, **most: int) -> Any:
        """Return the metric with its parameters of the search lowered to these maxima."""
        known = self._metric.get_params(deep=False)
        lower = {
            name: value
            for name, value in most.items()
            if name in known and (known[name] == "auto" or known[name] > value)
        }
        return self._metric.with_parameters(**lower) if lower else self._metric

    def _align(
        self, metric: Any, mean: Any, transforms: list[FloatArray]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Improve the current transforms; they never get worse."""
        target = metric.prepare(mean)

        def improve(k: int) -> tuple[float, FloatArray]:
            network = self._prepared[k]
            starts: tuple[FloatArray, ...] = ()
            if metric.takes_a_start:
                known = warm_start(Transform(transforms[k]), target, network, metric.group)
                starts = (known[None],)
            found = metric._solve_pair(target, network, *starts)
            return float(found.distance), metric._transform(found, target, network).matrix

        found = run_all(improve, range(len(transforms)), workers=self._workers, progress=False)
        return np.array([one[0] for one in found]), [one[1] for one in found]

    def _search(
        self, metric: Any, mean: Any, distances: FloatArray, transforms: Sequence[FloatArray]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Align from the metric's own starts, and keep the given transforms that are better."""
        target = metric.prepare(mean)
        items = range(len(self._prepared))
        found = run_all(
            lambda k: metric.align_prepared(target, self._prepared[k]),
            items,
            workers=self._workers,
            progress=False,
        )
        best = np.minimum(distances, [one.distance for one in found])
        kept = [
            one.transform if one.distance <= best[k] else transforms[k]
            for k, one in enumerate(found)
        ]
        return best, kept


class PositionMeanProblem:
    """Networks with positions, factorised once, for any number of means."""

    def __init__(self, networks: Iterable[NetworkLike], metric: Any, workers: int | None) -> None:
        given = list(networks)
        if not given:
            raise InputError("The 'networks' parameter must hold at least one network. Got none.")
        self._space = ShapeSpace(metric)
        names = [f"network {k}" for k in range(len(given))]
        self._points = self._space.points(given, names)
        self.networks = [one.network for one in self._points]
        self._workers = workers

    def solve(
        self,
        share: FloatArray,
        tol: float = 1e-8,
        max_iter: int = 100,
        near: FrechetMean | None = None,
    ) -> FrechetMean:
        """Return the mean of the networks with these weights; ``near`` is not used."""
        del near
        found = mean_point(
            self._space, self._points, share, tol=tol, max_iter=max_iter, workers=self._workers
        )
        variance = float(share @ found.distances**2)
        transforms = tuple(T.T for T in found.transforms)
        return FrechetMean(
            found.mean.network,
            found.distances,
            variance,
            transforms,
            share,
            found.converged,
            found.n_iterations,
        )

    def distances_to(self, mean: Any) -> FloatArray:
        """Return the distance of every network to a given one."""
        found = run_all(
            lambda one: self._space.metric.align(mean, one).distance,
            self.networks,
            workers=self._workers,
            progress=False,
        )
        return np.array(found)

    def distance_to(self, mean: Any, k: int) -> float:
        """Return the distance of one network to a given one."""
        return float(self._space.metric.align(mean, self.networks[k]).distance)
