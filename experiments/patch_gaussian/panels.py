"""What the figures of this study share: colours of networks, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from experiments.common.panels import INK, PALETTE, heat_map, plane
from experiments.common.results import Arrays
from experiments.common.samples import FloatArray, Sample
from experiments.patch_gaussian.folds import matrix_name
from repshape.plots.style import SMALL_SIZE

ALPHA = "\N{GREEK SMALL LETTER ALPHA}"
TAU = "\N{GREEK SMALL LETTER TAU}"
SIGMA = "\N{GREEK SMALL LETTER SIGMA}"
REACH = 1.12  # half the side of an embedding, relative to its farthest point
PALEST = 0.6  # share of white in the colour of the smallest sigma


def colours(sample: Sample) -> FloatArray:
    """Return the colour of each network: hue for W, tint for sigma, black without patches."""
    width, sigma = (sample.column(name).astype(np.float64) for name in ("width", "sigma"))
    hues = dict(zip(_levels(width), _hues(len(_levels(width))), strict=True))
    tints = _tints(_levels(sigma))
    found = np.empty((len(sample), 3))
    for k in range(len(sample)):
        if np.isnan(width[k]):
            found[k] = to_rgb(INK)
        else:
            white = tints[sigma[k]]
            found[k] = (1 - white) * np.array(to_rgb(hues[width[k]])) + white
    return found


def _levels(values: FloatArray) -> list[float]:
    return sorted(set(values[np.isfinite(values)].tolist()))


def _hues(count: int) -> list[Any]:
    return [PALETTE[k % len(PALETTE)] for k in range(count)]


def _tints(levels: Sequence[float]) -> dict[float, float]:
    steps = max(1, len(levels) - 1)
    return {level: PALEST * (1 - rank / steps) for rank, level in enumerate(levels)}


def key(axis: Axes, sample: Sample) -> None:
    """Draw the legend of the colours in an empty panel."""
    widths = _levels(sample.column("width").astype(np.float64))
    shades = [INK, *_hues(len(widths))]
    names = ["none", *(f"W = {width:g}" for width in widths)]
    handles = [Line2D([], [], linestyle="", marker="o", color=c, markersize=4) for c in shades]
    axis.axis("off")
    axis.legend(
        handles,
        names,
        loc="center",
        ncols=len(names),
        title=f"width of the patch (the darker, the larger {SIGMA})",
        borderpad=0,
        columnspacing=1.2,
    )


def panel_title(alpha: float, tau: float) -> str:
    """Return the title of a panel."""
    return f"{ALPHA} = {alpha:g}, {TAU} = {tau:g}"


def matrices(axes: Any, sample: Sample, panels: Sequence[tuple[float, float]]) -> None:
    """Draw matrices, each given by alpha and tau, into axes of any shape."""
    rgb = colours(sample)
    for axis, (alpha, tau) in zip(np.ravel(axes), panels, strict=True):
        heat_map(axis, sample.distances[matrix_name(alpha, tau)], rgb, panel_title(alpha, tau))


def embeddings(
    axes: Any, sample: Sample, arrays: Arrays, panels: Sequence[tuple[float, float]]
) -> None:
    """Draw embeddings, each scaled to fill its panel."""
    rgb = colours(sample)
    for axis, (alpha, tau) in zip(np.ravel(axes), panels, strict=True):
        points = arrays[f"points/{matrix_name(alpha, tau)}"]
        plane(axis, points, rgb, REACH * (float(np.abs(points).max()) or 1.0))
        axis.set_title(panel_title(alpha, tau), fontsize=SMALL_SIZE, pad=3)
