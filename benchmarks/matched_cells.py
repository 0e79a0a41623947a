"""Coverage of intervals that are averaged over random draws of networks of the same size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from zlib import crc32

import numpy as np

import repshape as rs
from benchmarks.interval_cells import Cell, Population

N_DRAWS = 3


@dataclass(frozen=True)
class Matched:
    """A pair of which y has fewer neurons, or fewer trials, than x.

    The truth is that of the draws which the function makes: neurons that are drawn from the true
    moments with the same seed.
    """

    by: str
    cell: Cell
    fewer: int

    @property
    def name(self) -> str:
        return f"match: {self.by} ({self.fewer} in y), {self.cell.name}"

    @cached_property
    def pair(self) -> tuple[Population, Population]:
        x, y = self.cell.pair
        if self.by == "trials":
            return x, y
        kept = slice(0, self.fewer)
        return x, replace(y, means=y.means[:, kept], factors=y.factors[:, kept])

    def estimate(self, networks: Sequence[object]) -> rs.DistanceMatrix:
        """Distances of networks that are given by their moments."""
        metric = self.cell.metric(n_starts=64, tol=1e-9)
        drawn = {"match": "neurons", "n_draws": N_DRAWS} if self.by == "neurons" else {}
        return rs.pairwise(networks, metric, progress=False, **drawn)

    @cached_property
    def truth(self) -> float:
        return float(self.estimate([one.moments for one in self.pair]).values[0, 1] ** 2)

    def row(self, seed: int) -> list[float]:
        rng = np.random.default_rng([seed, 43, crc32(self.name.encode())])
        counts = self.cell.trials, self.fewer if self.by == "trials" else self.cell.trials
        networks = [one.sample(L, rng) for one, L in zip(self.pair, counts, strict=True)]
        options = {"match": self.by, "n_draws": N_DRAWS, "n_splits": 2, "workers": 1}
        found = rs.inference.matrix(networks, self.cell.metric(), progress=False, **options)
        frame = found.to_frame().iloc[0]
        values = [frame[name] for name in ("plug_in", "estimate", "low", "high")]
        widened = float("widened" in found.error_bars.method)
        return [*(float(one * abs(one)) for one in values), widened]


MATCHED = [
    Matched("neurons", Cell("skewed", "both", 8, 24, 7, None, 1.0, "latent"), 4),
    Matched("neurons", Cell("counts", "means", 9, 24, 6, None, 2.0, "latent"), 4),
    Matched("trials", Cell("Gaussian", "scale", 9, 40, 5, None, 1.0, "latent"), 20),
]
