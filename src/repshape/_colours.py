"""Colours, markers and their order, which figures and report pages share."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# The colours of Okabe and Ito (2008), which are colour-blind safe, without black and yellow: all
# are seen on white and on black.
PALETTE = (
    "#0072B2",  # blue
    "#D55E00",  # vermilion
    "#009E73",  # green
    "#CC79A7",  # purple
    "#E69F00",  # orange
    "#56B4E9",  # sky
    "#8C6BB1",  # violet
    "#7F7F7F",  # grey
)
# Markers of matplotlib and what pages call them. Seven markers and eight colours give 56 levels
# before a combination repeats.
SHAPES = {
    "o": "circle",
    "s": "square",
    "^": "triangle",
    "D": "diamond",
    "v": "down",
    "P": "plus",
    "X": "times",
}
MARKERS = tuple(SHAPES)

# Periods of quantities in degrees. A bar that is turned by 180 degrees is the same bar.
PERIODS = {
    "orientation": 180.0,
    "direction": 360.0,
    "phase": 360.0,
    "angle": 360.0,
    "azimuth": 360.0,
    "heading": 360.0,
}
# Numbers must fill at least this share of a period: "phase 1, 2 or 3" is no angle.
FILLED = 1 / 3
# The circle of colours in OKLab: lightness differs too, for those who do not see some hues.
LIGHTNESS, TILT, CHROMA = 0.64, 0.09, 0.1


def level_order(levels: Iterable[str]) -> list[str]:
    """Sort numbers by value, and names in natural order.

    >>> level_order(["layer 10", "layer 2"]), level_order(["10", "9", "-1"])
    (['layer 2', 'layer 10'], ['-1', '9', '10'])
    """
    listed = list(levels)
    try:
        return sorted(listed, key=float)
    except ValueError:
        return sorted(listed, key=_natural)


def _natural(text: str) -> list[tuple[int, int, str]]:
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", text)
    ]


def period_of(name: str, values: npt.ArrayLike) -> float | None:
    """Return the period of a quantity whose name says that it is cyclic, or None.

    Numbers are in degrees, or in radians if the name says so.

    >>> period_of("orientation", [0.0, 45.0, 135.0]), period_of("direction (deg)", [0, 45, 315])
    (180.0, 360.0)
    >>> round(period_of("phase_rad", [0.0, 3.0, 6.0]), 3), period_of("phase", [1, 2, 3])
    (6.283, None)
    """
    words = re.findall(r"[a-z]+", name.lower())
    period = next((PERIODS[word] for word in words if word in PERIODS), None)
    numbers = np.asarray(values, dtype=np.float64)
    known = numbers[np.isfinite(numbers)]
    if period is None or not known.size:
        return None
    unit = np.pi / 180.0 if {"rad", "radian", "radians"} & set(words) else 1.0
    span = float(np.ptp(known)) / unit
    if span > period:  # orientations of figures that have an up and a down
        period = 360.0
    return period * unit if FILLED * period <= span <= 360.0 else None


def cyclic_table(count: int = 256) -> FloatArray:
    """Return RGB colours around a circle in OKLab, shape (count, 3); the last meets the first.

    >>> cyclic_table(4).round(2).tolist()[0]
    [0.86, 0.55, 0.65]
    """
    turn = 2.0 * np.pi * np.arange(count) / count
    light = LIGHTNESS + TILT * np.cos(turn)
    a, b = CHROMA * np.cos(turn), CHROMA * np.sin(turn)
    cones = np.stack(
        [
            light + 0.3963377774 * a + 0.2158037573 * b,
            light - 0.1055613458 * a - 0.0638541728 * b,
            light - 0.0894841775 * a - 1.2914855480 * b,
        ]
    )
    linear = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    ) @ (cones**3)
    linear = np.clip(linear, 0.0, 1.0)
    curved = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    table: FloatArray = np.clip(curved, 0.0, 1.0).T
    return table
