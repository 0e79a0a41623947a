"""The part of `repshape demo` about trained networks: variational autoencoders.

It needs the files of `repshape.datasets.load_vaes`, and is left out of a copy without them.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from repshape.datasets import vaes
from repshape.engine.run import pairwise
from repshape.errors import SearchWarning, words_of
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.report.write import write_report

# The networks that are compared live: of these many seeds, at the lowest and highest strength.
LIVE_SEEDS = 2
# Pairs of each matrix that the page can draw, of which some 150 are nearest neighbours. Each takes
# thirty milliseconds to align again.
MAX_PAIRS = 200
TITLE = "Autoencoders trained on sprites with six objectives"


@dataclass(frozen=True, eq=False)
class VaeDemo:
    """Distances between some networks, computed now, and between all, computed beforehand."""

    live: DistanceMatrix
    stored: dict[str, DistanceMatrix]
    doubts: str = ""

    @property
    def largest_difference(self) -> float:
        """Largest difference between live and stored distances, relative to the largest."""
        known = next(iter(self.stored.values()))[list(self.live.labels)]
        return float(np.abs(known.values - self.live.values).max() / self.live.values.max())

    def summary(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        return {
            "networks": len(next(iter(self.stored.values()))),
            "networks_computed_live": len(self.live),
            "largest_relative_difference": self.largest_difference,
        }

    def words(self) -> str:
        """Say what was computed, and how it compares with what was stored."""
        return (
            f"{len(self.live)} trained autoencoders compared at alpha = 1; the distances differ "
            f"from those computed beforehand by at most {100 * self.largest_difference:.2g} % of "
            f"the largest. {self.doubts}".rstrip()
        )


def vaes_available() -> bool:
    """Return whether this copy of repshape has the networks and their distances."""
    return vaes.NETWORKS.exists() and vaes.DISTANCES.exists()


def run_vae_demo(*, workers: int | None = None, progress: bool | None = None) -> VaeDemo:
    """Compare some of the networks, and read the distances between all of them."""
    chosen = live_networks(vaes.load_vaes())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", SearchWarning)
        live = pairwise(chosen, GaussianShapeMetric(alpha=1.0), workers=workers, progress=progress)
    doubts = " ".join(words_of(one.message) for one in found if one.category is SearchWarning)
    for one in found:
        if one.category is not SearchWarning:  # it is no part of what the demo says
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    names = {
        1.0: "means and covariances",
        0.0: "covariances only",
        2.0: "means only",
    }
    stored = {words: vaes.load_vae_distances(alpha) for alpha, words in names.items()}
    return VaeDemo(live, stored, doubts)


def live_networks(cohort: Cohort) -> Cohort:
    """Return the networks of the first seeds with the lowest or highest strength."""
    trained = cohort.select(trained=True).metadata
    strength = trained.groupby("objective")["strength"]
    ends = strength.transform("min"), strength.transform("max")
    extreme = (trained["strength"] == ends[0]) | (trained["strength"] == ends[1])
    seeds = sorted(trained["seed"].unique())[:LIVE_SEEDS]
    return cohort[list(trained.index[extreme & trained["seed"].isin(seeds)])]


def save_vae_demo(
    demo: VaeDemo, out: str | os.PathLike[str], *, progress: bool | None = None
) -> Path:
    """Write the page about all networks, and return it."""
    path = Path(out) / "vaes.html"
    # The letters of the paper say nothing to those who have not read it.
    names = {letter: f"{letter}: {words}" for letter, words in vaes.SCORES.items()}
    stored = {
        words: D.replace(metadata=D.metadata.rename(columns=names))
        for words, D in demo.stored.items()
    }
    responses = vaes.load_vaes()
    bare = Cohort({name: responses[name] for name in next(iter(stored.values())).labels})
    write_report(stored, path, cohort=bare, title=TITLE, max_pairs=MAX_PAIRS, progress=progress)
    return path
