"""Plots of networks, distances and results.

Each function ``plot_x`` makes an object ``XPicture``, which holds what is drawn, draws it on the
axes ``ax``, or on those of a new pyplot figure, and returns the axes. ``caption=True`` writes a
caption below them that says what is shown.
"""

from repshape.plots.alignment import AlignmentPicture, plot_alignment
from repshape.plots.captions import UNIT
from repshape.plots.colouring import Colouring, grid_colours
from repshape.plots.cross import CrossPicture, plot_cross
from repshape.plots.distortion import DistortionPicture, plot_distortion
from repshape.plots.embedding import EmbeddingPicture, plot_embedding
from repshape.plots.intervals import IntervalsPicture, plot_intervals
from repshape.plots.matrix import MatrixPicture, plot_matrix
from repshape.plots.models import ModelsPicture, plot_models
from repshape.plots.neighbors import NeighborsPicture, plot_neighbors
from repshape.plots.parts import PartsPicture, plot_parts
from repshape.plots.picture import Picture, add_caption
from repshape.plots.planes import Ellipses, Plane
from repshape.plots.responses import ResponsesPicture, plot_responses
from repshape.plots.style import PALETTE, plain, style
from repshape.plots.sweep import SweepPicture, plot_sweep
from repshape.plots.transport import TransportPicture, plot_transport

__all__ = [
    "PALETTE",
    "UNIT",
    "AlignmentPicture",
    "Colouring",
    "CrossPicture",
    "DistortionPicture",
    "Ellipses",
    "EmbeddingPicture",
    "IntervalsPicture",
    "MatrixPicture",
    "ModelsPicture",
    "NeighborsPicture",
    "PartsPicture",
    "Picture",
    "Plane",
    "ResponsesPicture",
    "SweepPicture",
    "TransportPicture",
    "add_caption",
    "grid_colours",
    "plain",
    "plot_alignment",
    "plot_cross",
    "plot_distortion",
    "plot_embedding",
    "plot_intervals",
    "plot_matrix",
    "plot_models",
    "plot_neighbors",
    "plot_parts",
    "plot_responses",
    "plot_sweep",
    "plot_transport",
    "style",
]
