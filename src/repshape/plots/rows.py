"""Numbers with intervals, one row each: the common part of scores and estimates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from repshape.errors import InputError, InputTypeError
from repshape.plots.picture import Picture
from repshape.plots.style import COLUMN_WIDTH, FAINT, PALETTE, plain

T = TypeVar("T")
FloatArray = npt.NDArray[np.float64]

ROW_HEIGHT = 0.27


@dataclass(frozen=True, eq=False)
class RowsPicture(Picture):
    """Estimates with intervals, one row each, beside what noise or chance alone would give.

    Attributes
    ----------
    names : tuple of str
    estimates : ndarray, shape (R,)
    intervals : ndarray, shape (R, 2)
    limits : tuple of two floats
        Limits of the axis.
    label : str
        What is estimated.
    caption : str
    """

    names: tuple[str, ...]
    estimates: FloatArray
    intervals: FloatArray
    limits: tuple[float, float]
    label: str
    caption: str

    @property
    def size(self) -> tuple[float, float]:  # type: ignore[override]
        """Width and height, in inches, of a new figure; the height grows with the rows."""
        return COLUMN_WIDTH, 0.75 + ROW_HEIGHT * max(len(self.names) + 1, 2)

    def _draw(self, ax: Axes) -> None:
        rows = np.arange(len(self.names))
        ax.set_yticks(rows, self.names)
        ax.set_ylim(len(rows) - 0.4, -0.6)  # the first row on top
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        handles = [Line2D([], [], color=PALETTE[0], marker="o", markersize=4, linewidth=1.4)]
        names, others = self._draw_others(ax, rows)
        ends = np.clip(self.intervals, *self.limits)  # an interval without end leaves the axes
        ax.hlines(rows, *ends.T, color=PALETTE[0], linewidth=1.4, zorder=2)
        ax.scatter(self.estimates, rows, s=22, color=PALETTE[0], zorder=4)
        ax.set_xlim(self.limits)
        ax.set_xlabel(self.label)
        ax.legend(
            [*handles, *others],
            names,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=len(names),
            columnspacing=1.4,
            handletextpad=0.6,
        )

    @abstractmethod
    def _draw_others(self, ax: Axes, rows: npt.NDArray[np.intp]) -> tuple[list[str], list[Line2D]]:
        """Draw everything but the estimates and their intervals.

        Returns the names of all legend entries, that of the estimates first, and the legend
        handles of the entries after it.
        """


def draw_grey_bars(ax: Axes, rows: npt.NDArray[np.intp], ranges: FloatArray) -> list[Line2D]:
    """Draw a range, shape (R, 2), behind each row; return its legend handle if any is known."""
    ax.hlines(rows, *ranges.T, color=FAINT, linewidth=6, alpha=0.7, zorder=1)
    handle = Line2D([], [], color=FAINT, linewidth=6, alpha=0.7, solid_capstyle="butt")
    return [handle] if np.isfinite(ranges).any() else []


def check_rows(given: T | Mapping[str, T], kind: type[T], name: str) -> dict[str, T]:
    """Return a mapping with at least one entry, all of one type; a single object has no name."""
    rows: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {"": given}
    if not rows:
        raise InputError(f"The '{name}' parameter must have at least one entry. Got none.")
    for key, value in rows.items():
        if not isinstance(value, kind):
            raise InputTypeError(
                f"The '{name}' parameter must hold {kind.__name__}s. "
                f"Got {type(value).__name__} at {key!r}."
            )
    return rows


def window(*values: npt.ArrayLike, margin: float = 0.05) -> tuple[float, float]:
    """Return limits that contain all finite values, with a margin.

    >>> window([0.0, 10.0], [np.nan, -10.0])
    (-11.0, 11.0)
    """
    pooled = np.concatenate([np.ravel(np.asarray(one, np.float64)) for one in values])
    pooled = pooled[np.isfinite(pooled)]
    if not pooled.size:
        return 0.0, 1.0
    low, high = float(pooled.min()), float(pooled.max())
    pad = margin * (high - low) or 0.5
    return low - pad, high + pad


def row_names(rows: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the rows, safe to draw."""
    return tuple(plain(name) for name in rows)
