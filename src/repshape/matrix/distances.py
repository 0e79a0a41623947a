"""A matrix of distances that knows what it measures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._labels import find_label, find_labels, select_rows
from repshape.errors import InputError
from repshape.matrix.base import Distances
from repshape.matrix.checks import check_distances, check_labels, check_metadata, check_square
from repshape.matrix.error_bars import ErrorBars, check_error_bars
from repshape.matrix.sizes import check_sizes
from repshape.matrix.summary import summarise

__all__ = ["DistanceMatrix", "as_complete", "check_labels", "check_metadata"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

# What may be known of each pair besides its distance.
COUNTS = ("n_starts", "n_agreeing", "n_composed")
PAIR_FIELDS = ("lower_bounds", "converged", *COUNTS, "gaps", "draw_deviations")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DistanceMatrix(Distances):
    """Distances between K networks, with their names and how they were measured.

    It is accepted wherever scikit-learn takes ``metric="precomputed"``, and by `numpy.asarray`. Its
    arrays are read-only; `replace` returns a changed copy. ``D["a", "b"]`` is the distance between
    two networks, and ``D[["a", "b", "c"]]`` the matrix of some of them. Anything but labels
    indexes the values, as in NumPy.

    Parameters
    ----------
    values : array_like, shape (K, K)
        Distances: finite, symmetric, zero on the diagonal. Estimates may be negative.
    labels : sequence of str, optional
        Unique names of the networks; ``"0"``, ``"1"``, ... by default.
    metadata : pandas.DataFrame, or dict of dicts by name, optional
        A row for each network. An index that holds the labels is matched with them, in any order;
        rows with the default index 0, 1, ... are in the order of the networks. Any other index is
        refused. The labels become its index.
    lower_bounds : array_like, shape (K, K), optional
        Proven lower bounds: no transform brings a pair closer than this.
    converged : array_like of bool, shape (K, K), optional
        Whether the solver converged for each pair.
    description : mapping, optional
        What was measured: metric, parameters with seeds, version. It can be saved if JSON can
        hold it.
    error_bars : ErrorBars, optional
        Intervals, noise floors and uncorrected distances, as `repshape.inference.matrix` estimates
        them.
    n_starts, n_agreeing : array_like of int, shape (K, K), optional
        Number of independent starts of each pair's search, and how many of them ended in its best
        optimum: 0 if no start of its own did, and the alignment was composed from those of other
        pairs. 0 starts stand for a pair that has not been computed yet.
    n_composed : array_like of int, shape (K, K), optional
        Number of compositions of other pairs' alignments that ended in the best optimum.
    sizes : pandas.DataFrame or mapping, optional
        Columns ``neurons`` and ``trials`` (of the condition with fewest), NaN where unknown, with
        an entry for each network. `repshape.pairwise` records them, and for Gaussian metrics the
        ``norm`` of the responses; after PCA, also the ``overlap`` of the principal components of
        two halves of the trials. The last two are left out if responses are very large, and with
        a store.
    draw_deviations : array_like, shape (K, K), optional
        Standard deviation of each distance over random draws of networks of the same size, if it
        is the root mean square over such draws; see ``match`` of `repshape.pairwise`.
    gaps : array_like, shape (K, K), optional
        By what share the second-best optimum that was found is longer than the best: 0 if there
        was no other, NaN where that is not known.
    missing : bool
        Whether NaN may stand for pairs that have not been computed yet.

    Examples
    --------
    >>> D = DistanceMatrix([[0.0, 1.5], [1.5, 0.0]], labels=["vae", "mouse"])
    >>> D
    DistanceMatrix(2 networks, distances 1.5 to 1.5)
    >>> D.to_frame().loc["vae", "mouse"].item()
    1.5
    >>> D["vae", "mouse"]
    1.5
    """

    values: FloatArray
    labels: tuple[str, ...]
    metadata: pd.DataFrame
    lower_bounds: FloatArray | None
    converged: BoolArray | None
    description: dict[str, Any]
    error_bars: ErrorBars | None
    n_starts: IntArray | None
    n_agreeing: IntArray | None
    n_composed: IntArray | None
    sizes: pd.DataFrame | None
    draw_deviations: FloatArray | None
    gaps: FloatArray | None

    def __init__(
        self,
        values: npt.ArrayLike,
        labels: Sequence[str] | None = None,
        metadata: pd.DataFrame | Mapping[str, Any] | None = None,
        lower_bounds: npt.ArrayLike | None = None,
        converged: npt.ArrayLike | None = None,
        description: Mapping[str, Any] | None = None,
        error_bars: ErrorBars | None = None,
        *,
        n_starts: npt.ArrayLike | None = None,
        n_agreeing: npt.ArrayLike | None = None,
        n_composed: npt.ArrayLike | None = None,
        sizes: pd.DataFrame | Mapping[str, Any] | None = None,
        draw_deviations: npt.ArrayLike | None = None,
        gaps: npt.ArrayLike | None = None,
        missing: bool = False,
    ) -> None:
        distances = check_distances(values, missing)
        count = len(distances)
        names = check_labels(labels, count)
        fields = {
            "values": distances,
            "labels": names,
            "metadata": check_metadata(metadata, names),
            "lower_bounds": check_square(lower_bounds, "lower_bounds", count, np.float64),
            "converged": check_square(converged, "converged", count, np.bool_),
            "description": dict(description or {}),
            "error_bars": check_error_bars(error_bars, count),
            "n_starts": check_square(n_starts, "n_starts", count, np.int64),
            "n_agreeing": check_square(n_agreeing, "n_agreeing", count, np.int64),
            "n_composed": check_square(n_composed, "n_composed", count, np.int64),
            "sizes": check_sizes(sizes, names),
            "draw_deviations": check_square(draw_deviations, "draw_deviations", count, np.float64),
            "gaps": check_square(gaps, "gaps", count, np.float64),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)  # the class is frozen

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (K, K)."""
        return (len(self), len(self))

    @property
    def ndim(self) -> int:
        """2, as of the array."""
        return self.values.ndim

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """The type of the distances."""
        return self.values.dtype

    @property
    def T(self) -> FloatArray:
        """The distances, which are symmetric, as an array."""
        return self.values.T

    def copy(self) -> FloatArray:
        """Return the distances as an array that can be changed.

        Libraries such as ``hdbscan`` copy what they take for an array. To change a matrix and keep
        its labels, use `replace`.
        """
        return self.values.copy()

    def condensed(self) -> FloatArray:
        """Return the upper triangle as a vector of length K(K-1)/2, in SciPy's order."""
        return self._pairs(self.values)

    def _pairs(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return array[np.triu_indices(len(self), 1)]

    def to_frame(self) -> pd.DataFrame:
        """Return the distances as a DataFrame with labels on both sides."""
        names = list(self.labels)
        return pd.DataFrame(self.values.copy(), index=names, columns=names)

    def select(self, **where: Any) -> DistanceMatrix:
        """Return the matrix of the networks whose metadata match.

        Parameters
        ----------
        **where
            For each column of the metadata a value, a list of values, or a function of a value
            that returns True or False, which is not called where the value is missing.

        Examples
        --------
        >>> table = pd.DataFrame({"area": ["V1", "V1", "IT"]})
        >>> D = DistanceMatrix([[0, 1, 2], [1, 0, 3], [2, 3, 0]], list("abc"), table)
        >>> D.select(area="V1").labels
        ('a', 'b')
        """
        return self._subset(select_rows(self.metadata, where))

    def _subset(self, index: Sequence[int]) -> DistanceMatrix:
        block = np.ix_(index, index)
        fields = self._fields() | {
            "labels": [self.labels[k] for k in index],
            "metadata": self.metadata.iloc[list(index)],
        }
        for name in ("values", *PAIR_FIELDS):
            fields[name] = None if fields[name] is None else fields[name][block]
        if self.sizes is not None:
            fields["sizes"] = self.sizes.iloc[list(index)]
        if self.error_bars is not None:
            fields["error_bars"] = self.error_bars.subset(index)
        return DistanceMatrix(**fields, missing=True)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            raise InputError(
                f"Give two labels, as in D[{key!r}, 'another'], or a list of labels. Got {key!r}."
            )
        if isinstance(key, tuple) and len(key) == 2 and all(isinstance(k, str) for k in key):
            i, j = (find_label(k, self.labels, "network") for k in key)
            return float(self.values[i, j])
        if isinstance(key, list | tuple) and key and all(isinstance(k, str) for k in key):
            return self._subset(find_labels(key, self.labels, "network"))
        return self.values[key]

    def summary(self) -> str:
        """Return in words what the matrix holds, and how far to trust it.

        Examples
        --------
        >>> D = DistanceMatrix([[0, 1, 4], [1, 0, 2], [4, 2, 0]], labels=["a", "b", "c"])
        >>> print(D.summary().splitlines()[1])
        Distances from 1 (a and b) to 4 (a and c), median 2.
        """
        return summarise(self)

    def plot(self, **options: Any) -> Any:
        """Draw the matrix with `repshape.plots.plot_matrix`, whose options it takes."""
        from repshape.plots.matrix import plot_matrix

        return plot_matrix(self, **options)

    def replace(self, **changes: Any) -> DistanceMatrix:
        """Return a copy in which some fields are changed, and everything else is kept.

        Parameters
        ----------
        **changes
            Parameters of `DistanceMatrix` by name, except ``missing``: pairs may be missing in the
            copy if they are missing here. With other values, what is known of each pair (bounds,
            convergence, starts, deviations, error bars) is dropped unless it is given too.

        Examples
        --------
        >>> D = DistanceMatrix([[0.0, 1.5], [1.5, 0.0]], description={"metric": "mine"})
        >>> D.replace(labels=["vae", "mouse"])
        DistanceMatrix(2 networks, distances 1.5 to 1.5, mine)
        """
        belonging = (*PAIR_FIELDS, "error_bars")
        kept = self._fields() | (dict.fromkeys(belonging) if "values" in changes else {})
        if "labels" in changes:  # other names for the same rows
            kept["metadata"] = self.metadata.reset_index(drop=True)
            kept["sizes"] = None if self.sizes is None else self.sizes.reset_index(drop=True)
        return DistanceMatrix(**(kept | changes), missing=not self.complete)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to ``path``, whole or not at all.

        A name that ends in ``.npz`` keeps everything and holds no pickle. One that ends in
        ``.csv`` keeps the labels, every bit of the distances and, in columns on the right, the
        metadata; bounds and settings are left out. Dates come back as text, and text that reads
        as a number as a number. Text that a spreadsheet would take for a formula, because it
        begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break, gets an apostrophe in front
        in CSV, which `load` removes again.
        """
        from repshape.io.matrices import write_matrix

        write_matrix(path, self._fields())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, max_bytes: int | str | None = None
    ) -> DistanceMatrix:
        """Read what `save` wrote, or open a store of `repshape.pairwise`, complete or not.

        Nothing is ever unpickled. An NPZ file may expand to ``max_bytes``, a number or a text such
        as ``"8 GB"``; by default to a quarter of the memory, or to its own size if that is more.
        """
        if Path(path).is_dir():
            from repshape.engine.store import read_store

            return read_store(path)
        from repshape.io.matrices import read_matrix

        return cls._made(read_matrix(path, max_bytes), path, "matrix of distances")

    def __repr__(self) -> str:
        parts = [f"{len(self)} network" + "s" * (len(self) != 1)]
        known = self.condensed()[~np.isnan(self.condensed())]
        if known.size:
            parts.append(f"distances {known.min():.4g} to {known.max():.4g}")
        if self.description.get("metric"):
            parts.append(str(self.description["metric"]))
        if self.n_unconverged:
            parts.append(f"{self.n_unconverged} not converged")
        if self.n_missing:
            parts.append(f"{self.n_missing} of {self.condensed().size} pairs missing")
        return f"DistanceMatrix({', '.join(parts)})"


def as_complete(D: DistanceMatrix | npt.ArrayLike) -> DistanceMatrix:
    """Return distances as a matrix, or raise one clear sentence if pairs are missing.

    >>> as_complete(DistanceMatrix([[0, np.nan], [np.nan, 0]], missing=True))
    Traceback (most recent call last):
        ...
    repshape.errors.InputError: The matrix is not complete: 1 of 1 pairs are not computed yet.
    See "Troubleshooting" in the documentation.
    """
    matrix = D if isinstance(D, DistanceMatrix) else DistanceMatrix(D)
    if not matrix.complete:
        raise InputError(
            f"The matrix is not complete: {matrix.n_missing} of {matrix.condensed().size} pairs "
            "are not computed yet."
        )
    return matrix
