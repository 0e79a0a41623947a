"""Error bars and tests for distances between networks with noisy responses."""

from repshape.inference.distances import difference, distance, ratio
from repshape.inference.equality import PermutationTest, equality
from repshape.inference.estimates import Estimate, FewTrialsWarning
from repshape.inference.floor import floor

__all__ = [
    "Estimate",
    "FewTrialsWarning",
    "PermutationTest",
    "difference",
    "distance",
    "equality",
    "floor",
    "ratio",
]
