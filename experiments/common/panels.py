"""Drawing functions that the figures of several studies share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from experiments.common.samples import FloatArray
from experiments.toy.panels import FAINT, INK, PALETTE, WIDTH, title
from repshape.plots import EmbeddingPicture
from repshape.plots.style import COLORMAP, SMALL_SIZE, dress

__all__ = [
    "ALPHA_COLOURS",
    "FAINT",
    "INK",
    "LABELS",
    "PALETTE",
    "WIDTH",
    "alpha_key",
    "bars",
    "heat_map",
    "plane",
    "tidy",
    "title",
]

Numbers = Mapping[str, Any]

# From covariances alone to means alone; energy distances are grey.
ALPHA_COLOURS = {
    "alpha-0": "#440154",
    "alpha-0.5": "#3b528b",
    "alpha-1": "#21918c",
    "alpha-1.5": "#5ec962",
    "alpha-2": "#c8b400",
    "energy": "#777777",
}
ALPHA = "\N{GREEK SMALL LETTER ALPHA}"
LABELS = {name: name.replace("alpha-", f"{ALPHA} = ") for name in ALPHA_COLOURS}
STRIP = 0.04  # width of the colours beside a matrix, relative to its own


def heat_map(axis: Axes, D: FloatArray, rgb: FloatArray, words: str) -> None:
    """Draw a matrix from dark (0) to light (largest), beside the colours of the networks."""
    largest = float(D.max()) or 1.0
    mapped = mpl.colormaps[COLORMAP](np.maximum(D, 0) / largest)[..., :3]
    wide = max(1, round(STRIP * len(D)))
    strip, gap = np.repeat(rgb[:, None], wide, axis=1), np.ones((len(D), wide, 3))
    axis.imshow(np.concatenate([strip, gap, mapped], axis=1), interpolation="nearest")
    axis.axis("off")
    axis.set_title(f"{words}\nlargest {largest:.3g}", fontsize=SMALL_SIZE, pad=3)


def plane(axis: Axes, points: npt.NDArray[Any], rgb: FloatArray, reach: float) -> None:
    """Draw an embedding, a colour for each network."""
    EmbeddingPicture.of(points, colour=rgb, reach=reach, areas=np.full(len(points), 9.0)).draw(axis)
    axis.set(xlabel="", ylabel="", xticks=[], yticks=[])
    axis.spines[:].set(visible=True, edgecolor=FAINT)


def bars(
    axis: Axes,
    rows: Sequence[tuple[str, Numbers]],
    matrices: Sequence[str],
    chance: Mapping[str, float] | None = None,
) -> None:
    """Draw a group of bars for each target, a bar for each matrix, with their intervals.

    ``rows`` are names of targets, each with an estimate and interval for every matrix.
    """
    width = 0.8 / len(matrices)
    for k, matrix in enumerate(matrices):
        for place, (_, numbers) in enumerate(rows):
            found = numbers[matrix]
            if found["estimate"] is None:
                continue
            x = place + (k - (len(matrices) - 1) / 2) * width
            axis.bar(x, found["estimate"], 0.9 * width, color=ALPHA_COLOURS[matrix], linewidth=0)
            if found["lower"] is not None:
                ends = [found["lower"], found["upper"]]
                axis.plot([x, x], ends, color=INK, linewidth=0.6)
    for place, (name, _) in enumerate(rows):
        if chance and name in chance:
            ends = [place - 0.45, place + 0.45]
            axis.plot(ends, [chance[name]] * 2, color=INK, linewidth=0.8, linestyle=":")
    axis.set_xticks(range(len(rows)), [name for name, _ in rows])
    axis.axhline(0, color=INK, linewidth=0.5)
    tidy(axis)


def alpha_key(axis: Axes, matrices: Sequence[str], **options: Any) -> None:
    """Draw the legend of the matrices."""
    handles = [
        Line2D([], [], linestyle="", marker="s", color=ALPHA_COLOURS[name], markersize=4)
        for name in matrices
    ]
    axis.legend(handles, [LABELS[name] for name in matrices], handletextpad=0.1, **options)


def tidy(axis: Axes) -> None:
    """Remove the upper and right frame, and use the sizes of the style."""
    dress(axis)
    axis.spines[["top", "right"]].set_visible(False)
