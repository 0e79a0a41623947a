"""Figure 1: networks with and without noise, noise correlations, and a rotated network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import Settings, ToyData
from experiments.toy.examples import arc_network, draw_trials, ellipse, turned
from experiments.toy.result import Arrays, FigureResult
from repshape.demo.findings import Check, Finding

FloatArray = npt.NDArray[np.float64]

CORRELATION = 0.8
HALF_DISTANCE = 1.0  # between class mean and origin, in standard deviations of a neuron
TRIALS = 4000  # per class, so that the standard error of an accuracy is below 0.01
SHOWN = 150
# A correlation has an effect if the accuracy changes by more than this, several standard errors.
EFFECT = 0.02
COINCIDE = 1e-6
TURN = 130.0
MARGIN = 1.06  # of panels, relative to the farthest point that they show


@dataclass(frozen=True, eq=False)
class Classes:
    """Two classes of trials, and the accuracy of a linear readout.

    Attributes
    ----------
    trials : ndarray, shape (2, TRIALS, 2)
    accuracy, shuffled_accuracy : float
        On held-out trials, with the noise correlations and without.
    boundary : ndarray, shape (3,)
        Weights and intercept of the readout.
    """

    trials: FloatArray
    accuracy: float
    shuffled_accuracy: float
    boundary: FloatArray

    @property
    def gain(self) -> float:
        """Accuracy with the correlations minus accuracy without."""
        return self.accuracy - self.shuffled_accuracy


def measure(data: ToyData) -> FigureResult:
    """Measure Figure 1 and decide the claims about its panels C to E."""
    rng = data.rng(1)
    worse, better = (two_classes(sign * CORRELATION, rng) for sign in (1.0, -1.0))
    first, second = rotated_pair()
    x, y = (draw_trials(network, SHOWN, rng) for network in (first, second))
    found = rs.GaussianShapeMetric().align(x, y)
    arrays = {"x": x, "y": y, "aligned": y @ found.transform}
    for letter, case in (("C", worse), ("D", better)):
        arrays[f"{letter}_trials"] = case.trials[:, :SHOWN]
        arrays[f"{letter}_boundary"] = case.boundary
        arrays[f"{letter}_accuracy"] = np.array([case.accuracy, case.shuffled_accuracy])
    return FigureResult(
        "Figure 1",
        "A: a network without noise maps each of five inputs (colours, along the bar) to a point. "
        "B: a network with noise maps each to a distribution. C, D: two classes of responses "
        "(colours) of two neurons, with noise that is correlated along (C) or across (D) the line "
        "between the class means. The dashed line is the best linear readout. Its accuracy on "
        "held-out trials is given with the noise as it is, and after shuffling the trials of each "
        "neuron. E: a network, a rotated copy of it, and both after alignment. Ellipses are one "
        "standard deviation.",
        (impair(worse), improve(better), equivalent(first, second)),
        {"gain_C": worse.gain, "gain_D": better.gain, "E_distance_of_trials": found.distance},
        arrays,
    )


def class_model(correlation: float) -> rs.Gaussians:
    """Return two classes with the same noise correlation."""
    # The axes of [[1, c], [c, 1]] are at 45 degrees, with variances 1 + c and 1 - c.
    noise = ellipse(45.0, np.sqrt(1 + correlation), np.sqrt(1 - correlation))
    along = HALF_DISTANCE * np.array([1.0, 1.0]) / np.sqrt(2.0)
    return rs.Gaussians(np.array([-along, along]), np.array([noise, noise]))


def rotated_pair() -> tuple[rs.Gaussians, rs.Gaussians]:
    """Return the networks of panel E: the second is a rotated copy of the first."""
    network = arc_network()
    return network, turned(network, TURN)


def two_classes(correlation: float, rng: np.random.Generator) -> Classes:
    """Draw two classes with a noise correlation, and read them out with and without it."""
    trials = draw_trials(class_model(correlation), TRIALS, rng)
    shuffled = rng.permuted(trials, axis=1)  # each neuron separately, which removes correlations
    accuracy, readout = linear_accuracy(trials)
    boundary = np.append(readout.coef_[0], readout.intercept_[0])
    return Classes(trials, accuracy, linear_accuracy(shuffled)[0], boundary)


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


def draw(stored: Arrays, settings: Settings) -> Figure:
    """Draw the panels from stored arrays."""
    figure = Figure(figsize=(panels.WIDTH, 3.9), layout="constrained")
    axes: Any = figure.subplot_mosaic("AABBCCDD\n.EEFFGG.")
    draw_inputs(axes["A"], axes["B"], stored["x"])
    for letter, sign, words in (("C", 1.0, "impair"), ("D", -1.0, "improve")):
        axis = axes[letter]
        panels.responses(axis, class_model(sign * CORRELATION), stored[f"{letter}_trials"])
        reach = MARGIN * float(np.abs(stored[f"{letter}_trials"]).max())
        draw_readout(axis, stored[f"{letter}_boundary"], stored[f"{letter}_accuracy"], reach)
        panels.title(axis, letter, f"Correlations {words}")
    draw_equivalent([axes[letter] for letter in "EFG"], stored)
    return figure


def draw_inputs(without: Axes, with_noise: Axes, trials: FloatArray) -> None:
    """Draw what a network makes of five inputs, without noise and with it."""
    network = arc_network()
    colours = panels.PALETTE[: len(network.means)]
    for point, colour in zip(network.means, colours, strict=True):
        panels.dots(without, point[None], colour, area=30.0, opacity=1.0)
    panels.responses(with_noise, network, trials)
    panels.title(without, "A", "Inputs to points")
    panels.title(with_noise, "B", "Inputs to distributions")
    for axis in (without, with_noise):
        panels.square(axis, MARGIN * float(np.abs(trials).max()))
        panels.label_neurons(axis)
        inputs = axis.inset_axes((0.06, 0.9, 0.42, 0.07))
        inputs.imshow([[to_rgb(one) for one in colours]], aspect="auto")
        inputs.set(xticks=[], yticks=[])
        inputs.set_xlabel("inputs", fontsize=6, labelpad=1)


def draw_readout(axis: Axes, boundary: FloatArray, accuracy: FloatArray, reach: float) -> None:
    """Draw the decision boundary of the readout, and write its accuracies."""
    weights, offset = boundary[:2], float(boundary[2])
    ends = np.array([-3.2, 3.2])
    normal = weights / np.linalg.norm(weights)
    line = -offset / np.linalg.norm(weights) * normal + np.outer(ends, [-normal[1], normal[0]])
    axis.plot(line[:, 0], line[:, 1], linestyle="--", linewidth=0.9, color=panels.INK, zorder=4)
    axis.text(
        0.97,
        0.04,
        f"accuracy {accuracy[0]:.2f}\nshuffled {accuracy[1]:.2f}",
        transform=axis.transAxes,
        fontsize=6,
        ha="right",
    )
    panels.square(axis, reach)
    panels.label_neurons(axis)


def draw_equivalent(axes: list[Axes], stored: Arrays) -> None:
    """Draw a network, its rotated copy, and both after alignment."""
    for axis, network, trials, letter, words in zip(
        axes, rotated_pair(), (stored["x"], stored["y"]), ("E", ""), ("Network 1", "Network 2"),
        strict=False,
    ):  # fmt: skip
        panels.responses(axis, network, trials)
        panels.title(axis, letter, words)
    panels.responses(axes[2], rs.estimate_moments(stored["x"]), stored["x"], filled=False)
    panels.responses(axes[2], rs.estimate_moments(stored["aligned"]), stored["aligned"])
    panels.title(axes[2], "", "Both, aligned")
    reach = MARGIN * max(float(np.abs(stored[name]).max()) for name in ("x", "y", "aligned"))
    for axis in axes:
        panels.square(axis, reach)
        panels.label_neurons(axis)
