"""Error bars and tests for distances between networks with noisy responses."""

from repshape.inference.cohorts import EstimatedMatrix, matrix
from repshape.inference.confounds import Confounds, confounds
from repshape.inference.distances import difference, distance, ratio
from repshape.inference.equality import EqualityTest, equality
from repshape.inference.estimates import Estimate, FewTrialsWarning
from repshape.inference.floor import floor
from repshape.inference.groups import GroupTest, groups
from repshape.inference.matrices import MantelTest, PairedTest, mantel, paired
from repshape.inference.subspaces import UnstableSubspaceWarning

__all__ = [
    "Confounds",
    "EqualityTest",
    "Estimate",
    "EstimatedMatrix",
    "FewTrialsWarning",
    "GroupTest",
    "MantelTest",
    "PairedTest",
    "UnstableSubspaceWarning",
    "confounds",
    "difference",
    "distance",
    "equality",
    "floor",
    "groups",
    "mantel",
    "matrix",
    "paired",
    "ratio",
]
