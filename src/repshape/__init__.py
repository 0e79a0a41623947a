"""repshape: distances between stochastic neural representations."""

from repshape._version import package_version
from repshape.analysis.embedding import Embedding, embed
from repshape.cohort import Cohort
from repshape.groups import Transform
from repshape.metrics.base import Alignment, ShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.procrustes import ProcrustesShapeMetric
from repshape.moments import CovarianceEstimator, estimate_moments
from repshape.pairwise.matrix import DistanceMatrix
from repshape.pairwise.run import cross, pairwise, pairwise_many
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.responses import Gaussians, Trials, as_network

from repshape import baselines, datasets, errors  # isort: skip

__version__ = package_version()

__all__ = [
    "Alignment",
    "Cohort",
    "CovarianceEstimator",
    "DistanceMatrix",
    "Embedding",
    "FittedPreprocess",
    "GaussianShapeMetric",
    "Gaussians",
    "Preprocess",
    "ProcrustesShapeMetric",
    "ShapeMetric",
    "Transform",
    "Trials",
    "__version__",
    "as_network",
    "baselines",
    "cross",
    "datasets",
    "embed",
    "errors",
    "estimate_moments",
    "pairwise",
    "pairwise_many",
]
