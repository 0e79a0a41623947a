"""Analyses of distances: embeddings, neighbours, clusters, means, sweeps and subsamples."""

from repshape.analysis.clustering import Clustering, cluster_hierarchical, cluster_medoids
from repshape.analysis.distortion import Distortion, DistortionCurve, distortion, distortion_curve
from repshape.analysis.embedding import Embedding, embed
from repshape.analysis.frechet import frechet_mean
from repshape.analysis.geodesics import exp_map, geodesic, log_map
from repshape.analysis.interpolation import Interpolation, interpolate
from repshape.analysis.landmarks import LandmarkEmbedding, embed_landmarks
from repshape.analysis.matching import NeuronMatch, match_neurons
from repshape.analysis.mean_problem import FrechetMean
from repshape.analysis.neighbor_graph import neighbor_graph, query
from repshape.analysis.neighbor_result import NeighborGraph
from repshape.analysis.neighbors import Neighbors, knn_classify, knn_regress, nearest_neighbors
from repshape.analysis.panels import AlignedEmbedding, align_embeddings
from repshape.analysis.protocol import NeighborScore
from repshape.analysis.subsampling import SubsamplingCurves, subsample
from repshape.analysis.tangent import TangentPCA, tangent_pca
from repshape.analysis.tangent_space import TangentVector
from repshape.analysis.templates import Ceiling, ShapeClusters, cluster_shapes, frechet_ceiling
from repshape.analysis.trajectory import Trajectory, trajectory

__all__ = [
    "AlignedEmbedding",
    "Ceiling",
    "Clustering",
    "Distortion",
    "DistortionCurve",
    "Embedding",
    "FrechetMean",
    "Interpolation",
    "LandmarkEmbedding",
    "NeighborGraph",
    "NeighborScore",
    "Neighbors",
    "NeuronMatch",
    "ShapeClusters",
    "SubsamplingCurves",
    "TangentPCA",
    "TangentVector",
    "Trajectory",
    "align_embeddings",
    "cluster_hierarchical",
    "cluster_medoids",
    "cluster_shapes",
    "distortion",
    "distortion_curve",
    "embed",
    "embed_landmarks",
    "exp_map",
    "frechet_ceiling",
    "frechet_mean",
    "geodesic",
    "interpolate",
    "knn_classify",
    "knn_regress",
    "log_map",
    "match_neurons",
    "nearest_neighbors",
    "neighbor_graph",
    "query",
    "subsample",
    "tangent_pca",
    "trajectory",
]
