"""Nearest neighbours, and predictions from them (Duong et al. 2023, Appendix B.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._compact import compact_repr
from repshape.analysis import _knn
from repshape.analysis.protocol import NeighborScore, Protocol, metadata_column
from repshape.errors import InputError, check_integer
from repshape.matrix.columns import ValuesLike
from repshape.matrix.distances import DistanceMatrix, as_complete

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

N_NEIGHBORS = range(1, 21)
N_FOLDS = 6  # the paper's
N_PERMUTATIONS = 99  # no p-value is below 0.01


@compact_repr
@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest neighbours of a network.

    Attributes
    ----------
    of : str
        Label of the network.
    labels : tuple of str
        Labels of its neighbours, the nearest first.
    indices : ndarray of int
        Their positions in the matrix.
    distances : ndarray
        Their distances.
    """

    of: str
    labels: tuple[str, ...]
    indices: IntArray
    distances: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each neighbour: ``network``, ``rank``, ``neighbor``, ``distance``."""
        count = len(self.labels)
        frame = pd.DataFrame({"network": [self.of] * count, "rank": range(1, count + 1)})
        return frame.assign(neighbor=list(self.labels), distance=self.distances.copy())

    def words(self) -> str:
        """Return one line of text, such as ``"c: b (2), a (3)"``."""
        pairs = zip(self.labels, self.distances, strict=True)
        return f"{self.of}: " + ", ".join(f"{label} ({far:.4g})" for label, far in pairs)


def nearest_neighbors(
    D: DistanceMatrix | npt.ArrayLike, network: str | int, n_neighbors: int = 5
) -> Neighbors:
    """Return the nearest neighbours of a network, given by its label or position.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Distances.
    network : str or int
        A label of ``D``, or a position.
    n_neighbors : int
        Maximum number of neighbours.

    Returns
    -------
    Neighbors

    Examples
    --------
    >>> D = DistanceMatrix([[0, 1, 3], [1, 0, 2], [3, 2, 0]], labels=["a", "b", "c"])
    >>> nearest_neighbors(D, "c").labels
    ('b', 'a')
    >>> nearest_neighbors(D, "c").words()
    'c: b (2), a (3)'
    """
    matrix = as_complete(D)
    check_integer("n_neighbors", n_neighbors, 1)
    k = _position(matrix, network)
    order = np.argsort(matrix.values[k], kind="stable")
    chosen = order[order != k][:n_neighbors]
    labels = tuple(matrix.labels[int(i)] for i in chosen)
    return Neighbors(matrix.labels[k], labels, chosen, matrix.values[k, chosen])


def knn_classify(
    D: DistanceMatrix | npt.ArrayLike,
    target: ValuesLike,
    *,
    n_neighbors: Iterable[int] = N_NEIGHBORS,
    test_size: float = 0.2,
    n_folds: int = N_FOLDS,
    n_repeats: int = 20,
    groups: ValuesLike | None = None,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> NeighborScore:
    """Predict the class of each network from its nearest neighbours.

    A random test set is held out, k is chosen by ``n_folds``-fold cross-validation on the other
    networks, and the accuracy on the test set is recorded. This is repeated ``n_repeats`` times. If
    votes are tied, the first class in sorted order wins, as in scikit-learn.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Distances.
    target : str, sequence of length K, Series or dict by name
        The classes, or the name of a column of ``D.metadata``. An index or keys that are the names
        of the networks are matched by name.
    n_neighbors : iterable of int
        Values of k to choose from.
    test_size : float
        Fraction of the networks in a test set.
    n_folds : int
        Number of folds of the cross-validation.
    n_repeats : int
        Number of random test sets.
    groups : str, sequence of length K, Series or dict by name, optional
        If given, each group (for example an animal, or a training run) is held out in turn, so
        that no network is predicted from its own group. Folds do not divide groups either.
    n_permutations : int
        Number of permutations of the targets for the p-value and ``null``. The whole protocol is
        repeated for each, with the same splits. If the target is constant in every group, groups
        are permuted. Pass 0 to save the time.
    random_state : int
        Seed of the splits and permutations.

    Returns
    -------
    NeighborScore

    Notes
    -----
    Compare the score with that of permuted targets (``null_mean``, ``null_interval``) rather than
    with ``chance``: choosing k and drawing test sets lowers the score of meaningless distances
    below it. With unequal classes, read ``balanced_accuracy`` too. To test whether groups of
    networks differ, use `repshape.inference.groups`, which has more power.

    Examples
    --------
    >>> points = np.r_[np.arange(20), 100 + np.arange(20)]
    >>> D = np.abs(np.subtract.outer(points, points))
    >>> found = knn_classify(D, ["low"] * 20 + ["high"] * 20, n_permutations=99)
    >>> found.estimate, found.chance, found.p_value
    (1.0, 0.5, 0.01)
    """
    matrix = as_complete(D)
    classes, codes = np.unique(metadata_column(matrix, target, "target"), return_inverse=True)
    if len(classes) < 2:
        raise InputError("There must be at least two classes. Got one.")
    chance = float(np.bincount(codes).max() / len(codes))
    protocol = Protocol(n_neighbors, test_size, n_folds, n_repeats, n_permutations, random_state)
    return protocol.run(
        matrix, codes.astype(np.float64), groups, _knn.CLASSIFICATION, chance, classes
    )


def knn_regress(
    D: DistanceMatrix | npt.ArrayLike,
    target: ValuesLike,
    *,
    n_neighbors: Iterable[int] = N_NEIGHBORS,
    test_size: float = 0.2,
    n_folds: int = N_FOLDS,
    n_repeats: int = 20,
    groups: ValuesLike | None = None,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> NeighborScore:
    r"""Predict a number for each network, as the mean over its nearest neighbours.

    The protocol is that of `knn_classify`, and the score is

    .. math:: R^2 = 1 - \sum_k (t_k - \hat t_k)^2 / \sum_k (t_k - \bar t)^2

    over the test set. If groups are held out, both sums are over all networks.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Distances.
    target : str, sequence of K numbers, Series or dict by name
        The numbers, or the name of a column of ``D.metadata``.
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
    matrix = as_complete(D)
    column = metadata_column(matrix, target, "target")
    if column.dtype.kind not in "biuf":
        raise InputError(f"The target must be numbers. Got values like {str(column[0])!r}.")
    protocol = Protocol(n_neighbors, test_size, n_folds, n_repeats, n_permutations, random_state)
    return protocol.run(matrix, column.astype(np.float64), groups, _knn.REGRESSION, 0.0)


def _position(matrix: DistanceMatrix, network: str | int) -> int:
    if isinstance(network, str):
        if network not in matrix.labels:
            raise InputError(f"There is no network named {network!r}.")
        return matrix.labels.index(network)
    if check_integer("network", network, 0) >= len(matrix):
        raise InputError(f"There are {len(matrix)} networks. Got position {network}.")
    return int(network)
