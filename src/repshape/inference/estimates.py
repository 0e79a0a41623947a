"""What every estimator returns: a number with its interval, and how they were found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.errors import InputError, check_choice, check_integer, check_real

FloatArray = npt.NDArray[np.float64]

ALIGNMENTS = ("extrapolated", "crossvalidated")
SOURCES = ("trials", "conditions", "both")
# The options of each method, with their defaults.
METHODS: dict[str, dict[str, Any]] = {
    "jackknife": {"alignment": "extrapolated", "n_groups": 10},
    "bootstrap": {"over": "trials", "n_resamples": 200},
}


class FewTrialsWarning(UserWarning):
    """There are too few trials for the number of neurons for a correction to be trusted."""


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    Attributes
    ----------
    estimate : float
        For distances the signed root of the estimated squared distance: a negative distance says
        that the squared estimate is negative, which noise about 0 makes half of them.
    interval : tuple of two floats
        Lower and upper end.
    level : float
        Intended share of intervals that hold the true value.
    standard_error : float
        Of ``estimate``, to first order.
    plug_in : float
        The same quantity without any correction.
    method : str
        How the estimate and its interval were found.
    n_resamples : int
        Number of resamples, splits or deleted groups.
    random_state : int
        Their seed.
    """

    estimate: float
    interval: tuple[float, float]
    level: float
    standard_error: float
    plug_in: float
    method: str
    n_resamples: int
    random_state: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row, with the ends of the interval as ``low`` and ``high``."""
        row = asdict(self)
        low, high = row.pop("interval")
        row = {"estimate": row.pop("estimate"), "low": low, "high": high, **row}
        return pd.DataFrame([row])

    def __str__(self) -> str:
        low, high = self.interval
        share = f"{100 * self.level:g} %"
        return f"{self.estimate:.4g} [{low:.4g}, {high:.4g}] ({share}, {self.method})"


@dataclass(frozen=True)
class Settings:
    """How a number is estimated; options that belong to another method are refused."""

    method: str
    level: float
    random_state: int
    workers: int | None
    progress: bool | None
    alignment: str = "extrapolated"
    n_groups: int = 10
    over: str = "trials"
    n_resamples: int = 200

    @classmethod
    def checked(
        cls,
        method: str,
        level: float,
        random_state: int,
        workers: int | None,
        progress: bool | None,
        **options: Any,
    ) -> Settings:
        """Return the settings that a user gave, or raise one clear sentence."""
        own = METHODS[check_choice("method", method, METHODS)]
        given = {name: value for name, value in options.items() if value is not None}
        for name in given:
            if name not in own:
                listed = ", ".join(map(repr, own))
                raise InputError(
                    f"The '{name}' parameter does not belong to method={method!r}, whose options "
                    f"are {listed}."
                )
        found = cls(
            method,
            check_real("level", level, 0, 1, closed="neither"),
            check_integer("random_state", random_state, 0),
            workers,
            progress,
            **given,
        )
        check_choice("alignment", found.alignment, ALIGNMENTS)
        check_choice("over", found.over, SOURCES)
        check_integer("n_groups", found.n_groups, 2)
        check_integer("n_resamples", found.n_resamples, 2)
        return found


def signed_root(squared: float) -> float:
    """Return the root with the sign of its argument.

    >>> signed_root(-4.0)
    -2.0
    """
    return float(np.sign(squared) * np.sqrt(abs(squared)))


@dataclass(frozen=True)
class Moments:
    """Squared distances as estimated, their covariance, and the quantile for an interval."""

    squared: FloatArray
    covariance: FloatArray
    quantile: float


Interval = tuple[float, tuple[float, float], float]


def distance_interval(found: Moments) -> Interval:
    """Return distance, interval and standard error: symmetric for the squared distance."""
    value, error = float(found.squared[0]), float(np.sqrt(found.covariance[0, 0]))
    ends = value - found.quantile * error, value + found.quantile * error
    root = signed_root(value)
    return root, (signed_root(ends[0]), signed_root(ends[1])), error / _slope(value, error)


def _slope(value: float, error: float) -> float:
    """Return 2 d, the derivative of d^2; where d^2 is below its error, 2 of the root of that."""
    return float(2 * np.sqrt(max(value, error, np.finfo(np.float64).tiny)))


def ratio_interval(found: Moments) -> Interval:
    """Return d_0 / d_2 with an interval that is symmetric for its logarithm (delta method).

    NaN where a squared distance is not positive: there is no ratio of two distances to speak of.
    """
    top, bottom = found.squared
    if min(top, bottom) <= 0:
        return np.nan, (np.nan, np.nan), np.nan
    slope = np.array([0.5 / top, -0.5 / bottom])
    error = float(np.sqrt(max(slope @ found.covariance @ slope, 0.0)))
    ratio = float(np.sqrt(top / bottom))
    factor = float(np.exp(found.quantile * error))
    return ratio, (ratio / factor, ratio * factor), ratio * error


def difference_interval(found: Moments) -> Interval:
    """Return d_1 - d_2 with a symmetric interval (delta method)."""
    errors = np.sqrt(np.diagonal(found.covariance))
    slope = np.array([1.0, -1.0])
    slope /= [_slope(v, e) for v, e in zip(found.squared, errors, strict=True)]
    error = float(np.sqrt(max(slope @ found.covariance @ slope, 0.0)))
    value = signed_root(found.squared[0]) - signed_root(found.squared[1])
    return value, (value - found.quantile * error, value + found.quantile * error), error
