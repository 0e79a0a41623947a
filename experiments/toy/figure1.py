"""Figure 1 C-E: what noise correlations do, and what does not count as a difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import ToyData
from experiments.toy.examples import arc_network, draw_trials, ellipse, turned
from experiments.toy.result import FigureResult
from repshape.datasets import Check, Finding

FloatArray = npt.NDArray[np.float64]

CORRELATION = 0.8
HALF_DISTANCE = 1.0  # of the class means from the origin, in standard deviations of a neuron
TRIALS = 4000  # for each class: an accuracy then errs by less than 0.01
SHOWN = 150
# Accuracy must change by more than its error for a correlation to have had an effect.
EFFECT = 0.02
COINCIDE = 1e-6
TURN = 130.0


@dataclass(frozen=True, eq=False)
class Classes:
    """Two classes of trials, and how well a linear readout tells them apart."""

    model: rs.Gaussians
    trials: FloatArray
    accuracy: float
    shuffled_accuracy: float
    boundary: tuple[FloatArray, float]

    @property
    def gain(self) -> float:
        """Accuracy with the correlations, less that without."""
        return self.accuracy - self.shuffled_accuracy


def make_figure(data: ToyData) -> FigureResult:
    """Draw Figure 1 C-E and decide its claims."""
    rng = data.rng(1)
    worse, better = (two_classes(sign * CORRELATION, rng) for sign in (1.0, -1.0))
    first = arc_network()
    second = turned(first, TURN)
    figure, axes = panels.row(5, 1.75)
    for axis, letter, case, words in (
        (axes[0], "C", worse, "impair"),
        (axes[1], "D", better, "improve"),
    ):
        draw_classes(axis, case)
        panels.title(axis, letter, f"Correlations {words}")
    numbers = draw_equivalent(axes[2:], first, second, rng)
    return FigureResult(
        "fig1",
        "Figure 1 C-E",
        "Two classes of responses (colours) of two neurons whose noise is correlated along (C) or "
        "across (D) the line between the classes; the dashed line is the best linear readout, and "
        "its accuracy on held-out trials is given with the noise as it is, and with trials "
        "shuffled for each neuron. E: a network, its rotated copy, and both after alignment. "
        "Ellipses are one standard deviation.",
        figure,
        (impair(worse), improve(better), equivalent(first, second)),
        {"gain_C": worse.gain, "gain_D": better.gain, **numbers},
    )


def two_classes(correlation: float, rng: np.random.Generator) -> Classes:
    """Draw two classes with a noise correlation, and read them out with and without it."""
    # The axes of [[1, c], [c, 1]] lie at 45 degrees, with variances 1 + c and 1 - c.
    noise = ellipse(45.0, np.sqrt(1 + correlation), np.sqrt(1 - correlation))
    along = HALF_DISTANCE * np.array([1.0, 1.0]) / np.sqrt(2.0)
    model = rs.Gaussians(np.array([-along, along]), np.array([noise, noise]))
    trials = draw_trials(model, TRIALS, rng)
    shuffled = rng.permuted(trials, axis=1)  # each neuron by itself: correlations are gone
    accuracy, readout = linear_accuracy(trials)
    weights, offset = readout.coef_[0], float(readout.intercept_[0])
    return Classes(model, trials, accuracy, linear_accuracy(shuffled)[0], (weights, offset))


def linear_accuracy(trials: FloatArray) -> tuple[float, LinearDiscriminantAnalysis]:
    """Fit a linear readout on half of the trials, and score it on the other half."""
    half = trials.shape[1] // 2
    labels = np.repeat([0, 1], half)
    readout = LinearDiscriminantAnalysis().fit(trials[:, :half].reshape(-1, 2), labels)
    return float(readout.score(trials[:, half : 2 * half].reshape(-1, 2), labels)), readout


def impair(case: Classes) -> Finding:
    """Decide claim C."""
    return Finding(
        "Figure 1 C",
        "Noise correlations along the line between two classes make them harder to tell apart.",
        (Check("accuracy gained by correlations", case.gain, "<", -EFFECT),),
        {"accuracy": case.accuracy, "accuracy without": case.shuffled_accuracy},
    )


def improve(case: Classes) -> Finding:
    """Decide claim D."""
    return Finding(
        "Figure 1 D",
        "Noise correlations across the line between two classes make them easier to tell apart.",
        (Check("accuracy gained by correlations", case.gain, ">", EFFECT),),
        {"accuracy": case.accuracy, "accuracy without": case.shuffled_accuracy},
    )


def equivalent(first: rs.Gaussians, second: rs.Gaussians) -> Finding:
    """Decide claim E."""
    fixed = rs.GaussianShapeMetric(group="identity").distance(first, second)
    return Finding(
        "Figure 1 E",
        "Two networks that differ by a rotation have the same geometry: their distance is zero.",
        (
            Check("distance", rs.GaussianShapeMetric().distance(first, second), "<", COINCIDE),
            Check("distance without alignment", fixed, ">", 1.0),
        ),
    )


def draw_classes(axis: Axes, case: Classes) -> None:
    """Draw both classes, and the line that the readout draws between them."""
    panels.responses(axis, case.model, case.trials[:, :SHOWN])
    weights, offset = case.boundary
    ends = np.array([-3.2, 3.2])
    normal = weights / np.linalg.norm(weights)
    line = -offset / np.linalg.norm(weights) * normal + np.outer(ends, [-normal[1], normal[0]])
    axis.plot(line[:, 0], line[:, 1], linestyle="--", linewidth=0.9, color=panels.INK, zorder=4)
    axis.text(
        0.97,
        0.04,
        f"accuracy {case.accuracy:.2f}\nshuffled {case.shuffled_accuracy:.2f}",
        transform=axis.transAxes,
        fontsize=6,
        ha="right",
    )
    panels.square(axis, 3.9)
    panels.label_neurons(axis)


def draw_equivalent(
    axes: list[Axes], first: rs.Gaussians, second: rs.Gaussians, rng: np.random.Generator
) -> dict[str, float]:
    """Draw both networks and their alignment, found from trials of each."""
    x, y = (draw_trials(network, SHOWN, rng) for network in (first, second))
    found = rs.GaussianShapeMetric().align(x, y)
    aligned = y @ found.transform
    for axis, network, trials, words in (
        (axes[0], first, x, "Network 1"),
        (axes[1], second, y, "Network 2"),
    ):
        panels.responses(axis, network, trials)
        panels.title(axis, "E" if axis is axes[0] else "", words)
    moments = rs.estimate_moments(aligned)
    panels.responses(axes[2], rs.estimate_moments(x), x, filled=False)
    panels.responses(axes[2], moments, aligned)
    panels.title(axes[2], "", "Both, aligned")
    for axis in axes:
        panels.square(axis, 4.4)
        panels.label_neurons(axis)
    return {"E_distance_of_trials": found.distance}
