"""repshape: distances between stochastic neural representations."""

from repshape._version import package_version
from repshape.analysis.clustering import Clustering, hierarchical, k_medoids
from repshape.analysis.distortion import Distortion, DistortionCurve, distortion, distortion_curve
from repshape.analysis.embedding import Embedding, embed
from repshape.analysis.neighbors import Neighbors, knn_classify, knn_regress, nearest_neighbors
from repshape.analysis.panels import AlignedEmbedding, align_embeddings
from repshape.analysis.protocol import NeighborScore
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
from repshape.responses import Gaussians, Trials, as_network
from repshape.triangles import TriangleViolations, triangle_violations

from repshape import baselines, datasets, errors  # isort: skip

__version__ = package_version()

__all__ = [
    "AlignedEmbedding",
    "Alignment",
    "Clustering",
    "Cohort",
    "CovarianceEstimator",
    "DistanceMatrix",
    "Distortion",
    "DistortionCurve",
    "Embedding",
    "EnergyShapeMetric",
    "FittedPreprocess",
    "GaussianShapeMetric",
    "Gaussians",
    "NeighborScore",
    "Neighbors",
    "Preprocess",
    "ProcrustesShapeMetric",
    "Repaired",
    "ShapeMetric",
    "Transform",
    "Trials",
    "TriangleViolations",
    "WassersteinShapeMetric",
    "__version__",
    "align_embeddings",
    "as_network",
    "baselines",
    "cross",
    "datasets",
    "distortion",
    "distortion_curve",
    "embed",
    "errors",
    "estimate_moments",
    "hierarchical",
    "k_medoids",
    "knn_classify",
    "knn_regress",
    "nearest_neighbors",
    "pairwise",
    "pairwise_many",
    "repair",
    "triangle_violations",
]
