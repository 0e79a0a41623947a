"""Intervals of a statistic from leaving out one independent unit at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt
from scipy.stats import norm as normal
from scipy.stats import t as student

from experiments.common.verdicts import NO_LIMITS, Criterion, Limits

FloatArray = npt.NDArray[np.float64]
FEWEST_UNITS = 3
MOST_UNITS = 100_000  # more are not worth naming


@dataclass(frozen=True)
class Interval:
    """An estimate with a confidence interval; NaN where it cannot be computed."""

    estimate: float
    lower: float
    upper: float

    def summary(self) -> dict[str, float | None]:
        """Return the numbers, ready for JSON."""
        return {name: float(v) if np.isfinite(v) else None for name, v in vars(self).items()}


def jackknife_interval(
    estimate: float,
    parts: Sequence[float] | FloatArray,
    level: float,
    limits: Limits = NO_LIMITS,
    inflation: float = 1.0,
) -> Interval:
    """Return the interval from the estimates without each of the units.

    Parameters
    ----------
    estimate : float
    parts : sequence of float
        The estimate without each of the units.
    level : float
    limits : tuple
        What the statistic cannot leave. With both, the interval is computed on the logit of its
        place between them, which for a correlation is Fisher's z; with one, on the logarithm of
        the distance to it. Where a value is not strictly inside, the interval is computed without
        transformation and cut off.
    inflation : float
        Factor of the variance.

    Examples
    --------
    >>> found = jackknife_interval(0.9, [0.88, 0.9, 0.92], 0.95, (0.0, 1.0))
    >>> round(found.lower, 3), round(found.upper, 3)
    (0.746, 0.965)
    >>> jackknife_interval(0.9, [0.8, 1.0, 0.9], 0.95, (0.0, 1.0)).upper
    1.0
    """
    values = np.array([estimate, *parts], dtype=np.float64)
    if len(values) <= FEWEST_UNITS or not np.isfinite(values).all():
        return Interval(estimate, np.nan, np.nan)
    lowest = -np.inf if limits[0] is None else limits[0]
    highest = np.inf if limits[1] is None else limits[1]
    inside = bool(((values > lowest) & (values < highest)).all())
    moved = _stretch(values, lowest, highest) if inside else values
    half = _half_width(moved[1:], level, inflation)
    ends = np.array([moved[0] - half, moved[0] + half])
    if inside:
        ends = _squeeze(ends, lowest, highest)
    lower, upper = np.clip(ends, lowest, highest)
    return Interval(estimate, float(lower), float(upper))


def _half_width(parts: FloatArray, level: float, inflation: float) -> float:
    count = len(parts)
    error = np.sqrt(inflation * (count - 1) / count * ((parts - parts.mean()) ** 2).sum())
    return float(student.ppf((1 + level) / 2, count - 1) * error)


def _stretch(values: FloatArray, lowest: float, highest: float) -> FloatArray:
    """Map what is between the limits to all numbers, in the same order."""
    above = 0.0 if np.isinf(lowest) else np.log(values - lowest)
    below = 0.0 if np.isinf(highest) else np.log(highest - values)
    if np.isinf(lowest) and np.isinf(highest):
        return values
    return np.asarray(above - below)


def _squeeze(values: FloatArray, lowest: float, highest: float) -> FloatArray:
    """Undo `_stretch`."""
    if np.isinf(lowest) and np.isinf(highest):
        return values
    if np.isinf(lowest):
        return np.asarray(highest - np.exp(-values))
    if np.isinf(highest):
        return np.asarray(lowest + np.exp(values))
    return np.asarray(lowest + (highest - lowest) / (1 + np.exp(-values)))


def units_needed(
    criterion: Criterion, interval: Interval, n_units: int, level: float
) -> int | None:
    """Return how many units would decide a criterion if the estimate and its spread stayed.

    Of the two verdicts, the one that needs fewer units counts. None if more units would not help:
    if the estimate is on the threshold, or if the interval decides already and a test does not.

    >>> gain = Criterion("gain", "gain", above=0.0, refuted_below=0.02)
    >>> units_needed(gain, Interval(0.05, -0.01, 0.11), 10, 0.95)
    14
    """
    if n_units < FEWEST_UNITS or not np.isfinite([interval.lower, interval.upper]).all():
        return None
    ways = (
        (interval.estimate - criterion.above, interval.estimate - interval.lower),
        (criterion.refuted_below - interval.estimate, interval.upper - interval.estimate),
    )
    counts = [_count(gap, half, n_units, level) for gap, half in ways if 0 < gap <= half]
    return min((one for one in counts if one is not None), default=None)


def units_for_test(p_value: float, largest: float, n_units: int) -> int | None:
    """Return how many units would make a p-value small enough if the effect stayed.

    The effect, in standard deviations of chance, is taken to grow with the square root of the
    number of units. None if chance alone does better than the effect in half of the cases.

    >>> units_for_test(0.03, 0.01, 10), units_for_test(0.6, 0.01, 10)
    (16, None)
    """
    if p_value >= 0.5:
        return None
    return ceil(n_units * float(normal.isf(largest) / normal.isf(p_value)) ** 2)


def _count(gap: float, half: float, n_units: int, level: float) -> int | None:
    """Return how many units make the half width of an interval smaller than a gap."""
    error = half / student.ppf((1 + level) / 2, n_units - 1) * np.sqrt(n_units)
    count = max(n_units + 1, ceil((error / gap) ** 2))
    while count <= MOST_UNITS:
        if student.ppf((1 + level) / 2, count - 1) * error / np.sqrt(count) < gap:
            return int(count)
        count += max(1, count // 50)
    return None
