"""Figures that the paper does not have: noise, the truth, and the multiverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.brain.claims import CLASSES
from experiments.brain.paper_figures import COLOURS, UNIT, titles
from experiments.brain.statistics import signed_square
from experiments.brain.study import CORRECTED_ALPHAS, Study, corrected_name
from experiments.toy.panels import FAINT, INK, PALETTE, WIDTH, dress, title

FloatArray = npt.NDArray[np.float64]

MEANING = {0.0: "covariances, d$_0$", 2.0: "means, d$_2$"}
CHOICES = ("components", "window", "transform", "centring", "covariance", "artificial", "natural")
CHOICE_WORDS = {
    "": "0-250 ms",
    "-late": "50-250 ms",
    "gratings": "one grating",
    "gratings-mixed": "mixed gratings",
    "scenes": "all scenes",
    "scenes-matched": "6 scenes",
    "synthetic": "synthetic",
    "natural": "natural",
}


def noise(study: Study, results: dict[str, Any]) -> Figure:
    """Draw corrected distances with intervals, plug-in distances and floors of all pairs."""
    figure = Figure(figsize=(WIDTH, 5.0), layout="constrained")
    axes = figure.subplots(2, 2)
    letters = iter("ABCD")
    for row, role in enumerate(CLASSES):
        for column, alpha in enumerate(CORRECTED_ALPHAS):
            name = corrected_name(study.key_of(role), alpha, study.settings.n_components)
            _draw_noise(axes[row, column], study.read(name), COLOURS[role])
            title(axes[row, column], next(letters), f"{titles(study)[role]}: {MEANING[alpha]}")
    _legend_of(figure, axes[0, 0])
    return figure


def _legend_of(figure: Figure, axis: Axes) -> None:
    """Draw the legend of an axis below all panels."""
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _draw_noise(axis: Axes, found: Mapping[str, Any], colour: str) -> None:
    order = np.argsort(found["estimate"])
    x = np.arange(len(order))
    low, high, middle, plug_in, floor = (
        np.array(found[name])[order] for name in ("low", "high", "estimate", "plug_in", "floor")
    )
    axis.vlines(x, low, high, color=colour, linewidth=1.0, alpha=0.6)
    axis.scatter(x, middle, s=8, color=colour, zorder=3, label="corrected, 90 % interval")
    axis.scatter(x, plug_in, s=9, marker="D", facecolors="white", edgecolors=INK, linewidths=0.6)
    axis.scatter([], [], s=9, marker="D", facecolors="white", edgecolors=INK, label="plug-in")
    axis.scatter(x, floor, s=14, marker="_", color=FAINT, label="noise floor of the plug-in")
    axis.axhline(0, color=INK, linewidth=0.5)
    axis.set_xlabel(f"pairs of sessions, sorted (n = {len(x)})")
    axis.set_ylabel(f"distance ({UNIT})")
    axis.set_xticks([])
    dress(axis)


def truth(study: Study, results: dict[str, Any]) -> Figure:
    """Draw estimates against the true distances, and chosen against best shrinkage."""
    figure = Figure(figsize=(WIDTH, 5.0), layout="constrained")
    axes = figure.subplots(2, 3)
    letters = iter("ABCDEF")
    for row, role in enumerate(CLASSES):
        key = study.key_of(role)
        found = study.read(f"truth-{key}")
        for column, alpha in enumerate(CORRECTED_ALPHAS):
            axis = axes[row, column]
            _draw_truth(axis, study, key, alpha, found["truth"][f"{alpha:g}"])
            title(axis, next(letters), f"{titles(study)[role]}: {MEANING[alpha]}")
        _draw_gamma(axes[row, 2], found["gamma"], COLOURS[role])
        title(axes[row, 2], next(letters), f"Shrinkage, {titles(study)[role]}")
    _legend_of(figure, axes[0, 0])
    return figure


def _draw_truth(axis: Axes, study: Study, key: str, alpha: float, exact: Sequence[float]) -> None:
    found = study.read(corrected_name(key, alpha, study.settings.n_components))
    plain = np.array(study.read(f"protocol-{key}")["distances"][f"{alpha:g}"])
    kinds = {
        "plug-in": (found["plug_in"], INK, "D"),
        "protocol (shrunk)": (plain[np.triu_indices(len(plain), 1)], PALETTE[4], "^"),
        "corrected": (found["estimate"], PALETTE[0], "o"),
    }
    x = signed_square(exact)
    top = float(x.max())
    for name, (values, colour, marker) in kinds.items():
        y = signed_square(values)
        top = max(top, float(y.max()))
        axis.scatter(x, y, s=9, marker=marker, color=colour, alpha=0.7, linewidths=0, label=name)
    axis.plot([0, top], [0, top], color=INK, linewidth=0.6, linestyle=":")
    axis.set(xlim=(0, 1.05 * float(x.max())), ylim=(min(0.0, axis.get_ylim()[0]), 1.05 * top))
    axis.set_xlabel(f"true d$^2$ ({UNIT}$^2$, n = {len(x)} pairs)")
    axis.set_ylabel(f"estimated d$^2$ ({UNIT}$^2$)")
    dress(axis)


def _draw_gamma(axis: Axes, found: Mapping[str, Any], colour: str) -> None:
    axis.scatter(found["best"], found["chosen"], s=10, color=colour, label="for all trials")
    axis.scatter(
        found["best, half"],
        found["chosen"],
        s=10,
        facecolors="white",
        edgecolors=colour,
        label="for half of the trials",
    )
    axis.plot([0, 1], [0, 1], color=INK, linewidth=0.6, linestyle=":")
    top = 1.1 * max(max(values) for values in found.values())
    axis.set(xlim=(-0.05 * top, top), ylim=(-0.05 * top, top), aspect="equal")
    axis.set_xlabel(f"best gamma (n = {len(found['best'])} sessions)")
    axis.set_ylabel("gamma by cross-validation")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=5.5, borderpad=0)
    dress(axis)


def multiverse(study: Study, results: dict[str, Any]) -> Figure:
    """Draw log R of both classes under all choices, sorted, with the choices below."""
    found = results["multiverse"]
    rows = sorted(found["rows"], key=_gap)
    count = max(row["log R, natural"]["n_units"] for row in rows)
    figure = Figure(figsize=(WIDTH, 8.4), layout="constrained")
    mosaic = figure.subplot_mosaic("A\nB\nC", height_ratios=[1.3, 2.0, 0.8])
    _draw_cells(mosaic["A"], study, rows)
    title(
        mosaic["A"],
        "A",
        f"log (d$_0$ / d$_2$) under {len(rows)} combinations of choices (n = {count} animals)",
    )
    _draw_choices(mosaic["B"], rows)
    title(mosaic["B"], "B", "The choices, in the same order")
    _draw_shares(mosaic["C"], found["shares"])
    title(mosaic["C"], "C", "Share of the combinations on the claimed side")
    return figure


def _gap(row: Mapping[str, Any]) -> float:
    values = [row[f"log R, {role}"]["value"] for role in CLASSES]
    return float("-inf") if None in values else float(values[0] - values[1])


def _draw_cells(axis: Axes, study: Study, rows: Sequence[Mapping[str, Any]]) -> None:
    x = np.arange(len(rows))
    for role in CLASSES:
        values = _column(rows, role, "value")
        ends = _column(rows, role, "low"), _column(rows, role, "high")
        axis.vlines(x, *ends, color=COLOURS[role], linewidth=0.5, alpha=0.4)
        axis.scatter(x, values, s=5, color=COLOURS[role], linewidths=0, label=titles(study)[role])
        corrected = np.array([row["estimate"] == "corrected" for row in rows])
        axis.scatter(
            x[corrected],
            values[corrected],
            s=18,
            facecolors="none",
            edgecolors=INK,
            linewidths=0.7,
            zorder=4,
        )
    axis.scatter([], [], s=18, facecolors="none", edgecolors=INK, label="corrected distances")
    axis.axhline(0, color=INK, linewidth=0.6, linestyle=":")
    axis.set_ylabel("log R, 90 % interval over animals")
    axis.set_xlim(-1, len(rows))
    axis.set_xticks([])
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, fontsize=5.5)
    dress(axis)


def _column(rows: Sequence[Mapping[str, Any]], role: str, name: str) -> FloatArray:
    found = [row[f"log R, {role}"][name] for row in rows]
    return np.array([np.nan if one is None else one for one in found])


def _draw_choices(axis: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw a row for each option of each choice, with a mark where it was taken."""
    places, labels, height = [], [], 0.0
    for choice in CHOICES:
        options = list(dict.fromkeys(row[choice] for row in rows))
        if len(options) == 1:
            continue
        for option in sorted(options):
            taken = [k for k, row in enumerate(rows) if row[choice] == option]
            axis.scatter(taken, np.full(len(taken), -height), s=10, marker="|", color=INK)
            places.append(-height)
            word = f"{option} components" if choice == "components" else str(option)
            labels.append(CHOICE_WORDS.get(word, word))
            height += 1.0
        height += 0.6
    axis.set_yticks(places, labels)
    axis.set_xlim(-1, len(rows))
    axis.set_xticks([])
    axis.set_xlabel(f"{len(rows)} combinations, by log R (artificial) minus log R (natural)")
    dress(axis)


def _draw_shares(axis: Axes, found: Mapping[str, Any]) -> None:
    names = list(found)
    for k, name in enumerate(names):
        for kind, colour, offset in (("plug-in", FAINT, 0.2), ("corrected", PALETTE[0], -0.2)):
            held, total = found[name][kind]
            part = held / total if total else 0.0
            axis.barh(-k + offset, part, height=0.36, color=colour, label=kind if not k else None)
            axis.text(part + 0.01, -k + offset, f"{held}/{total}", fontsize=5.5, va="center")
    axis.set_yticks(-np.arange(len(names)), names)
    axis.set_xlim(0, 1.12)
    axis.set_xlabel("share of combinations")
    axis.legend(loc="upper right", bbox_to_anchor=(1.0, -0.16), ncols=2, fontsize=5.5)
    dress(axis)
