"""Figure 2: the toy networks, and what is recovered from means, covariances and both."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import Settings, ToyData
from experiments.toy.result import Arrays, FigureResult
from repshape.datasets import ToyNetworks
from repshape.demo.findings import Check, Finding, grid_recovery, toy_findings

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

COINCIDE = 1e-6
SHOWN = 4  # number of correlations, and of scales, in panels A and B
SPACING = 10.4  # distance between networks in panels A and B, in units of the responses
MINUS = "\N{MINUS SIGN}"
MEANING = {1.0: "means and covariances", 2.0: "means only", 0.0: "covariances only"}


def measure(data: ToyData) -> FigureResult:
    """Measure Figure 2 A-E and decide its claims."""
    return FigureResult(
        "Figure 2 A-E",
        "A: 16 of the toy networks. Colours are conditions, and ellipses are one standard "
        "deviation. B: the same networks, each under its own random rotation. C-E: embeddings by "
        "metric scaling of the distances between the rotated networks at three values of alpha, "
        "aligned with the grid of A. Colours show correlation and scale; numbers are those of B. "
        "Large discs are negative correlations: where two networks coincide, both colours show.",
        (rotation_invariance(data), *toy_findings(data.distances, data.planes), needs_both(data)),
        {f"alpha_{alpha:g}": measured(data, alpha) for alpha in MEANING},
        {f"alpha_{alpha:g}": points for alpha, points in aligned_planes(data).items()},
    )


def draw(stored: Arrays, settings: Settings) -> Figure:
    """Draw the panels from stored embeddings: A and B above, C to E below."""
    data = ToyData(settings)
    shown = shown_networks(settings)
    figure = Figure(figsize=(panels.WIDTH, 6.2), layout="constrained")
    axes = figure.subplot_mosaic("AAABBB\nCCDDEE", height_ratios=[1.45, 1.0])
    for letter, toy, words in (
        ("A", data.networks(rotate=False), "Toy networks"),
        ("B", data.exact, "The same, rotated"),
    ):
        draw_grid(axes[letter], toy, shown)
        panels.title(axes[letter], letter, words)
    points = {alpha: stored[f"alpha_{alpha:g}"] for alpha in MEANING}
    reach = 1.12 * max(float(np.abs(one).max()) for one in points.values())
    for letter, (alpha, words) in zip("CDE", MEANING.items(), strict=True):
        panels.plane(axes[letter], data.exact.metadata, points[alpha], reach, shown)
        panels.title(axes[letter], letter, rf"$\alpha$ = {alpha:g}: {words}")
    return figure


def rotation_invariance(data: ToyData) -> Finding:
    """Decide the claim of panel B."""
    plain, rotated = data.networks(rotate=False), data.exact
    fixed = rs.GaussianShapeMetric(group="identity")
    effect = np.median([fixed.distance(x, y) for x, y in zip(plain, rotated, strict=True)])
    before = rs.pairwise(plain, rs.GaussianShapeMetric(alpha=1.0), progress=False)
    change = np.abs(before.condensed() - data.distances[1.0].condensed())
    return Finding(
        "Figure 2 B",
        "Distances do not change if every network is rotated.",
        (
            Check("largest change", float(change.max()), "<", COINCIDE),
            Check("median effect of the rotations", float(effect), ">", 1.0),
        ),
        {"pairs that change": float((change >= COINCIDE).sum()), "pairs": float(change.size)},
    )


def needs_both(data: ToyData) -> Finding:
    """Decide the conclusion that the paper draws from C-E."""
    apart = {a: float((D.condensed() > COINCIDE).mean()) for a, D in data.distances.items()}
    return Finding(
        "Figure 2 C-E",
        "Only means and covariances together distinguish all networks.",
        (
            Check("fraction of pairs distinguished by both", apart[1.0], "==", 1.0),
            Check("by covariances alone", apart[0.0], "<", 1.0),
            Check("by means alone", apart[2.0], "<", 1.0),
        ),
    )


def measured(data: ToyData, alpha: float) -> dict[str, float]:
    """Return the numbers of one embedding."""
    seen = grid_recovery(data.distances[alpha], data.planes[alpha])
    return {
        "r2_correlation": seen.r2_correlation,
        "r2_scale": seen.r2_scale,
        "unfolded": seen.unfolded,
        "stress": seen.embedding.stress,
        "largest_distance": seen.largest_distance,
        "largest_distance_of_opposites": seen.largest_opposite,
        "pairs_not_converged": data.distances[alpha].n_unconverged,
    }


def aligned_planes(data: ToyData) -> dict[float, FloatArray]:
    """Align the embedding at alpha = 1 with the true grid, and the others with it."""
    truth = data.exact.metadata[["correlation", "scale"]].to_numpy(dtype=np.float64)
    target = (truth - truth.mean(axis=0)) / truth.std(axis=0)
    first = rs.analysis.align_embeddings(data.planes[1.0], target).points
    return {
        alpha: first if alpha == 1.0 else rs.analysis.align_embeddings(plane, first).points
        for alpha, plane in data.planes.items()
    }


def shown_networks(size: Settings) -> IntArray:
    """Return the indices of the networks in A and B, (scales from high to low, correlations)."""
    correlations = np.linspace(0, size.n_correlations - 1, SHOWN).round().astype(np.intp)
    scales = np.linspace(0, size.n_scales - 1, SHOWN).round().astype(np.intp)[::-1]
    return correlations[None, :] * size.n_scales + scales[:, None]


def draw_grid(axis: Axes, toy: ToyNetworks, shown: IntArray) -> None:
    """Draw networks at their places on the grid, numbered row by row."""
    for place, k in enumerate(shown.ravel()):
        down, right = divmod(place, shown.shape[1])
        centre = SPACING * np.array([right, -down], dtype=np.float64)
        network = toy[int(k)]
        assert isinstance(network, rs.Gaussians)
        panels.responses(axis, network, offset=centre)
        axis.text(
            centre[0] - 0.46 * SPACING, centre[1] + 0.34 * SPACING, str(place + 1), fontsize=6
        )
    side = shown.shape[0]
    half = SPACING / 2
    axis.set(
        xlim=(-half, SPACING * (side - 1) + half),
        ylim=(-SPACING * (side - 1) - half, half),
        aspect="equal",
    )
    places = SPACING * np.arange(side)
    correlations, scales = toy.metadata["correlation"], toy.metadata["scale"]
    axis.set_xticks(places, [f"{correlations.iloc[k]:.2g}".replace("-", MINUS) for k in shown[0]])
    axis.set_yticks(-places, [f"{scales.iloc[k]:.2g}" for k in shown[:, 0]])
    panels.dress(axis)
    axis.set_xlabel("noise correlation")
    axis.set_ylabel("noise scale")
