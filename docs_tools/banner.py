"""The figure of the README: ``python -m docs_tools.banner`` writes docs/images/banner.png."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.toy import panels
from experiments.toy.data import SCALES, ToyData
from experiments.toy.figure2 import aligned_planes, draw_grid, shown_networks
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from repshape.plots import EmbeddingPicture, grid_colours

PATH = Path(__file__).parents[1] / "docs" / "images" / "banner.png"
SIZE, DPI = (8.4, 3.5), 200  # inches
MARGIN = 0.25  # around the embedding, in units of the responses
HALO: dict[str, Any] = {"path_effects": [withStroke(linewidth=1.8, foreground="white")]}
GIVEN = (
    "16 of 99 networks with two neurons and five\nconditions, each with its own noise and rotation"
)
FOUND = "Embedding of the distances: means and covariances\ntogether recover the grid of noise"


def draw() -> Figure:
    """Draw the toy networks, and the embedding of the distances between them."""
    data = ToyData(SCALES["paper"])
    shown = shown_networks(data.settings)
    figure = Figure(figsize=SIZE, layout="constrained")
    given, found = figure.subplots(1, 2, width_ratios=[1, 1.3])
    draw_grid(given, data.exact, shown)
    panels.title(given, "", GIVEN)
    D, points = data.distances[1.0], aligned_planes(data)[1.0]
    colour = grid_colours(D.metadata["correlation"], D.metadata["scale"])
    grid = ("correlation", "scale")
    EmbeddingPicture.of(points, D, colour=colour, connect=grid, areas=30.0).draw(found)
    for number, k in enumerate(shown.ravel(), start=1):
        found.annotate(
            str(number), points[k], (4, 4), textcoords="offset points", fontsize=6.5, **HALO
        )
    low, high = points[:, 1].min(), points[:, 1].max()
    found.set(xlabel="MDS 1", ylabel="MDS 2", ylim=(low - MARGIN, high + MARGIN))
    panels.title(found, "", FOUND)
    return figure


if __name__ == "__main__":
    draw().savefig(PATH, dpi=DPI)
