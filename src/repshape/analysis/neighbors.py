"""What the neighbours of a network tell about it (Duong et al. 2023, Appendix B.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.analysis import _knn
from repshape.analysis.protocol import NeighborScore, Protocol, metadata_column
from repshape.errors import InputError, check_integer
from repshape.matrix.distances import DistanceMatrix, as_complete

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

N_NEIGHBORS = range(1, 21)
N_FOLDS = 6  # the paper's


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The networks nearest to one.

    Attributes
    ----------
    of : str
        The network.
    labels : tuple of str
        Its neighbours, the nearest first.
    indices : ndarray of int
        Where they are in the matrix.
    distances : ndarray
        How far they are.
    """

    of: str
    labels: tuple[str, ...]
    indices: IntArray
    distances: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return the distances, indexed by the neighbours' labels."""
        return pd.DataFrame({"distance": self.distances.copy()}, index=list(self.labels))


def nearest_neighbors(
    D: DistanceMatrix | npt.ArrayLike, network: str | int, n_neighbors: int = 5
) -> Neighbors:
    """Return the networks nearest to one, by label or position.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Distances.
    network : str or int
        A label of ``D``, or a position.
    n_neighbors : int
        How many; fewer if there are no more.

    Returns
    -------
    Neighbors

    Examples
    --------
    >>> D = DistanceMatrix([[0, 1, 3], [1, 0, 2], [3, 2, 0]], labels=["a", "b", "c"])
    >>> nearest_neighbors(D, "c", 1).labels
    ('b',)
    """
    matrix = _matrix(D)
    check_integer("n_neighbors", n_neighbors, 1)
    k = _position(matrix, network)
    order = np.argsort(matrix.values[k], kind="stable")
    chosen = order[order != k][:n_neighbors]
    labels = tuple(matrix.labels[int(i)] for i in chosen)
    return Neighbors(matrix.labels[k], labels, chosen, matrix.values[k, chosen])


def knn_classify(
    D: DistanceMatrix | npt.ArrayLike,
    target: str | Sequence[Any] | npt.NDArray[Any],
    *,
    n_neighbors: Iterable[int] = N_NEIGHBORS,
    test_size: float = 0.2,
    n_folds: int = N_FOLDS,
    n_repeats: int = 20,
    groups: str | Sequence[Any] | npt.NDArray[Any] | None = None,
    n_permutations: int = 0,
    random_state: int = 0,
) -> NeighborScore:
    """Decode a class of each network from its nearest neighbours.

    A random test set is held out; ``n_folds``-fold cross-validation on the rest chooses k; the
    accuracy on the test set is reported; all of it ``n_repeats`` times. Votes that tie go to the
    first class in sorted order, as in scikit-learn.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Distances.
    target : str or sequence, length K
        The classes, or the column of ``D.metadata`` that holds them.
    n_neighbors : iterable of int
        The k to choose from.
    test_size : float
        Share of the networks that is held out.
    n_folds : int
        Folds of the cross-validation.
    n_repeats : int
        Number of random test sets.
    groups : str or sequence, length K, optional
        Hold out each group (an animal, a training run) in turn instead, so that no network is
        predicted from its own group. Folds keep groups together too.
    n_permutations : int
        Number of permutations of the targets for the p-value. Each runs the whole protocol on
        the same splits. Where a target is constant in every group, groups are permuted.
    random_state : int
        Seed of splits and permutations.

    Returns
    -------
    NeighborScore

    Examples
    --------
    >>> points = np.r_[np.arange(20), 100 + np.arange(20)]
    >>> D = np.abs(np.subtract.outer(points, points))
    >>> found = knn_classify(D, ["low"] * 20 + ["high"] * 20, n_permutations=99)
    >>> found.estimate, found.chance, found.p_value
    (1.0, 0.5, 0.01)
    """
    matrix = _matrix(D)
    classes, codes = np.unique(metadata_column(matrix, target, "target"), return_inverse=True)
    if len(classes) < 2:
        raise InputError("There must be at least two classes. Got one.")
    chance = float(np.bincount(codes).max() / len(codes))
    protocol = Protocol(n_neighbors, test_size, n_folds, n_repeats, n_permutations, random_state)
    return protocol.run(matrix, codes.astype(np.float64), groups, _knn.CLASSIFICATION, chance)


def knn_regress(
    D: DistanceMatrix | npt.ArrayLike,
    target: str | Sequence[float] | npt.NDArray[Any],
    *,
    n_neighbors: Iterable[int] = N_NEIGHBORS,
    test_size: float = 0.2,
    n_folds: int = N_FOLDS,
    n_repeats: int = 20,
    groups: str | Sequence[Any] | npt.NDArray[Any] | None = None,
    n_permutations: int = 0,
    random_state: int = 0,
) -> NeighborScore:
    r"""Predict a number for each network as the mean of its nearest neighbours.

    The protocol is that of `knn_classify`, and the score is

    .. math:: R^2 = 1 - \sum_k (t_k - \hat t_k)^2 / \sum_k (t_k - \bar t)^2

    over the test set. When groups are left out, errors and spread are taken over all networks.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Distances.
    target : str or sequence of float, length K
        The numbers, or the column of ``D.metadata`` that holds them.
    n_neighbors, test_size, n_folds, n_repeats, groups, n_permutations, random_state
        As in `knn_classify`.

    Returns
    -------
    NeighborScore

    Examples
    --------
    >>> points = np.linspace(0.0, 1.0, 60)
    >>> D = np.abs(np.subtract.outer(points, points))
    >>> knn_regress(D, points**2).estimate > 0.99
    True
    """
    matrix = _matrix(D)
    column = metadata_column(matrix, target, "target")
    if column.dtype.kind not in "biuf":
        raise InputError(f"The target must be numbers. Got values like {str(column[0])!r}.")
    protocol = Protocol(n_neighbors, test_size, n_folds, n_repeats, n_permutations, random_state)
    return protocol.run(matrix, column.astype(np.float64), groups, _knn.REGRESSION, 0.0)


def _matrix(D: DistanceMatrix | npt.ArrayLike) -> DistanceMatrix:
    return as_complete(D)


def _position(matrix: DistanceMatrix, network: str | int) -> int:
    if isinstance(network, str):
        if network not in matrix.labels:
            raise InputError(f"There is no network named {network!r}.")
        return matrix.labels.index(network)
    if check_integer("network", network, 0) >= len(matrix):
        raise InputError(f"There are {len(matrix)} networks. Got position {network}.")
    return int(network)
