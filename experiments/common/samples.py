"""Distances and metadata of some networks, and intervals that leave out one seed at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial.distance import squareform

from experiments.common.intervals import Interval, jackknife_interval
from experiments.common.verdicts import NO_LIMITS, Limits

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
# A value for each fold, which is named by the seeds it belongs to.
Folds = dict[tuple[int, ...], float]
SECOND = "second"  # column of the other network of a pair


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
        self.cache: dict[Any, Any] = {}
        self.whole = self  # what a part without a seed was taken from,
        self.index = np.arange(len(metadata))  # and where its networks are there

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
        """The networks without one of the seeds, for each seed; they know what is left out."""
        parts = []
        for seed in self.seeds:
            chosen = self.column("seed") != seed
            part = self.keep(chosen)
            part.whole, part.index = self, np.flatnonzero(chosen)
            parts.append(part)
        return parts

    def predicted(
        self, key: Any, compute: Callable[[Sample], npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        """Return a number for each network, computed only once, also for parts without a seed."""
        cache = self.whole.cache
        if key not in cache:
            cache[key] = compute(self.whole)
        found: npt.NDArray[Any] = cache[key][self.index]
        return found

    def other_seeds(self) -> BoolArray:
        """Return which pairs (i < j) have different seeds, as a matrix (K, K)."""
        seed = self.column("seed")
        return np.triu(seed[:, None] != seed[None, :], 1)

    def between_seeds(self, matrix: str) -> FloatArray:
        """Return the distances between networks with different seeds."""
        return self.distances[matrix][self.other_seeds()]

    def listed(self, matrix: str) -> FloatArray:
        """Return the distances in the order in which they are stored: those of all pairs."""
        return self.distances[matrix][np.triu_indices(len(self), 1)]


class PairSample(Sample):
    """Networks of which each is compared with one other only.

    No two pairs share a network, so pairs are independent, and one is left out at a time.

    Parameters
    ----------
    distances : mapping of str to ndarray, shape (P,)
        By the names of the metrics.
    metadata : pandas.DataFrame
        A row for each pair, with the name of its first network as the index. ``second`` names the
        other one; ``seed`` numbers the pairs.

    >>> frame = pd.DataFrame({"second": ["b", "d"], "seed": [0, 1]}, index=["a", "c"])
    >>> sample = PairSample({"alpha-2": np.array([1.0, 3.0])}, frame)
    >>> [part.between_seeds("alpha-2").tolist() for part in sample.without_a_seed]
    [[3.0], [1.0]]
    """

    def keep(self, chosen: BoolArray) -> PairSample:
        """Return some of the pairs."""
        found = {name: values[chosen] for name, values in self.distances.items()}
        return PairSample(found, self.metadata[chosen])

    def between_seeds(self, matrix: str) -> FloatArray:
        """Return the distances of all pairs."""
        return self.distances[matrix]

    def listed(self, matrix: str) -> FloatArray:
        """Return the distances of all pairs."""
        return self.distances[matrix]


Statistic = Callable[[Sample], float]


def jackknife(
    statistic: Statistic,
    sample: Sample,
    level: float,
    limits: Limits = NO_LIMITS,
    *,
    predictions: bool = False,
) -> Interval:
    """Return a delete-one-seed jackknife interval with Student's t of (seeds - 1) degrees.

    For a mean over seeds it is the usual t interval. With fewer than three seeds there is none.

    A statistic of ``predictions`` (`Sample.predicted`), each from other seeds, loses a seed's
    networks but not what was learned from them. Seeds then are not independent, since they learn
    from each other, and the variance is multiplied by 1 + n / (n - 1) for n seeds (Nadeau and
    Bengio 2003, with one of n seeds predicted from n - 1).

    >>> frame = pd.DataFrame({"seed": [0, 1, 2, 3], "x": [1.0, 2.0, 3.0, 6.0]})
    >>> found = jackknife(lambda s: float(s.column("x").mean()), Sample({}, frame), 0.95)
    >>> half = 3.182446305284 * np.std([1.0, 2.0, 3.0, 6.0], ddof=1) / 2
    >>> found.estimate, bool(np.isclose(found.upper - found.estimate, half))
    (3.0, True)
    """
    estimate = statistic(sample)
    count = len(sample.seeds)
    if count < 3 or not np.isfinite(estimate):
        return Interval(estimate, np.nan, np.nan)
    parts = [statistic(part) for part in sample.without_a_seed]
    inflation = 1 + count / (count - 1) if predictions else 1.0
    return jackknife_interval(estimate, parts, level, limits, inflation)


def fold_interval(folds: Folds, level: float, limits: Limits = NO_LIMITS) -> Interval:
    """Return the mean over folds, with an interval from leaving out one seed at a time.

    Each fold is named by the seeds it belongs to. A seed is left out with every fold that contains
    it; Student's t has one degree of freedom less than there are seeds. With one fold for each
    seed, it is the usual t interval. With one for each pair of seeds whose values are sums of an
    effect of either seed and of noise, the variance of the effects is estimated without bias, and
    that of the noise is overestimated four times.

    >>> found = fold_interval({(0,): 1.0, (1,): 2.0, (2,): 3.0}, 0.95)
    >>> bool(np.isclose(found.upper - 2, 4.302652729696 * np.sqrt(1 / 3)))
    True
    """
    values = np.array(list(folds.values()), dtype=np.float64)
    estimate = float(values.mean()) if len(values) else np.nan
    seeds = sorted({seed for fold in folds for seed in fold})
    left = [[v for fold, v in folds.items() if seed not in fold] for seed in seeds]
    if len(seeds) < 3 or not np.isfinite(estimate) or not all(left):
        return Interval(estimate, np.nan, np.nan)
    return jackknife_interval(estimate, [float(np.mean(part)) for part in left], level, limits)


# Samples on disk


def store_sample(
    group: str, sample: Sample, words: Sequence[str], numbers: Sequence[str]
) -> dict[str, npt.NDArray[Any]]:
    """Return distances and some columns of the metadata as arrays; names begin with the group.

    Columns that the sample does not have are left out.
    """
    found = {f"{group}/{k}": sample.listed(k).astype(np.float32) for k in sample.distances}
    for columns, kind in (((*words, SECOND), str), (numbers, np.float32)):
        for column in columns:
            if column in sample.metadata:
                found[f"{group}/column/{column}"] = sample.column(column).astype(kind)
    return found | {f"{group}/labels": np.array(sample.metadata.index, dtype=str)}


def read_sample(arrays: Mapping[str, npt.NDArray[Any]], group: str) -> Sample:
    """Return the networks that `store_sample` described."""
    prefix = f"{group}/"
    own = {name.removeprefix(prefix): name for name in arrays if name.startswith(prefix)}
    columns = {name: arrays[key] for name, key in own.items() if name.startswith("column/")}
    frame = pd.DataFrame(
        {name.removeprefix("column/"): values for name, values in columns.items()},
        index=arrays[own["labels"]],
    )
    if "seed" in frame:
        frame = frame.astype({"seed": int})
    values = {
        name: arrays[key].astype(np.float64)
        for name, key in own.items()
        if name != "labels" and not name.startswith("column/")
    }
    if SECOND in frame:
        return PairSample(values, frame)
    return Sample({name: squareform(one) for name, one in values.items()}, frame)
