"""Supplementary Figure 1: alignment, the optimal transport plan and the independent one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist, pdist

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import ToyData
from experiments.toy.examples import arc_network, draw_trials, other_network
from experiments.toy.result import FigureResult
from repshape.datasets import Check, Finding
from repshape.plots import PALETTE

FloatArray = npt.NDArray[np.float64]

TRIALS = 60
LINES = 14  # trials whose independent plan is drawn; all lines would fill the picture
HIGHLIGHTED = 2  # the condition in green, as in the paper
RANDOM_PLANS = 1000
# Two formulas for one number agree up to rounding and the solver's tolerance.
EQUAL = 1e-8


@dataclass(frozen=True, eq=False)
class Plans:
    """Costs of moving the trials of one network onto those of another, condition by condition.

    Attributes
    ----------
    pairs : ndarray of int, shape (M, L)
        The partner of each trial in the optimal plan.
    optimal, independent : ndarray, shape (M,)
        Mean squared distance under the optimal plan, and under the plan that pairs every trial
        with every other (the one of largest entropy).
    random : ndarray, shape (RANDOM_PLANS,)
        Mean squared distance of the highlighted condition under random partners.
    energy : float
        Squared energy distance, from the independent plan (q = 1).
    """

    pairs: npt.NDArray[np.intp]
    optimal: FloatArray
    independent: FloatArray
    random: FloatArray
    energy: float


def make_figure(data: ToyData) -> FigureResult:
    """Draw Supplementary Figure 1 A-E and decide its claims."""
    rng = data.rng(3)
    first, second = arc_network(), other_network()
    x, y = (draw_trials(network, TRIALS, rng) for network in (first, second))
    wasserstein = rs.WassersteinShapeMetric(random_state=data.settings.seed).align(x, y)
    energy = rs.EnergyShapeMetric(estimator="v", random_state=data.settings.seed).align(x, y)
    plans = transport_plans(x, y @ wasserstein.transform, rng)
    at_energy = transport_plans(x, y @ energy.transform, rng)
    fixed = rs.WassersteinShapeMetric(group="identity").distance(x, y)
    return FigureResult(
        "supp1",
        "Supplementary Figure 1",
        "A, B: two networks (colours are conditions). C: the second after the alignment that "
        "minimises their Wasserstein distance; hollow points and dashed ellipses are the first. D: "
        "the optimal plan of one condition moves each trial of B onto one of A. E: the energy "
        f"distance rests on the plan of largest entropy, which pairs every trial with every other "
        f"({LINES} of the trials are drawn).",
        draw(x, y, y @ wasserstein.transform, plans),
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
    )


def transport_plans(x: FloatArray, y: FloatArray, rng: np.random.Generator) -> Plans:
    """Find the optimal plan of each condition, and cost it beside others."""
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
        "Alignment over rotations removes what does not count as a difference.",
        (Check("aligned distance, of the unaligned", distance / fixed, "<", 0.5),),
        {"aligned": distance, "unaligned": fixed},
    )


def optimal(distance: float, plans: Plans) -> Finding:
    """Decide claim D."""
    cost = float(plans.optimal.mean())
    return Finding(
        "Supplementary Figure 1 D",
        "The Wasserstein distance is the smallest cost of moving one density onto the other.",
        (
            Check("distance squared against cost of the plans", abs(distance**2 / cost - 1), "<",
                  EQUAL),
            Check("optimal cost, of the cheapest of 1000 random plans",
                  float(plans.optimal[HIGHLIGHTED] / plans.random.min()), "<", 1.0),
        ),
        {"cost": cost},
    )  # fmt: skip


def independent(distance: float, at_energy: Plans, plans: Plans) -> Finding:
    """Decide claim E."""
    ratio = plans.optimal / plans.independent
    return Finding(
        "Supplementary Figure 1 E",
        "The energy distance rests on the plan of largest entropy, which costs more than needed.",
        (
            Check("distance squared against cost of the plan",
                  abs(distance**2 / at_energy.energy - 1), "<", EQUAL),
            Check("optimal cost, of the independent, largest", float(ratio.max()), "<", 1.0),
        ),
        # Nats: log L where each trial has one partner, 2 log L where it has all.
        {"entropy, optimal": np.log(TRIALS), "entropy, independent": 2 * np.log(TRIALS)},
    )  # fmt: skip


def draw(x: FloatArray, y: FloatArray, moved: FloatArray, plans: Plans) -> panels.Figure:
    """Draw the five panels."""
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
    partners = plans.pairs[HIGHLIGHTED]
    draw_plan(axes[3], *ends, np.column_stack([np.arange(TRIALS), partners]), 0.7)
    few = np.array([(i, j) for i in range(LINES) for j in range(LINES)])
    draw_plan(axes[4], *ends, few, 0.18)
    return figure


def draw_plan(
    axis: Axes, x: FloatArray, y: FloatArray, pairs: npt.NDArray[np.intp], alpha: float
) -> None:
    """Draw trials of one condition in both networks, and a line for each pair."""
    lines = np.stack([x[pairs[:, 0]], y[pairs[:, 1]]], axis=1)
    axis.add_collection(LineCollection(list(lines), colors=panels.INK, linewidths=0.5, alpha=alpha))
    colour = PALETTE[HIGHLIGHTED]
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
