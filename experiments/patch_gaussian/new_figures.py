"""Figures of our own: accuracies, predictions, correlations, and distances to none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.common.panels import ALPHA_COLOURS, INK, LABELS, PALETTE, WIDTH, tidy, title
from experiments.common.results import Arrays
from experiments.common.samples import Sample, read_sample
from experiments.common.stores import alpha_name
from experiments.patch_gaussian import panels
from experiments.patch_gaussian.claims import ALPHAS
from experiments.patch_gaussian.figure5 import NETWORKS
from experiments.patch_gaussian.folds import matrix_name, taus_of
from repshape.plots.style import SMALL_SIZE

PAIR_COLOURS = {"0 and 1": PALETTE[0], "0 and 2": PALETTE[1], "1 and 2": PALETTE[2]}
CLEAN = "clean"
LINE_SHIFT = 0.12
TOP = 1.04  # of shares, so that points at 1 are whole


def draw_accuracy(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw the accuracy by noise, a line for each cell."""
    sample = read_sample(arrays, NETWORKS)
    sigmas = _levels(sample, "sigma")
    figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(sigmas), sharey=True))
    noises = [CLEAN, *(f"{tau:g}" for tau in taus_of(sample))]
    for axis, sigma in zip(axes, sigmas, strict=True):
        _accuracy_lines(axis, sample, sigma, noises)
        axis.set_title(f"{panels.SIGMA} = {sigma:g}", fontsize=SMALL_SIZE, pad=3)
        axis.set_xlabel("noise at test")
    axes[0].set_ylabel("accuracy")
    _legend_below(figure, axes[0])
    return figure


def _accuracy_lines(axis: Axes, sample: Sample, sigma: float, noises: list[str]) -> None:
    width = sample.column("width").astype(np.float64)
    own = sample.column("sigma").astype(np.float64)
    groups = {"none": np.isnan(width)}
    for one in _levels(sample, "width"):
        groups[f"W = {one:g}"] = (width == one) & (own == sigma)
    for number, (words, members) in enumerate(groups.items()):
        colour = INK if number == 0 else PALETTE[(number - 1) % len(PALETTE)]
        values = [sample.column(f"accuracy-{noise}")[members] for noise in noises]
        axis.plot(range(len(noises)), [v.mean() for v in values], color=colour, label=words)
        for place, each in enumerate(values):
            axis.scatter([place] * len(each), each, s=3, color=colour, linewidths=0)
    axis.set_xticks(range(len(noises)), noises)
    axis.set_ylim(bottom=0)
    tidy(axis)


def _levels(sample: Sample, column: str) -> list[float]:
    values = sample.column(column).astype(np.float64)
    return sorted(set(values[np.isfinite(values)].tolist()))


def draw_neighbors(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw the k-NN accuracy of W, sigma and seed at each tau, with null levels."""
    table = results["numbers"]["neighbors"]
    taus = results["settings"]["taus"]
    figure = Figure(figsize=(WIDTH, 2.2), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(table), sharey=True))
    for axis, letter, (target, rows) in zip(axes, "ABC", table.items(), strict=False):
        for number, alpha in enumerate(ALPHAS):
            found = [rows[matrix_name(alpha, tau)] for tau in taus]
            name = alpha_name(alpha)
            _with_intervals(axis, found, ALPHA_COLOURS[name], LABELS[name], number)
        levels = [rows[matrix_name(0.0, tau)] for tau in taus]
        for entry, style in (("null", ":"), ("null_high", "--")):
            axis.plot([row[entry] for row in levels], style, color=INK, linewidth=0.8)
        axis.set_xticks(range(len(taus)), [f"{tau:g}" for tau in taus])
        axis.set_xlabel(f"{panels.TAU}")
        axis.set_ylim(0, TOP)
        tidy(axis)
        title(axis, letter, {"sigma": panels.SIGMA}.get(target, target))
    axes[0].set_ylabel("k-NN accuracy")
    _legend_below(figure, axes[0])
    return figure


def _legend_below(figure: Figure, axis: Axes, name: str | None = None) -> None:
    """Explain the lines of a panel below all panels, where it covers none of them."""
    handles, words = axis.get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=len(words), title=name)


def _with_intervals(
    axis: Axes, rows: list[Mapping[str, Any]], colour: str, words: str, number: int
) -> None:
    """Draw estimates as a line with their intervals, moved aside by the number of the line."""
    shift = LINE_SHIFT * (number - 1)
    places = [k for k, row in enumerate(rows) if row["estimate"] is not None]
    values = [rows[k]["estimate"] for k in places]
    axis.plot(
        [k + shift for k in places], values, color=colour, marker="o", markersize=2.5, label=words
    )
    for k in places:
        if rows[k]["lower"] is not None:
            ends = [rows[k]["lower"], rows[k]["upper"]]
            axis.plot([k + shift] * 2, ends, color=colour, linewidth=0.6)


def draw_mantel(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw the rank correlations between alphas at each tau, and relative to their ceiling."""
    table = results["numbers"]["mantel"]
    figure = Figure(figsize=(WIDTH * 0.75, 2.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    halved = [tau for tau, row in table.items() if "agreement" in next(iter(row.values()))]
    for number, (pair, colour) in enumerate(PAIR_COLOURS.items()):
        words = f"{panels.ALPHA} = {pair}"
        _with_intervals(left, [row[pair] for row in table.values()], colour, words, number)
        found = [table[tau][pair]["agreement"] for tau in halved]
        _with_intervals(right, found, colour, words, number)
    for axis, taus, letter, words in (
        (left, list(table), "A", "Rank correlation"),
        (right, halved, "B", "Relative to its ceiling"),
    ):
        axis.set_xticks(range(len(taus)), taus)
        axis.set_xlabel(panels.TAU)
        axis.axhline(0, color=INK, linewidth=0.5)
        axis.set_ylim(-1, 1.1)
        tidy(axis)
        title(axis, letter, words)
    _legend_below(figure, left)
    return figure


def draw_to_none(results: Mapping[str, Any], arrays: Arrays) -> Figure:
    """Draw distances to networks without patches, relative to those among the latter."""
    sample = read_sample(arrays, NETWORKS)
    table, taus = results["numbers"]["to_none"], results["settings"]["taus"]
    chosen = [taus[0], taus[len(taus) // 2], taus[-1]]
    figure = Figure(figsize=(WIDTH, 5.0), layout="constrained")
    axes = figure.subplots(len(ALPHAS), len(chosen), sharex=True, squeeze=False)
    widths = _levels(sample, "width")
    for row, alpha in zip(axes, ALPHAS, strict=True):
        for axis, tau in zip(row, chosen, strict=True):
            found = table[matrix_name(alpha, tau)]
            for number, sigma in enumerate(_levels(sample, "sigma")):
                cells = [f"W{width:g}-sigma{sigma:g}" for width in widths]
                values = [found.get(cell, np.nan) / found.get("none", np.nan) for cell in cells]
                colour = PALETTE[number % len(PALETTE)]
                axis.plot(widths, values, "o-", markersize=2.5, color=colour, label=f"{sigma:g}")
            axis.axhline(1, color=INK, linewidth=0.5)
            axis.set_title(panels.panel_title(alpha, tau), fontsize=SMALL_SIZE, pad=3)
            tidy(axis)
        row[0].set_ylabel("distance /\nnone to none")
    for axis in axes[-1]:
        axis.set_xlabel("W")
    _legend_below(figure, axes[0][0], panels.SIGMA)
    return figure
