"""The numbers that decide the claims, with intervals over animals.

Every statistic is a function of the results of the classes. Its interval comes from the jackknife:
each animal is left out with all of its sessions and pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import squareform
from scipy.stats import t as student

from experiments.brain.claims import (
    CLASSES,
    DRIFTING,
    EXPLAINED,
    INITIALISATIONS,
    LEVEL,
    SMALLEST_RELIABILITY,
)
from experiments.brain.protocol import session_means
from experiments.common.intervals import jackknife_interval
from experiments.common.verdicts import NO_LIMITS, Limits

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClassResults:
    """What was measured of one class of stimuli.

    Attributes
    ----------
    names, animals : tuple of str
        Sessions, and the animal of each.
    squared : mapping of float to array (K, K)
        Squared distances by alpha that decide claims: corrected, or plug-in.
    plug_in : mapping of float to array (K, K)
        Distances of the paper's protocol, by alpha.
    halves : mapping of str to array (K, K)
        Distances of the two halves of the trials.
    sessions : mapping of str to array (K,)
        Numbers of single sessions.
    """

    names: tuple[str, ...]
    animals: tuple[str, ...]
    squared: Mapping[float, FloatArray]
    plug_in: Mapping[float, FloatArray] = field(default_factory=dict)
    halves: Mapping[str, FloatArray] = field(default_factory=dict)
    sessions: Mapping[str, FloatArray] = field(default_factory=dict)

    def keep(self, chosen: Sequence[bool]) -> ClassResults:
        """Return the results of some of the sessions."""
        index = np.flatnonzero(chosen)
        square = np.ix_(index, index)
        return ClassResults(
            tuple(self.names[k] for k in index),
            tuple(self.animals[k] for k in index),
            {alpha: D[square] for alpha, D in self.squared.items()},
            {alpha: D[square] for alpha, D in self.plug_in.items()},
            {name: D[square] for name, D in self.halves.items()},
            {name: values[index] for name, values in self.sessions.items()},
        )

    def as_plug_in(self) -> ClassResults:
        """Return the same with the distances of the protocol instead of corrected ones."""
        return replace(self, squared={alpha: D**2 for alpha, D in self.plug_in.items()})


Results = Mapping[str, ClassResults]  # by role
Statistic = Callable[[Results], float]


def pairs(D: FloatArray) -> FloatArray:
    """Return the entries above the diagonal."""
    return np.asarray(D[np.triu_indices(len(D), 1)])


def from_pairs(values: npt.ArrayLike) -> FloatArray:
    """Return the symmetric matrix of some values by pair."""
    return np.asarray(squareform(np.asarray(values, dtype=np.float64), checks=False))


def signed_square(values: npt.ArrayLike) -> FloatArray:
    """Return the squares of distances, negative where the distance stands for a negative square.

    >>> signed_square([2.0, -1.0])
    array([ 4., -1.])
    """
    found = np.asarray(values, dtype=np.float64)
    return np.asarray(found * np.abs(found))


def log_ratio(one: ClassResults, top: float = 0.0, bottom: float = 2.0) -> float:
    """Return log R of a class; NaN if a mean squared distance is not positive."""
    return _half_log(one.squared[top], one.squared[bottom])


def _half_log(top: FloatArray, bottom: FloatArray) -> float:
    numbers = float(pairs(top).mean()), float(pairs(bottom).mean())
    if not min(numbers) > 0:
        return float("nan")
    return float(0.5 * np.log(numbers[0] / numbers[1]))


def mean_distance_gap(found: Results) -> float:
    """Return half the log of the mean d_2^2 of natural stimuli over that of artificial ones."""
    return _half_log(found["natural"].squared[2.0], found["artificial"].squared[2.0])


def correlation(x: FloatArray, y: FloatArray) -> float:
    """Return Pearson's correlation of two matrices over pairs; NaN with fewer than four pairs."""
    a, b = pairs(x), pairs(y)
    if len(a) < 4 or min(a.std(), b.std()) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def agreement(one: ClassResults) -> float:
    """Return the correlation of d_0 and d_2 relative to the highest that noise allows."""
    A1, A2, B1, B2 = (one.halves[f"{alpha}, half {k}"] for alpha in (0, 2) for k in (1, 2))
    reliability = correlation(A1, A2), correlation(B1, B2)
    if not min(reliability) >= SMALLEST_RELIABILITY:
        return float("nan")
    crossed = (correlation(A1, B2) + correlation(A2, B1)) / 2
    return float(crossed / np.sqrt(reliability[0] * reliability[1]))


def session_log_ratio(one: ClassResults) -> float:
    """Return the mean over sessions of log (d_0 / d_2), averaged over the other sessions."""
    top, bottom = (session_means(one.plug_in[alpha]) for alpha in (0.0, 2.0))
    return float(np.mean(np.log(top / bottom)))


def share(one: ClassResults, larger: float, smaller: float) -> float:
    """Return the share of pairs whose distance at one alpha is larger than at the other."""
    return float(np.mean(pairs(one.squared[larger]) > pairs(one.squared[smaller])))


def noise_ratio(one: ClassResults) -> float:
    """Return the log of noise over signal, as standard deviations, from the mean over sessions.

    The variance of single sessions without signal can be negative; NaN if their mean is.
    """
    signal = float(np.mean(one.sessions["signal"]))
    return float(-0.5 * np.log(signal)) if signal > 0 else float("nan")


def _of(role: str, function: Callable[[ClassResults], float]) -> Statistic:
    return lambda found: function(found[role])


def _both_sides(name: str, statistic: Statistic) -> dict[str, Statistic]:
    return {
        f"{name}, from below": statistic,
        f"{name}, from above": lambda found: -statistic(found),
    }


def _session_mean(column: str, minus: float = 0.0) -> Callable[[ClassResults], float]:
    return lambda one: float(np.mean(one.sessions[column])) - minus


def _minus(function: Callable[[ClassResults], float]) -> Callable[[ClassResults], float]:
    return lambda one: -function(one)


def _by_class(
    make: Callable[[str], dict[str, Statistic]], roles: Sequence[str] = CLASSES
) -> dict[str, Statistic]:
    return {name: statistic for role in roles for name, statistic in make(role).items()}


def _correlations(role: str) -> dict[str, Statistic]:
    return {
        f"{role}, correlation": _of(role, lambda one: -correlation(*_both_plug_in(one))),
        f"{role}, agreement": _of(role, _minus(agreement)),
    }


def _both_plug_in(one: ClassResults) -> tuple[FloatArray, FloatArray]:
    return one.plug_in[0.0], one.plug_in[2.0]


REVERSAL: dict[str, Statistic] = {
    "artificial": _of("artificial", log_ratio),
    "natural": _of("natural", _minus(log_ratio)),
}
# By claim and criterion. Those of Supplementary Figure 6 are about draws, not animals.
STATISTICS: dict[str, dict[str, Statistic]] = {
    "Section 3.2 (a)": _by_class(lambda role: _both_sides(role, _of(role, log_ratio))),
    "Section 3.2 (b)": _by_class(_correlations),
    "Section 3.2 (c)": {
        "difference": lambda found: log_ratio(found["artificial"]) - log_ratio(found["natural"])
    },
    "Section 3.2, reversal": REVERSAL,
    "Figure 3 A-B, covariances": _by_class(
        lambda role: {
            f"{role}, {what}": _of(role, _session_mean(what)) for what in ("scale", "orientation")
        }
    ),
    "Figure 3 A-B, variances": _by_class(lambda role: _both_sides(role, _of(role, noise_ratio))),
    "Appendix B.2": _by_class(
        lambda role: _both_sides(role, _of(role, _session_mean("explained", EXPLAINED[role])))
    ),
    "Figure 3 C": {
        "artificial": _of("artificial", session_log_ratio),
        "natural": _of("natural", _minus(session_log_ratio)),
    },
    "Figure 3 D": {"d_2": mean_distance_gap},
    "Figure 3 E": {
        "artificial": _of("artificial", lambda one: share(one, 0.0, 2.0)),
        "natural": _of("natural", lambda one: share(one, 2.0, 0.0)),
    },
    "Supplementary Figure 5": _by_class(lambda role: {role: _of(role, log_ratio)}, DRIFTING),
    **{f"Abstract, {one}": REVERSAL for one in INITIALISATIONS},
}


@dataclass(frozen=True)
class Measured:
    """A statistic with its interval; NaN where it could not be computed."""

    value: float
    low: float
    high: float
    n_units: int

    def summary(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        finite = {key: None if np.isnan(one) else float(one) for key, one in numbers.items()}
        return {**finite, "n_units": self.n_units}


NOTHING = Measured(float("nan"), float("nan"), float("nan"), 0)


def with_interval(
    statistic: Statistic,
    found: Results,
    unit: str = "animals",
    level: float = LEVEL,
    limits: Limits = NO_LIMITS,
) -> Measured:
    """Return a statistic with its jackknife interval over animals, or over sessions ("names")."""
    try:
        value = statistic(found)
    except KeyError:  # a class, or a part of it, was not measured
        return NOTHING
    units = sorted({one for each in found.values() for one in getattr(each, unit)})
    left = []
    for gone in units:
        kept = {
            role: each.keep([one != gone for one in getattr(each, unit)])
            for role, each in found.items()
        }
        left.append(statistic(kept) if _enough(kept) else float("nan"))
    interval = jackknife_interval(value, left, level, limits)
    return Measured(value, interval.lower, interval.upper, len(units))


def _enough(found: Results) -> bool:
    return all(len(each.names) >= 2 for each in found.values())


def draws_interval(values: FloatArray, level: float = LEVEL) -> Measured:
    """Return the mean of independent draws with Student's interval."""
    count = len(values)
    error = float(values.std(ddof=1) / np.sqrt(count))
    half = float(student.ppf((1 + level) / 2, count - 1)) * error
    mean = float(values.mean())
    return Measured(mean, mean - half, mean + half, count)
