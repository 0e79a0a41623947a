"""What to do with a matrix of distances."""

from repshape.analysis.embedding import Embedding, embed

__all__ = ["Embedding", "embed"]
