"""Numbers with intervals, a row for each: what scores and estimates share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from repshape.errors import InputError, InputTypeError
from repshape.plots.style import COLUMN_WIDTH, FAINT, plain

T = TypeVar("T")
FloatArray = npt.NDArray[np.float64]

ROW_HEIGHT = 0.27


def check_rows(given: T | Mapping[str, T], kind: type[T], name: str) -> dict[str, T]:
    """Return a mapping with at least one entry, all of one kind; one alone has no name."""
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
    """Return limits that hold all finite values with a margin.

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


def row_size(count: int) -> tuple[float, float]:
    """Return the size of a figure with ``count`` rows."""
    return COLUMN_WIDTH, 0.75 + ROW_HEIGHT * max(count, 2)


def draw_rows(ax: Axes, names: tuple[str, ...]) -> None:
    """Name the rows, the first on top."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def grey_bar() -> Line2D:
    """Return the entry of a legend for what noise or chance alone makes."""
    return Line2D([], [], color=FAINT, linewidth=6, alpha=0.7, solid_capstyle="butt")


def draw_row_key(ax: Axes, handles: list[Line2D], names: list[str]) -> None:
    """Draw the legend above the rows."""
    ax.legend(
        handles,
        names,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=len(names),
        columnspacing=1.4,
        handletextpad=0.6,
    )


def row_names(rows: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the rows, safe to draw."""
    return tuple(plain(name) for name in rows)
