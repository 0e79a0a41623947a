"""The figure of `repshape demo`: the grid of toy networks, and the plane that each alpha finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from repshape.analysis.embedding import Embedding
from repshape.datasets.toy import ToyNetworks

FloatArray = npt.NDArray[np.float64]

# Corners of the colour map: rows are low and high scale, columns negative and positive correlation.
CORNERS = np.array(
    [
        [[0.52, 0.83, 0.95], [0.99, 0.80, 0.36]],
        [[0.10, 0.16, 0.50], [0.70, 0.05, 0.22]],
    ]
)
INK = "#444444"


def grid_colours(correlation: npt.ArrayLike, scale: npt.ArrayLike) -> FloatArray:
    """Return RGB colours, shape (K, 3), that vary smoothly with both parameters.

    >>> grid_colours([-0.9, 0.9], [0.5, 2.0])[1].round(2).tolist()
    [0.7, 0.05, 0.22]
    """
    u, v = (_unit(np.asarray(values, dtype=np.float64)) for values in (correlation, scale))
    weights = np.stack([np.stack([1 - u, u], -1) * w[:, None] for w in (1 - v, v)], -2)
    colours: FloatArray = np.einsum("kij,ijc->kc", weights, CORNERS)
    return colours


def draw_demo(toy: ToyNetworks, panels: Sequence[tuple[float, str, Embedding]]) -> Figure:
    """Draw the grid as a key, then a panel for each (alpha, meaning, embedding)."""
    colours = grid_colours(toy.metadata["correlation"], toy.metadata["scale"])
    width = 3.4 * (len(panels) + 1)
    figure = Figure(figsize=(width, 3.8), layout="constrained")
    axes = figure.subplots(1, len(panels) + 1, squeeze=False)[0]
    _draw_key(axes[0], toy, colours)
    # One window for all panels, so that networks that coincide look as if they do.
    reach = 1.08 * max(float(np.abs(embedding.points).max()) for _, _, embedding in panels)
    for axis, (alpha, meaning, embedding) in zip(axes[1:], panels, strict=True):
        _draw_panel(axis, toy, embedding.points, colours, reach or 1.0)
        axis.set_title(rf"$\alpha$ = {alpha:g}: {meaning}", fontsize=11)
    axes[1].set_ylabel("MDS 2", color=INK)
    figure.supxlabel(
        "Large discs: negative correlation; small discs: zero or positive. "
        "Where two networks coincide, both colours show.",
        fontsize=9,
        color=INK,
    )
    return figure


def _draw_key(axis: Axes, toy: ToyNetworks, colours: FloatArray) -> None:
    """Draw each network's noise as an ellipse, at its place in the grid."""
    correlation = toy.metadata["correlation"].to_numpy()
    scale = toy.metadata["scale"].to_numpy()
    u, v = _unit(correlation), _unit(scale)
    cell = 1.0 / max(len(np.unique(correlation)), len(np.unique(scale)), 2)
    for k, (c, s) in enumerate(zip(correlation, scale, strict=True)):
        # The axes of [[1, c], [c, 1]] lie at 45 degrees, with variances 1 + c and 1 - c.
        size = cell * np.sqrt(s / scale.max()) / np.sqrt(1.9)
        axis.add_patch(
            Ellipse(
                (u[k], v[k]),
                size * np.sqrt(1 + c),
                size * np.sqrt(1 - c),
                angle=45.0,
                facecolor=colours[k],
            )
        )
    axis.set(xlim=(-0.08, 1.08), ylim=(-0.08, 1.08), aspect="equal")
    axis.set_xticks([0, 0.5, 1], _ends(correlation))
    axis.set_yticks([0, 0.5, 1], _ends(scale))
    axis.set_xlabel("noise correlation", color=INK)
    axis.set_ylabel("noise scale", color=INK)
    axis.set_title("what was built", fontsize=11)
    _tidy(axis)


def _draw_panel(
    axis: Axes, toy: ToyNetworks, points: FloatArray, colours: FloatArray, reach: float
) -> None:
    correlation = toy.metadata["correlation"].to_numpy()
    for name in ("correlation", "scale"):  # lines of the grid, along and across
        for value in toy.metadata[name].unique():
            line = points[(toy.metadata[name] == value).to_numpy()]
            axis.plot(line[:, 0], line[:, 1], color="#cccccc", linewidth=0.6, zorder=1)
    # Negative correlations are larger discs underneath, so that where two networks coincide both
    # colours show.
    for chosen, area in ((correlation < 0, 46), (correlation >= 0, 16)):
        axis.scatter(
            points[chosen, 0], points[chosen, 1], s=area, c=colours[chosen], linewidths=0, zorder=2
        )
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axis.set_xlabel("MDS 1", color=INK)
    _tidy(axis)


def _tidy(axis: Axes) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8, colors=INK)


def _ends(values: FloatArray) -> list[str]:
    low, high = float(values.min()), float(values.max())
    return [f"{value:.3g}" for value in (low, (low + high) / 2, high)]


def _unit(values: FloatArray) -> FloatArray:
    """Return values on [0, 1]; a constant goes to the middle."""
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.full_like(values, 0.5)
