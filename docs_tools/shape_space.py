"""The figures of two pages: ``python -m docs_tools.shape_space`` writes them to docs/images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from experiments.toy import panels
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs
from repshape.plots import PALETTE, EmbeddingPicture, grid_colours

IMAGES = Path(__file__).parents[1] / "docs" / "images" / "shape-space"
DPI = 200
MODES = ("marginal", "joint", "causal")
STEPS = 12


def stationary(decay: float, n: int = 2) -> rs.PositionNetwork:
    """Return a system with unit variance at every step, and the given autocorrelation."""
    lags = np.abs(np.subtract.outer(np.arange(STEPS), np.arange(STEPS)))
    S = np.kron(decay**lags, np.eye(n))
    return rs.PositionNetwork.from_moments(np.zeros((1, STEPS, n)), S[None])


def dynamics() -> Figure:
    """Draw systems that differ in their dynamics only, and their distances in each mode."""
    figure, (given, found) = panels.row(2, 2.4)
    rng = np.random.default_rng(3)
    for shift, decay, colour in ((0.0, 0.2, PALETTE[0]), (-6.0, 0.95, PALETTE[1])):
        S = stationary(decay, 1).flat.covariances[0]
        for path in rng.multivariate_normal(np.zeros(STEPS), S, size=15):
            given.plot(path + shift, color=colour, linewidth=0.7, alpha=0.8)
        given.text(STEPS - 0.5, shift, f"autocorrelation {decay}", va="center", fontsize=7)
    given.set(xlabel="time step", ylabel="response", yticks=[], xlim=(0, STEPS + 4.5))
    given.set_xticks(range(0, STEPS, 2))  # no ticks beside the names
    panels.title(given, "a", "Same mean and variance at every step")
    decays = np.sort(np.append(np.linspace(0, 0.98, 40), 0.5))
    x = stationary(0.5)
    for mode, colour in zip(MODES, PALETTE, strict=False):
        metric = rs.ProcessShapeMetric(mode=mode)
        values = [metric.distance(x, stationary(decay)) for decay in decays]
        found.plot(decays, values, color=colour, label=mode)
    found.set(xlabel="autocorrelation of the other system", ylabel="distance", xlim=(0, 1))
    found.legend(title="mode", fontsize=7, title_fontsize=7, frameon=False)
    panels.title(found, "b", "Distance from a system with autocorrelation 0.5")
    for axis in (given, found):
        panels.dress(axis)
    return figure


def frame(axis: Axes, network: rs.Gaussians, words: str) -> None:
    """Draw one network with two neurons."""
    panels.responses(axis, network)
    axis.set(xlim=(-5, 5), ylim=(-5, 5), aspect="equal", xticks=[], yticks=[])
    axis.set_title(words, fontsize=7.5)
    panels.dress(axis)


def geodesic() -> Figure:
    """Draw the shortest path between two toy networks as five frames, and the far end as given."""
    toy = rs.datasets.toy_networks()
    x, y = toy[8], toy[90]
    metric = rs.GaussianShapeMetric()
    d = metric.distance(x, y)
    times = [0.0, 0.25, 0.5, 0.75, 1.0]
    figure, axes = panels.row(6, 1.55)
    names = ["x", "", "halfway", "", "y, aligned"]
    for axis, t, name, one in zip(
        axes, times, names, rs.analysis.geodesic(x, y, times), strict=False
    ):
        frame(axis, one, f"{name}\nt = {t:g}, d = {t * d:.2f}")
    frame(axes[5], y, "y\nas given")
    return figure


def tangent() -> Figure:
    """Draw the toy cohort in its tangent plane, and the networks along the two components."""
    toy = rs.datasets.toy_networks()
    found = rs.analysis.tangent_pca(toy)
    figure = Figure(figsize=(panels.WIDTH, 3.0), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.25, 1])
    plane = left.subplots()
    D = rs.DistanceMatrix(found.tangent_distances, metadata=toy.metadata)
    colour = grid_colours(toy.metadata["correlation"], toy.metadata["scale"])
    grid = ("correlation", "scale")
    EmbeddingPicture.of(found.scores, D, colour=colour, connect=grid, areas=24.0).draw(plane)
    share = 100 * found.explained_variance_ratio
    plane.set(xlabel=f"component 1 ({share[0]:.0f} %)", ylabel=f"component 2 ({share[1]:.0f} %)")
    panels.title(plane, "", "99 toy networks in the tangent plane at their mean")
    right.suptitle("Networks along both components", fontsize=7.5)
    axes = right.subplots(2, 3)
    for row, component in enumerate(np.eye(2)):
        for axis, step in zip(axes[row], (-0.8, 0.0, 0.8), strict=True):
            network = found.network_at(step * component)
            score = f"{step:g}".replace("-", "−")
            frame(axis, network, f"score {row + 1} = {score}" if step else "mean")
    return figure


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    for draw in (dynamics, geodesic, tangent):
        draw().savefig(IMAGES / f"{draw.__name__}.png", dpi=DPI)
