"""Supplementary Figures 7 to 9, and two figures of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.common.results import Arrays
from experiments.common.samples import FloatArray, read_sample
from experiments.vae import panels
from experiments.vae.analysis import MATRICES, PERCENTILES
from experiments.vae.claims import DIMENSIONS, ENERGY
from experiments.vae.cohorts import SPRITES, Group
from experiments.vae.figure4 import draw_matrices, draw_objectives, draw_scores
from experiments.vae.statistics import upper

OTHERS = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
INITIALISATIONS = (("kaiming", "Kaiming"), ("pytorch", "PyTorch"), ("glorot", "Glorot"))
STATES = [
    (f"{state},\n{words}", initialisation, state == "trained")
    for state in ("untrained", "trained")
    for initialisation, words in INITIALISATIONS
]
MOST_POINTS = 4000  # pairs in a scatter plot


def draw_energy(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw Supplementary Figure 7: energy distances beside the Gaussian ones."""
    sample = read_sample(arrays, SPRITES.name)
    figure = Figure(figsize=(panels.WIDTH, 6.8), layout="constrained")
    rows: Any = figure.subfigures(4, 1, height_ratios=[2.7, 0.4, 1.6, 2.1])
    above, key, middle, below = rows
    draw_matrices(above.subplots(2, len(MATRICES)), sample, arrays, MATRICES, "scaled")
    panels.key(key.subplots())
    axes = middle.subplots(1, len(MATRICES) - 1, sharex=True, sharey=True)
    energy = rescaled(sample.distances[ENERGY])
    for axis, name in zip(axes, MATRICES[:-1], strict=True):
        draw_agreement(axis, rescaled(sample.distances[name]), energy, panels.LABELS[name])
    axes[0].set_ylabel("energy")
    axes[0].set_title("C", loc="left", fontsize=10, fontweight="bold", pad=4)
    numbers = results["numbers"]
    axes = below.subplots(1, 2, width_ratios=[0.8, 2.2])
    draw_objectives(axes[0], numbers["neighbors"], numbers["chance"], MATRICES, "D")
    draw_scores(axes[1], numbers["neighbors"], MATRICES, "E")
    return figure


def rescaled(D: FloatArray) -> FloatArray:
    """Return the distances of all pairs, divided by the largest."""
    values = upper(D)
    return np.asarray(values / values.max())


def draw_agreement(axis: Axes, gaussian: FloatArray, energy: FloatArray, words: str) -> None:
    """Draw pairs of rescaled distances."""
    step = max(1, len(energy) // MOST_POINTS)
    axis.scatter(
        gaussian[::step], energy[::step], s=1.5, alpha=0.25, linewidths=0, color=panels.PALETTE[0]
    )
    axis.plot([0, 1], [0, 1], color=panels.FAINT, linewidth=0.8, zorder=0)
    axis.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal", xlabel=words)
    panels.tidy(axis)


def draw_distortion(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw Supplementary Figure 8: distortion by dimension of the embedding."""
    figure = Figure(figsize=(panels.WIDTH, 1.9), layout="constrained")
    axes = figure.subplots(1, len(MATRICES), sharex=True, sharey=True)
    middle = PERCENTILES.index(50.0)
    for axis, name in zip(axes, MATRICES, strict=True):
        values, colour = arrays[f"distortion/{name}"], panels.ALPHA_COLOURS[name]
        for outer in range(middle):
            axis.fill_between(
                DIMENSIONS, values[:, outer], values[:, -1 - outer], alpha=0.25, color=colour, lw=0
            )
        axis.plot(DIMENSIONS, values[:, middle], color=colour, marker="o", markersize=2)
        axis.axvline(15, color=panels.FAINT, linewidth=0.8, zorder=0)
        axis.set(xlabel="dimension", yscale="log")
        axis.set_title(panels.LABELS[name], fontsize=7, pad=3)
        panels.tidy(axis)
    axes[0].set_ylabel("distortion")
    return figure


def draw_others(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw Supplementary Figure 9: MNIST and CIFAR-10 before and after training."""
    figure = Figure(figsize=(panels.WIDTH, 2.7), layout="constrained")
    axes = figure.subplots(1, len(OTHERS))
    for axis, (dataset, words) in zip(axes, OTHERS.items(), strict=True):
        groups = [
            (name, Group(dataset, initialisation, trained).name)
            for name, initialisation, trained in STATES
        ]
        known = [(name, group) for name, group in groups if f"{group}/labels" in arrays]
        panels.before_after(axis, [(name, read_sample(arrays, group)) for name, group in known])
        axis.set_title(words, fontsize=8)
        if not known:
            axis.text(0.5, 0.5, "not measured", transform=axis.transAxes, ha="center")
            axis.set(xticks=[], yticks=[])
    panels.alpha_key(
        axes[0], ("alpha-0", "alpha-2"), loc="lower left", ncols=2, bbox_to_anchor=(-0.02, 0.98)
    )
    return figure


def draw_along_training(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw the ratio of mean distances at alpha 2 and 0 along the training, with intervals."""
    figure = Figure(figsize=(panels.WIDTH, 2.6), layout="constrained")
    axis = figure.subplots()
    for k, (name, found) in enumerate(results["numbers"]["along_training"].items()):
        steps = np.array(found["steps"], dtype=np.float64)
        steps[0] = steps[1] / 2  # the start, which a logarithmic axis cannot show
        steps *= 1 + 0.04 * (k - 2)  # side by side
        count = f" (n = {found['seeds']})" if "seeds" in found else ""
        colour = panels.PALETTE[k % 7]
        ratio = np.log2(np.array(found["alpha-2"]) / np.array(found["alpha-0"]))
        axis.plot(steps, ratio, marker="o", markersize=3, color=colour, label=f"{name}{count}")
        for step, one in zip(steps, found.get("log_ratio", ()), strict=False):
            if one["lower"] is not None:
                axis.plot([step] * 2, [one["lower"], one["upper"]], color=colour, linewidth=0.8)
    axis.axhline(0, color=panels.FAINT, linewidth=0.8, zorder=0)
    axis.set(xscale="log", xlabel="steps (the first point: before training)")
    axis.set_ylabel("log\N{SUBSCRIPT TWO}(mean d\N{SUBSCRIPT TWO} / mean d\N{SUBSCRIPT ZERO})")
    axis.legend(fontsize=6, loc="center left", bbox_to_anchor=(1.0, 0.5))
    panels.tidy(axis)
    return figure


def draw_sweep(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw what the number of samples an image changes of energy distances."""
    figure = Figure(figsize=(panels.WIDTH, 2.3), layout="constrained")
    axes = figure.subplots(1, 3)
    table = results["numbers"]["sweep"]
    counts = [int(name.split("-")[1]) for name in table if name.startswith(ENERGY)]
    columns = {
        "relative difference to most": "mean difference to\nthe most samples, relative",
        "objective and every strength": "k-NN accuracy,\nobjective and strength",
        "mean of A to O": "mean k-NN R\N{SUPERSCRIPT TWO}\nof scores A to O",
    }
    for axis, (column, words) in zip(axes, columns.items(), strict=True):
        values = [table[f"{ENERGY}-{count}"][column] for count in counts]
        if None not in values:
            axis.plot(counts, values, marker="o", markersize=3, color=panels.INK)
        for name in ("alpha-1", "alpha-2"):
            if table[name].get(column) is not None:
                colour = panels.ALPHA_COLOURS[name]
                axis.axhline(table[name][column], color=colour, label=panels.LABELS[name])
        axis.set(xscale="log", xlabel="samples an image", ylabel=words)
        axis.set_xticks(counts, [str(count) for count in counts])
        axis.minorticks_off()
        panels.tidy(axis)
    axes[1].legend(loc="lower right", ncols=2, bbox_to_anchor=(1.0, 1.0), borderpad=0)
    return figure
