"""Error bars and tests for distances between networks with noisy responses."""

from repshape.errors import FewTrialsWarning
from repshape.inference.cohorts import EstimatedMatrix, matrix
from repshape.inference.confounds import Confounds, confounds
from repshape.inference.distances import difference, distance, ratio
from repshape.inference.equality import EqualityTest, equality
from repshape.inference.estimates import Estimate
from repshape.inference.factors import (
    Factor,
    UnequalComponentsWarning,
    UnequalGainWarning,
    UnequalNeuronsWarning,
    UnequalSizesWarning,
    UnequalTrialsWarning,
)
from repshape.inference.floor import floor
from repshape.inference.groups import GroupTest, groups
from repshape.inference.held_out import HeldOut, held_out
from repshape.inference.matrices import MantelTest, PairedTest, mantel, paired
from repshape.inference.model_result import ModelComparison
from repshape.inference.models import models
from repshape.inference.ratios import UnboundedRatioWarning
from repshape.inference.subspaces import UnstableSubspaceWarning

__all__ = [
    "Confounds",
    "EqualityTest",
    "Estimate",
    "EstimatedMatrix",
    "Factor",
    "FewTrialsWarning",
    "GroupTest",
    "HeldOut",
    "MantelTest",
    "ModelComparison",
    "PairedTest",
    "UnboundedRatioWarning",
    "UnequalComponentsWarning",
    "UnequalGainWarning",
    "UnequalNeuronsWarning",
    "UnequalSizesWarning",
    "UnequalTrialsWarning",
    "UnstableSubspaceWarning",
    "confounds",
    "difference",
    "distance",
    "equality",
    "floor",
    "groups",
    "held_out",
    "mantel",
    "matrix",
    "models",
    "paired",
    "ratio",
]
