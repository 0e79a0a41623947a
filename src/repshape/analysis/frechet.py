"""The Frechet mean of networks: their mean in shape space."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._compact import compact_repr
from repshape._joins import in_order, network_names
from repshape._parallel import run_all
from repshape.analysis._barycentre import barycentre
from repshape.analysis.tangent_mean import mean_point
from repshape.analysis.tangent_space import ShapeSpace, check_padding
from repshape.coordinates.factors import factorise
from repshape.engine.inputs import as_sequence
from repshape.errors import InputError, NotConvergedWarning, check_integer, check_real
from repshape.groups import Transform
from repshape.metrics.base import check_same_conditions, prepared_transform, warm_start
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.metrics.process import PositionShapeMetric
from repshape.metrics.soft import refuse_soft
from repshape.responses import Gaussians, NetworkLike, as_network

FloatArray = npt.NDArray[np.float64]

# The iteration starts from the most central of this many networks; trying all K would take K^2
# alignments.
MAX_CANDIDATES = 8
# Squared distances below this fraction of the squared responses are rounding.
ROUNDING = 1e-14


@compact_repr
@dataclass(frozen=True, eq=False)
class FrechetMean:
    """The mean of networks in shape space.

    Attributes
    ----------
    mean : Gaussians or PositionNetwork
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


def frechet_mean(
    networks: Iterable[NetworkLike] | Mapping[str, NetworkLike],
    metric: GaussianShapeMetric | PositionShapeMetric | None = None,
    *,
    weights: npt.ArrayLike | pd.Series[Any] | Mapping[str, float] | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    workers: int | None = None,
) -> FrechetMean:
    r"""Return the network with the smallest weighted mean of squared distances to the given ones.

    .. math:: \bar F = \arg\min_F \sum_k w_k\, d(F, F_k)^2

    The algorithm alternates between aligning every network to the mean, and averaging the aligned
    means and covariances, the latter by the Bures-Wasserstein fixed point. The variance never
    increases, but the result may be a local minimum.

    Parameters
    ----------
    networks : Cohort, or iterable or dict of K networks
    metric : GaussianShapeMetric or ProcessShapeMetric, optional
        By default ``GaussianShapeMetric()``. The preprocessing is applied once to each network, so
        the mean is in the preprocessed space.
    weights : array of shape (K,), Series or dict by name, optional
        Weights of the networks; equal by default.
    tol : float
        Stop when an iteration reduces the variance by less than this fraction.
    max_iter : int
        Maximum number of iterations.
    workers : int, optional
        Number of threads; all cores by default.

    Warns
    -----
    NotConvergedWarning
        If ``max_iter`` iterations were not enough.

    Notes
    -----
    If the noise is much larger than the differences between networks, the mean of *estimated*
    shapes is biased away from the mean of the true ones, because alignment also fits noise
    (Miolane, Holmes and Pennec, 2017). Compare the variance with the noise floor of the networks.

    Examples
    --------
    >>> x = Gaussians([[0.0, 0.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]])
    >>> y = Gaussians([[0.0, 0.0], [0.0, 3.0]], [[9.0, 1.0], [1.0, 1.0]])
    >>> result = frechet_mean([x, y])
    >>> distance = GaussianShapeMetric().distance(x, y)
    >>> np.round(result.distances / distance, 6)
    array([0.5, 0.5])
    """
    check_real("tol", tol, 0, 1, closed="neither")
    check_integer("max_iter", max_iter, 1)
    given = list(as_sequence(networks, "networks"))
    shares: Any = weights
    if shares is not None:
        shares = in_order(weights, network_names(networks), len(given), "weights")
    if isinstance(metric, PositionShapeMetric):
        found = _mean_with_positions(given, metric, shares, tol, max_iter, workers)
    else:
        problem = MeanProblem(given, check_gaussian(metric), workers)
        share = network_shares(shares, len(problem.moments))
        found = problem.solve(share, tol, max_iter)
    warn_unconverged(found.converged, "Frechet mean", max_iter, stacklevel=3)
    return found


def warn_unconverged(converged: bool, what: str, max_iter: int, stacklevel: int) -> None:
    """Warn if an iteration stopped at its limit."""
    if not converged:
        warnings.warn(
            f"The {what} did not converge in {max_iter} iterations, so a better one may exist. "
            "Increase max_iter.",
            NotConvergedWarning,
            stacklevel=stacklevel,
        )


def _mean_with_positions(
    networks: list[Any],
    metric: PositionShapeMetric,
    weights: npt.ArrayLike | None,
    tol: float,
    max_iter: int,
    workers: int | None,
) -> FrechetMean:
    if not networks:
        raise InputError("The 'networks' parameter must hold at least one network. Got none.")
    space, share = ShapeSpace(metric), network_shares(weights, len(networks))
    points = space.points(networks, [f"network {k}" for k in range(len(networks))])
    found = mean_point(space, points, share, tol=tol, max_iter=max_iter, workers=workers)
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


def network_shares(weights: npt.ArrayLike | None, count: int) -> FloatArray:
    """Return one weight per network, with sum 1; equal by default."""
    share = np.ones(count) if weights is None else np.array(weights, dtype=np.float64)
    if share.shape != (count,) or not np.isfinite(share).all() or share.min() < 0:
        raise InputError(
            f"The 'weights' parameter must be {count} non-negative numbers, one per network. "
            f"Got {weights!r} instead."
        )
    if share.sum() == 0:
        raise InputError("At least one of the weights must be positive. Got only zeros.")
    return np.asarray(share / share.sum())


class MeanProblem:
    """Networks that are preprocessed and prepared once, for any number of means."""

    def __init__(
        self, networks: Iterable[NetworkLike], metric: GaussianShapeMetric, workers: int | None
    ) -> None:
        metric._validate_parameters()
        refuse_soft(metric, "The Frechet mean")
        given = [as_network(network, f"network {k}") for k, network in enumerate(networks)]
        if not given:
            raise InputError("The 'networks' parameter must hold at least one network. Got none.")
        if metric.preprocess is not None:
            phi = metric.preprocess
            given = [phi.fit(one, metric.weights).apply(one) for one in given]
        for network in given[1:]:
            check_same_conditions(given[0], network)
        # From here on, everything is in the preprocessed space.
        self.metric = metric.with_parameters(preprocess=None)
        self.workers = workers
        self.moments = [metric._moments(one) for one in given]
        self.prepared = [self.metric.prepare(one) for one in self.moments]
        size = max(one.n_neurons for one in self.moments)
        check_padding(metric, size)
        self.factors = [_square_factors(one, size) for one in self.moments]

    def solve(self, share: FloatArray, tol: float = 1e-8, max_iter: int = 100) -> FrechetMean:
        """Return the mean of the networks with these weights."""
        used = np.flatnonzero(share > 0)
        first, transforms = self._central(used, share)
        A = self._moved_factors(first, np.eye(self.moments[first].n_neurons))
        floor = ROUNDING * self._scale(share)
        previous, searched, iteration = np.inf, False, 0
        converged = False
        while not converged and iteration < max_iter:
            iteration += 1
            mean, A = self._average(transforms, share, A)
            distances, transforms = self._align(mean, transforms)
            variance = float(share @ distances**2)
            settled = previous - variance <= tol * variance + floor
            if settled and not searched:
                # Search once from the metric's own starts, for better alignments.
                distances, transforms = self._search(mean, distances, transforms)
                settled, searched = False, True
            previous, converged = float(share @ distances**2), settled
        return FrechetMean(
            mean, distances, previous, tuple(transforms), share, converged, iteration
        )

    def _scale(self, share: FloatArray) -> float:
        """Return the mean square of all responses."""
        sizes = [float((g.means**2).sum(1).mean() + g.total_variance.mean()) for g in self.moments]
        return float(share @ np.array(sizes))

    def distances_to(self, mean: Gaussians) -> FloatArray:
        """Return the distance of every network to a given one."""
        return self._search(mean, np.full(len(self.moments), np.inf), [])[0]

    def _central(self, used: npt.NDArray[np.intp], share: FloatArray) -> tuple[int, Any]:
        """Return the candidate with the smallest variance about it, and the transforms onto it."""
        size = max(self.moments[k].n_neurons for k in used)
        pool = [k for k in used if self.moments[k].n_neurons == size]
        step = -(-len(pool) // MAX_CANDIDATES)
        nothing = np.full(len(self.moments), np.inf)
        tried = [(int(k), *self._search(self.moments[k], nothing, [])) for k in pool[::step]]
        first, _, transforms = min(tried, key=lambda one: float(share @ one[1] ** 2))
        return first, transforms

    def _moved_factors(self, k: int, transform: FloatArray) -> FloatArray:
        n = transform.shape[0]
        return np.asarray(transform.T @ self.factors[k][:, :n])

    def _average(
        self, transforms: list[FloatArray], share: FloatArray, A: FloatArray
    ) -> tuple[Gaussians, FloatArray]:
        used = np.flatnonzero(share > 0)
        means = sum(share[k] * self.moments[k].means @ transforms[k] for k in used)
        moved = [self._moved_factors(int(k), transforms[k]) for k in used]
        A = barycentre(A, moved, share[used])
        conditions = self.moments[0].conditions
        return Gaussians.from_factors(np.asarray(means), A, conditions=conditions), A

    def _align(
        self, mean: Gaussians, transforms: list[FloatArray]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Improve the current transforms; they never get worse."""
        target, metric = self.metric.prepare(mean), self.metric

        def improve(k: int) -> tuple[float, FloatArray]:
            network = self.prepared[k]
            start = warm_start(Transform(transforms[k]), target, network, metric.group)
            found = metric.solve_pairs([target, network], [[0, 1]], starts=[start[None]], keep=True)
            core = (found.transforms or [])[0]
            moved = prepared_transform(core, target, network, metric.group)
            return float(found.distance[0]), moved.matrix

        found = run_all(improve, range(len(transforms)), workers=self.workers, progress=False)
        return np.array([one[0] for one in found]), [one[1] for one in found]

    def _search(
        self, mean: Gaussians, distances: FloatArray, transforms: Sequence[FloatArray]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Align from the metric's own starts, and keep the given transforms that are better."""
        target = self.metric.prepare(mean)
        items = range(len(self.prepared))
        align = self.metric.align_prepared
        found = run_all(
            lambda k: align(target, self.prepared[k]), items, workers=self.workers, progress=False
        )
        best = np.minimum(distances, [one.distance for one in found])
        kept = [
            one.transform if one.distance <= best[k] else transforms[k]
            for k, one in enumerate(found)
        ]
        return best, kept


def _square_factors(network: Gaussians, size: int) -> FloatArray:
    """Return factors padded with zeros to (M, size, size), for any number of neurons and rank."""
    factors = factorise(network).dense
    rows, columns = size - factors.shape[1], size - factors.shape[2]
    return np.pad(factors, ((0, 0), (0, rows), (0, columns)))
