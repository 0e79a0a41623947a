"""Supplementary Figure 1: alignment, the optimal transport plan and the independent one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist, pdist

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import Settings, ToyData
from experiments.toy.examples import arc_network, draw_trials, other_network
from experiments.toy.result import Arrays, FigureResult
from repshape.demo.findings import Check, Finding

FloatArray = npt.NDArray[np.float64]

TRIALS = 60
LINES = 14  # number of trials in the drawing of the independent plan, which would be full otherwise
HIGHLIGHTED = 2  # the condition drawn in green, as in the paper
RANDOM_PLANS = 1000
# Two formulas for the same number agree up to rounding and the tolerance of the solver.
EQUAL = 1e-8


@dataclass(frozen=True, eq=False)
class Plans:
    """Costs of transporting the trials of one network to those of another, for each condition.

    Attributes
    ----------
    pairs : ndarray of int, shape (M, L)
        The partner of each trial in the optimal plan.
    optimal, independent : ndarray, shape (M,)
        Mean squared distance under the optimal plan, and under the plan of maximum entropy, which
        pairs every trial with every other.
    random : ndarray, shape (RANDOM_PLANS,)
        Mean squared distance in the highlighted condition with random partners.
    energy : float
        Squared energy distance, from the independent plan (q = 1).
    """

    pairs: npt.NDArray[np.intp]
    optimal: FloatArray
    independent: FloatArray
    random: FloatArray
    energy: float


def measure(data: ToyData) -> FigureResult:
    """Measure Supplementary Figure 1 A-E and decide its claims."""
    rng = data.rng(3)
    first, second = arc_network(), other_network()
    x, y = (draw_trials(network, TRIALS, rng) for network in (first, second))
    wasserstein = rs.WassersteinShapeMetric(random_state=data.settings.seed).align(x, y)
    energy = rs.EnergyShapeMetric(estimator="v", random_state=data.settings.seed).align(x, y)
    plans = transport_plans(x, y @ wasserstein.transform, rng)
    at_energy = transport_plans(x, y @ energy.transform, rng)
    fixed = rs.WassersteinShapeMetric(group="identity").distance(x, y)
    return FigureResult(
        "Supplementary Figure 1",
        "A, B: two networks; colours are conditions. C: the second network after the alignment "
        "that minimises the Wasserstein distance, on top of the first (hollow points, dashed "
        "ellipses). D: for one condition, the optimal plan moves each trial of B to a trial of A. "
        "E: the energy distance is based on the plan of maximum entropy, which pairs every trial "
        f"with every other ({LINES} trials of each network are drawn).",
        (
            aligned(wasserstein.distance, fixed),
            optimal(wasserstein.distance, plans),
            independent(energy.distance, at_energy, plans),
        ),
        {
            "wasserstein_distance": wasserstein.distance,
            "energy_distance": energy.distance,
            "wasserstein_distance_without_alignment": fixed,
            "optimal_cost": plans.optimal.tolist(),
            "independent_cost": plans.independent.tolist(),
        },
        {"x": x, "y": y, "moved": y @ wasserstein.transform, "pairs": plans.pairs},
    )


def transport_plans(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> Plans:
    """Find the optimal plan of each condition, and compare its cost with that of others."""
    squared = np.array([cdist(a, b, "sqeuclidean") for a, b in zip(x, y, strict=True)])
    pairs = np.array([linear_sum_assignment(costs)[1] for costs in squared])
    rows = np.arange(x.shape[1])
    optimal = [costs[rows, partners].mean() for costs, partners in zip(squared, pairs, strict=True)]
    random = [
        squared[HIGHLIGHTED][rows, rng.permutation(len(rows))].mean() for _ in range(RANDOM_PLANS)
    ]
    within = [
        sum(pdist(trials).sum() for trials in pair) / len(rows) ** 2
        for pair in zip(x, y, strict=True)
    ]
    energy = float(np.mean(np.sqrt(squared).mean(axis=(1, 2)) - within))
    independent: FloatArray = squared.mean(axis=(1, 2))
    return Plans(pairs, np.array(optimal), independent, np.array(random), energy)


def aligned(distance: float, fixed: float) -> Finding:
    """Decide claim C."""
    return Finding(
        "Supplementary Figure 1 C",
        "Alignment removes differences between networks that are due to a rotation.",
        (Check("aligned distance / unaligned distance", distance / fixed, "<", 0.5),),
        {"aligned": distance, "unaligned": fixed},
    )


def optimal(distance: float, plans: Plans) -> Finding:
    """Decide claim D."""
    cost = float(plans.optimal.mean())
    return Finding(
        "Supplementary Figure 1 D",
        "The Wasserstein distance is the smallest cost of transporting one density to the other.",
        (
            Check("relative difference of squared distance and cost",
                  abs(distance**2 / cost - 1), "<", EQUAL),
            Check("optimal cost / cheapest of 1000 random plans",
                  float(plans.optimal[HIGHLIGHTED] / plans.random.min()), "<", 1.0),
        ),
        {"cost": cost},
    )  # fmt: skip


def independent(distance: float, at_energy: Plans, plans: Plans) -> Finding:
    """Decide claim E."""
    ratio = plans.optimal / plans.independent
    return Finding(
        "Supplementary Figure 1 E",
        "The energy distance is based on the plan of maximum entropy, which is not the cheapest.",
        (
            Check("relative difference of squared distance and cost",
                  abs(distance**2 / at_energy.energy - 1), "<", EQUAL),
            Check("largest optimal cost / independent cost", float(ratio.max()), "<", 1.0),
        ),
        # In nats: log L if each trial has one partner, 2 log L if it has all of them.
        {"entropy, optimal": np.log(TRIALS), "entropy, independent": 2 * np.log(TRIALS)},
    )  # fmt: skip


def draw(stored: Arrays, settings: Settings) -> Figure:
    """Draw the panels from stored trials and plans."""
    x, y, moved = stored["x"], stored["y"], stored["moved"]
    figure, axes = panels.row(5, 1.75)
    panels.responses(axes[0], rs.estimate_moments(x), x)
    panels.responses(axes[1], rs.estimate_moments(y), y)
    panels.responses(axes[2], rs.estimate_moments(x), x, filled=False)
    panels.responses(axes[2], rs.estimate_moments(moved), moved)
    words = ("Network 1", "Network 2", "Aligned", "Optimal plan", "Independent plan")
    for axis, letter, text in zip(axes, "ABCDE", words, strict=True):
        panels.title(axis, letter, text)
        panels.label_neurons(axis)
    for axis in axes[:3]:
        panels.square(axis, 4.9)
    ends = x[HIGHLIGHTED], moved[HIGHLIGHTED]
    partners = stored["pairs"][HIGHLIGHTED]
    draw_plan(axes[3], *ends, np.column_stack([np.arange(TRIALS), partners]), 0.7)
    few = np.array([(i, j) for i in range(LINES) for j in range(LINES)])
    draw_plan(axes[4], *ends, few, 0.18)
    return figure


def draw_plan(
    axis: Axes, x: FloatArray, y: FloatArray, pairs: npt.NDArray[np.intp], alpha: float
) -> None:
    """Draw the trials of both networks in one condition, and a line for each pair."""
    lines = np.stack([x[pairs[:, 0]], y[pairs[:, 1]]], axis=1)
    axis.add_collection(LineCollection(list(lines), colors=panels.INK, linewidths=0.5, alpha=alpha))
    colour = panels.PALETTE[HIGHLIGHTED]
    shown = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])
    panels.dots(axis, x[shown[0]], colour, area=9, filled=False, opacity=1.0)
    panels.dots(axis, y[shown[1]], colour, area=9, opacity=1.0)
    both = np.vstack([x, y])
    centre, reach = (both.min(0) + both.max(0)) / 2, 0.55 * float(np.ptp(both, axis=0).max())
    axis.set(
        xlim=(centre[0] - reach, centre[0] + reach),
        ylim=(centre[1] - reach, centre[1] + reach),
        aspect="equal",
    )
