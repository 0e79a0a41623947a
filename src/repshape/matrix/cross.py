"""Distances between two sets of networks, with their names and how they were measured."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._arrays import count
from repshape._labels import find_label, find_labels, select_rows
from repshape.errors import InputError
from repshape.matrix.base import Distances
from repshape.matrix.checks import check_block, check_labels, check_metadata
from repshape.matrix.summary import doubt_words

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Table = pd.DataFrame | Mapping[str, Any] | None

# What may be known of each pair besides its distance, and its type.
PAIR_TYPES: dict[str, Any] = {
    "lower_bounds": np.float64,
    "converged": np.bool_,
    "n_starts": np.int64,
    "n_agreeing": np.int64,
    "gaps": np.float64,
}


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CrossDistances(Distances):
    """Distances from each of R networks, the rows, to each of C others, the columns.

    `repshape.cross` returns it. ``C["mouse 1", "layer3"]`` is the distance of a row and a column,
    ``C[["mouse 1", "mouse 2"], ["layer3"]]`` the block of some of them, and anything but labels
    indexes the values, as in NumPy. Its arrays are read-only.

    Parameters
    ----------
    values : array_like, shape (R, C)
        Distances: finite. Estimates may be negative.
    row_labels, column_labels : sequence of str, optional
        Names of the networks, unique in each set; ``"0"``, ``"1"``, ... by default. A row and a
        column may have the same name.
    row_metadata, column_metadata : pandas.DataFrame, or dict of dicts by name, optional
        A row for each network of a set, joined by name as in `DistanceMatrix`.
    lower_bounds : array_like, shape (R, C), optional
        Proven lower bounds: no transform brings a pair closer than this.
    converged : array_like of bool, shape (R, C), optional
        Whether the solver converged for each pair.
    n_starts, n_agreeing : array_like of int, shape (R, C), optional
        Number of independent starts of each pair's search, and how many of them ended in its best
        optimum; 0 starts stand for a pair that has not been computed yet.
    gaps : array_like, shape (R, C), optional
        By what share the second-best optimum that was found is longer than the best: 0 if there
        was no other, NaN where that is not known.
    description : mapping, optional
        What was measured: metric, parameters with seeds, version.
    missing : bool
        Whether NaN may stand for pairs that have not been computed yet.

    Examples
    --------
    >>> C = CrossDistances([[3.0, 5.0], [2.0, 4.0]], ["a", "b"], ["a", "c"])
    >>> C
    CrossDistances(2 x 2 networks, distances 2 to 5)
    >>> C["b", "a"]
    2.0
    >>> C[["b"], ["c", "a"]].values
    array([[4., 2.]])
    """

    values: FloatArray
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    row_metadata: pd.DataFrame
    column_metadata: pd.DataFrame
    lower_bounds: FloatArray | None
    converged: BoolArray | None
    n_starts: IntArray | None
    n_agreeing: IntArray | None
    gaps: FloatArray | None
    description: dict[str, Any]

    def __init__(
        self,
        values: npt.ArrayLike,
        row_labels: Sequence[str] | None = None,
        column_labels: Sequence[str] | None = None,
        *,
        row_metadata: Table = None,
        column_metadata: Table = None,
        lower_bounds: npt.ArrayLike | None = None,
        converged: npt.ArrayLike | None = None,
        n_starts: npt.ArrayLike | None = None,
        n_agreeing: npt.ArrayLike | None = None,
        gaps: npt.ArrayLike | None = None,
        description: Mapping[str, Any] | None = None,
        missing: bool = False,
    ) -> None:
        distances = _check_values(values, missing)
        names = [
            check_labels(given, size)
            for given, size in zip((row_labels, column_labels), distances.shape, strict=True)
        ]
        pairs = (lower_bounds, converged, n_starts, n_agreeing, gaps)
        known = {
            name: check_block(given, name, distances.shape, kind)
            for given, (name, kind) in zip(pairs, PAIR_TYPES.items(), strict=True)
        }
        fields = {
            "values": distances,
            "row_labels": names[0],
            "column_labels": names[1],
            "row_metadata": check_metadata(row_metadata, names[0]),
            "column_metadata": check_metadata(column_metadata, names[1]),
            "description": dict(description or {}),
        }
        for name, value in (fields | known).items():
            object.__setattr__(self, name, value)  # the class is frozen

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns, (R, C)."""
        return len(self.row_labels), len(self.column_labels)

    def _pairs(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return array.ravel()

    def doubt_words(self) -> str:
        """Say how many pairs may be longer than necessary, and by how much; nothing if none."""
        return doubt_words(self)

    def summary(self) -> str:
        """Return in words what the block holds, and how far to trust it.

        Examples
        --------
        >>> C = CrossDistances([[3.0, 5.0], [2.0, 4.0]], ["x", "y"], ["u", "v"])
        >>> print(C.summary())
        2 x 2 networks, 4 pairs.
        Distances from 2 (y and u) to 5 (x and v).
        """
        size = f"{self.shape[0]} x {self.shape[1]} networks, {count(self.values.size, 'pair')}"
        metric = str(self.description.get("metric") or "")
        lines = [f"{size}, {metric}." if metric else f"{size}."]
        if self.n_missing:
            lines[0] += f" {count(self.n_missing, 'pair')} not computed yet."
        if self.n_missing < self.values.size:
            lines.append(self._range())
        if self.n_unconverged:
            pairs = count(self.n_unconverged, "pair")
            lines.append(f"The solver stopped before it converged for {pairs}.")
        return "\n".join([*lines, *(f"{one}." for one in [doubt_words(self)] if one)])

    def _range(self) -> str:
        ends = []
        for place in (np.nanargmin(self.values), np.nanargmax(self.values)):
            i, j = np.unravel_index(place, self.shape)
            names = f"{self.row_labels[i]} and {self.column_labels[j]}"
            ends.append(f"{self.values[i, j]:.4g} ({names})")
        return f"Distances from {ends[0]} to {ends[1]}."

    def to_frame(self) -> pd.DataFrame:
        """Return the distances as a DataFrame with the labels of rows and columns."""
        rows, columns = list(self.row_labels), list(self.column_labels)
        return pd.DataFrame(self.values.copy(), index=rows, columns=columns)

    def select(
        self, rows: Mapping[str, Any] | None = None, columns: Mapping[str, Any] | None = None
    ) -> CrossDistances:
        """Return the block of the networks whose metadata match.

        Parameters
        ----------
        rows, columns : mapping, optional
            For each column of the metadata a value, a list of values, or a function of a value
            that returns True or False; all networks by default.

        Examples
        --------
        >>> table = pd.DataFrame({"area": ["V1", "IT"]})
        >>> C = CrossDistances([[3.0, 5.0], [2.0, 4.0]], ["x", "y"], row_metadata=table)
        >>> C.select(rows={"area": "IT"}).row_labels
        ('y',)
        """
        chosen = [
            list(range(size)) if not where else select_rows(table, where)
            for where, table, size in (
                (rows, self.row_metadata, self.shape[0]),
                (columns, self.column_metadata, self.shape[1]),
            )
        ]
        return self._block(*chosen)

    def _block(self, rows: Sequence[int], columns: Sequence[int]) -> CrossDistances:
        fields = self._fields() | {
            "row_labels": [self.row_labels[k] for k in rows],
            "column_labels": [self.column_labels[k] for k in columns],
            "row_metadata": self.row_metadata.iloc[list(rows)],
            "column_metadata": self.column_metadata.iloc[list(columns)],
        }
        for name in ("values", *PAIR_TYPES):
            fields[name] = None if fields[name] is None else fields[name][np.ix_(rows, columns)]
        return CrossDistances(**fields, missing=True)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            raise InputError(f"Give a row and a column, as in C[{key!r}, 'another']. Got {key!r}.")
        if isinstance(key, tuple) and len(key) == 2:
            if all(isinstance(one, str) for one in key):
                row, column = key
                i = find_label(row, self.row_labels, "row")
                return float(self.values[i, find_label(column, self.column_labels, "column")])
            if all(_are_names(one) for one in key):
                rows = find_labels(key[0], self.row_labels, "row")
                return self._block(rows, find_labels(key[1], self.column_labels, "column"))
        return self.values[key]

    def plot(self, **options: Any) -> Any:
        """Draw the block with `repshape.plots.plot_cross`, whose options it takes."""
        from repshape.plots.cross import plot_cross

        return plot_cross(self, **options)

    def replace(self, **changes: Any) -> CrossDistances:
        """Return a copy in which some fields are changed, and everything else is kept.

        Parameters
        ----------
        **changes
            Parameters of `CrossDistances` by name, except ``missing``. With other values, what is
            known of each pair is dropped unless it is given too.
        """
        kept = self._fields() | (dict.fromkeys(PAIR_TYPES) if "values" in changes else {})
        for side in ("row", "column"):  # other names for the same rows
            if f"{side}_labels" in changes:
                kept[f"{side}_metadata"] = kept[f"{side}_metadata"].reset_index(drop=True)
        return CrossDistances(**(kept | changes), missing=not self.complete)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an NPZ file, whole or not at all; it keeps everything and holds no pickle."""
        from repshape.io.cross import write_cross

        write_cross(path, self._fields())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, max_bytes: int | str | None = None
    ) -> CrossDistances:
        """Read what `save` wrote, or open a store of `repshape.cross`, complete or not.

        Nothing is ever unpickled; ``max_bytes`` is as in `DistanceMatrix.load`.
        """
        if Path(path).is_dir():
            from repshape.engine.store import read_cross as read_store

            return read_store(path)
        from repshape.io.cross import read_cross

        return cls._made(read_cross(path, max_bytes), path, "distances of two sets")

    def __repr__(self) -> str:
        parts = [f"{self.shape[0]} x {self.shape[1]} networks"]
        known = self.values[~np.isnan(self.values)]
        if known.size:
            parts.append(f"distances {known.min():.4g} to {known.max():.4g}")
        if self.description.get("metric"):
            parts.append(str(self.description["metric"]))
        if self.n_missing:
            parts.append(f"{self.n_missing} of {self.values.size} pairs missing")
        return f"CrossDistances({', '.join(parts)})"


def _check_values(values: npt.ArrayLike, missing: bool) -> FloatArray:
    if np.iscomplexobj(values):
        raise InputError("Distances must be real numbers. Got complex ones.")
    distances = np.array(values, dtype=np.float64)
    if distances.ndim != 2 or not distances.size:
        raise InputError(
            f"Distances must have the shape (rows, columns). Got shape {distances.shape}."
        )
    if np.isinf(distances).any() or (np.isnan(distances).any() and not missing):
        raise InputError("Distances must be finite. Got NaN or infinity.")
    distances.setflags(write=False)
    return distances


def _are_names(key: Any) -> bool:
    return isinstance(key, list | tuple) and bool(key) and all(isinstance(k, str) for k in key)
