"""How well nearest neighbours predict a property of the networks, compared with chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from repshape.analysis.protocol import NeighborScore
from repshape.errors import InputError
from repshape.plots.rows import RowsPicture, check_rows, draw_grey_bars, row_names, window
from repshape.plots.style import PALETTE, SMALL_SIZE

FloatArray = npt.NDArray[np.float64]
Scores = NeighborScore | Mapping[str, NeighborScore]


@dataclass(frozen=True, eq=False)
class NeighborsPicture(RowsPicture):
    """Scores of predictions from nearest neighbours, one row each.

    Attributes
    ----------
    names : tuple of str
    estimates, chances : ndarray, shape (R,)
    intervals : ndarray, shape (R, 2)
        5th and 95th percentiles over test sets.
    nulls : ndarray, shape (R, 2)
        The same percentiles over permutations; NaN if there were no permutations.
    notes : tuple of str
        The p-value of each row; empty without permutations.
    limits : tuple of two floats
        Limits of the axis.
    label : str
        Name of the score.
    caption : str

    Examples
    --------
    >>> from repshape.analysis import knn_classify
    >>> D = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    >>> picture = NeighborsPicture.of({"half": knn_classify(D, np.arange(40) < 20)})
    >>> picture.names, picture.chances
    (('half',), array([0.5]))
    """

    chances: FloatArray
    nulls: FloatArray
    notes: tuple[str, ...]

    @classmethod
    def of(cls, scores: Scores) -> NeighborsPicture:
        """Make the picture of some scores; the parameter is that of `plot_neighbors`."""
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

    def _draw_others(self, ax: Axes, rows: npt.NDArray[np.intp]) -> tuple[list[str], list[Line2D]]:
        grey = draw_grey_bars(ax, rows, self.nulls)
        ax.scatter(self.chances, rows, marker="|", s=90, color=PALETTE[1], zorder=3)
        for row, note in zip(rows, self.notes, strict=True):
            ax.annotate(
                note,
                (1.01, row),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=SMALL_SIZE,
            )
        chance = Line2D([], [], color=PALETTE[1], marker="|", markersize=8, linestyle="")
        return ["neighbours", "chance", "permuted"][: 2 + len(grey)], [chance, *grey]


def _note(score: NeighborScore) -> str:
    return "" if score.p_value is None else f"p = {score.p_value:.2g}"


def _caption(found: list[NeighborScore]) -> str:
    methods = list(dict.fromkeys(one.method for one in found))
    networks = sorted({one.n_networks for one in found})
    size = f"{networks[0]}" if len(networks) == 1 else f"{networks[0]} to {networks[-1]}"
    words = f"{size} networks. {'; '.join(methods)}. Dots: mean over test sets; "
    words += "lines: 5th to 95th percentile. "
    if any(one.n_permutations for one in found):
        counts = sorted({one.n_permutations for one in found if one.n_permutations})
        words += f"Grey: 5th to 95th percentile of that mean over {counts[-1]} permutations. "
    if found[0].score == "accuracy":
        return words + "Chance: the share of the most common class."
    return words + "Chance: R² = 0, which is predicting the mean."


def plot_neighbors(scores: Scores, *, ax: Axes | None = None, caption: bool = False) -> Axes:
    """Draw how well nearest neighbours predict a property of the networks, compared with chance.

    Parameters
    ----------
    scores : NeighborScore, or mapping of str to NeighborScore
        Results of `repshape.analysis.knn_classify` or of `repshape.analysis.knn_regress`, one row
        each.
    ax, caption
        As in `plot_matrix`.

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
