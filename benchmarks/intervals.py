"""Coverage of the default intervals of `repshape.inference`, on populations kept for confirmation.

`benchmarks.interval_cells` says how the populations were kept apart from those on which the
estimator was chosen. Every simulation is one number of interest, its interval, and whether the
interval was widened because of few trials; squared where the number is a distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np

import repshape as rs
from benchmarks.interval_cells import DIFFERENCES, FRESH, RATIOS, Cell, Population
from benchmarks.matched_cells import MATCHED

Row = list[float]
# Starts of the searches for the truth of metrics without known moments.
TRUTH_STARTS = 32
# A true mean distance below this share of the covariance distance is the rounding error of 0.
NOTHING = 1e-4


def signed_square(value: float) -> float:
    return value * abs(value)


def row_of(found: rs.inference.Estimate, square: bool) -> Row:
    """Plug-in value, estimate, ends of the interval, and whether it was widened."""
    values = [found.plug_in, found.estimate, *found.interval]
    values = [signed_square(one) for one in values] if square else values
    return [*values, float("widened" in found.method)]


def distance_row(cell: Cell, seed: int) -> Row:
    found = rs.inference.distance(*cell.sample(seed), cell.metric(), random_state=seed, workers=1)
    return row_of(found, True)


@dataclass(frozen=True)
class Comparison:
    """A ratio d_0 / d_2, or a difference d(x, y) - d(x, z) with a third population."""

    what: str
    cell: Cell

    @property
    def name(self) -> str:
        return f"{self.what}: {self.cell.name}"

    @cached_property
    def third(self) -> Population:
        """A population that differs from y by small changes of means, and of noise."""
        y = self.cell.pair[1]
        rng = np.random.default_rng([4, crc32(self.name.encode())])
        if "counts" in y.kind:
            return replace(y, means=y.means * np.exp(0.2 * rng.normal(size=y.means.shape)))
        moved = y.means + 0.3 * rng.normal(size=y.means.shape)
        return replace(y, means=moved, factors=1.3 * y.factors)

    @cached_property
    def truth(self) -> float:
        metric = self.cell.metric(n_starts=64, tol=1e-9)
        x, y, z = (one.moments for one in (*self.cell.pair, self.third))
        if self.what == "difference":
            return metric.distance(x, y) - metric.distance(x, z)
        zero, two = (metric.with_parameters(alpha=a).distance(x, y) for a in (0.0, 2.0))
        return zero / two if two > NOTHING * zero else np.inf

    def row(self, seed: int) -> Row:
        x, y = self.cell.sample(seed)
        options: dict[str, Any] = {"random_state": seed, "workers": 1}
        if self.what == "ratio":
            return row_of(rs.inference.ratio(x, y, self.cell.metric(), **options), False)
        z = self.third.sample(self.cell.trials, np.random.default_rng([seed, 39]))
        found = rs.inference.difference((x, y), (x, z), self.cell.metric(), **options)
        return row_of(found, False)


COMPARISONS = [
    Comparison(what, cell)
    for what, chosen in (("ratio", RATIOS), ("difference", DIFFERENCES))
    for cell in chosen
]


@dataclass(frozen=True)
class OtherMetric:
    """Energy or process distances of small networks with skewed or lasting noise."""

    metric: str
    differ: str
    trials: int

    @property
    def name(self) -> str:
        return f"{self.metric}: {self.differ}, L{self.trials}"

    def make_metric(self, **options: Any) -> Any:
        if self.metric == "energy":
            return rs.EnergyShapeMetric(**{"n_starts": 2, "tol": 1e-4, **options})
        return rs.ProcessShapeMetric(1.0, **{"n_starts": 2, "tol": 1e-5, **options})

    def sample(self, L: int, rng: np.random.Generator) -> tuple[Any, Any]:
        fixed = np.random.default_rng(31)
        shape = (5, 1, 4) if self.metric == "energy" else (7, 1, 3, 3)
        means = 1.2 * fixed.normal(size=shape)
        moved = means + 0.7 * (self.differ in ("means", "both")) * fixed.normal(size=shape)
        scale = 1.7 if self.differ in ("scale", "both") else 1.0
        noise = rng.exponential(size=(2, shape[0], L, *shape[2:])) - 1
        if self.metric == "process":  # noise that lasts
            noise = noise + np.cumsum(0.6 * rng.normal(size=noise.shape), axis=3)
        return means + noise[0], moved + scale * noise[1]

    @cached_property
    def truth(self) -> float:
        """From many trials; energy by cross-fitting.

        The distance of other trials under an alignment is too large, and that of the same trials
        too small, by about the same amount.
        """
        if self.differ == "equal":
            return 0.0
        rng = np.random.default_rng(32)
        if self.metric == "process":
            metric = self.make_metric(n_starts=TRUTH_STARTS, covariance="unbiased")
            return float(metric.distance(*self.sample(4000, rng)) ** 2)
        metric = self.make_metric(n_starts=8)
        found = []
        for _ in range(4):
            x, y = self.sample(250, rng)
            fitted = metric.align(x, y)
            other = metric.score(fitted, *self.sample(250, rng))
            found += [signed_square(fitted.distance), signed_square(other)]
        return float(np.mean(found))

    def row(self, seed: int) -> Row:
        x, y = self.sample(self.trials, np.random.default_rng([seed, 33]))
        metric = self.make_metric()
        return row_of(rs.inference.distance(x, y, metric, random_state=seed, workers=1), True)


OTHERS = [
    OtherMetric(*one)
    for one in (
        ("energy", "equal", 24),
        ("energy", "both", 20),
        ("energy", "means", 40),
        ("process", "equal", 32),
        ("process", "both", 40),
        ("process", "scale", 60),
    )
]


def readme_row(seed: int) -> Row:
    """The example of the README, with other seeds."""
    rng = np.random.default_rng([seed, 37])
    means = rng.normal(size=(20, 1, 6))
    x, y = (means + s * rng.normal(size=(20, 50, 6)) for s in (0.1, 1.0))
    return row_of(rs.inference.distance(x, y, random_state=seed, workers=1), True)


# (1.0 - 0.1)^2 for each of six neurons.
README_TRUTH = 6 * 0.81


def jobs() -> Iterator[tuple[str, Callable[[], float], Callable[[int], Row]]]:
    """Name, truth and simulation of every cell, the most important ones first."""
    yield "fresh: README", lambda: README_TRUTH, readme_row
    for cell in FRESH:
        yield (
            f"fresh: {cell.name}",
            lambda cell=cell: cell.truth,
            lambda seed, cell=cell: distance_row(cell, seed),
        )
    for one in (*COMPARISONS, *OTHERS, *MATCHED):
        yield f"fresh {one.name}", lambda one=one: one.truth, one.row
