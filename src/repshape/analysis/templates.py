"""What a mean network is a template for: a ceiling, and groups of networks around centres."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.analysis.frechet import MeanProblem, network_shares
from repshape.errors import InputError, check_integer
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.responses import Gaussians, NetworkLike

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ceiling:
    """How near a network can be expected to come to the others.

    Attributes
    ----------
    labels : tuple of str
    to_others : ndarray, shape (K,)
        Distance of each network to the mean of the others: what a model of the cohort that knows
        nothing of this network achieves.
    to_all : ndarray, shape (K,)
        Distance to the mean of all, the network included: too near, by construction.
    """

    labels: tuple[str, ...]
    to_others: FloatArray
    to_all: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each network."""
        columns = {"to_others": self.to_others, "to_all": self.to_all}
        return pd.DataFrame(columns, index=list(self.labels))


def frechet_ceiling(
    networks: Iterable[NetworkLike],
    metric: GaussianShapeMetric | None = None,
    *,
    labels: Sequence[str] | None = None,
    workers: int | None = None,
) -> Ceiling:
    r"""Return the distance of each network to the Frechet mean of the others.

    The noise ceiling of representational similarity analysis, for shapes: a model whose distance to
    a network is no larger than ``to_others`` is as near as the rest of the cohort is.

    Parameters
    ----------
    networks : iterable of at least two networks
    metric, workers
        As in `frechet_mean`.
    labels : sequence of str, optional

    Examples
    --------
    >>> networks = [Gaussians([[0.0], [s]], [[1.0], [1.0]]) for s in (1.0, 2.0, 6.0)]
    >>> frechet_ceiling(networks, GaussianShapeMetric(alpha=2.0)).to_others.round(3)
    array([3. , 1.5, 4.5])
    """
    problem = MeanProblem(networks, check_gaussian(metric), workers)
    count = len(problem.moments)
    if count < 2:
        raise InputError("A ceiling needs at least two networks. Got one.")
    names = tuple(f"network{k}" for k in range(count)) if labels is None else tuple(labels)
    everyone = problem.solve(network_shares(None, count))
    to_others = np.empty(count)
    for k in range(count):
        others = problem.solve(network_shares(np.arange(count) != k, count))
        to_others[k] = others.distances[k]
    return Ceiling(names, to_others, everyone.distances)


@dataclass(frozen=True, eq=False)
class ShapeClusters:
    """Networks in groups, each about its own mean.

    Attributes
    ----------
    groups : ndarray of int, shape (K,)
        Number of the group of each network, 0 to ``n_clusters - 1``.
    centers : tuple of Gaussians
        The Frechet mean of each group.
    distances : ndarray, shape (K, n_clusters)
        Distance of each network to each centre.
    inertia : float
        Sum of squared distances to the nearest centre.
    converged : bool
        No network changed its group in the last round.
    n_init, random_state : int
        Number of seedings that were tried, and their seed.
    """

    groups: IntArray
    centers: tuple[Gaussians, ...]
    distances: FloatArray
    inertia: float
    converged: bool
    n_init: int
    random_state: int


def cluster_shapes(
    networks: Iterable[NetworkLike],
    n_clusters: int,
    metric: GaussianShapeMetric | None = None,
    *,
    n_init: int = 3,
    max_iter: int = 20,
    random_state: int = 0,
    workers: int | None = None,
) -> ShapeClusters:
    r"""Group networks by k-means in shape space.

    Alternates between the Frechet mean of each group and the nearest mean of each network, from
    ``n_init`` seedings by k-means++ (Arthur and Vassilvitskii, 2007), and keeps the least
    :math:`\sum_k \min_c d(F_k, \bar F_c)^2`.

    Parameters
    ----------
    networks : iterable of K networks
    n_clusters : int, at most K
    metric, workers
        As in `frechet_mean`.
    n_init : int
        Number of seedings.
    max_iter : int
        Most rounds of each.
    random_state : int
        Seed.

    Examples
    --------
    >>> networks = [Gaussians([[0.0], [s]], [[1.0], [1.0]]) for s in (1.0, 9.0, 1.2, 9.1)]
    >>> cluster_shapes(networks, 2).groups
    array([0, 1, 0, 1])
    """
    problem = MeanProblem(networks, check_gaussian(metric), workers)
    count = len(problem.moments)
    check_integer("n_init", n_init, 1)
    check_integer("max_iter", max_iter, 1)
    if check_integer("n_clusters", n_clusters, 1) > count:
        raise InputError(
            f"There cannot be more groups than networks. Got {n_clusters} groups of {count}."
        )
    runs = []
    for seed in np.random.SeedSequence(random_state).spawn(n_init):
        seeds = _plus_plus(problem, n_clusters, np.random.default_rng(seed))
        runs.append(_lloyd(problem, seeds, max_iter))
    groups, centers, distances, converged = min(runs, key=lambda run: _inertia(run[2]))
    order = np.argsort([np.flatnonzero(groups == c)[0] for c in range(n_clusters)])
    return ShapeClusters(
        groups=np.argsort(order)[groups],  # groups are numbered by their first network
        centers=tuple(centers[c] for c in order),
        distances=distances[:, order],
        inertia=_inertia(distances),
        converged=converged,
        n_init=n_init,
        random_state=random_state,
    )


def _inertia(distances: FloatArray) -> float:
    return float((distances.min(axis=1) ** 2).sum())


def _plus_plus(problem: MeanProblem, count: int, rng: np.random.Generator) -> FloatArray:
    """Return distances (K, count) to seeds, each drawn by its squared distance to the others."""
    chosen = [int(rng.integers(len(problem.moments)))]
    columns = [problem.distances_to(problem.moments[chosen[0]])]
    while len(chosen) < count:
        share = np.min(columns, axis=0) ** 2
        share[chosen] = 0.0
        if share.sum() == 0.0:  # only copies are left
            share[[k for k in range(len(share)) if k not in chosen]] = 1.0
        chosen.append(int(rng.choice(len(share), p=share / share.sum())))
        columns.append(problem.distances_to(problem.moments[chosen[-1]]))
        columns[-1][chosen[-1]] = 0.0
    return np.column_stack(columns)


def _lloyd(
    problem: MeanProblem, distances: FloatArray, max_iter: int
) -> tuple[IntArray, list[Gaussians], FloatArray, bool]:
    groups = _assign(distances)
    for _ in range(max_iter):
        means = [
            problem.solve(network_shares(groups == c, len(groups)))
            for c in range(distances.shape[1])
        ]
        distances = np.column_stack([mean.distances for mean in means])
        new = _assign(distances)
        if np.array_equal(new, groups):
            return groups, [mean.mean for mean in means], distances, True
        groups = new
    means = [
        problem.solve(network_shares(groups == c, len(groups))) for c in range(distances.shape[1])
    ]
    return groups, [m.mean for m in means], np.column_stack([m.distances for m in means]), False


def _assign(distances: FloatArray) -> IntArray:
    """Nearest centre of each network; an empty group takes the worst placed network."""
    groups = np.asarray(distances.argmin(axis=1), dtype=np.intp)
    for c in range(distances.shape[1]):
        if not (groups == c).any():
            sizes = np.bincount(groups, minlength=distances.shape[1])
            cost = np.where(sizes[groups] > 1, distances.min(axis=1), -1.0)
            groups[int(cost.argmax())] = c
    return groups
