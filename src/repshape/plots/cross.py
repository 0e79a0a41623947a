"""Distances between two sets of networks as a heat map, rows and columns in the order given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from repshape._arrays import count
from repshape.matrix.cross import CrossDistances
from repshape.metrics.identity import caption as metric_caption
from repshape.plots.captions import UNIT
from repshape.plots.colouring import colour_bar
from repshape.plots.matrix import HEIGHT_OF_NAMES, LONGEST, MOST_NAMES
from repshape.plots.picture import Picture
from repshape.plots.style import COLORMAP, COLUMN_WIDTH, FAINT, SMALL_SIZE, plain

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CrossPicture(Picture):
    """Distances between two sets of networks, ready to be drawn.

    Attributes
    ----------
    values : ndarray, shape (R, C)
        Distances; NaN where a pair is not computed.
    row_names, column_names : tuple of str
        Names, safe to draw; empty if there are too many to read.
    nearest : ndarray of int, shape (R,)
        The nearest column of each row, which a dot marks; -1 for none.
    limits : tuple of two floats
        Limits of the colour map: the smallest and the largest distance.
    row_title, column_title : str
        Labels of the axes.
    label : str
        Label of the colour bar.
    caption : str

    Examples
    --------
    >>> CrossPicture.of(CrossDistances([[3.0, 5.0], [4.0, 2.0]])).nearest.tolist()
    [0, 1]
    """

    values: FloatArray
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    nearest: IntArray
    limits: tuple[float, float]
    row_title: str
    column_title: str
    label: str
    caption: str

    size: ClassVar[tuple[float, float]] = (COLUMN_WIDTH, 2.9)

    @classmethod
    def of(
        cls,
        C: CrossDistances | npt.ArrayLike,
        *,
        rows: str = "",
        columns: str = "",
        unit: str = UNIT,
    ) -> CrossPicture:
        """Make the picture of a block; the parameters are those of `plot_cross`."""
        block = C if isinstance(C, CrossDistances) else CrossDistances(C, missing=True)
        absent = np.isnan(block.values)
        known = block.values[~absent]
        nearest = np.where(absent, np.inf, block.values).argmin(axis=1)
        return cls(
            values=block.values,
            row_names=_names(block.row_labels),
            column_names=_names(block.column_labels),
            nearest=np.where(absent.all(axis=1), -1, nearest).astype(np.intp),
            limits=(float(known.min(initial=np.inf)), float(known.max())) if known.size else (0, 1),
            row_title=plain(rows),
            column_title=plain(columns),
            label=f"distance ({plain(unit)})",
            caption=_words(block),
        )

    def _draw(self, ax: Axes) -> None:
        count_rows, count_columns = self.values.shape
        image = ax.imshow(
            self.values,
            cmap=mpl.colormaps[COLORMAP].with_extremes(bad=FAINT),
            vmin=self.limits[0],
            vmax=self.limits[1],
            extent=(0, count_columns, count_rows, 0),
            aspect="auto",
        )
        found = np.flatnonzero(self.nearest >= 0)
        places = self.nearest[found] + 0.5, found + 0.5
        ax.plot(*places, "o", color="white", markeredgecolor="black", markersize=3.0, clip_on=False)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        _draw_names(ax, "y", self.row_names, self.row_title or _counted(count_rows, self.row_names))
        title = self.column_title or _counted(count_columns, self.column_names)
        _draw_names(ax, "x", self.column_names, title)
        colour_bar(ax, image, self.label)


def _names(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(plain(one, LONGEST) for one in labels) if len(labels) <= MOST_NAMES else ()


def _counted(size: int, names: tuple[str, ...]) -> str:
    """Return what to write beside networks whose names are not written."""
    return "" if names else count(size, "network")


def _draw_names(ax: Axes, axis: Any, names: tuple[str, ...], title: str) -> None:
    size = min(SMALL_SIZE, HEIGHT_OF_NAMES / max(len(names), 1))
    turned: dict[str, Any] = {"rotation": 90} if axis == "x" else {}
    places = np.arange(len(names)) + 0.5
    set_ticks, set_title = (
        (ax.set_xticks, ax.set_xlabel) if axis == "x" else (ax.set_yticks, ax.set_ylabel)
    )
    set_ticks(places, names, fontsize=size, **turned)
    set_title(title)


def _words(block: CrossDistances) -> str:
    rows, columns = block.shape
    words = f"{metric_caption(block.description)}, from {count(rows, 'network')} (rows) to "
    words += f"{columns} (columns), in the order given. Dots: the nearest column of each row."
    if block.n_missing:
        words += f" {count(block.n_missing, 'pair')} not computed yet (grey)."
    return words


def plot_cross(
    C: CrossDistances | npt.ArrayLike,
    *,
    rows: str = "",
    columns: str = "",
    unit: str = UNIT,
    ax: Axes | None = None,
    caption: bool = False,
) -> Axes:
    """Draw the distances between two sets of networks as a heat map.

    Rows and columns are in the order given, so that layers stay in order. A dot marks the nearest
    column of each row.

    Parameters
    ----------
    C : CrossDistances or array_like, shape (R, C)
        Distances. Pairs that are not computed yet (NaN) are grey.
    rows, columns : str
        What the two sets are, written beside the axes.
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
    >>> C = CrossDistances([[3.0, 5.0], [4.0, 2.0]], ["conv1", "conv2"], ["block1", "block2"])
    >>> ax = plot_cross(C, rows="CNN", columns="ResNet", ax=Figure().subplots())
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['block1', 'block2']
    """
    picture = CrossPicture.of(C, rows=rows, columns=columns, unit=unit)
    return picture.draw(ax, caption=caption)
