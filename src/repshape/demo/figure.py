"""The figure of `repshape demo`: the grid of toy networks, and their embedding for each alpha."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repshape.analysis.embedding import Embedding
from repshape.datasets.toy import ToyNetworks
from repshape.matrix.distances import DistanceMatrix
from repshape.plots.colouring import grid_colours, unit_interval
from repshape.plots.embedding import EmbeddingPicture
from repshape.plots.planes import Ellipses
from repshape.plots.style import FONT_SIZE, INK, dress, style

FloatArray = npt.NDArray[np.float64]

PANEL = 2.8
# Negative correlations are larger discs underneath, so that both colours are visible where two
# networks coincide.
LARGE, SMALL = 34.0, 12.0
# The largest ellipse of the key fills this share of its cell.
FILLED = 0.95


def draw_demo(
    toy: ToyNetworks, panels: Sequence[tuple[float, str, Embedding, DistanceMatrix]]
) -> Figure:
    """Draw the grid as a key, then a panel for each (alpha, meaning, embedding, distances)."""
    colours = grid_colours(toy.metadata["correlation"], toy.metadata["scale"])
    areas = np.where(toy.metadata["correlation"] < 0, LARGE, SMALL)
    # All panels have the same limits, so that networks that coincide look as if they do.
    reach = 1.08 * max(float(np.abs(panel[2].points).max()) for panel in panels) or 1.0
    with style():
        figure = Figure(figsize=(PANEL * (len(panels) + 1), PANEL + 0.3), layout="constrained")
        axes = figure.subplots(1, len(panels) + 1, squeeze=False)[0]
        _draw_key(axes[0], toy, colours)
        for axis, (alpha, meaning, embedding, distances) in zip(axes[1:], panels, strict=True):
            picture = EmbeddingPicture.of(
                embedding,
                distances,
                colour=colours,
                connect=("correlation", "scale"),
                areas=areas,
                reach=reach,
            )
            picture.draw(axis)
            axis.set_title(f"\N{GREEK SMALL LETTER ALPHA} = {alpha:g}: {meaning}")
        figure.supxlabel(
            "Large discs: negative correlation; small discs: zero or positive. "
            "Where two networks coincide, both colours show.",
            fontsize=FONT_SIZE,
            color=INK,
        )
    return figure


def _draw_key(axis: Axes, toy: ToyNetworks, colours: FloatArray) -> None:
    """Draw the noise of each network as an ellipse, at its position in the grid."""
    correlation = toy.metadata["correlation"].to_numpy()
    scale = toy.metadata["scale"].to_numpy()
    places = np.column_stack([unit_interval(correlation), unit_interval(scale)])
    cell = 1.0 / max(len(np.unique(correlation)), len(np.unique(scale)), 2)
    covariances = np.eye(2) + correlation[:, None, None] * (1 - np.eye(2))
    covariances = covariances * scale[:, None, None]
    # The axes are two standard deviations long; the longest of all fits its cell.
    longest = 2.0 * np.sqrt(np.linalg.eigvalsh(covariances).max())
    size = (FILLED * cell / longest) ** 2
    dress(axis)
    Ellipses.of(places, size * covariances).draw(axis, colours, fill=1.0)
    axis.set(xlim=(-0.08, 1.08), ylim=(-0.08, 1.08), aspect="equal")
    axis.set_xticks([0, 0.5, 1], _ends(correlation))
    axis.set_yticks([0, 0.5, 1], _ends(scale))
    axis.set_xlabel("noise correlation")
    axis.set_ylabel("noise scale")
    axis.set_title("what was built")
    axis.spines[["top", "right"]].set_visible(False)


def _ends(values: FloatArray) -> list[str]:
    low, high = float(values.min()), float(values.max())
    return [f"{value:.3g}" for value in (low, (low + high) / 2, high)]
