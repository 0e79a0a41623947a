"""Analyses with mean networks: a noise ceiling, and clusters around means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._compact import compact_repr
from repshape.analysis.frechet import network_shares, warn_unconverged
from repshape.analysis.mean_problem import (
    FrechetMean,
    MeanProblem,
    PositionMeanProblem,
    mean_problem,
)
from repshape.errors import InputError, check_integer
from repshape.metrics.base import ShapeMetric
from repshape.responses import NetworkLike

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Problem = MeanProblem | PositionMeanProblem


@compact_repr
@dataclass(frozen=True, eq=False)
class Ceiling:
    """How close a model can be expected to come to the networks of a cohort.

    Attributes
    ----------
    labels : tuple of str
    to_others : ndarray, shape (K,)
        Distance of each network to the mean of the others. A model of the cohort that was built
        without this network can be expected to come about as close.
    to_all : ndarray, shape (K,)
        Distance to the mean of all networks, which is smaller because it includes the network.
    """

    labels: tuple[str, ...]
    to_others: FloatArray
    to_all: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each network."""
        columns = {"to_others": self.to_others, "to_all": self.to_all}
        return pd.DataFrame(columns, index=list(self.labels))


def frechet_ceiling(
    networks: Iterable[NetworkLike],
    metric: ShapeMetric[Any] | None = None,
    *,
    labels: Sequence[str] | None = None,
    workers: int | None = None,
) -> Ceiling:
    r"""Return the distance of each network to the Frechet mean of the others.

    This is the noise ceiling of representational similarity analysis, for shapes. A model whose
    distance to a network is at most ``to_others`` is as close to it as the rest of the cohort.

    Parameters
    ----------
    networks : iterable of at least two networks
    metric, workers
        As in `frechet_mean`.
    labels : sequence of str, optional

    Examples
    --------
    >>> from repshape import Gaussians, GaussianShapeMetric
    >>> networks = [Gaussians([[0.0], [s]], [[1.0], [1.0]]) for s in (1.0, 2.0, 6.0)]
    >>> frechet_ceiling(networks, GaussianShapeMetric(alpha=2.0)).to_others.round(3)
    array([3. , 1.5, 4.5])
    """
    problem = mean_problem(networks, metric, workers)
    count = len(problem.networks)
    if count < 2:
        raise InputError("A ceiling needs at least two networks. Got one.")
    names = tuple(f"network{k}" for k in range(count)) if labels is None else tuple(labels)
    everyone = problem.solve(network_shares(None, count))
    to_others = to_mean_of_others(problem, np.arange(count))
    return Ceiling(names, to_others, everyone.distances)


def to_mean_of_others(
    problem: Problem, units: IntArray, near: FrechetMean | None = None
) -> FloatArray:
    """Return the distance of each network to the mean of those of other units, (K,).

    If the mean of all networks is given, the others are searched near it.
    """
    out = np.empty(len(units))
    for unit in np.unique(units):
        others = problem.solve(network_shares(units != unit, len(units)), near=near)
        for k in np.flatnonzero(units == unit).tolist():
            out[k] = min(others.distances[k], problem.distance_to(others.mean, k))
    return out


@compact_repr
@dataclass(frozen=True, eq=False)
class ShapeClusters:
    """Clusters of networks, each with its mean.

    Attributes
    ----------
    groups : ndarray of int, shape (K,)
        Cluster of each network, from 0 to ``n_clusters - 1``.
    centers : tuple of networks
        The Frechet mean of each cluster.
    distances : ndarray, shape (K, n_clusters)
        Distance of each network to each mean.
    inertia : float
        Sum of the squared distances to the nearest mean.
    converged : bool
        Whether no network changed its cluster in the last iteration.
    n_init, random_state : int
        Number of initialisations, and their seed.
    """

    groups: IntArray
    centers: tuple[Any, ...]
    distances: FloatArray
    inertia: float
    converged: bool
    n_init: int
    random_state: int


def cluster_shapes(
    networks: Iterable[NetworkLike],
    n_clusters: int,
    metric: ShapeMetric[Any] | None = None,
    *,
    n_init: int = 3,
    max_iter: int = 20,
    random_state: int = 0,
    workers: int | None = None,
) -> ShapeClusters:
    r"""Cluster networks by k-means in shape space.

    Alternates between computing the Frechet mean of each cluster and assigning each network to the
    nearest mean. It starts from ``n_init`` initialisations by k-means++ (Arthur and Vassilvitskii,
    2007), and keeps the result with the smallest :math:`\sum_k \min_c d(F_k, \bar F_c)^2`.

    Parameters
    ----------
    networks : iterable of K networks
    n_clusters : int, at most K
    metric, workers
        As in `frechet_mean`.
    n_init : int
        Number of initialisations.
    max_iter : int
        Maximum number of iterations per initialisation.
    random_state : int
        Seed of the initialisations.

    Examples
    --------
    >>> from repshape import Gaussians, GaussianShapeMetric
    >>> networks = [Gaussians([[0.0], [s]], [[1.0], [1.0]]) for s in (1.0, 9.0, 1.2, 9.1)]
    >>> cluster_shapes(networks, 2).groups
    array([0, 1, 0, 1])
    """
    problem = mean_problem(networks, metric, workers)
    count = len(problem.networks)
    check_integer("n_init", n_init, 1)
    check_integer("max_iter", max_iter, 1)
    if check_integer("n_clusters", n_clusters, 1) > count:
        raise InputError(
            "There cannot be more clusters than networks. "
            f"Got {n_clusters} clusters for {count} networks."
        )
    runs = []
    for seed in np.random.SeedSequence(random_state).spawn(n_init):
        seeds = _plus_plus(problem, n_clusters, np.random.default_rng(seed))
        runs.append(_lloyd(problem, seeds, max_iter))
    groups, centers, distances, converged = min(runs, key=lambda run: _inertia(run[2]))
    warn_unconverged(converged, "clustering", max_iter, stacklevel=3)
    order = np.argsort([np.flatnonzero(groups == c)[0] for c in range(n_clusters)])
    return ShapeClusters(
        groups=np.argsort(order)[groups],  # clusters are numbered by their first network
        centers=tuple(centers[c] for c in order),
        distances=distances[:, order],
        inertia=_inertia(distances),
        converged=converged,
        n_init=n_init,
        random_state=random_state,
    )


def _inertia(distances: FloatArray) -> float:
    return float((distances.min(axis=1) ** 2).sum())


def _plus_plus(problem: Problem, count: int, rng: np.random.Generator) -> FloatArray:
    """Return distances (K, count) to initial means, drawn with k-means++."""
    chosen = [int(rng.integers(len(problem.networks)))]
    columns = [problem.distances_to(problem.networks[chosen[0]])]
    while len(chosen) < count:
        share = np.min(columns, axis=0) ** 2
        share[chosen] = 0.0
        if share.sum() == 0.0:  # only copies of the chosen networks are left
            share[[k for k in range(len(share)) if k not in chosen]] = 1.0
        chosen.append(int(rng.choice(len(share), p=share / share.sum())))
        columns.append(problem.distances_to(problem.networks[chosen[-1]]))
        columns[-1][chosen[-1]] = 0.0
    return np.column_stack(columns)


def _lloyd(
    problem: Problem, distances: FloatArray, max_iter: int
) -> tuple[IntArray, list[Any], FloatArray, bool]:
    groups = _assign(distances)
    for _ in range(max_iter):
        centers, distances = _centers(problem, groups)
        new = _assign(distances)
        if np.array_equal(new, groups):
            return groups, centers, distances, True
        groups = new
    return groups, *_centers(problem, groups), False


def _centers(problem: Problem, groups: IntArray) -> tuple[list[Any], FloatArray]:
    """Return the mean of each cluster, and the distances of all networks to the means."""
    found = [
        problem.solve(network_shares(groups == c, len(groups))) for c in range(groups.max() + 1)
    ]
    return [one.mean for one in found], np.column_stack([one.distances for one in found])


def _assign(distances: FloatArray) -> IntArray:
    """Assign networks to the nearest mean; an empty cluster gets the one with the worst fit."""
    groups = np.asarray(distances.argmin(axis=1), dtype=np.intp)
    for c in range(distances.shape[1]):
        if not (groups == c).any():
            sizes = np.bincount(groups, minlength=distances.shape[1])
            cost = np.where(sizes[groups] > 1, distances.min(axis=1), -1.0)
            groups[int(cost.argmax())] = c
    return groups
