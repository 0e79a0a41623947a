"""Supplementary Figure 2: how alpha decides which rotation aligns two networks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import ToyData
from experiments.toy.examples import conflicting_networks, draw_trials
from experiments.toy.result import FigureResult
from repshape.datasets import Check, Finding
from repshape.plots.style import FAINT, PALETTE

FloatArray = npt.NDArray[np.float64]

SHOWN = 25
COINCIDE = 1e-6
DEGREES = 0.01  # of an angle that is said to be 0, 90 or 180
# The distance is above its bound if it is so by this share of the largest distance.
ABOVE = 0.05


@dataclass(frozen=True, eq=False)
class Sweep:
    """One pair of networks at many alphas.

    Attributes
    ----------
    interpolation : repshape.analysis.Interpolation
        Distances and bounds.
    angles : ndarray, shape (A,)
        Best rotation of the second network onto the first at each alpha, degrees in [0, 180].
        By symmetry of this pair the angle 180 - x is as good as x.
    proper : ndarray of bool, shape (A,)
        Whether it is a rotation, rather than a reflection.
    """

    interpolation: rs.analysis.Interpolation
    angles: FloatArray
    proper: npt.NDArray[np.bool_]

    @property
    def folded(self) -> FloatArray:
        """Angles from the nearer of 0 and 180, (A,)."""
        return np.minimum(self.angles, 180.0 - self.angles)


def make_figure(data: ToyData) -> FigureResult:
    """Draw Supplementary Figure 2 A-D and decide its claims."""
    first, second = conflicting_networks()
    alphas = np.linspace(0.0, 2.0, data.settings.n_alphas)
    sweep = sweep_alphas(first, second, alphas)
    found = sweep.interpolation
    return FigureResult(
        "supp2",
        "Supplementary Figure 2 A-D",
        "A: two networks (hollow, dashed: the first; filled: the second), three conditions. B: the "
        "second after the best rotation for means alone, and for covariances alone. C: distance "
        "over alpha, with the bound of Appendix E.2. D: the best rotation; with it goes an equally "
        "good one (thin), since 180 - x serves this pair as well as x.",
        draw(first, second, sweep, data.rng(4)),
        (ends(sweep), above_bound(sweep), turning(sweep)),
        {
            "alphas": found.alphas.tolist(),
            "distances": found.distances[:, 0].tolist(),
            "bounds": found.interpolation_bounds[:, 0].tolist(),
            "angles": sweep.angles.tolist(),
        },
    )


def sweep_alphas(first: rs.Gaussians, second: rs.Gaussians, alphas: FloatArray) -> Sweep:
    """Measure distance and best rotation at each alpha, over the orthogonal group."""
    found = rs.analysis.interpolate([first, second], list(alphas), progress=False)
    maps = [rs.GaussianShapeMetric(alpha=a).align(first, second).transform for a in found.alphas]
    # Rows are responses: the rotation of columns is the transpose.
    angles = np.array([np.rad2deg(np.arctan2(T[0, 1], T[0, 0])) for T in maps])
    proper = np.array([np.linalg.det(T) > 0 for T in maps])
    return Sweep(found, np.abs(angles), proper)


def ends(sweep: Sweep) -> Finding:
    """Decide claim B."""
    distances = sweep.interpolation.distances[:, 0]
    return Finding(
        "Supplementary Figure 2 B",
        "Means alone agree after a turn by 90 degrees, covariances alone after 0 or 180.",
        (
            Check("distance at alpha 2", distances[-1], "<", COINCIDE),
            Check("distance at alpha 0", distances[0], "<", COINCIDE),
            Check("angle at alpha 2, from 90", abs(sweep.angles[-1] - 90.0), "<", DEGREES),
            Check("angle at alpha 0, from 0 or 180", sweep.folded[0], "<", DEGREES),
        ),
    )


def above_bound(sweep: Sweep) -> Finding:
    """Decide claim C."""
    found = sweep.interpolation
    gap = (found.distances - found.interpolation_bounds)[:, 0] / found.distances.max()
    return Finding(
        "Supplementary Figure 2 C",
        "The bound is zero at every alpha; the distance lies above it for all alphas between.",
        (
            Check("largest bound", float(found.interpolation_bounds.max()), "<", COINCIDE),
            Check("smallest gap inside, of the largest distance", gap[1:-1].min(), ">", ABOVE),
            Check("smallest gap anywhere", gap.min(), ">", -COINCIDE),
        ),
        {"largest distance": float(found.distances.max())},
    )


def turning(sweep: Sweep) -> Finding:
    """Decide what panel D shows."""
    return Finding(
        "Supplementary Figure 2 D",
        "The best rotation depends on alpha: it goes from 0 (or 180) degrees to 90.",
        (
            Check("smallest step of the angle from 0 or 180", np.diff(sweep.folded).min(), ">",
                  -DEGREES),
            Check("angles strictly between",
                  float(((sweep.folded > 5) & (sweep.folded < 85)).sum()), ">", 0),
            Check("share that are rotations", sweep.proper.mean(), "==", 1.0),
        ),
    )  # fmt: skip


def draw(
    first: rs.Gaussians, second: rs.Gaussians, sweep: Sweep, rng: np.random.Generator
) -> panels.Figure:
    """Draw the panels; B has one for each end."""
    figure, axes = panels.row(5, 1.8)
    x, y = (draw_trials(network, SHOWN, rng) for network in (first, second))
    titles = ("Two networks", r"Means, $\alpha$ = 2", r"Covariances, $\alpha$ = 0")
    cases = zip(axes[:3], ("A", "B", ""), titles, (None, 2.0, 0.0), strict=True)
    for axis, letter, words, alpha in cases:
        T = np.eye(2)
        if alpha is not None:
            T = rs.GaussianShapeMetric(alpha=alpha).align(first, second).transform
        moved = rs.Gaussians(second.means @ T, T.T @ second.covariances @ T)
        panels.responses(axis, first, x, filled=False)
        panels.responses(axis, moved, y @ T)
        panels.title(axis, letter, words)
        panels.square(axis, 3.2)
        panels.label_neurons(axis)
    draw_curves(axes[3:], sweep)
    return figure


def draw_curves(axes: list[Axes], sweep: Sweep) -> None:
    """Draw distance with bound, and angle, over alpha."""
    found = sweep.interpolation
    axes[0].plot(found.alphas, found.distances[:, 0], color=PALETTE[0], label="distance")
    axes[0].plot(
        found.alphas, found.interpolation_bounds[:, 0], color=panels.INK, linestyle="--",
        label="lower bound",
    )  # fmt: skip
    axes[0].legend(loc="lower center", bbox_to_anchor=(0.5, 0.08), fontsize=6)
    axes[0].set_ylabel("distance")
    panels.title(axes[0], "C", "Distance")
    axes[1].plot(found.alphas, 180.0 - sweep.folded, color=FAINT)
    axes[1].plot(found.alphas, sweep.folded, color=PALETTE[0])
    axes[1].set(ylim=(-6, 186), yticks=[0, 45, 90, 135, 180])
    axes[1].set_ylabel("degrees")
    panels.title(axes[1], "D", "Best rotation")
    for axis in axes:
        axis.set(xticks=[0, 1, 2], box_aspect=1)
        axis.set_xlabel(r"$\alpha$")
        axis.spines[["top", "right"]].set_visible(False)
