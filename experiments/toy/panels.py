"""Drawing functions that the figures share, based on `repshape.plots`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs
from repshape.plots import PALETTE, Ellipses, EmbeddingPicture, MatrixPicture, grid_colours
from repshape.plots.style import FAINT, INK, SMALL_SIZE, dress

__all__ = [
    "FAINT",
    "INK",
    "PALETTE",
    "WIDTH",
    "Figure",
    "dots",
    "dress",
    "heat_map",
    "label_neurons",
    "plane",
    "responses",
    "row",
    "square",
    "title",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

WIDTH = 7.2  # inches: two columns of a journal
# Negative correlations are larger discs behind the others: where two networks coincide, both show.
AREAS = (26.0, 9.0)
# Points closer than this fraction of the window look as if they coincide.
TOGETHER = 0.01


def row(count: int, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with a row of panels."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def title(axis: Axes, letter: str, words: str) -> None:
    """Write the letter of a panel in bold, and its title beside it."""
    axis.set_title(letter, loc="left", fontsize=10, fontweight="bold", pad=4)
    axis.annotate(
        words,
        (0.0, 1.0),
        xytext=(13 if letter else 0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=SMALL_SIZE,
        linespacing=1.3,
        annotation_clip=False,
    )


def square(axis: Axes, reach: float) -> None:
    """Show a square around the origin, with equal units on both axes."""
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")


def label_neurons(axis: Axes) -> None:
    """Label the axes of a space of responses, without ticks."""
    axis.set(xticks=[], yticks=[])
    axis.set_xlabel("neuron 1", fontsize=SMALL_SIZE)
    axis.set_ylabel("neuron 2", fontsize=SMALL_SIZE)


def dots(
    axis: Axes,
    points: FloatArray,
    colour: str,
    *,
    area: float = 3.0,
    filled: bool = True,
    opacity: float = 0.5,
) -> None:
    """Draw trials as filled or hollow points."""
    axis.scatter(
        points[:, 0],
        points[:, 1],
        s=area,
        facecolors=colour if filled else "white",
        edgecolors=colour,
        linewidths=0.0 if filled else 0.45,
        alpha=opacity,
        zorder=2,
        rasterized=True,
    )


def responses(
    axis: Axes,
    network: rs.Gaussians,
    trials: FloatArray | None = None,
    *,
    filled: bool = True,
    offset: npt.ArrayLike = (0.0, 0.0),
) -> None:
    """Draw the responses of a network: an ellipse of its own colour per condition, and trials."""
    colours = [PALETTE[m % len(PALETTE)] for m in range(len(network.means))]
    for colour, cloud in zip(colours, () if trials is None else trials, strict=False):
        dots(axis, cloud, colour, filled=filled)
    centres = network.means + np.asarray(offset, dtype=np.float64)
    Ellipses.of(centres, network.covariances).draw(
        axis, colours, fill=0.25 if filled else 0.0, linestyle="-" if filled else "--", zorder=3
    )


def plane(
    axis: Axes,
    metadata: pd.DataFrame,
    points: FloatArray,
    reach: float,
    numbered: IntArray | None = None,
    *,
    lines: bool = True,
) -> None:
    """Draw an embedding of the grid: a colour for each network, and lines along the grid."""
    correlation, scale = metadata["correlation"], metadata["scale"]
    named = rs.DistanceMatrix(np.zeros((len(points), len(points))), list(metadata.index), metadata)
    picture = EmbeddingPicture.of(
        points,
        named,
        colour=grid_colours(correlation, scale),
        connect=("correlation", "scale") if lines else (),
        areas=np.where(correlation < 0, *AREAS),
        reach=reach,
    )
    picture.draw(axis)
    for words, place in _numbers(points, numbered, TOGETHER * reach):
        axis.annotate(
            words, place, xytext=(3, 3), textcoords="offset points", fontsize=5.5, zorder=5
        )
    axis.set_xlabel("MDS 1", fontsize=SMALL_SIZE)
    axis.set_ylabel("MDS 2", fontsize=SMALL_SIZE)


def heat_map(axis: Axes, distances: FloatArray, limits: tuple[float, float]) -> None:
    """Draw a matrix of distances, with the given limits of the colours."""
    picture = MatrixPicture.of(distances)
    replace(picture, names=(), limits=limits, label="").draw(axis)
    axis.set_yticks([])


def _numbers(
    points: FloatArray, numbered: IntArray | None, near: float
) -> list[tuple[str, tuple[float, float]]]:
    """Return labels and their places; networks that coincide share a label."""
    groups: list[tuple[list[int], FloatArray]] = []
    for number, k in enumerate(() if numbered is None else numbered.ravel(), start=1):
        for members, place in groups:
            if np.linalg.norm(points[k] - place) < near:
                members.append(number)
                break
        else:
            groups.append(([number], points[k]))
    return [(_together(members), (float(x), float(y))) for members, (x, y) in groups]


def _together(members: list[int]) -> str:
    if len(members) > 2 and members == list(range(members[0], members[-1] + 1)):
        return f"{members[0]} to {members[-1]}"
    return ", ".join(map(str, members))
