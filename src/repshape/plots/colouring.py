"""Colours and markers for values, and their legend or colour bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, Normalize, to_rgba
from matplotlib.lines import Line2D

from repshape._colours import PERIODS, cyclic_table, level_order, period_of
from repshape.errors import InputError, check_choice
from repshape.plots.style import COLORMAP, FAINT, INK, MARKERS, PALETTE, SMALL_SIZE, plain

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

KINDS = ("auto", "categorical", "continuous", "cyclic")
# Only this many levels, the most common ones, get their own colour and marker.
MOST_LEVELS = 24
# A legend with more entries than this is set in two columns.
TALL_LEGEND = 14
MISSING = "missing"
MISSING_MARKER = "x"
OTHER_MARKER = "."


@dataclass(frozen=True, eq=False)
class Colouring:
    """Colours and markers of K items, and their key (a legend or a colour bar).

    Attributes
    ----------
    kind : {"categorical", "continuous", "cyclic", "given"}
        The kind of values. "given" means that the caller chose the colours; they have no key.
    name : str
        Title of the key, safe to draw.
    colours : ndarray, shape (K, 4)
        Red, green, blue and opacity of each item.
    markers : tuple of str, length K
        Marker of each item.
    levels : tuple of str
        Names of the categories, safe to draw, in the order of the key.
    codes : ndarray of int, shape (K,)
        Index of the category of each item; -1 for continuous values and given colours.
    level_colours, level_markers : tuple of str
        Colour and marker of each category.
    limits : tuple of two floats
        Limits of the colour bar, of cyclic values 0 and the period; NaN for categories.
    n_missing : int
        Number of items without a value; they are drawn as grey crosses.
    """

    kind: str
    name: str
    colours: FloatArray
    markers: tuple[str, ...]
    levels: tuple[str, ...]
    codes: IntArray
    level_colours: tuple[str, ...]
    level_markers: tuple[str, ...]
    limits: tuple[float, float]
    n_missing: int

    @classmethod
    def of(
        cls, values: Sequence[Any] | pd.Series[Any], name: str = "", kind: str = "auto"
    ) -> Colouring:
        """Choose colours for values.

        Parameters
        ----------
        values : sequence of length K
            Values of any type; None and NaN count as missing.
        name : str
            The title of the key.
        kind : {"auto", "categorical", "continuous", "cyclic"}
            With "auto", numbers are continuous and everything else is categorical. Numbers whose
            name says that they are an orientation, a direction, a phase or an angle are cyclic:
            both ends of the period have the same colour.

        Examples
        --------
        >>> Colouring.of(["V1", "V4", "V1"]).levels
        ('V1', 'V4')
        >>> Colouring.of([0.5, 2.0]).limits
        (0.5, 2.0)
        >>> Colouring.of([0.0, 60.0, 120.0], "orientation").limits
        (0.0, 180.0)
        """
        check_choice("kind", kind, KINDS, owner="Colouring")
        column = pd.Series(list(values), dtype=object)
        numeric = all(_is_number(value) for value in column.dropna())
        if kind == "categorical" or (kind == "auto" and not numeric):
            return cls._categorical(column, plain(name))
        if not numeric:
            raise InputError(f"Values must be numbers if kind='{kind}'. Got other types.")
        gaps = column.isna()
        numbers = [np.nan if gap else float(v) for v, gap in zip(column, gaps, strict=True)]
        period = None if kind == "continuous" else period_of(name, numbers)
        if kind == "cyclic" and period is None:
            period = PERIODS["direction"]
        return cls._continuous(np.array(numbers), plain(name), period)

    @classmethod
    def one(cls, count: int, colour: str = PALETTE[0]) -> Colouring:
        """Give all ``count`` items the same colour, without a key."""
        return cls.given(np.tile(to_rgba(colour), (count, 1)))

    @classmethod
    def given(cls, colours: npt.ArrayLike) -> Colouring:
        """Use the given colours, shape (K, 3) or (K, 4), without a key."""
        rgba = np.array([to_rgba(tuple(row)) for row in np.asarray(colours, np.float64)])
        codes = np.full(len(rgba), -1, dtype=np.intp)
        markers = (MARKERS[0],) * len(rgba)
        return cls("given", "", rgba, markers, (), codes, (), (), (np.nan, np.nan), 0)

    @classmethod
    def _continuous(cls, values: FloatArray, name: str, period: float | None) -> Colouring:
        known = np.isfinite(values)
        unit = np.full(len(values), 0.5)
        if period is not None:
            limits = (0.0, period)
            unit[known] = values[known] % period / period
        else:
            ends = values[known] if known.any() else np.array([0.0, 1.0])
            limits = (float(ends.min()), float(ends.max()))
            unit[known] = unit_interval(ends) if known.any() else 0.5
        kind = "continuous" if period is None else "cyclic"
        colours = np.asarray(_map_of(kind)(unit), np.float64)
        colours[~known] = to_rgba(FAINT)
        markers = tuple(MARKERS[0] if one else MISSING_MARKER for one in known)
        codes = np.full(len(values), -1, dtype=np.intp)
        missing = int((~known).sum())
        return cls(kind, name, colours, markers, (), codes, (), (), limits, missing)

    @classmethod
    def _categorical(cls, column: pd.Series[Any], name: str) -> Colouring:
        levels, codes = _levels(column)
        missing = int(column.isna().sum())
        key = [(PALETTE[k % len(PALETTE)], MARKERS[k % len(MARKERS)]) for k in range(len(levels))]
        rest = [(FAINT, OTHER_MARKER), (FAINT, MISSING_MARKER)]
        names = [plain(level) for level in levels]
        others = _n_levels(column) - len(levels)
        if others:
            names, key = [*names, f"{others} others"], [*key, rest[0]]
        if missing:
            codes = np.where(codes == -2, len(names), codes)
            names, key = [*names, MISSING], [*key, rest[1]]
        colours = np.array([to_rgba(key[code][0]) for code in codes]).reshape(-1, 4)
        return cls(
            kind="categorical",
            name=name,
            colours=colours,
            markers=tuple(key[code][1] for code in codes),
            levels=tuple(names),
            codes=codes,
            level_colours=tuple(colour for colour, _ in key),
            level_markers=tuple(marker for _, marker in key),
            limits=(float("nan"), float("nan")),
            n_missing=missing,
        )

    def __len__(self) -> int:
        return len(self.colours)

    def scatter(self, ax: Axes, points: FloatArray, areas: FloatArray, zorder: float = 3.0) -> None:
        """Draw a marker for each item, largest first, as one collection for each marker shape."""
        shapes = np.array(self.markers, dtype=object)
        # Items without a level of their own are drawn first, behind the others.
        for shape in sorted(set(self.markers), key=(MISSING_MARKER, OTHER_MARKER, *MARKERS).index):
            chosen = np.flatnonzero(shapes == shape)
            chosen = chosen[np.argsort(-areas[chosen], kind="stable")]
            ax.scatter(
                points[chosen, 0],
                points[chosen, 1],
                s=areas[chosen],
                c=self.colours[chosen],
                marker=shape,
                zorder=zorder,
                clip_on=False,
                edgecolors=None if shape == MISSING_MARKER else "white",
                linewidths=0.8 if shape == MISSING_MARKER else 0.4,
            )

    def with_missing_as(self, name: str, marker: str = OTHER_MARKER) -> Colouring:
        """Return a copy in which missing items have another name and another marker."""
        if self.kind != "categorical" or not self.n_missing:
            return self
        return replace(
            self,
            levels=(*self.levels[:-1], plain(name)),
            markers=tuple(marker if one == MISSING_MARKER else one for one in self.markers),
            level_markers=(*self.level_markers[:-1], marker),
            n_missing=0,
        )

    def draw_key(self, ax: Axes) -> None:
        """Draw the legend or the colour bar to the right of the axes."""
        if self.kind == "categorical":
            self._legend(ax)
        elif self.kind in ("continuous", "cyclic"):
            mapped = ScalarMappable(Normalize(*self.limits), cmap=_map_of(self.kind))
            colour_bar(ax, mapped, self.name)

    def _legend(self, ax: Axes) -> None:
        handles = [
            Line2D([], [], linestyle="", marker=marker, color=colour, markersize=4.5)
            for colour, marker in zip(self.level_colours, self.level_markers, strict=True)
        ]
        ax.legend(
            handles,
            self.levels,
            title=self.name or None,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            ncols=1 if len(self.levels) <= TALL_LEGEND else 2,
        )


def colour_bar(ax: Axes, mapped: ScalarMappable, label: str) -> None:
    """Draw a thin colour bar with a label to the right of the axes."""
    bar = ax.figure.colorbar(mapped, ax=ax, fraction=0.05, pad=0.03, aspect=22)
    bar.set_label(label, size=SMALL_SIZE, color=INK)
    bar.ax.tick_params(labelsize=SMALL_SIZE, colors=INK, length=2, width=0.6)
    bar.outline.set_visible(False)


def _map_of(kind: str) -> Colormap:
    if kind == "cyclic":
        return ListedColormap(cyclic_table(), name="cyclic")
    return mpl.colormaps[COLORMAP]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _n_levels(column: pd.Series[Any]) -> int:
    return int(column.dropna().astype(str).nunique())


def _levels(column: pd.Series[Any]) -> tuple[list[str], IntArray]:
    """Return the sorted levels that get a colour, and the code of each value.

    Less common levels share the code after the last one; missing values have the code -2.
    """
    texts = column.astype(str)
    counts = texts[column.notna()].value_counts(sort=True)
    kept = list(counts.index[:MOST_LEVELS]) if len(counts) > MOST_LEVELS else list(counts.index)
    kept = level_order(kept)
    place = {level: k for k, level in enumerate(kept)}
    codes = [
        place.get(text, len(kept)) if known else -2
        for text, known in zip(texts, column.notna(), strict=True)
    ]
    return kept, np.array(codes, dtype=np.intp)


# Corners of the two-dimensional colour map: rows are the lowest and the highest second parameter,
# columns the lowest and the highest first parameter.
CORNERS = np.array(
    [
        [[0.52, 0.83, 0.95], [0.99, 0.80, 0.36]],
        [[0.10, 0.16, 0.50], [0.70, 0.05, 0.22]],
    ]
)


def grid_colours(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Return RGB colours, shape (K, 3), that vary smoothly with two parameters.

    The hue goes from blue to red as ``first`` increases; lightness decreases with ``second``.

    Examples
    --------
    >>> grid_colours([-0.9, 0.9], [0.5, 2.0])[1].round(2).tolist()
    [0.7, 0.05, 0.22]
    """
    u, v = (unit_interval(np.asarray(values, dtype=np.float64)) for values in (first, second))
    weights = np.stack([np.stack([1 - u, u], -1) * w[:, None] for w in (1 - v, v)], -2)
    colours: FloatArray = np.einsum("kij,ijc->kc", weights, CORNERS)
    return colours


def unit_interval(values: FloatArray) -> FloatArray:
    """Scale values to [0, 1]; equal values become 0.5.

    >>> unit_interval(np.array([2.0, 4.0, 3.0]))
    array([0. , 1. , 0.5])
    """
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.full_like(values, 0.5)
