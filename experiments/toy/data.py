"""Settings, and the networks and distances that several figures share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import repshape as rs
from repshape.datasets import ToyNetworks

# What the paper does not state, and what we chose.
CHOSEN = {
    "noise correlations": "-0.9 to 0.9, evenly spaced (the paper gives their number, 11)",
    "noise scales": "variances 0.5 to 2, evenly spaced (the paper gives their number, 9)",
    "means": "five points from (-2, -2) to (2, 2), evenly spaced along the identity line",
    "trials": "200 per condition wherever trials are drawn (energy and classical measures)",
    "energy estimator": "unbiased (over distinct pairs of trials), then the square root as in "
    "equation 5; for a negative estimate, minus the square root of its absolute value",
    "minor in Supplementary Figure 4 B": "below 10 %: the change by repair, relative to the norm "
    "of the matrix, and the largest violation, relative to the largest distance. At first these "
    "were two claims; they are one now, as in the paper",
    "Wasserstein distances of Supplementary Figure 4 D": "exact moments, alpha = 1",
    "Figure 1": "the paper's panels are sketches. Here: Gaussian noise with correlations 0.8 "
    "and -0.8, and means two standard deviations apart along the identity line; the networks of E "
    "are our own",
    "Supplementary Figure 1": "networks of two neurons, 60 trials for each of five conditions",
    "Supplementary Figure 2": "means in a triangle, and three ellipses with axes 0.9 and 0.27 at "
    "0, 30 and 60 degrees; in the second network the means, but not the ellipses, are rotated by "
    "90 degrees. The pair was chosen by eye from several that were tried, because it is clear and "
    "its best maps are rotations; for one of the others the best map was a reflection at some "
    "alphas, so claim D is about this pair only",
}


@dataclass(frozen=True)
class Settings:
    """Sizes and seed of the toy experiment.

    Attributes
    ----------
    n_correlations, n_scales, n_conditions : int
        The grid of toy networks, and the number of conditions.
    n_trials : int
        Number of trials per condition, wherever trials are drawn from toy networks.
    fewer_trials : tuple of int
        Smaller numbers of trials, in ascending order, for the energy distance.
    n_alphas : int
        Number of values of alpha in Supplementary Figure 2.
    seed : int
        Seed of all random numbers.
    """

    n_correlations: int = 11
    n_scales: int = 9
    n_conditions: int = 5
    n_trials: int = 200
    fewer_trials: tuple[int, ...] = (25, 50, 100)
    n_alphas: int = 41
    seed: int = 0


SCALES = {
    "small": Settings(n_correlations=7, n_scales=5, n_alphas=11),
    "paper": Settings(),
}


class ToyData:
    """The toy networks, and distances between them, each computed when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._sampled: dict[int, ToyNetworks] = {}

    def rng(self, stream: int) -> np.random.Generator:
        """Return a generator for one figure, so that figures do not depend on each other."""
        return np.random.default_rng([self.settings.seed, stream])

    def networks(self, *, rotate: bool = True, n_trials: int | None = None) -> ToyNetworks:
        """Return the grid of networks, as exact moments or as trials."""
        size = self.settings
        return rs.datasets.toy_networks(
            size.n_correlations,
            size.n_scales,
            size.n_conditions,
            rotate=rotate,
            random_state=size.seed,
            n_trials=n_trials,
        )

    @cached_property
    def exact(self) -> ToyNetworks:
        """The rotated networks, with exact moments."""
        return self.networks()

    @cached_property
    def distances(self) -> dict[float, rs.DistanceMatrix]:
        """Exact Gaussian distances at alpha 0, 1 and 2."""
        metrics = {f"{a:g}": rs.GaussianShapeMetric(alpha=a) for a in (0.0, 1.0, 2.0)}
        found = rs.pairwise_many(self.exact, metrics, progress=False)
        return {float(name): matrix for name, matrix in found.items()}

    @cached_property
    def planes(self) -> dict[float, rs.analysis.Embedding]:
        """A two-dimensional embedding of each of `distances`."""
        return {
            alpha: rs.embed(matrix, random_state=self.settings.seed)
            for alpha, matrix in self.distances.items()
        }

    def sampled(self, n_trials: int) -> ToyNetworks:
        """Return the rotated networks as trials."""
        if n_trials not in self._sampled:
            self._sampled[n_trials] = self.networks(n_trials=n_trials)
        return self._sampled[n_trials]
