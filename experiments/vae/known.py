"""Distances of earlier results: a matrix of the same networks need not be computed again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import repshape as rs
from experiments.common.results import read_results
from experiments.common.samples import read_sample
from experiments.common.stores import alpha_name
from experiments.vae.settings import MeasureSettings

# Columns of the metadata that differ between networks of different training.
FINGERPRINT = ("strength", "seed", "reconstruction", "kl", "active_latents")
# Of stored distances, which are float32, at alpha = 2, where no search is involved.
TOLERANCE = 1e-5
SIZES = ("n_images", "n_trials")  # what decides the distances


class KnownResults:
    """The distances that stored results have.

    Parameters
    ----------
    folder : Path
        Where ``results.json`` and ``arrays.npz`` are.
    """

    def __init__(self, folder: Path) -> None:
        self.results, self.arrays = read_results(folder)

    def is_about(
        self,
        group: str,
        metadata: pd.DataFrame,
        networks: Sequence[rs.Gaussians],
        size: MeasureSettings,
    ) -> bool:
        """Return whether the distances of a group are those of these networks and this size.

        Labels and records must be equal, and so must the distances between the first network and
        all others at alpha = 2, which are computed again.
        """
        measure = self.results["measure"]
        if not self.has_matrix(f"{group}/{alpha_name(2.0)}") or any(
            measure[name] != getattr(size, name) for name in SIZES
        ):
            return False
        stored = read_sample(self.arrays, group)
        columns = [frame[list(FINGERPRINT)] for frame in (stored.metadata, metadata)]
        first, second = (frame.astype(np.float32) for frame in columns)
        if list(stored.metadata.index) != list(metadata.index) or not first.equals(second):
            return False
        metric = rs.GaussianShapeMetric(2.0)
        again = [metric.distance(networks[0], other) for other in networks[1:]]
        before = stored.distances[alpha_name(2.0)][0, 1:]
        return bool(np.allclose(before, again, rtol=TOLERANCE, atol=0.0))

    def has_matrix(self, name: str) -> bool:
        """Return whether there is a matrix of this name, with its group."""
        return name in self.arrays

    def matrix(self, group: str, name: str) -> rs.DistanceMatrix:
        """Return a matrix; energy distances are already repaired."""
        sample = read_sample(self.arrays, group)
        return rs.DistanceMatrix(sample.distances[name], list(sample.metadata.index))

    def repair(self, name: str) -> dict[str, float]:
        """Return what repairing a matrix had changed."""
        found: dict[str, float] = self.results["numbers"]["repair"][name]
        return found

    def seconds(self, store: str) -> float:
        """Return the wall time that a matrix took."""
        return float(self.results["seconds"][store])
