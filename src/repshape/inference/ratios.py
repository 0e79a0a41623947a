"""The ratio of two distances, with an interval that remains right where the divisor is near 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from repshape.errors import RepshapeWarning, warn_user
from repshape.inference.estimates import Estimate, Interval, Moments, slope_of_square
from repshape.metrics.base import signed_root

FloatArray = npt.NDArray[np.float64]


class UnboundedRatioWarning(RepshapeWarning):
    """A ratio of distances has no finite estimate, or no upper limit."""


def ratio_interval(found: Moments) -> Interval:
    r"""Return d_0 / d_2, with the interval of Fieller (1954).

    The squared ratio :math:`\rho` belongs to the interval if :math:`d_0^2 - \rho\, d_2^2` is not
    significantly different from 0:

    .. math:: (t - \rho\, b)^2 \le q^2 (V_{tt} - 2 \rho V_{tb} + \rho^2 V_{bb}), \quad \rho \ge 0,

    with the estimates t and b of both squared distances, their covariance V and the quantile q.
    Negative estimates are replaced by 0 first, which can only widen the interval. Where b is not
    separated from 0, the interval has no upper end; where t is not, it begins at 0.

    The ratio is 0 if t is not positive, infinite if b is not, and NaN if neither is.

    >>> clear = ratio_interval(Moments(np.array([4.0, 1.0]), np.diag([0.16, 0.0]), 1.0))
    >>> clear.value, np.round(np.square(clear.ends), 6).tolist()
    (2.0, [3.6, 4.4])
    >>> unclear = ratio_interval(Moments(np.array([4.0, 1.0]), np.diag([0.0, 4.0]), 1.0))
    >>> round(unclear.ends[0] ** 2, 6), unclear.ends[1]
    (1.333333, inf)
    """
    top, bottom = (max(float(one), 0.0) for one in found.squared)
    if np.isnan(found.squared).any() or (top == 0 and bottom == 0):
        value = np.nan
    else:
        value = top / bottom if bottom > 0 else np.inf
    if np.isnan(found.covariance).any():  # a single split: its error is unknown
        return Interval(_root(value), (np.nan, np.nan), np.nan)
    low, high = _fieller(top, bottom, found.covariance, found.quantile)
    error = _standard_error(value, bottom, found.covariance)
    return Interval(_root(value), (_root(low), _root(high)), error)


def _root(value: float) -> float:
    return value if np.isinf(value) else signed_root(value)


def _standard_error(value: float, bottom: float, covariance: FloatArray) -> float:
    """Return the standard error of the root of a squared ratio (delta method)."""
    if not np.isfinite(value):
        return np.inf
    slope = np.array([1.0, -value])
    error = float(np.sqrt(max(slope @ covariance @ slope, 0.0))) / bottom
    return error / slope_of_square(value, error)


def _fieller(top: float, bottom: float, V: FloatArray, q: float) -> tuple[float, float]:
    """Return the smallest interval that contains Fieller's set of ratios from 0."""
    # In units in which no square overflows.
    units = np.array([max(top, np.sqrt(V[0, 0])), max(bottom, np.sqrt(V[1, 1]))])
    if not (units > 0).all():
        return (0.0, np.inf) if units[1] == 0 else (0.0, 0.0)
    t, b = np.array([top, bottom]) / units
    noise = q**2 * (V / units[:, None] / units)
    # The set is a rho^2 - 2 c rho + e <= 0, and d the square that its roots contain.
    a, c, e = b**2 - noise[1, 1], t * b - noise[0, 1], t**2 - noise[0, 0]
    d = noise[0, 0] * b**2 - 2 * noise[0, 1] * t * b + noise[1, 1] * t**2
    d = max(d - (noise[0, 0] * noise[1, 1] - noise[0, 1] ** 2), 0.0)
    unit = units[0] / units[1]
    if a > 0:
        ends = (c - np.sqrt(d)) / a, (c + np.sqrt(d)) / a
        return max(ends[0], 0.0) * unit, max(ends[1], 0.0) * unit
    # Outside of two roots, if there are any: from the larger root, if the smaller one is below 0.
    # It is if their product e / a is.
    return (e / (c + np.sqrt(d)) * unit if e > 0 and c + np.sqrt(d) > 0 else 0.0), np.inf


def warn_unbounded(found: Estimate) -> None:
    """Say which distance is not separated from 0, if the ratio or its interval is not finite."""
    low, high = found.interval
    share = f"{100 * found.level:g} %"
    words = []
    if np.isnan(found.estimate):
        words.append(
            "Both squared distances are estimated as 0 or less: there is no estimate of "
            "their ratio d_0 / d_2."
        )
    elif np.isinf(found.estimate):
        words.append(
            "The squared mean distance is estimated as 0 or less, and the ratio "
            "d_0 / d_2 as infinite."
        )
    elif found.estimate == 0:
        words.append(
            "The squared covariance distance is estimated as 0 or less, and the ratio "
            "d_0 / d_2 as 0."
        )
    if np.isinf(high):
        words.append(
            f"The mean distance d_2 is not separated from 0, so the {share} interval of "
            f"d_0 / d_2 has no upper end: it begins at {low:.3g}."
        )
    if words:
        warn_user(" ".join(words), UnboundedRatioWarning)
