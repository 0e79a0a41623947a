"""Estimates with their intervals, and the settings of the methods that compute them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._compact import compact_repr
from repshape.errors import (
    InputError,
    Rule,
    check_choice,
    check_integer,
    check_parameters,
    check_real,
)
from repshape.metrics.base import signed_root

FloatArray = npt.NDArray[np.float64]

# If the principal components of two halves of the trials overlap by less, errors of distances are
# far from linear in the noise, and intervals of matched halves are made wider.
CLEAR_OVERLAP = 0.9
SOURCES = ("trials", "conditions", "both")
# The options that belong to each method.
METHODS = {
    "calibrated": ("n_groups",),
    "halves": ("n_groups",),
    "jackknife": ("n_groups",),
    "bootstrap": ("over", "n_resamples"),
}


@compact_repr
@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval.

    Attributes
    ----------
    estimate : float
        For distances, the signed root of the estimated squared distance. A negative value means
        that the squared estimate is negative: if the true distance is 0, about half of the
        estimates are.
    interval : tuple of two floats
        Lower and upper end; the upper one is infinite if a ratio has no limit.
    level : float
        Nominal coverage of the interval.
    standard_error : float
        Standard error of ``estimate``, to first order.
    plug_in : float
        The same quantity without any correction.
    method : str
        How the estimate and its interval were computed.
    n_resamples : int
        Number of resamples, splits or deleted groups.
    random_state : int
        The seed.
    overlap : float or None
        How well two halves of the trials agree about the principal components, from 0 to 1; the
        least of the networks. None without PCA.
    """

    estimate: float
    interval: tuple[float, float]
    level: float
    standard_error: float
    plug_in: float
    method: str
    n_resamples: int
    random_state: int
    overlap: float | None = None

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
    """How a number is estimated."""

    method: str
    level: float
    random_state: int
    workers: int | None
    progress: bool | None
    n_groups: int = 10
    over: str = "trials"
    n_resamples: int = 200
    cautious: bool = False

    @classmethod
    def checked(
        cls,
        method: str,
        n_groups: int | None,
        over: str | None,
        n_resamples: int | None,
        level: float,
        random_state: int,
        workers: int | None,
        progress: bool | None,
    ) -> Settings:
        """Return the settings, with defaults for None; refuse options of another method."""
        options: dict[str, Any] = {"n_groups": n_groups, "over": over, "n_resamples": n_resamples}
        given = {name: value for name, value in options.items() if value is not None}
        found = cls(method, level, random_state, workers, progress, **given)
        check_parameters("", vars(found), RULES)
        for name in given:
            if name not in METHODS[method]:
                listed = ", ".join(map(repr, METHODS[method]))
                raise InputError(
                    f"The '{name}' parameter does not apply to method={method!r}, which has the "
                    f"options {listed}."
                )
        return found

    def for_overlap(self, overlap: float | None) -> Settings:
        """Return the settings for this overlap of the components of two halves of the trials."""
        return replace(self, cautious=overlap is not None and overlap < CLEAR_OVERLAP)


RULES: Mapping[str, Rule] = {
    "method": partial(check_choice, choices=METHODS),
    "level": partial(check_real, low=0, high=1, closed="neither"),
    "random_state": partial(check_integer, low=0),
    "over": partial(check_choice, choices=SOURCES),
    "n_groups": partial(check_integer, low=2),
    "n_resamples": partial(check_integer, low=2),
}


@dataclass(frozen=True)
class Moments:
    """Squared distances as estimated, their covariance, and the quantile for an interval."""

    squared: FloatArray
    covariance: FloatArray
    quantile: float


class Interval(NamedTuple):
    """A number, the ends of its interval, and its standard error."""

    value: float
    ends: tuple[float, float]
    standard_error: float


IntervalRule: TypeAlias = Callable[[Moments], Interval]


@dataclass(frozen=True)
class Resampled:
    """What a method found: corrected and plug-in squared distances, and how it found them.

    If there are few trials, the interval also contains those of the ``safe`` estimates.
    """

    corrected: Moments
    plug_in: FloatArray
    method: str
    n_resamples: int
    safe: tuple[Moments, ...] = ()

    def summarise(self, rule: IntervalRule, settings: Settings, overlap: float | None) -> Estimate:
        """Return the estimate of the quantity that the rule computes from squared distances."""
        found = hull(rule, [self.corrected, *self.safe])
        exact = Moments(self.plug_in, np.zeros_like(self.corrected.covariance), 0.0)
        return Estimate(
            estimate=found.value,
            interval=found.ends,
            level=settings.level,
            standard_error=found.standard_error,
            plug_in=rule(exact).value,
            method=self.method,
            n_resamples=self.n_resamples,
            random_state=settings.random_state,
            overlap=overlap,
        )


def hull(rule: IntervalRule, found: Sequence[Moments]) -> Interval:
    """Return the number of the first moments, with an interval that contains those of all.

    >>> two = [Moments(np.array([d]), np.eye(1), 1.0) for d in (4.0, 9.0)]
    >>> value, (low, high), _ = hull(distance_interval, two)
    >>> value, round(low**2, 9), round(high**2, 9)
    (2.0, 3.0, 10.0)
    """
    every = [rule(one) for one in found]
    ends = np.array([one.ends for one in every])
    error = max(one.standard_error for one in every)
    return Interval(every[0].value, (float(ends[:, 0].min()), float(ends[:, 1].max())), error)


def distance_interval(found: Moments) -> Interval:
    """Return a distance, with an interval that is symmetric for the squared distance."""
    value, error = float(found.squared[0]), float(np.sqrt(found.covariance[0, 0]))
    ends = value - found.quantile * error, value + found.quantile * error
    roots = signed_root(ends[0]), signed_root(ends[1])
    return Interval(signed_root(value), roots, error / slope_of_square(value, error))


def slope_of_square(value: float, error: float) -> float:
    """Return 2 d, the derivative of d^2; if d^2 is below its error e, 2 sqrt(e) instead."""
    return float(2 * np.sqrt(max(value, error, np.finfo(np.float64).tiny)))


def difference_interval(found: Moments) -> Interval:
    """Return d_1 - d_2, with a symmetric interval (delta method)."""
    errors = np.sqrt(np.diagonal(found.covariance))
    slope = np.array([1.0, -1.0])
    slope /= [slope_of_square(v, e) for v, e in zip(found.squared, errors, strict=True)]
    error = float(np.sqrt(max(slope @ found.covariance @ slope, 0.0)))
    value = signed_root(found.squared[0]) - signed_root(found.squared[1])
    return Interval(value, (value - found.quantile * error, value + found.quantile * error), error)
