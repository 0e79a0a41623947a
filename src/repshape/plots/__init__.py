"""Pictures of networks, distances and what was found; one object decides, one function draws."""

from repshape.plots.colouring import Colouring, grid_colours
from repshape.plots.embedding import EmbeddingPicture, plot_embedding
from repshape.plots.matrix import MatrixPicture, plot_matrix
from repshape.plots.picture import Picture, add_caption
from repshape.plots.planes import Ellipses, Plane
from repshape.plots.responses import ResponsesPicture, plot_responses
from repshape.plots.style import PALETTE, plain, style

__all__ = [
    "PALETTE",
    "Colouring",
    "Ellipses",
    "EmbeddingPicture",
    "MatrixPicture",
    "Picture",
    "Plane",
    "ResponsesPicture",
    "add_caption",
    "grid_colours",
    "plain",
    "plot_embedding",
    "plot_matrix",
    "plot_responses",
    "style",
]
