"""What to do with a matrix of distances."""

from repshape.analysis.clustering import Clustering, hierarchical, k_medoids
from repshape.analysis.distortion import Distortion, DistortionCurve, distortion, distortion_curve
from repshape.analysis.embedding import Embedding, embed
from repshape.analysis.neighbors import Neighbors, knn_classify, knn_regress, nearest_neighbors
from repshape.analysis.panels import AlignedEmbedding, align_embeddings
from repshape.analysis.protocol import NeighborScore

__all__ = [
    "AlignedEmbedding",
    "Clustering",
    "Distortion",
    "DistortionCurve",
    "Embedding",
    "NeighborScore",
    "Neighbors",
    "align_embeddings",
    "distortion",
    "distortion_curve",
    "embed",
    "hierarchical",
    "k_medoids",
    "knn_classify",
    "knn_regress",
    "nearest_neighbors",
]
