"""The matrix of distances as a heat map, with optional bars for groups of networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_hex
from scipy.cluster import hierarchy

from repshape.analysis.clustering import cluster_hierarchical
from repshape.errors import InputError
from repshape.matrix.columns import ValuesLike, find_column
from repshape.matrix.distances import DistanceMatrix, as_complete
from repshape.plots.captions import UNIT, matrix_words
from repshape.plots.colouring import Colouring, colour_bar
from repshape.plots.picture import Picture
from repshape.plots.style import COLORMAP, COLUMN_WIDTH, FAINT, PALETTE, SMALL_SIZE, plain, short

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# More names than this would be unreadable in one column. Fewer names share this height, in points.
MOST_NAMES = 30
HEIGHT_OF_NAMES = 120.0
LONGEST = 18
# The optimal order of leaves takes K^3 steps: seconds at this size, minutes soon after.
MOST_LEAVES = 1000
# Width of the group bars, and of the gap beside them, as fractions of the matrix.
BAR, GAP = 0.045, 0.015


@dataclass(frozen=True, eq=False)
class MatrixPicture(Picture):
    """A matrix of distances, ready to be drawn.

    Attributes
    ----------
    order : ndarray of int, shape (K,)
        Index of the network in each row.
    values : ndarray, shape (K, K)
        Distances in that order; NaN where a pair is not computed.
    names : tuple of str
        Names of the rows, safe to draw; empty if there are too many to read.
    groups : Colouring or None
        Colours of the bars beside the rows and above the columns, in that order.
    spans : tuple of (float, str)
        Centre and name of each group if the order keeps every group together; otherwise empty.
    limits : tuple of two floats
        Limits of the colour map: 0, or the smallest distance if it is negative, and the largest.
    label : str
        Label of the colour bar.
    caption : str

    Examples
    --------
    >>> MatrixPicture.of([[0, 9, 1], [9, 0, 8], [1, 8, 0]], order="hierarchical").order.tolist()
    [0, 2, 1]
    """

    order: IntArray
    values: FloatArray
    names: tuple[str, ...]
    groups: Colouring | None
    spans: tuple[tuple[float, str], ...]
    limits: tuple[float, float]
    label: str
    caption: str

    size: ClassVar[tuple[float, float]] = (COLUMN_WIDTH, 2.9)

    @classmethod
    def of(
        cls,
        D: DistanceMatrix | npt.ArrayLike,
        *,
        order: str | Sequence[int] | IntArray = "input",
        groups: ValuesLike | None = None,
        unit: str = UNIT,
    ) -> MatrixPicture:
        """Make the picture of a matrix; the parameters are those of `plot_matrix`."""
        matrix = D if isinstance(D, DistanceMatrix) else DistanceMatrix(D, missing=True)
        bars = None if groups is None else find_column(matrix, groups, "groups")
        rows, how = find_order(matrix, order)
        values = matrix.values[np.ix_(rows, rows)]
        values.setflags(write=False)
        known = values[~np.isnan(values)]
        colours = None
        if bars is not None:
            name = groups if isinstance(groups, str) else ""
            colours = _bar_colours(bars.iloc[rows], name)
        return cls(
            order=rows,
            values=values,
            names=_names(matrix, rows),
            groups=colours,
            spans=() if colours is None else _spans(colours),
            limits=(min(float(known.min()), 0.0), float(known.max()) or 1.0),
            label=f"distance ({plain(unit)})",
            caption=f"{matrix_words(matrix)} {how}{_bar_words(groups, bars)}",
        )

    def _draw(self, ax: Axes) -> None:
        count = len(self.values)
        colours = mpl.colormaps[COLORMAP].with_extremes(bad=FAINT)
        image = ax.imshow(
            self.values,
            cmap=colours,
            vmin=self.limits[0],
            vmax=self.limits[1],
            extent=(0, count, count, 0),
        )
        edge = 0.0
        if self.groups is not None:
            edge = -(BAR + GAP) * count
            self._draw_bars(ax, self.groups, count)
        ax.set(xlim=(edge, count), ylim=(count, edge), aspect="equal")
        ax.spines[:].set_visible(False)
        self._draw_names(ax)
        colour_bar(ax, image, self.label)

    def _draw_bars(self, ax: Axes, groups: Colouring, count: int) -> None:
        codes = groups.codes[:, None]
        colours = ListedColormap(list(groups.level_colours))
        ends = (-(BAR + GAP) * count, -GAP * count)
        for bar, extent in ((codes, (*ends, count, 0)), (codes.T, (0, count, ends[1], ends[0]))):
            ax.imshow(bar, cmap=colours, vmin=-0.5, vmax=len(groups.levels) - 0.5, extent=extent)

    def _draw_names(self, ax: Axes) -> None:
        middles = np.arange(len(self.names)) + 0.5
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0)
        if self.names:
            size = min(SMALL_SIZE, HEIGHT_OF_NAMES / len(self.names))
            ax.set_yticks(middles, self.names, fontsize=size)
        elif self.spans:
            ax.set_yticks([middle for middle, _ in self.spans], [name for _, name in self.spans])
        else:
            ax.set_yticks([])
            ax.set_ylabel(f"{len(self.values)} networks")
        if self.groups is not None and (self.names or not self.spans):
            self._draw_legend(ax, self.groups)

    def _draw_legend(self, ax: Axes, groups: Colouring) -> None:
        handles = [
            mpl.patches.Patch(facecolor=colour, edgecolor="none") for colour in groups.level_colours
        ]
        ax.legend(
            handles,
            groups.levels,
            title=groups.name or None,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=min(len(handles), 3),
            handlelength=1.0,
        )


def find_order(
    matrix: DistanceMatrix, order: str | Sequence[int] | IntArray
) -> tuple[IntArray, str]:
    """Return the index of the network in each row, and a phrase that describes the order."""
    count = len(matrix)
    if not isinstance(order, str):
        rows = np.asarray(order)
        if rows.shape != (count,) or not np.array_equal(np.sort(rows), np.arange(count)):
            raise InputError(
                f"The 'order' parameter must hold each index from 0 to {count - 1} once. "
                f"Got {rows!r} instead."
            )
        return rows.astype(np.intp), "Rows in a custom order."
    if order == "input":
        return np.arange(count, dtype=np.intp), "Rows in input order."
    if order == "hierarchical":
        return _leaves(matrix)
    column = find_column(matrix, order, "order")
    if column.dtype.kind not in "biuf":
        column = column.astype(str).where(column.notna())
    ranked = column.reset_index(drop=True).sort_values(kind="stable", na_position="last")
    return ranked.index.to_numpy(np.intp), f"Rows ordered by {short(order)}."


def _leaves(matrix: DistanceMatrix) -> tuple[IntArray, str]:
    """Order networks by average-linkage clustering, with similar networks next to each other."""
    tree = cluster_hierarchical(as_complete(matrix), 1).tree
    words = "Rows ordered by hierarchical clustering (average linkage"
    if tree is None or not len(tree):
        return np.zeros(1, dtype=np.intp), f"{words})."
    if len(matrix) <= MOST_LEAVES:
        tree = hierarchy.optimal_leaf_ordering(tree, matrix.condensed())
        words += ", optimal leaf order"
    leaves = hierarchy.leaves_list(tree).astype(np.intp)
    # The order can be reversed freely: begin at the end that came first in the input.
    return leaves if leaves[0] < leaves[-1] else leaves[::-1], f"{words})."


def _names(matrix: DistanceMatrix, rows: IntArray) -> tuple[str, ...]:
    if len(matrix) > MOST_NAMES:
        return ()
    return tuple(plain(matrix.labels[int(k)], LONGEST) for k in rows)


def _bar_colours(values: pd.Series[Any], name: str) -> Colouring:
    """Colour levels by hue. Numbers, and more levels than there are hues, vary in lightness."""
    found = Colouring.of(values, name, "categorical")
    if values.dtype.kind not in "iuf" and len(found.levels) <= len(PALETTE):
        return found
    ordered = len(found.levels) - (found.n_missing > 0)
    shades = mpl.colormaps[COLORMAP](np.linspace(0.0, 1.0, ordered))
    rest = found.level_colours[ordered:]
    return replace(found, level_colours=(*(to_hex(shade) for shade in shades), *rest))


def _spans(groups: Colouring) -> tuple[tuple[float, str], ...]:
    """Return the centre and name of each group if each is one contiguous run; otherwise nothing."""
    starts = np.flatnonzero(np.diff(groups.codes, prepend=-1))
    if len(starts) != len(groups.levels):
        return ()
    ends = np.append(starts[1:], len(groups.codes))
    return tuple(
        (float(a + b) / 2, groups.levels[groups.codes[a]])
        for a, b in zip(starts, ends, strict=True)
    )


def _bar_words(groups: Any, bars: pd.Series[Any] | None) -> str:
    if bars is None:
        return ""
    return f" Bars: {short(groups)}." if isinstance(groups, str) else " Bars: groups."


def plot_matrix(
    D: DistanceMatrix | npt.ArrayLike,
    *,
    order: str | Sequence[int] | IntArray = "input",
    groups: ValuesLike | None = None,
    unit: str = UNIT,
    ax: Axes | None = None,
    caption: bool = False,
) -> Axes:
    """Draw a matrix of distances as a heat map.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Distances. Pairs that are not computed yet (NaN) are grey.
    order : "input", "hierarchical", str or sequence of int
        The order of rows and columns: that of ``D``, that of average-linkage clustering with
        optimal leaf order, sorted by a column of ``D.metadata``, or a sequence of indices.
    groups : str, sequence of length K, Series or dict by name, optional
        A column of ``D.metadata``, or a value for each network, shown as coloured bars.
    unit : str
        Unit of the distances.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on. By default a new pyplot figure is made.
    caption : bool
        Whether to write a caption below the axes that says what is shown.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> D = np.abs(np.subtract.outer([0.0, 9.0, 1.0], [0.0, 9.0, 1.0]))
    >>> ax = plot_matrix(D, order="hierarchical", ax=Figure().subplots())
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['0', '2', '1']
    """
    return MatrixPicture.of(D, order=order, groups=groups, unit=unit).draw(ax, caption=caption)
