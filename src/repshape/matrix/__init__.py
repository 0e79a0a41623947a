"""Matrices of distances: what they hold, their triangle inequalities, and the nearest metric."""

from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.error_bars import ErrorBars
from repshape.matrix.repair import Repaired, repair
from repshape.matrix.triangles import TriangleViolations, triangle_violations

__all__ = [
    "DistanceMatrix",
    "ErrorBars",
    "Repaired",
    "TriangleViolations",
    "repair",
    "triangle_violations",
]
