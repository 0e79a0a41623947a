"""Distances and metadata of some networks, and intervals that leave out one seed at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Sample:
    """Networks with their distances, from which statistics are computed.

    Parameters
    ----------
    distances : mapping of str to ndarray, shape (K, K)
        By the names of the matrices.
    metadata : pandas.DataFrame
        A row for each network; ``seed`` and ``cell`` are needed.
    """

    def __init__(self, distances: Mapping[str, FloatArray], metadata: pd.DataFrame) -> None:
        self.distances, self.metadata = dict(distances), metadata
        self.cache: dict[Any, float] = {}

    def __len__(self) -> int:
        return len(self.metadata)

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return a column of the metadata."""
        return self.metadata[name].to_numpy()

    def keep(self, chosen: BoolArray) -> Sample:
        """Return some of the networks."""
        index = np.flatnonzero(chosen)
        found = {name: D[np.ix_(index, index)] for name, D in self.distances.items()}
        return Sample(found, self.metadata.iloc[index])

    @cached_property
    def seeds(self) -> list[Any]:
        """The seeds of the networks."""
        return sorted(set(self.column("seed")))

    @cached_property
    def without_a_seed(self) -> list[Sample]:
        """The networks without one of the seeds, for each seed."""
        return [self.keep(self.column("seed") != seed) for seed in self.seeds]

    def known(self, key: Any, compute: Callable[[], float]) -> float:
        """Return a number that is computed only once."""
        if key not in self.cache:
            self.cache[key] = compute()
        return self.cache[key]

    def other_seeds(self) -> BoolArray:
        """Return which pairs (i < j) have different seeds, as a matrix (K, K)."""
        seed = self.column("seed")
        return np.triu(seed[:, None] != seed[None, :], 1)


Statistic = Callable[[Sample], float]


@dataclass(frozen=True)
class Interval:
    """An estimate with a confidence interval; NaN where it cannot be computed."""

    estimate: float
    lower: float
    upper: float

    def summary(self) -> dict[str, float | None]:
        """Return the numbers, ready for JSON."""
        return {name: float(v) if np.isfinite(v) else None for name, v in vars(self).items()}


def jackknife(statistic: Statistic, sample: Sample, level: float) -> Interval:
    """Return a delete-one-seed jackknife interval with Student's t of (seeds - 1) degrees.

    For a mean over seeds it is the usual t interval. With fewer than three seeds there is none.

    >>> frame = pd.DataFrame({"seed": [0, 1, 2, 3], "x": [1.0, 2.0, 3.0, 6.0]})
    >>> found = jackknife(lambda s: float(s.column("x").mean()), Sample({}, frame), 0.95)
    >>> half = student.ppf(0.975, 3) * np.std([1.0, 2.0, 3.0, 6.0], ddof=1) / 2
    >>> found.estimate, bool(np.isclose(found.upper - found.estimate, half))
    (3.0, True)
    """
    estimate = statistic(sample)
    count = len(sample.seeds)
    if count < 3 or not np.isfinite(estimate):
        return Interval(estimate, np.nan, np.nan)
    parts = np.array([statistic(part) for part in sample.without_a_seed])
    error = np.sqrt((count - 1) / count * ((parts - parts.mean()) ** 2).sum())
    half = float(student.ppf((1 + level) / 2, count - 1) * error)
    return Interval(estimate, estimate - half, estimate + half)
