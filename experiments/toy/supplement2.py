"""Supplementary Figure 2: how the best rotation between two networks depends on alpha."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import Settings, ToyData
from experiments.toy.examples import conflicting_networks, draw_trials
from experiments.toy.result import Arrays, FigureResult
from repshape.demo.findings import Check, Finding

FloatArray = npt.NDArray[np.float64]

SHOWN = 25
COINCIDE = 1e-6
DEGREES = 0.01  # tolerance for angles of 0, 90 or 180 degrees
# The distance is above its bound if it exceeds it by this fraction of the largest distance.
ABOVE = 0.05


@dataclass(frozen=True, eq=False)
class Sweep:
    """One pair of networks at many values of alpha.

    Attributes
    ----------
    interpolation : repshape.analysis.Interpolation
        Distances and bounds.
    angles : ndarray, shape (A,)
        Angle of the best map of the second network to the first, in degrees from 0 to 180. By the
        symmetry of this pair, 180 - x is as good as x.
    proper : ndarray of bool, shape (A,)
        Whether the best map is a rotation, and not a reflection.
    transforms : ndarray, shape (A, 2, 2)
        The best maps; they act on rows.
    """

    interpolation: rs.analysis.Interpolation
    angles: FloatArray
    proper: npt.NDArray[np.bool_]
    transforms: FloatArray

    @property
    def folded(self) -> FloatArray:
        """Angular distance to the nearer of 0 and 180, shape (A,)."""
        return np.minimum(self.angles, 180.0 - self.angles)


def measure(data: ToyData) -> FigureResult:
    """Measure Supplementary Figure 2 A-D and decide its claims."""
    first, second = conflicting_networks()
    alphas = np.linspace(0.0, 2.0, data.settings.n_alphas)
    sweep = sweep_alphas(first, second, alphas)
    found, rng = sweep.interpolation, data.rng(4)
    x, y = (draw_trials(network, SHOWN, rng) for network in (first, second))
    return FigureResult(
        "Supplementary Figure 2 A-D",
        "A: two networks (first: hollow, dashed; second: filled) with three conditions. B: the "
        "second network after the best rotation for means only, and for covariances only. C: "
        "distance against alpha, with the lower bound of Appendix E.2. D: the best rotation. For "
        "this pair, rotations by x and 180 - x degrees are equally good (grey line).",
        (ends(sweep), above_bound(sweep), turning(sweep)),
        {
            "alphas": found.alphas.tolist(),
            "distances": found.distances[:, 0].tolist(),
            "bounds": found.interpolation_bounds[:, 0].tolist(),
            "angles": sweep.angles.tolist(),
        },
        {
            "x": x,
            "y": y,
            "transforms": sweep.transforms[[-1, 0]],
            "alphas": found.alphas,
            "distances": found.distances[:, 0],
            "bounds": found.interpolation_bounds[:, 0],
            "angles": sweep.folded,
        },
    )


def sweep_alphas(first: rs.Gaussians, second: rs.Gaussians, alphas: FloatArray) -> Sweep:
    """Measure distance and best rotation at each alpha, over the orthogonal group."""
    found = rs.analysis.interpolate([first, second], list(alphas), progress=False)
    maps = np.array(
        [rs.GaussianShapeMetric(alpha=a).align(first, second).transform for a in found.alphas]
    )
    # Responses are rows, so the rotation of columns is the transpose.
    angles = np.rad2deg(np.arctan2(maps[:, 0, 1], maps[:, 0, 0]))
    return Sweep(found, np.abs(angles), np.linalg.det(maps) > 0, maps)


def ends(sweep: Sweep) -> Finding:
    """Decide claim B."""
    distances = sweep.interpolation.distances[:, 0]
    return Finding(
        "Supplementary Figure 2 B",
        "The means agree after a rotation by 90 degrees, the covariances after 0 or 180.",
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
        "The bound is zero at every alpha; for alphas between 0 and 2 the distance is above it.",
        (
            Check("largest bound", float(found.interpolation_bounds.max()), "<", COINCIDE),
            Check("smallest gap inside / largest distance", gap[1:-1].min(), ">", ABOVE),
            Check("smallest gap anywhere", gap.min(), ">", -COINCIDE),
        ),
        {"largest distance": float(found.distances.max())},
    )


def turning(sweep: Sweep) -> Finding:
    """Decide claim D."""
    return Finding(
        "Supplementary Figure 2 D",
        "The best rotation depends on alpha: it goes from 0 (or 180) degrees to 90.",
        (
            Check("smallest step of the angle from 0 or 180", np.diff(sweep.folded).min(), ">",
                  -DEGREES),
            Check("angles strictly between",
                  float(((sweep.folded > 5) & (sweep.folded < 85)).sum()), ">", 0),
            Check("fraction that are rotations", sweep.proper.mean(), "==", 1.0),
        ),
    )  # fmt: skip


def draw(stored: Arrays, settings: Settings) -> Figure:
    """Draw the panels from stored arrays; B has two, for means and for covariances."""
    figure, axes = panels.row(5, 1.8)
    first, second = conflicting_networks()
    x, y = stored["x"], stored["y"]
    titles = ("Two networks", r"Means, $\alpha$ = 2", r"Covariances, $\alpha$ = 0")
    transforms = (np.eye(2), *stored["transforms"])
    for axis, letter, words, T in zip(axes[:3], ("A", "B", ""), titles, transforms, strict=True):
        moved = rs.Gaussians(second.means @ T, T.T @ second.covariances @ T)
        panels.responses(axis, first, x, filled=False)
        panels.responses(axis, moved, y @ T)
        panels.title(axis, letter, words)
        panels.square(axis, 3.2)
        panels.label_neurons(axis)
    draw_curves(axes[3:], stored)
    return figure


def draw_curves(axes: list[Axes], stored: Arrays) -> None:
    """Draw the distance with its bound, and the angle, against alpha."""
    alphas, blue = stored["alphas"], panels.PALETTE[0]
    axes[0].plot(alphas, stored["distances"], color=blue, label="distance")
    axes[0].plot(alphas, stored["bounds"], color=panels.INK, linestyle="--", label="lower bound")
    axes[0].legend(loc="lower center", bbox_to_anchor=(0.5, 0.08), fontsize=6)
    axes[0].set_ylabel("distance")
    panels.title(axes[0], "C", "Distance")
    axes[1].plot(alphas, 180.0 - stored["angles"], color=panels.FAINT)
    axes[1].plot(alphas, stored["angles"], color=blue)
    axes[1].set(ylim=(-6, 186), yticks=[0, 45, 90, 135, 180])
    axes[1].set_ylabel("degrees")
    panels.title(axes[1], "D", "Best rotation")
    for axis in axes:
        axis.set(xticks=[0, 1, 2], box_aspect=1)
        axis.set_xlabel(r"$\alpha$")
        axis.spines[["top", "right"]].set_visible(False)
