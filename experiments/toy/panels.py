"""Drawing that the figures share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

import repshape as rs
from repshape.datasets import ToyNetworks
from repshape.demo_figure import grid_colours
from repshape.plots.style import FAINT, INK, PALETTE, SMALL_SIZE

FloatArray = npt.NDArray[np.float64]

WIDTH = 7.2  # inches: two columns of a journal
DOT = 3.0


def row(count: int, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with a row of panels."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def title(axis: Axes, letter: str, words: str) -> None:
    """Write a panel's letter in bold, and its title."""
    axis.set_title(words, fontsize=SMALL_SIZE, linespacing=1.35)
    if letter:
        axis.annotate(
            letter,
            (0.0, 1.0),
            xytext=(-12, 8),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=10,
            fontweight="bold",
            annotation_clip=False,
        )


def square(axis: Axes, reach: float) -> None:
    """Show a square around the origin, equal units on both axes."""
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")


def label_neurons(axis: Axes) -> None:
    """Name the axes of a space of responses, without ticks."""
    axis.set(xticks=[], yticks=[])
    axis.set_xlabel("neuron 1")
    axis.set_ylabel("neuron 2")


def add_ellipse(
    axis: Axes, mean: FloatArray, covariance: FloatArray, colour: str, *, filled: bool = True
) -> None:
    """Draw one standard deviation around a mean."""
    variances, vectors = np.linalg.eigh(covariance)
    width, height = 2.0 * np.sqrt(np.maximum(variances, 0.0))
    angle = float(np.rad2deg(np.arctan2(vectors[1, 0], vectors[0, 0])))
    axis.add_patch(
        Ellipse(
            (float(mean[0]), float(mean[1])),
            width,
            height,
            angle=angle,
            facecolor=(*_rgb(colour), 0.28) if filled else "none",
            edgecolor=colour,
            linewidth=0.9,
            linestyle="-" if filled else (0, (2, 1)),
            zorder=3,
        )
    )


def responses(
    axis: Axes, network: rs.Gaussians, trials: FloatArray | None = None, *, filled: bool = True
) -> None:
    """Draw a network's responses: a colour and an ellipse for each condition, and its trials."""
    for m, (mean, covariance) in enumerate(zip(network.means, network.covariances, strict=True)):
        colour = PALETTE[m % len(PALETTE)]
        if trials is not None:
            face = colour if filled else "none"
            axis.scatter(
                *trials[m].T, s=DOT, facecolors=face, edgecolors=colour, linewidths=0.4,
                alpha=0.45, zorder=2, rasterized=True,
            )  # fmt: skip
        add_ellipse(axis, mean, covariance, colour, filled=filled)


def plane(
    axis: Axes,
    toy: ToyNetworks,
    points: FloatArray,
    reach: float,
    numbered: npt.NDArray[np.intp] | None = None,
) -> None:
    """Draw an embedding of the grid: lines of the grid, a colour for each network."""
    truth = toy.metadata
    colours = grid_colours(truth["correlation"], truth["scale"])
    for name in ("correlation", "scale"):
        for value in truth[name].unique():
            line = points[(truth[name] == value).to_numpy()]
            axis.plot(line[:, 0], line[:, 1], color=FAINT, linewidth=0.5, zorder=1)
    # Negative correlations are larger, underneath: where two networks coincide, both show.
    negative = (truth["correlation"] < 0).to_numpy()
    for chosen, area in ((negative, 26), (~negative, 9)):
        axis.scatter(*points[chosen].T, s=area, c=colours[chosen], linewidths=0, zorder=2)
    for number, k in enumerate(() if numbered is None else numbered.ravel(), start=1):
        axis.annotate(
            str(number), points[k], xytext=(2.5, 2.5), textcoords="offset points", fontsize=5.5
        )
    square(axis, reach)
    axis.set_xlabel("MDS 1")
    axis.set_ylabel("MDS 2")


def heat_map(axis: Axes, matrix: rs.DistanceMatrix, low: float, high: float) -> None:
    """Draw distances as a matrix, with a colour bar."""
    image = axis.imshow(matrix.values, vmin=low, vmax=high, cmap="viridis", rasterized=True)
    axis.set(xticks=[], yticks=[])
    axis.set_xlabel("network")
    axis.set_ylabel("network")
    figure = axis.get_figure(root=True)
    if figure is not None:
        figure.colorbar(image, ax=axis, shrink=0.75, pad=0.03).outline.set_visible(False)


def _rgb(colour: str) -> tuple[float, float, float]:
    return tuple(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))  # type: ignore[return-value]
