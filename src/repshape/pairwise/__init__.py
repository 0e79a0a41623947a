"""Distances between many networks."""

from repshape.pairwise.matrix import DistanceMatrix
from repshape.pairwise.run import cross, pairwise

__all__ = ["DistanceMatrix", "cross", "pairwise"]
