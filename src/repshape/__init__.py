"""repshape: distances between stochastic neural representations."""

from repshape._version import package_version
from repshape.analysis.bias import debiased_difference, debiased_distance, debiased_ratio
from repshape.analysis.embedding import Embedding, embed
from repshape.analysis.estimates import Estimate, FewTrialsWarning
from repshape.analysis.floors import PermutationTest, noise_floor, permutation_test
from repshape.analysis.frechet import FrechetMean, frechet_mean
from repshape.analysis.inference import (
    bootstrap_difference,
    bootstrap_distance,
    bootstrap_ratio,
)
from repshape.analysis.interpolation import Interpolation, interpolate
from repshape.analysis.subsampling import SubsamplingCurves, subsample
from repshape.analysis.templates import Ceiling, ShapeClusters, frechet_ceiling, shape_kmeans
from repshape.groups import Transform
from repshape.metrics.base import Alignment, ShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.procrustes import ProcrustesShapeMetric
from repshape.moments import CovarianceEstimator, estimate_moments
from repshape.pairwise.matrix import DistanceMatrix
from repshape.pairwise.run import cross, pairwise
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.responses import Gaussians, Trials, as_network

from repshape import baselines, datasets, errors  # isort: skip

__version__ = package_version()

__all__ = [
    "Alignment",
    "Ceiling",
    "CovarianceEstimator",
    "DistanceMatrix",
    "Embedding",
    "Estimate",
    "FewTrialsWarning",
    "FittedPreprocess",
    "FrechetMean",
    "GaussianShapeMetric",
    "Gaussians",
    "Interpolation",
    "PermutationTest",
    "Preprocess",
    "ProcrustesShapeMetric",
    "ShapeClusters",
    "ShapeMetric",
    "SubsamplingCurves",
    "Transform",
    "Trials",
    "__version__",
    "as_network",
    "baselines",
    "bootstrap_difference",
    "bootstrap_distance",
    "bootstrap_ratio",
    "cross",
    "datasets",
    "debiased_difference",
    "debiased_distance",
    "debiased_ratio",
    "embed",
    "errors",
    "estimate_moments",
    "frechet_ceiling",
    "frechet_mean",
    "interpolate",
    "noise_floor",
    "pairwise",
    "permutation_test",
    "shape_kmeans",
    "subsample",
]
