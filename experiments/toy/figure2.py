"""Figure 2: the toy networks, and what means, covariances and both of them recover."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import ToyData
from experiments.toy.result import FigureResult
from repshape.datasets import Check, Finding, ToyNetworks, grid_recovery, toy_findings
from repshape.plots.style import dress

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

COINCIDE = 1e-6
SHOWN = 4  # of the correlations, and of the scales
SPACING = 10.4  # between the networks of panels A and B, in units of the responses
MINUS = "\N{MINUS SIGN}"
MEANING = {1.0: "means and covariances", 2.0: "means only", 0.0: "covariances only"}


def make_figure(data: ToyData) -> FigureResult:
    """Draw Figure 2 A-E and decide its claims."""
    plain, rotated = data.networks(rotate=False), data.exact
    shown = shown_networks(data)
    points = aligned_planes(data)
    figure, axes = new_figure()
    for axis, letter, toy, words in (
        (axes["A"], "A", plain, "Toy networks"),
        (axes["B"], "B", rotated, "The same, rotated"),
    ):
        draw_grid(axis, toy, shown)
        panels.title(axis, letter, words)
    reach = 1.12 * max(float(np.abs(one).max()) for one in points.values())
    for letter, (alpha, words) in zip("CDE", MEANING.items(), strict=True):
        panels.plane(axes[letter], data.distances[alpha], points[alpha], reach, shown)
        panels.title(axes[letter], letter, rf"$\alpha$ = {alpha:g}: {words}")
    return FigureResult(
        "fig2",
        "Figure 2 A-E",
        "A: 16 of the toy networks; colours are conditions, ellipses one standard deviation. B: "
        "the same under a random rotation each, as measured in C-E: planes by metric scaling of "
        "the distances at three values of alpha, turned onto the grid of A. Colour tells "
        "correlation and scale; numbers are those of B. Large discs are negative correlations: "
        "where two networks coincide, both colours show.",
        figure,
        (rotation_invariance(data), *toy_findings(data.distances, data.planes), needs_both(data)),
        {f"alpha_{alpha:g}": measured(data, alpha) for alpha in MEANING},
    )


def rotation_invariance(data: ToyData) -> Finding:
    """Decide what panel B is there to show."""
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
        "Only means and covariances together tell all networks apart.",
        (
            Check("share of pairs told apart by both", apart[1.0], "==", 1.0),
            Check("by covariances alone", apart[0.0], "<", 1.0),
            Check("by means alone", apart[2.0], "<", 1.0),
        ),
    )


def measured(data: ToyData, alpha: float) -> dict[str, float]:
    """Return the numbers of one plane."""
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
    """Turn the plane of alpha = 1 so that correlation runs to the right; the others onto it."""
    truth = data.exact.metadata[["correlation", "scale"]].to_numpy(dtype=np.float64)
    target = (truth - truth.mean(axis=0)) / truth.std(axis=0)
    first = rs.analysis.align_embeddings(data.planes[1.0], target).points
    return {
        alpha: first if alpha == 1.0 else rs.analysis.align_embeddings(plane, first).points
        for alpha, plane in data.planes.items()
    }


def shown_networks(data: ToyData) -> IntArray:
    """Return the networks of panels A and B, (scales from high to low, correlations)."""
    size = data.settings
    correlations = np.linspace(0, size.n_correlations - 1, SHOWN).round().astype(np.intp)
    scales = np.linspace(0, size.n_scales - 1, SHOWN).round().astype(np.intp)[::-1]
    return correlations[None, :] * size.n_scales + scales[:, None]


def new_figure() -> tuple[Figure, dict[str, Axes]]:
    """Return the figure: A and B above, C to E below."""
    figure = Figure(figsize=(panels.WIDTH, 6.2), layout="constrained")
    return figure, figure.subplot_mosaic("AAABBB\nCCDDEE", height_ratios=[1.45, 1.0])


def draw_grid(axis: Axes, toy: ToyNetworks, shown: IntArray) -> None:
    """Draw networks at their places on the grid, numbered as read."""
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
    dress(axis)
    axis.set_xlabel("noise correlation")
    axis.set_ylabel("noise scale")
