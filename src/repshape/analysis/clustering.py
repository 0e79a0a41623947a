"""Clusters of networks, from their distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.cluster import hierarchy
from sklearn.metrics import silhouette_score

from repshape._compact import compact_repr
from repshape.errors import InputError, check_choice, check_integer
from repshape.matrix.distances import DistanceMatrix, as_complete

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Ward's and centroid linkage are not offered, because they need points, not distances.
Linkage = Literal["average", "complete", "single", "weighted"]
LINKAGES = get_args(Linkage)
# A swap must gain more than rounding; otherwise medoids of equal cost could be exchanged for ever.
GAIN = 1e-12


@compact_repr
@dataclass(frozen=True, eq=False)
class Clustering:
    """A cluster for each network.

    Attributes
    ----------
    assignment : ndarray of int, shape (K,)
        Cluster of each network, numbered from 0 in order of first appearance.
    n_clusters : int
        Number of clusters. Hierarchical clustering may find fewer than requested if distances are
        tied.
    method : str
        Name of the method.
    medoids : ndarray of int, shape (n_clusters,)
        The network of each cluster with the smallest sum of distances to the others in it.
    cost : float
        Sum of the distances of all networks to the medoid of their cluster.
    silhouette : float
        Mean silhouette, from -1 to 1; NaN if there is one cluster, or one per network.
    tree : ndarray, shape (K - 1, 4), or None
        The merges, as `scipy.cluster.hierarchy.linkage` gives them.
    labels : tuple of str
        Names of the networks.
    """

    assignment: IntArray
    n_clusters: int
    method: str
    medoids: IntArray
    cost: float
    silhouette: float
    tree: FloatArray | None
    labels: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return columns ``cluster`` and ``medoid`` (a label), indexed by label."""
        names = [self.labels[k] for k in self.medoids[self.assignment]]
        return pd.DataFrame(
            {"cluster": self.assignment.copy(), "medoid": names}, index=list(self.labels)
        )


def cluster_hierarchical(
    D: DistanceMatrix | npt.ArrayLike, n_clusters: int, *, linkage: Linkage = "average"
) -> Clustering:
    """Merge the closest clusters until ``n_clusters`` are left.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Non-negative distances.
    n_clusters : int
        Number of clusters, at most K.
    linkage : {"average", "complete", "single", "weighted"}
        Distance between clusters: the mean, the largest or the smallest distance of their pairs,
        or the mean of the distances to the two clusters that were merged last.

    Returns
    -------
    Clustering

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0, 1, 9, 10, 11], [0, 1, 9, 10, 11]))
    >>> found = cluster_hierarchical(D, 2)
    >>> found.assignment, found.medoids
    (array([0, 0, 1, 1, 1]), array([0, 3]))
    """
    check_choice("linkage", linkage, LINKAGES)
    matrix = _checked(D, n_clusters)
    if len(matrix) == 1:
        return _clustering(matrix, np.zeros(1, np.int64), "hierarchical", np.zeros((0, 4)))
    tree = hierarchy.linkage(matrix.condensed(), linkage)
    found = hierarchy.fcluster(tree, n_clusters, criterion="maxclust")
    return _clustering(matrix, found.astype(np.int64), f"hierarchical ({linkage} linkage)", tree)


def cluster_medoids(
    D: DistanceMatrix | npt.ArrayLike,
    n_clusters: int,
    *,
    n_init: int = 10,
    random_state: int | np.random.Generator | None = 0,
) -> Clustering:
    r"""Cluster networks around medoids, the networks that best represent all others.

    .. math:: \min_{m_1, \dots, m_C} \sum_k \min_c D_{k m_c}

    Medoids are exchanged for other networks as long as this reduces the cost (PAM), from a greedy
    start and from ``n_init - 1`` random ones.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Non-negative distances.
    n_clusters : int
        Number of clusters C, at most K.
    n_init : int
        Number of starts.
    random_state : int, numpy.random.Generator or None
        Seed of the random starts.

    Returns
    -------
    Clustering

    References
    ----------
    Schubert and Rousseeuw, "Fast and eager k-medoids clustering", Information Systems 101, 2021.

    Examples
    --------
    >>> D = np.abs(np.subtract.outer([0, 1, 9, 10, 11], [0, 1, 9, 10, 11]))
    >>> found = cluster_medoids(D, 2)
    >>> found.assignment, found.medoids, found.cost
    (array([0, 0, 1, 1, 1]), array([0, 3]), 3.0)
    """
    check_integer("n_init", n_init, 1)
    matrix = _checked(D, n_clusters)
    values, rng = matrix.values, np.random.default_rng(random_state)
    starts = [_greedy(values, n_clusters)]
    starts += [rng.permutation(len(values))[:n_clusters] for _ in range(n_init - 1)]
    solutions = [_exchange(values, start) for start in starts]
    costs = [values[:, medoids].min(axis=1).sum() for medoids in solutions]
    best = solutions[int(np.argmin(costs))]
    nearest = values[:, best].argmin(axis=1)
    nearest[best] = np.arange(n_clusters)  # even if networks coincide
    return _clustering(matrix, nearest.astype(np.int64), "k-medoids (PAM)", None)


def _greedy(values: FloatArray, n_clusters: int) -> IntArray:
    """Add one network at a time, each time the one that reduces the cost most."""
    medoids: list[int] = []
    nearest = np.full(len(values), values.max())
    for _ in range(n_clusters):
        gains = np.maximum(nearest[:, None] - values, 0.0).sum(axis=0)
        gains[medoids] = -1.0
        medoids.append(int(gains.argmax()))
        nearest = np.minimum(nearest, values[:, medoids[-1]])
    return np.array(medoids, dtype=np.int64)


def _exchange(values: FloatArray, medoids: IntArray) -> IntArray:
    """Make the exchange that reduces the cost most, until none does."""
    medoids = np.array(medoids, dtype=np.int64)
    least = -GAIN * max(float(values.sum()), np.finfo(np.float64).tiny)
    while True:
        change = _changes(values, medoids)
        out, into = divmod(int(change.argmin()), len(values))
        if change[out, into] >= least:
            return medoids
        medoids[out] = into


def _changes(values: FloatArray, medoids: IntArray) -> FloatArray:
    """Return the change of cost if network j replaces medoid c, shape (C, K).

    The cost of a network whose nearest medoid, at distance d1, remains changes by min(d_j - d1, 0).
    A network whose nearest medoid is removed moves to the second nearest, at d2, or to j: its cost
    also increases by clip(d_j, d1, d2) - d1.
    """
    to_medoids = values[:, medoids]
    owner = to_medoids.argmin(axis=1)
    first = to_medoids[np.arange(len(values)), owner]
    to_medoids[np.arange(len(values)), owner] = values.max()  # correct for a single medoid, too
    second = to_medoids.min(axis=1)
    gain = np.minimum(values - first[:, None], 0.0).sum(axis=0)
    pays = np.clip(values, first[:, None], second[:, None]) - first[:, None]
    members = (owner == np.arange(len(medoids))[:, None]).astype(np.float64)
    changes: FloatArray = gain + members @ pays
    return changes


def _checked(D: DistanceMatrix | npt.ArrayLike, n_clusters: int) -> DistanceMatrix:
    matrix = as_complete(D)
    if check_integer("n_clusters", n_clusters, 1) > len(matrix):
        raise InputError(f"There are only {len(matrix)} networks for {n_clusters} clusters.")
    if matrix.values.min() < 0.0:
        raise InputError("Distances must not be negative for clustering. Repair them first.")
    return matrix


def _clustering(
    matrix: DistanceMatrix, found: IntArray, method: str, tree: FloatArray | None
) -> Clustering:
    """Return clusters, numbered by first appearance, with medoids, cost and silhouette."""
    _, first, inverse = np.unique(found, return_index=True, return_inverse=True)
    assignment = np.argsort(np.argsort(first))[inverse].astype(np.int64)
    count, values = len(first), matrix.values
    members = (assignment == np.arange(count)[:, None]).astype(np.float64)
    sums = np.where(members > 0.0, members @ values, np.inf)
    medoids = sums.argmin(axis=1).astype(np.int64)
    silhouette = float("nan")
    if 2 <= count < len(matrix):
        silhouette = float(silhouette_score(values, assignment, metric="precomputed"))
    for array in (assignment, medoids) if tree is None else (assignment, medoids, tree):
        array.setflags(write=False)
    cost = float(values[np.arange(len(values)), medoids[assignment]].sum())
    return Clustering(assignment, count, method, medoids, cost, silhouette, tree, matrix.labels)
