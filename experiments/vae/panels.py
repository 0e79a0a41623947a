"""Drawing functions that the figures of this study share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from experiments.common.panels import (
    ALPHA_COLOURS,
    FAINT,
    INK,
    LABELS,
    PALETTE,
    WIDTH,
    alpha_key,
    bars,
    heat_map,
    plane,
    tidy,
    title,
)
from experiments.common.samples import FloatArray, Sample
from repshape.plots.style import SMALL_SIZE

__all__ = [
    "ALPHA_COLOURS",
    "FAINT",
    "INK",
    "LABELS",
    "PALETTE",
    "WIDTH",
    "alpha_key",
    "bars",
    "before_after",
    "colours",
    "heat_map",
    "key",
    "plane",
    "tidy",
    "title",
]

OBJECTIVES = {
    "beta": "\N{GREEK SMALL LETTER BETA}",
    "factor": "Factor",
    "dip_i": "DIP-I",
    "dip_ii": "DIP-II",
    "beta_tc": "\N{GREEK SMALL LETTER BETA}-TC",
    "annealed": "Annealed",
}
PALEST = 0.55  # share of white in the colour of the weakest regularisation


def colours(sample: Sample) -> FloatArray:
    """Return the colour of each network: hue for its objective, tint for its strength."""
    found = np.empty((len(sample), 3))
    hues = dict(zip(OBJECTIVES, PALETTE, strict=False))
    objective, strength = sample.column("objective"), sample.column("strength")
    for name in np.unique(objective):
        own = objective == name
        levels = np.unique(strength[own])
        for rank, level in enumerate(levels):
            white = PALEST * (1 - rank / max(1, len(levels) - 1))
            rgb = np.array(to_rgb(hues[str(name)]))
            found[own & (strength == level)] = (1 - white) * rgb + white
    return found


def key(axis: Axes) -> None:
    """Draw the legend of the objectives in an empty panel."""
    handles = [
        Line2D([], [], linestyle="", marker="o", color=hue, markersize=4)
        for hue in PALETTE[: len(OBJECTIVES)]
    ]
    axis.axis("off")
    axis.legend(
        handles,
        OBJECTIVES.values(),
        loc="center",
        ncols=len(OBJECTIVES),
        title="objective (the darker, the stronger the regularisation)",
        borderpad=0,
        columnspacing=1.2,
    )


def before_after(axis: Axes, groups: Sequence[tuple[str, Sample]]) -> None:
    """Draw the distributions of distances at alpha 0 and 2 for several groups of networks.

    The axis is logarithmic: distances between untrained networks are much smaller.
    """
    names = []
    for place, (name, sample) in enumerate(groups):
        names.append(f"{name}\nn = {len(sample.between_seeds('alpha-0'))}")
        for shift, matrix in ((-0.18, "alpha-0"), (0.18, "alpha-2")):
            values = sample.between_seeds(matrix)
            if not len(values):
                continue
            parts = axis.boxplot(
                [values],
                positions=[place + shift],
                widths=0.3,
                whis=(5, 95),
                showfliers=False,
                patch_artist=True,
                medianprops={"color": "white", "linewidth": 1},
                whiskerprops={"color": ALPHA_COLOURS[matrix], "linewidth": 0.8},
                showcaps=False,
            )
            parts["boxes"][0].set(facecolor=ALPHA_COLOURS[matrix], linewidth=0)
    axis.set_xticks(range(len(groups)), names, fontsize=SMALL_SIZE)
    axis.set_yscale("log")
    axis.set_ylabel("distance")
    tidy(axis)
