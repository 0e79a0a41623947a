"""Figure 4: matrices and embeddings, distances before and after training, and k-NN predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.common.results import Arrays
from experiments.common.samples import Sample, read_sample
from experiments.common.stores import alpha_name
from experiments.vae import panels
from experiments.vae.claims import ALPHAS, ENERGY
from experiments.vae.cohorts import SPRITES, Group
from experiments.vae.scores import NAMES

MATRICES = tuple(map(alpha_name, ALPHAS))
STATES = (
    ("untrained,\nKaiming", Group("dsprites", "kaiming", False)),
    ("untrained,\nPyTorch", Group("dsprites", "pytorch", False)),
    ("untrained,\nGlorot", Group("dsprites", "glorot", False)),
    ("trained", SPRITES),
)


def draw(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw the panels A to F from stored results."""
    sample = read_sample(arrays, SPRITES.name)
    figure = Figure(figsize=(panels.WIDTH, 7.7), layout="constrained")
    rows: Any = figure.subfigures(4, 1, height_ratios=[3.1, 0.4, 2.1, 2.1])
    upper, key, middle, lower = rows
    draw_matrices(upper.subplots(2, len(MATRICES)), sample, arrays, MATRICES, "points")
    panels.key(key.subplots())
    axes = middle.subplots(1, 3, width_ratios=[1.2, 0.8, 0.8])
    draw_states(axes[0], arrays)
    numbers = results["numbers"]
    table, chance = numbers["neighbors"], numbers["chance"]
    panels.bars(axes[1], [("seed", table["seed"])], MATRICES, chance)
    axes[1].set(ylabel="k-NN accuracy", xticks=[])
    panels.title(axes[1], "C", "Random seed")
    panels.bars(axes[2], [("reconstruction", table["reconstruction"])], MATRICES)
    axes[2].set(ylabel="k-NN R\N{SUPERSCRIPT TWO}", xticks=[])
    panels.title(axes[2], "D", "Reconstruction loss")
    axes = lower.subplots(1, 2, width_ratios=[0.8, 2.2])
    draw_objectives(axes[0], table, chance, MATRICES, "E")
    draw_scores(axes[1], table, MATRICES, "F")
    return figure


def draw_matrices(
    axes: Any, sample: Sample, arrays: Arrays, matrices: tuple[str, ...], kind: str
) -> None:
    """Draw matrices above their embeddings (panel A, or A and B of the supplement)."""
    rgb = panels.colours(sample)
    points = {name: arrays[f"{kind}/{name}"] for name in matrices}
    reach = 1.12 * max(float(np.abs(one).max()) for one in points.values())
    for name, above, below in zip(matrices, axes[0], axes[1], strict=True):
        panels.heat_map(above, sample.distances[name], rgb, panels.LABELS[name])
        panels.plane(below, points[name], rgb, reach)
    axes[0][0].set_title("A", loc="left", fontsize=10, fontweight="bold", pad=4)
    if ENERGY in matrices:
        axes[1][0].set_title("B", loc="left", fontsize=10, fontweight="bold", pad=4)


def draw_states(axis: Axes, arrays: Arrays) -> None:
    """Draw distances before and after training (panel B)."""
    found = [
        (name, read_sample(arrays, group.name))
        for name, group in STATES
        if f"{group.name}/labels" in arrays
    ]
    panels.before_after(axis, found)
    panels.alpha_key(
        axis, ("alpha-0", "alpha-2"), loc="lower right", ncols=2, bbox_to_anchor=(1.02, 0.98)
    )
    panels.title(axis, "B", "Before and after")


def draw_objectives(
    axis: Axes,
    table: Mapping[str, Any],
    chance: Mapping[str, float],
    matrices: tuple[str, ...],
    letter: str,
) -> None:
    """Draw the accuracy of both readings of objective and strength."""
    targets = {
        "every\nstrength": "objective and every strength",
        "high or\nlow": "objective, high or low strength",
    }
    rows = [(name, table[target]) for name, target in targets.items()]
    panels.bars(axis, rows, matrices, {name: chance[target] for name, target in targets.items()})
    axis.set_ylabel("k-NN accuracy")
    panels.title(axis, letter, "Objective and strength")


def draw_scores(
    axis: Axes, table: Mapping[str, Any], matrices: tuple[str, ...], letter: str
) -> None:
    """Draw the R2 of each disentanglement score."""
    panels.bars(axis, [(name, table[name]) for name in NAMES], matrices)
    if all(table[name][matrix]["estimate"] is None for name in NAMES for matrix in matrices):
        axis.text(0.5, 0.5, "not computed yet", transform=axis.transAxes, ha="center")
    axis.set_ylabel("k-NN R\N{SUPERSCRIPT TWO}")
    axis.set_ylim(top=1)
    panels.alpha_key(
        axis, matrices, loc="upper center", ncols=len(matrices), bbox_to_anchor=(0.5, -0.1)
    )
    panels.title(axis, letter, "Disentanglement scores")
