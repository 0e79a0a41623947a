"""Estimates with their intervals, beside what noise alone would make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from repshape.errors import InputError, check_real
from repshape.inference.estimates import Estimate
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
from repshape.plots.style import FAINT, INK, PALETTE, SMALL_SIZE, plain

FloatArray = npt.NDArray[np.float64]
Estimates = Estimate | Mapping[str, Estimate]

UNDEFINED = "undefined"


@dataclass(frozen=True, eq=False)
class IntervalsPicture(Picture):
    """Estimates, a row for each.

    Attributes
    ----------
    names : tuple of str
    estimates, plug_ins : ndarray, shape (R,)
        Corrected estimates, and the same quantities without correction.
    intervals : ndarray, shape (R, 2)
    floors : ndarray, shape (R, 3)
        Estimate and interval of the floor of each row; NaN without.
    reference : float
        A value to compare with, drawn as a line; NaN without.
    limits : tuple of two floats
        Ends of the axis.
    label : str
        What is estimated.
    caption : str

    Examples
    --------
    >>> found = Estimate(1.0, (0.5, 1.5), 0.9, 0.3, 1.2, "bootstrap over trials", 200, 0)
    >>> IntervalsPicture.of({"x and y": found}).limits
    (0.45, 1.55)
    """

    names: tuple[str, ...]
    estimates: FloatArray
    plug_ins: FloatArray
    intervals: FloatArray
    floors: FloatArray
    reference: float
    limits: tuple[float, float]
    label: str
    caption: str

    @classmethod
    def of(
        cls,
        estimates: Estimates,
        floors: Estimates | None = None,
        *,
        reference: float | None = None,
        label: str = "distance",
    ) -> IntervalsPicture:
        """Decide how to draw estimates; the parameters are those of `plot_intervals`."""
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

    @property
    def size(self) -> tuple[float, float]:  # type: ignore[override]
        """Width and height of a figure of its own; it has room for the rows."""
        return row_size(len(self.names) + 1)

    def _draw(self, ax: Axes) -> None:
        draw_rows(ax, self.names)
        rows = np.arange(len(self.names))
        ax.axvline(self.reference, color=INK, linewidth=0.6, linestyle=":", zorder=0)
        ax.hlines(rows, *self.floors[:, 1:].T, color=FAINT, linewidth=6, alpha=0.7, zorder=1)
        ax.scatter(self.floors[:, 0], rows, marker="|", s=60, color=INK, zorder=2)
        ax.hlines(rows, *self.intervals.T, color=PALETTE[0], linewidth=1.4, zorder=2)
        ax.scatter(
            self.plug_ins, rows, s=18, marker="D", facecolor="white", edgecolor=PALETTE[1], zorder=3
        )
        ax.scatter(self.estimates, rows, s=22, color=PALETTE[0], zorder=4)
        for row in np.flatnonzero(np.isnan(self.estimates)).tolist():
            middle = (self.limits[0] + self.limits[1]) / 2
            ax.text(middle, row, UNDEFINED, fontsize=SMALL_SIZE, va="center", ha="center")
        ax.set_xlim(self.limits)
        ax.set_xlabel(self.label)
        self._draw_legend(ax)

    def _draw_legend(self, ax: Axes) -> None:
        handles = [
            Line2D([], [], color=PALETTE[0], marker="o", markersize=4, linewidth=1.4),
            Line2D([], [], color=PALETTE[1], marker="D", mfc="white", markersize=4, linestyle=""),
        ]
        names = ["estimate", "plug-in"]
        if np.isfinite(self.floors).any():
            handles.append(grey_bar())
            names.append("noise floor")
        draw_row_key(ax, handles, names)


def _floors(rows: dict[str, Estimate], floors: Estimates | None) -> list[Estimate | None]:
    """Return the floor of each row: one for all, or by name."""
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
    words = f"Lines: intervals, {'; '.join(methods)}. Diamonds: without correction."
    if floors:
        methods = list(dict.fromkeys(_how(one) for one in floors))
        words += " Grey: distance that noise alone makes between two recordings of one network, "
        words += f"to be held beside the diamonds ({'; '.join(methods)})."
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
    """Draw estimates with their intervals and noise floors, a row for each.

    Parameters
    ----------
    estimates : Estimate, or mapping of str to Estimate
        Results of `repshape.inference.distance`, `repshape.inference.distance` and their kin. A
        ratio that could not be estimated (NaN) keeps its row.
    floors : Estimate, or mapping of str to Estimate, optional
        Results of `repshape.inference.floor`: one for all rows, or by the names of the rows.
    reference : float, optional
        A value to compare with: 0 for differences, 1 for ratios.
    label : str
        What is estimated, with its unit.
    ax, caption
        As in `plot_matrix`.

    Returns
    -------
    matplotlib.axes.Axes

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
