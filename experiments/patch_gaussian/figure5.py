"""Figure 5 and Supplementary Figures 10 and 11, from stored results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from experiments.common.panels import FAINT, WIDTH
from experiments.common.results import Arrays
from experiments.common.samples import read_sample
from experiments.patch_gaussian import panels
from experiments.patch_gaussian.claims import ALPHAS, SPREAD_TAU
from experiments.patch_gaussian.folds import taus_of
from repshape.plots.style import SMALL_SIZE

NETWORKS = "networks"
IMAGE_COLOURS = mpl.colormaps["tab10"]


def example_names(arrays: Arrays) -> list[str]:
    """Return the networks whose single responses are drawn."""
    names = [name.split("/")[1] for name in arrays if name.startswith("example/")]
    return [name for name in dict.fromkeys(names) if f"example/{name}/points" in arrays]


def draw_examples(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw Figure 5 A: images with patches and with noise, and responses to ten images."""
    names = example_names(arrays)
    taus = results["settings"]["taus"]
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1, 2.4])
    axes = np.atleast_1d(parts[0].subplots(1, len(taus)))
    for axis, tau, image in zip(axes, taus, arrays["example/noisy"], strict=True):
        axis.imshow(image)
        axis.axis("off")
        axis.set_title(f"{panels.TAU} = {tau:g}", fontsize=SMALL_SIZE, pad=3)
    axes = np.atleast_2d(parts[1].subplots(2, len(names), height_ratios=[1, 2]))
    for column, name in enumerate(names):
        image, below = axes[0][column], axes[1][column]
        image.imshow(arrays[f"example/{name}/image"])
        image.axis("off")
        words = name.split("-seed")[0].replace("-sigma", f", {panels.SIGMA} = ")
        image.set_title(words.replace("W", "W = ", 1), fontsize=SMALL_SIZE, pad=3)
        for number, cloud in enumerate(arrays[f"example/{name}/points"]):
            colour = IMAGE_COLOURS(number % IMAGE_COLOURS.N)
            below.scatter(*cloud.T, s=2, linewidths=0, alpha=0.6, color=colour)
        below.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
        below.spines[:].set(visible=True, edgecolor=FAINT)
    axes[1][0].set_ylabel(f"responses, {panels.TAU} = {SPREAD_TAU:g}", fontsize=SMALL_SIZE)
    return figure


def draw_selected(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw Figure 5 B: matrices and embeddings at three taus."""
    sample = read_sample(arrays, NETWORKS)
    taus = taus_of(sample)
    chosen = [taus[0], taus[len(taus) // 2], taus[-1]]
    shown = [(alpha, tau) for alpha in ALPHAS for tau in chosen]
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    rows: Any = figure.subfigures(2, 1, height_ratios=[10, 1])
    left, right = rows[0].subfigures(1, 2)
    panels.matrices(left.subplots(len(ALPHAS), len(chosen)), sample, shown)
    panels.embeddings(right.subplots(len(ALPHAS), len(chosen)), sample, arrays, shown)
    panels.key(rows[1].subplots(), sample)
    return figure


def draw_matrices(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw Supplementary Figure 10: all matrices."""
    sample = read_sample(arrays, NETWORKS)
    shown = [(alpha, tau) for alpha in ALPHAS for tau in taus_of(sample)]
    figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
    rows: Any = figure.subfigures(2, 1, height_ratios=[10, 1])
    panels.matrices(rows[0].subplots(len(ALPHAS), len(taus_of(sample))), sample, shown)
    panels.key(rows[1].subplots(), sample)
    return figure


def draw_embeddings(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw Supplementary Figure 11: all embeddings."""
    sample = read_sample(arrays, NETWORKS)
    shown = [(alpha, tau) for alpha in ALPHAS for tau in taus_of(sample)]
    figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
    rows: Any = figure.subfigures(2, 1, height_ratios=[10, 1])
    panels.embeddings(rows[0].subplots(len(ALPHAS), len(taus_of(sample))), sample, arrays, shown)
    panels.key(rows[1].subplots(), sample)
    return figure
