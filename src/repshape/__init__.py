"""repshape: distances between stochastic neural representations."""

from typing import TYPE_CHECKING, Any

from repshape._version import package_version
from repshape.analysis.bias import debiased_difference, debiased_distance, debiased_ratio
from repshape.analysis.clustering import Clustering, hierarchical, k_medoids
from repshape.analysis.distortion import Distortion, DistortionCurve, distortion, distortion_curve
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
from repshape.analysis.neighbors import Neighbors, knn_classify, knn_regress, nearest_neighbors
from repshape.analysis.panels import AlignedEmbedding, align_embeddings
from repshape.analysis.protocol import NeighborScore
from repshape.analysis.subsampling import SubsamplingCurves, subsample
from repshape.analysis.templates import Ceiling, ShapeClusters, frechet_ceiling, shape_kmeans
from repshape.cohort import Cohort
from repshape.groups import Transform
from repshape.metrics.base import Alignment, ShapeMetric
from repshape.metrics.energy import EnergyShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.procrustes import ProcrustesShapeMetric
from repshape.metrics.wasserstein import WassersteinShapeMetric
from repshape.moments import CovarianceEstimator, estimate_moments
from repshape.pairwise.matrix import DistanceMatrix
from repshape.pairwise.run import cross, pairwise, pairwise_many
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.repair import Repaired, repair
from repshape.report import Report, write_report
from repshape.responses import Gaussians, Trials, as_network
from repshape.triangles import TriangleViolations, triangle_violations

from repshape import baselines, datasets, errors  # isort: skip

if TYPE_CHECKING:
    from repshape import plots

__version__ = package_version()
"""Version of the installed package."""

__all__ = [
    "AlignedEmbedding",
    "Alignment",
    "Ceiling",
    "Clustering",
    "Cohort",
    "CovarianceEstimator",
    "DistanceMatrix",
    "Distortion",
    "DistortionCurve",
    "Embedding",
    "EnergyShapeMetric",
    "Estimate",
    "FewTrialsWarning",
    "FittedPreprocess",
    "FrechetMean",
    "GaussianShapeMetric",
    "Gaussians",
    "Interpolation",
    "NeighborScore",
    "Neighbors",
    "PermutationTest",
    "Preprocess",
    "ProcrustesShapeMetric",
    "Repaired",
    "Report",
    "ShapeClusters",
    "ShapeMetric",
    "SubsamplingCurves",
    "Transform",
    "Trials",
    "TriangleViolations",
    "WassersteinShapeMetric",
    "__version__",
    "align_embeddings",
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
    "distortion",
    "distortion_curve",
    "embed",
    "errors",
    "estimate_moments",
    "frechet_ceiling",
    "frechet_mean",
    "hierarchical",
    "interpolate",
    "k_medoids",
    "knn_classify",
    "knn_regress",
    "nearest_neighbors",
    "noise_floor",
    "pairwise",
    "pairwise_many",
    "permutation_test",
    "plots",
    "repair",
    "shape_kmeans",
    "subsample",
    "triangle_violations",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import `plots`, and matplotlib with it, when it is first asked for."""
    if name == "plots":
        from importlib import import_module

        return import_module("repshape.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
