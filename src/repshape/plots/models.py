"""Models against brains: distances with intervals, ceilings, and which models differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import blended_transform_factory, offset_copy

from repshape._arrays import count
from repshape.inference.factors import LEVEL
from repshape.inference.model_result import ModelComparison
from repshape.plots.captions import UNIT
from repshape.plots.picture import POINTS_PER_INCH
from repshape.plots.rows import ROW_HEIGHT, RowsPicture, window
from repshape.plots.style import COLUMN_WIDTH, FAINT, INK, PALETTE, SMALL_SIZE, plain

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
# Distance of the table of differences from the axes, and of its columns, in points.
FIRST, STEP = 12.0, 13.0
COLOURS = {1: PALETTE[0], -1: PALETTE[1]}


@dataclass(frozen=True, eq=False)
class ModelsPicture(RowsPicture):
    """Models, one row each, beside ceilings and a table of differences.

    Attributes
    ----------
    names : tuple of str
        The models, the nearest first.
    estimates : ndarray, shape (P,)
    intervals : ndarray, shape (P, 2)
    ceilings : ndarray, shape (2, 3)
        Distance between brains and that to the mean of the others, with their intervals; NaN if
        the metric has no mean.
    nearer : ndarray of int, shape (P, P)
        1 where the model of the row is nearer to the brains than that of the column, -1 where it
        is farther, and 0 without evidence.
    close : ndarray of bool, shape (P,)
        Whether a model is close enough.
    """

    ceilings: FloatArray
    nearer: IntArray
    close: npt.NDArray[np.bool_]

    @property
    def size(self) -> tuple[float, float]:  # type: ignore[override]
        """Width and height, in inches, of a new figure."""
        P = len(self.names)
        return COLUMN_WIDTH + (FIRST + STEP * P) / POINTS_PER_INCH, 0.95 + ROW_HEIGHT * max(
            P + 1, 2
        )

    @classmethod
    def of(cls, found: ModelComparison, *, unit: str = UNIT) -> ModelsPicture:
        """Make the picture of a comparison; the parameters are those of `plot_models`."""
        scores = found.scores.sort_values("squared_distance")
        ceilings = found.ceilings[["distance", "low", "high"]].to_numpy()
        intervals = scores[["low", "high"]].to_numpy()
        names = list(scores.index)
        nearer = np.zeros((len(names), len(names)), dtype=np.intp)
        for row in found.differences.to_dict("records"):
            if row["max_p_value"] <= LEVEL:
                i, j = names.index(row["first"]), names.index(row["second"])
                nearer[i, j] = 1 if row["squared_difference"] < 0 else -1
                nearer[j, i] = -nearer[i, j]
        return cls(
            names=tuple(plain(str(one)) for one in names),
            estimates=scores["distance"].to_numpy(),
            intervals=intervals,
            limits=window(intervals, ceilings),
            label=f"distance from the brains ({plain(unit)})",
            caption=_words(found),
            ceilings=ceilings,
            nearer=nearer,
            close=scores["close_enough"].to_numpy(dtype=bool),
        )

    def _draw_others(self, ax: Axes, rows: npt.NDArray[np.intp]) -> tuple[list[str], list[Line2D]]:
        known = self.ceilings[np.isfinite(self.ceilings[:, 0]), 0]
        ax.axvspan(float(known.min()), float(known.max()), color=FAINT, alpha=0.4, lw=0, zorder=0)
        styles: dict[str, Any] = {"between brains": "-", "to the mean of others": "--"}
        handles = []
        for (value, low, high), line in zip(self.ceilings, styles.values(), strict=True):
            ax.axvline(value, color=INK, linewidth=0.8, linestyle=line, zorder=1)
            ax.hlines(len(rows) - 0.5, low, high, color=INK, linewidth=1.4, zorder=1)
            handles.append(Line2D([], [], color=INK, linewidth=0.8, linestyle=line))
        self._draw_table(ax)
        return ["model", *styles], handles

    def _draw_table(self, ax: Axes) -> None:
        """Draw which models are nearer or farther than others, in the rows of the models."""
        P = len(self.names)
        beside = blended_transform_factory(ax.transAxes, ax.transData)
        for j in range(P):
            place = offset_copy(beside, ax.figure.figure, x=FIRST + j * STEP, units="points")
            for i in range(P):
                if i != j:
                    colour = COLOURS.get(int(self.nearer[i, j]), "white")
                    look: dict[str, Any] = {"facecolor": colour, "edgecolor": FAINT, "lw": 0.6}
                    ax.scatter(1, i, s=26, marker="s", transform=place, clip_on=False, **look)
            words: dict[str, Any] = {"fontsize": SMALL_SIZE, "ha": "center", "va": "bottom"}
            ax.text(1, -0.6, str(j + 1), transform=place, **words)
        ax.set_yticks(range(P), [f"{name}  {k + 1}" for k, name in enumerate(self.names)])


def _words(found: ModelComparison) -> str:
    over = "brains and conditions" if found.over == "both" else found.over
    close = [str(one) for one in found.scores.index[found.scores["close_enough"]]]
    words = (
        f"Root mean square distances of {count(len(found.scores), 'model')} from "
        f"{count(len(found.between_brains), 'brain')}, corrected for noise, with "
        f"{100 * found.level:g} % intervals over {over}. Solid: brains from each other. Dashed: "
        "brains from the mean of the others. Squares: the model of the row is significantly nearer "
        "(blue) or farther (orange) than that of the column, corrected for the number of pairs. "
    )
    named = ", ".join(close) if close else "none"
    return words + f"Close enough (margin {100 * found.margin:g} %): {named}."


def plot_models(
    found: ModelComparison, *, unit: str = UNIT, ax: Axes | None = None, caption: bool = False
) -> Axes:
    """Draw models with intervals, the ceilings, and which models differ.

    The grey band is between the two ceilings: what a perfect model of the population reaches, and
    what another brain does. A small table beside it shows which models are nearer than others.

    Parameters
    ----------
    found : ModelComparison
        Result of `repshape.inference.models`.
    unit : str
        Unit of the distances.
    ax, caption
        As in `plot_matrix`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from repshape.inference import models
    >>> rng = np.random.default_rng(0)
    >>> population = rng.normal(size=(8, 1, 2))
    >>> brains = [population + rng.normal(size=(8, 16, 2)) for _ in range(3)]
    >>> found = models(brains, {"right": population[:, 0], "none": np.zeros((8, 2))})
    >>> ax = plot_models(found, ax=Figure().subplots())
    >>> [tick.get_text().split()[0] for tick in ax.get_yticklabels()]
    ['right', 'none']
    """
    return ModelsPicture.of(found, unit=unit).draw(ax, caption=caption)
