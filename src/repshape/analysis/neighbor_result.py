"""What a neighbour search returns: neighbours, distances, and how little was solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_matrix

from repshape._arrays import count
from repshape._compact import html_table
from repshape._joins import in_order
from repshape._labels import find_label
from repshape.analysis import _knn
from repshape.analysis.neighbors import Neighbors
from repshape.errors import InputError, check_integer
from repshape.matrix.columns import ValuesLike

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
NOBODY = -1


@dataclass(frozen=True, eq=False, repr=False)
class NeighborGraph:
    """The nearest neighbours of networks, without the distances between all of them.

    Attributes
    ----------
    of : tuple of str
        Networks whose neighbours were searched: those of the cohort, of a shard, or new ones.
    labels : tuple of str
        Networks of the cohort, among which neighbours were searched.
    indices : ndarray of int, shape (len(of), width)
        Positions of the neighbours in the cohort, the nearest first. If a network has fewer
        neighbours within the radius than others, its row ends with -1.
    distances : ndarray, shape (len(of), width)
        Their distances; infinite where there is no neighbour.
    k : int or None
        Number of neighbours asked for.
    radius : float
        Largest distance of a neighbour; infinite without one.
    n_pairs, n_solved : int
        Number of pairs of the whole matrix, and how many of them were solved. Solved pairs of an
        earlier run into the same store are included.
    metadata : pandas.DataFrame
        A row for each network of the cohort.
    description : dict
        The metric, as in `repshape.DistanceMatrix`.
    settings : dict
        ``bounds``: what excluded pairs. ``tight_bounds``: how many bounds needed a decomposition.
        ``pivots``, ``exact``: as they were used. ``doubtful_pairs``: solved pairs that may be
        longer than necessary. ``reused_pairs``: solved pairs that the store had already.
    """

    of: tuple[str, ...]
    labels: tuple[str, ...]
    indices: IntArray
    distances: FloatArray
    k: int | None
    radius: float
    n_pairs: int
    n_solved: int
    metadata: pd.DataFrame
    description: dict[str, Any]
    settings: dict[str, Any]

    @classmethod
    def of_rows(cls, found: Sequence[tuple[IntArray, FloatArray]], **fields: Any) -> Self:
        """Return a graph from the neighbours of each row."""
        width = max((len(indices) for indices, _ in found), default=0)
        indices = np.full((len(found), width), NOBODY, dtype=np.intp)
        distances = np.full((len(found), width), np.inf)
        for row, (near, far) in enumerate(found):
            indices[row, : len(near)], distances[row, : len(near)] = near, far
        for array in (indices, distances):
            array.setflags(write=False)
        return cls(indices=indices, distances=distances, **fields)

    @property
    def share_solved(self) -> float:
        """Fraction of the pairs of the whole matrix that were solved."""
        return self.n_solved / self.n_pairs if self.n_pairs else 0.0

    @cached_property
    def graph(self) -> csr_matrix:
        """Distances as a sparse matrix, shape (len(of), len(labels)), for scikit-learn.

        It has the form of ``KNeighborsTransformer(mode="distance")``, and is accepted by estimators
        with ``metric="precomputed"``. Rows are sorted by distance. A network of the cohort comes
        first in its own row, with distance zero.
        """
        kept = self.indices != NOBODY
        counts = kept.sum(axis=1)
        columns, values = self.indices[kept], self.distances[kept]
        own = self._own_places()
        starts = np.concatenate([[0], np.cumsum(counts)])
        if own is not None:
            columns = np.insert(columns, starts[:-1], own)
            values = np.insert(values, starts[:-1], 0.0)
            starts = starts + np.arange(len(starts))
        shape = (len(self.of), len(self.labels))
        return csr_matrix((values, columns, starts), shape=shape)

    def _own_places(self) -> IntArray | None:
        """Return the places of the rows in the cohort, or None if they are new networks."""
        if self.settings.get("query", False):
            return None
        start = self.labels.index(self.of[0]) if self.of else 0
        return np.arange(start, start + len(self.of))

    def neighbors(self, network: str | int) -> Neighbors:
        """Return the neighbours of one network, given by its label or its row."""
        row = network
        if isinstance(row, str):
            row = find_label(row, self.of, "network")
        elif check_integer("network", row, 0) >= len(self.of):
            raise InputError(f"There are {count(len(self.of), 'row')}. Got row {row}.")
        kept = self.indices[row] != NOBODY
        near = self.indices[row][kept]
        names = tuple(self.labels[place] for place in near)
        return Neighbors(self.of[row], names, near, self.distances[row][kept])

    def predict(self, target: ValuesLike) -> pd.Series[Any]:
        """Predict metadata of each network from those of its neighbours.

        Numbers are predicted by the mean over the neighbours, and other values by the most frequent
        one; of several, the first in sorted order, as in scikit-learn. A network is never its own
        neighbour, so predictions for the cohort itself are out of sample.

        Parameters
        ----------
        target : str, sequence, Series or dict by name
            A column of the metadata of the cohort, or a value for each network of it.

        Returns
        -------
        pandas.Series
            A prediction for each network; missing if it has no neighbour.

        Examples
        --------
        >>> points = {"a": 0.0, "b": 1.0, "c": 5.0, "d": 6.0}
        >>> from repshape.analysis import query
        >>> found = query(points, 0.4, lambda x, y: abs(x - y), k=3)
        >>> found.predict(["low", "low", "high", "high"])["x"]
        'low'
        """
        values = self._column(target)
        numeric = values.dtype.kind in "iuf"
        if pd.isna(values).any():
            raise InputError("The 'target' parameter must be known for every network. Got NaN.")
        classes, codes = np.unique(values if numeric else values.astype(str), return_inverse=True)
        names = classes.tolist()
        task = _knn.REGRESSION if numeric else _knn.CLASSIFICATION
        numbers = values.astype(np.float64) if numeric else codes.astype(np.float64)
        found: list[Any] = []
        for row in self.indices:
            near = numbers[row[row != NOBODY]]
            guess = task.predict(near[None])[-1, 0] if len(near) else None
            found.append(guess if guess is None or numeric else names[int(guess)])
        title = target if isinstance(target, str) else None
        return pd.Series(found, index=list(self.of), name=title)

    def _column(self, target: ValuesLike) -> npt.NDArray[Any]:
        if isinstance(target, str):
            columns = [str(column) for column in self.metadata.columns]
            return self.metadata.iloc[:, find_label(target, columns, "column")].to_numpy()
        return np.asarray(in_order(target, self.labels, len(self.labels), "target"))

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each neighbour: ``network``, ``rank``, ``neighbor``, ``distance``."""
        row, rank = np.nonzero(self.indices != NOBODY)
        return pd.DataFrame(
            {
                "network": np.array(self.of, dtype=object)[row],
                "rank": rank + 1,
                "neighbor": np.array(self.labels, dtype=object)[self.indices[row, rank]],
                "distance": self.distances[row, rank],
            }
        )

    def summary(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        return {
            "networks": len(self.of),
            "cohort": len(self.labels),
            "k": self.k,
            "radius": self.radius if np.isfinite(self.radius) else None,
            "pairs": self.n_pairs,
            "solved": self.n_solved,
            "share_solved": self.share_solved,
            **self.settings,
        }

    def words(self) -> str:
        """Return the result in one sentence."""
        what = "neighbours" if self.k is None else f"{count(self.k, 'nearest neighbour')}"
        within = f" within {self.radius:g}" if np.isfinite(self.radius) else ""
        reused = self.settings.get("reused_pairs", 0)
        return (
            f"{what} of {count(len(self.of), 'network')}{within}: {self.n_solved} of "
            f"{count(self.n_pairs, 'pair')} solved ({100 * self.share_solved:.3g} %)"
            f"{f', of which {reused} were known already' if reused else ''}."
        )

    def __repr__(self) -> str:
        return f"NeighborGraph({self.words().rstrip('.')})"

    def _repr_html_(self) -> str:
        rows = {
            "networks": str(len(self.of)),
            "neighbours": "all" if self.k is None else str(self.k),
            "radius": f"{self.radius:g}",
            "pairs solved": f"{self.n_solved} of {self.n_pairs} ({100 * self.share_solved:.3g} %)",
            "lower bounds": str(self.settings.get("bounds", "none")),
        }
        return html_table("NeighborGraph", rows)
