"""What neighbours tell about networks, against chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from repshape.analysis.protocol import NeighborScore
from repshape.errors import InputError
from repshape.plots.picture import Picture
from repshape.plots.rows import (
    check_rows,
    draw_row_key,
    draw_rows,
    grey_bar,
    row_names,
    row_size,
    window,
)
from repshape.plots.style import FAINT, PALETTE, SMALL_SIZE

FloatArray = npt.NDArray[np.float64]
Scores = NeighborScore | Mapping[str, NeighborScore]


@dataclass(frozen=True, eq=False)
class NeighborsPicture(Picture):
    """Scores of nearest neighbours, a row for each.

    Attributes
    ----------
    names : tuple of str
    estimates, chances : ndarray, shape (R,)
    intervals : ndarray, shape (R, 2)
        5th and 95th percentile over test sets.
    nulls : ndarray, shape (R, 2)
        The same percentiles over permutations; NaN without.
    notes : tuple of str
        The p-value of each row, or nothing.
    limits : tuple of two floats
        Ends of the axis.
    label : str
        What the score is.
    caption : str

    Examples
    --------
    >>> from repshape.analysis import knn_classify
    >>> D = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    >>> picture = NeighborsPicture.of({"half": knn_classify(D, np.arange(40) < 20)})
    >>> picture.names, picture.chances
    (('half',), array([0.5]))
    """

    names: tuple[str, ...]
    estimates: FloatArray
    chances: FloatArray
    intervals: FloatArray
    nulls: FloatArray
    notes: tuple[str, ...]
    limits: tuple[float, float]
    label: str
    caption: str

    @classmethod
    def of(cls, scores: Scores) -> NeighborsPicture:
        """Decide how to draw scores; the parameter is that of `plot_neighbors`."""
        rows = check_rows(scores, NeighborScore, "scores")
        kinds = {one.score for one in rows.values()}
        if len(kinds) > 1:
            raise InputError(
                f"The 'scores' parameter must hold scores of one kind. Got {sorted(kinds)}."
            )
        found = list(rows.values())
        nulls = np.array(
            [
                np.percentile(one.null, [5, 95]) if len(one.null) else [np.nan, np.nan]
                for one in found
            ]
        )
        estimates = np.array([one.estimate for one in found])
        chances = np.array([one.chance for one in found])
        intervals = np.array([one.interval for one in found])
        kind = kinds.pop()
        return cls(
            names=row_names(rows),
            estimates=estimates,
            chances=chances,
            intervals=intervals,
            nulls=nulls,
            notes=tuple(_note(one) for one in found),
            limits=window(estimates, chances, intervals, nulls),
            label="R²" if kind == "R2" else kind,
            caption=_caption(found),
        )

    @property
    def size(self) -> tuple[float, float]:  # type: ignore[override]
        """Width and height of a figure of its own; it has room for the rows."""
        return row_size(len(self.names) + 1)

    def _draw(self, ax: Axes) -> None:
        draw_rows(ax, self.names)
        rows = np.arange(len(self.names))
        ax.hlines(rows, *self.nulls.T, color=FAINT, linewidth=6, alpha=0.7, zorder=1)
        ax.hlines(rows, *self.intervals.T, color=PALETTE[0], linewidth=1.4, zorder=2)
        ax.scatter(self.chances, rows, marker="|", s=90, color=PALETTE[1], zorder=3)
        ax.scatter(self.estimates, rows, s=22, color=PALETTE[0], zorder=4)
        for row, note in zip(rows, self.notes, strict=True):
            ax.annotate(
                note,
                (1.01, row),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=SMALL_SIZE,
            )
        ax.set_xlim(self.limits)
        ax.set_xlabel(self.label)
        self._draw_legend(ax)

    def _draw_legend(self, ax: Axes) -> None:
        handles = [
            Line2D([], [], color=PALETTE[0], marker="o", markersize=4, linewidth=1.4),
            Line2D([], [], color=PALETTE[1], marker="|", markersize=8, linestyle=""),
        ]
        names = ["neighbours", "chance"]
        if np.isfinite(self.nulls).any():
            handles.append(grey_bar())
            names.append("permuted")
        draw_row_key(ax, handles, names)


def _note(score: NeighborScore) -> str:
    return "" if score.p_value is None else f"p = {score.p_value:.2g}"


def _caption(found: list[NeighborScore]) -> str:
    methods = list(dict.fromkeys(one.method for one in found))
    networks = sorted({one.n_networks for one in found})
    size = f"{networks[0]}" if len(networks) == 1 else f"{networks[0]} to {networks[-1]}"
    words = f"{size} networks. {'; '.join(methods)}. Dots: mean over test sets; "
    words += "lines: their 5th to 95th percentile. "
    if any(one.n_permutations for one in found):
        counts = sorted({one.n_permutations for one in found if one.n_permutations})
        words += f"Grey: the same percentiles of the mean over {counts[-1]} permutations. "
    if found[0].score == "accuracy":
        return words + "Chance: the share of the commonest class."
    return words + "Chance: R² = 0, the mean of all."


def plot_neighbors(scores: Scores, *, ax: Axes | None = None, caption: bool = False) -> Axes:
    """Draw how well neighbours predict what is known, against chance.

    Parameters
    ----------
    scores : NeighborScore, or mapping of str to NeighborScore
        Results of `repshape.analysis.knn_classify`, or of `repshape.analysis.knn_regress`, a row
        for each.
    ax, caption
        As in `plot_matrix`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from repshape.analysis import knn_regress
    >>> points = np.linspace(0.0, 1.0, 40)
    >>> D = np.abs(np.subtract.outer(points, points))
    >>> ax = plot_neighbors({"place": knn_regress(D, points)}, ax=Figure().subplots())
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['place']
    """
    return NeighborsPicture.of(scores).draw(ax, caption=caption)
