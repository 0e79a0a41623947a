"""Distances between many networks."""

from repshape.pairwise.matrix import DistanceMatrix
from repshape.pairwise.run import cross, pairwise, pairwise_many

__all__ = ["DistanceMatrix", "cross", "pairwise", "pairwise_many"]
