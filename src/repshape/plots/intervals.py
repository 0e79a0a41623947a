"""Estimates with their intervals, compared with their noise floors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from repshape.errors import InputError, check_real
from repshape.inference.estimates import Estimate
from repshape.plots.rows import RowsPicture, check_rows, draw_grey_bars, row_names, window
from repshape.plots.style import INK, PALETTE, SMALL_SIZE, plain

FloatArray = npt.NDArray[np.float64]
Estimates = Estimate | Mapping[str, Estimate]

UNDEFINED = "undefined"


@dataclass(frozen=True, eq=False)
class IntervalsPicture(RowsPicture):
    """Estimates, one row each.

    Attributes
    ----------
    names : tuple of str
    estimates, plug_ins : ndarray, shape (R,)
        Bias-corrected estimates, and the same quantities without correction.
    intervals : ndarray, shape (R, 2)
    floors : ndarray, shape (R, 3)
        Estimate and interval of the noise floor of each row; NaN where there is none.
    reference : float
        A value to compare with, drawn as a line; NaN if there is none.
    limits : tuple of two floats
        Limits of the axis.
    label : str
        What is estimated.
    caption : str

    Examples
    --------
    >>> found = Estimate(1.0, (0.5, 1.5), 0.9, 0.3, 1.2, "bootstrap over trials", 200, 0)
    >>> IntervalsPicture.of({"x and y": found}).limits
    (0.45, 1.55)
    """

    plug_ins: FloatArray
    floors: FloatArray
    reference: float

    @classmethod
    def of(
        cls,
        estimates: Estimates,
        floors: Estimates | None = None,
        *,
        reference: float | None = None,
        label: str = "distance",
    ) -> IntervalsPicture:
        """Make the picture of some estimates; the parameters are those of `plot_intervals`."""
        rows = check_rows(estimates, Estimate, "estimates")
        line = float("nan") if reference is None else check_real("reference", reference)
        below = _floors(rows, floors)
        found = list(rows.values())
        values = np.array([one.estimate for one in found])
        plug_ins = np.array([one.plug_in for one in found])
        intervals = np.array([one.interval for one in found])
        table = np.array(
            [[np.nan] * 3 if one is None else [one.estimate, *one.interval] for one in below]
        )
        return cls(
            names=row_names(rows),
            estimates=values,
            plug_ins=plug_ins,
            intervals=intervals,
            floors=table,
            reference=line,
            limits=window(values, plug_ins, intervals, table, [line]),
            label=plain(label, None),
            caption=_caption(found, [one for one in below if one is not None]),
        )

    def _draw_others(self, ax: Axes, rows: npt.NDArray[np.intp]) -> tuple[list[str], list[Line2D]]:
        ax.axvline(self.reference, color=INK, linewidth=0.6, linestyle=":", zorder=0)
        grey = draw_grey_bars(ax, rows, self.floors[:, 1:])
        ax.scatter(self.floors[:, 0], rows, marker="|", s=60, color=INK, zorder=2)
        ax.scatter(
            self.plug_ins, rows, s=18, marker="D", facecolor="white", edgecolor=PALETTE[1], zorder=3
        )
        for row in np.flatnonzero(np.isnan(self.estimates)).tolist():
            middle = (self.limits[0] + self.limits[1]) / 2
            ax.text(middle, row, UNDEFINED, fontsize=SMALL_SIZE, va="center", ha="center")
        plug_in = Line2D(
            [], [], color=PALETTE[1], marker="D", mfc="white", markersize=4, linestyle=""
        )
        return ["estimate", "plug-in", "noise floor"][: 2 + len(grey)], [plug_in, *grey]


def _floors(rows: dict[str, Estimate], floors: Estimates | None) -> list[Estimate | None]:
    """Return the noise floor of each row: the same for all, or by name."""
    if floors is None:
        return [None] * len(rows)
    if isinstance(floors, Estimate):
        return [floors] * len(rows)
    given = check_rows(floors, Estimate, "floors")
    unknown = [name for name in given if name not in rows]
    if unknown:
        raise InputError(f"There is no estimate named {unknown[0]!r} for this floor.")
    return [given.get(name) for name in rows]


def _caption(found: list[Estimate], floors: list[Estimate]) -> str:
    methods = list(dict.fromkeys(_how(one) for one in found))
    words = f"Lines: intervals ({'; '.join(methods)}). Diamonds: without bias correction."
    if any(np.isinf(one.interval[1]) for one in found):
        words += " Lines that end at the edge have no upper end."
    if floors:
        methods = list(dict.fromkeys(_how(one) for one in floors))
        words += " Grey: noise floor, the distance between two recordings of the same network; "
        words += f"compare it with the diamonds ({'; '.join(methods)})."
    return words


def _how(one: Estimate) -> str:
    return f"{100 * one.level:g} %, {one.method}, {one.n_resamples} resamples"


def plot_intervals(
    estimates: Estimates,
    floors: Estimates | None = None,
    *,
    reference: float | None = None,
    label: str = "distance",
    ax: Axes | None = None,
    caption: bool = False,
) -> Axes:
    """Draw estimates with their intervals and noise floors, one row each.

    Parameters
    ----------
    estimates : Estimate, or mapping of str to Estimate
        Results of `repshape.inference.distance`, `repshape.inference.ratio` or
        `repshape.inference.difference`. A ratio that could not be estimated (NaN) keeps its row,
        and an interval without an upper end runs to the edge.
    floors : Estimate, or mapping of str to Estimate, optional
        Results of `repshape.inference.floor`: one for all rows, or one for each
        named row.
    reference : float, optional
        A value to compare with: 0 for differences, 1 for ratios.
    label : str
        What is estimated, with its unit.
    ax, caption
        As in `plot_matrix`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from repshape.inference import distance
    >>> x, y = np.random.default_rng(0).normal(size=(2, 4, 20, 2))
    >>> found = distance(x, y, method="bootstrap", n_resamples=10)
    >>> ax = plot_intervals({"x and y": found}, ax=Figure().subplots())
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['x and y']
    """
    picture = IntervalsPicture.of(estimates, floors, reference=reference, label=label)
    return picture.draw(ax, caption=caption)
