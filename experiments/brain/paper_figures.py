"""Figure 3 and Supplementary Figures 5 and 6 of the paper, from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs
from experiments.brain.claims import ALPHAS, CLASSES, DRIFTING, SUBSAMPLED_ALPHAS
from experiments.brain.protocol import session_means
from experiments.brain.sources import STIMULI
from experiments.brain.statistics import pairs
from experiments.brain.study import Study
from experiments.toy.panels import FAINT, INK, PALETTE, WIDTH, dots, dress, title
from repshape.plots import Ellipses
from repshape.plots.style import SMALL_SIZE

FloatArray = npt.NDArray[np.float64]

COLOURS = {
    "artificial": PALETTE[1],
    "natural": PALETTE[2],
    DRIFTING[0]: PALETTE[4],
    DRIFTING[1]: PALETTE[3],
}
UNIT = "spikes"


def titles(study: Study) -> dict[str, str]:
    """Return the titles of the classes, by role."""
    return {one.role: one.title for one in STIMULI[study.source] if one.role}


def figure3(study: Study, results: dict[str, Any]) -> Figure:
    """Draw Figure 3 A-E: an example session above, all sessions below."""
    figure = Figure(figsize=(WIDTH, 6.4), layout="constrained")
    places = "AAABBB\naaabbb\nCCDDEE"
    axes = figure.subplot_mosaic(places, height_ratios=[1.15, 0.32, 1.15])
    names = titles(study)
    for letter, role in zip("AB", CLASSES, strict=True):
        words = _draw_example(axes[letter], axes[letter.lower()], study, role)
        title(axes[letter], letter, f"{names[role]}: {words}")
    found = {role: study.read(f"protocol-{study.key_of(role)}") for role in CLASSES}
    counts = " and ".join(f"{len(found[r]['names'])}" for r in CLASSES)
    draw_sweeps(axes["C"], study, CLASSES)
    title(axes["C"], "C", f"Mean distances (n = {counts} sessions)")
    _draw_session_means(axes["D"], study, found)
    title(axes["D"], "D", f"Means only (n = {counts} sessions)")
    _draw_pairs(axes["E"], study, found)
    n_pairs = len(pairs(np.array(found["natural"]["distances"]["2"])))
    title(axes["E"], "E", f"All pairs (n = {n_pairs} per class)")
    return figure


def _draw_example(above: Axes, below: Axes, study: Study, role: str) -> str:
    """Draw the largest session in its first two components, and covariances alone.

    Returns what is shown, in words.
    """
    found = study.read(f"example-{study.key_of(role)}")
    moments = rs.Gaussians(np.array(found["means"]), np.array(found["covariances"]))
    colours = [PALETTE[k % len(PALETTE)] for k in range(moments.n_conditions)]
    if found["trials"] is None:
        _frame(above, moments)
    else:
        for colour, cloud in zip(colours, found["trials"], strict=True):
            dots(above, np.array(cloud), colour, opacity=0.35)
    Ellipses.of(moments.means, moments.covariances).draw(above, colours, fill=0.15)
    _draw_covariances(below, moments, colours)
    above.set_xlabel(f"PC 1 ({UNIT})")
    above.set_ylabel(f"PC 2 ({UNIT})")
    dress(above)
    return str(found["words"])


def _frame(axis: Axes, moments: rs.Gaussians) -> None:
    """Set limits that show all ellipses, which do not set any themselves."""
    reach = 1.15 * np.sqrt(moments.variances)
    low, high = (moments.means - reach).min(axis=0), (moments.means + reach).max(axis=0)
    axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def _draw_covariances(axis: Axes, moments: rs.Gaussians, colours: Sequence[str]) -> None:
    """Draw the ellipses side by side, in equal units."""
    reach = 2.4 * float(np.sqrt(np.max(moments.variances)))
    centres = np.zeros((len(colours), 2))
    centres[:, 0] = reach * np.arange(len(colours))
    Ellipses.of(centres, moments.covariances).draw(axis, list(colours), fill=0.25)
    axis.set(xticks=[], yticks=[], aspect="equal")
    axis.set_xlim(-reach / 2, reach * (len(colours) - 0.5))
    axis.set_ylim(-reach / 2, reach / 2)
    axis.set_xlabel("covariances alone, in the same units (ellipses: 1 s.d.)", fontsize=SMALL_SIZE)


def draw_sweeps(axis: Axes, study: Study, roles: Sequence[str]) -> None:
    """Draw the mean distance of each session from the others against alpha, and their mean."""
    for role in roles:
        found = study.read(f"protocol-{study.key_of(role)}")["distances"]
        lines = np.array([session_means(found[f"{alpha:g}"]) for alpha in ALPHAS])
        axis.plot(ALPHAS, lines, color=COLOURS[role], linewidth=0.5, alpha=0.35)
        axis.plot(ALPHAS, lines.mean(axis=1), color=COLOURS[role], marker="o")
        axis.plot([], [], color=COLOURS[role], marker="o", label=titles(study)[role])
    axis.set_xticks(ALPHAS)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("alpha (0: covariances, 2: means)")
    axis.set_ylabel(f"plug-in distance ({UNIT})")
    _legend_below(axis)
    dress(axis)


def _legend_below(axis: Axes, **options: Any) -> None:
    """Draw the legend below the axis and its label, where there are no data."""
    axis.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.24), fontsize=SMALL_SIZE, borderpad=0, **options
    )


def _draw_session_means(axis: Axes, study: Study, found: dict[str, Any]) -> None:
    """Draw d_2 of each session, averaged over the others, for both classes."""
    values = {
        role: dict(zip(one["names"], session_means(one["distances"]["2"]), strict=True))
        for role, one in found.items()
    }
    for name in set.intersection(*(set(one) for one in values.values())):
        axis.plot([0, 1], [values[role][name] for role in CLASSES], color=FAINT, linewidth=0.6)
    for place, role in enumerate(CLASSES):
        y = list(values[role].values())
        axis.scatter(np.full(len(y), place), y, s=12, color=COLOURS[role], zorder=3)
        axis.plot([place - 0.2, place + 0.2], [np.mean(y)] * 2, color=INK, linewidth=1.5, zorder=4)
    words = [titles(study)[role].replace(" ", "\n", 1) for role in CLASSES]
    axis.set_xticks([0, 1], words)
    axis.set_xlim(-0.5, 1.5)
    axis.set_ylim(bottom=0)
    axis.set_ylabel(f"mean d$_2$ to other sessions ({UNIT})")
    dress(axis)


def _draw_pairs(axis: Axes, study: Study, found: dict[str, Any]) -> None:
    """Draw d_0 against d_2 of every pair of sessions."""
    largest = 0.0
    for role, one in found.items():
        x, y = (pairs(np.array(one["distances"][alpha])) for alpha in ("2", "0"))
        r = one["mantel"]["correlation"]
        words = f"{titles(study)[role]}, r = {r:.2f}"
        axis.scatter(x, y, s=7, color=COLOURS[role], alpha=0.6, linewidths=0, label=words)
        largest = max(largest, float(x.max()), float(y.max()))
    axis.plot([0, largest], [0, largest], color=INK, linewidth=0.6, linestyle=":")
    axis.set(xlim=(0, 1.05 * largest), ylim=(0, 1.05 * largest), aspect="equal")
    axis.set_xticks(axis.get_yticks())
    axis.set_xlim(0, 1.05 * largest)
    axis.set_xlabel(f"d$_2$, means ({UNIT})")
    axis.set_ylabel(f"d$_0$, covariances ({UNIT})")
    _legend_below(axis)
    dress(axis)


def supplement5(study: Study, results: dict[str, Any]) -> Figure:
    """Draw Supplementary Figure 5: distances for drifting gratings, at both contrasts."""
    roles = [one.role for one in study.classes if one.role in DRIFTING]
    figure = Figure(figsize=(3.6, 2.8), layout="constrained")
    axis = figure.subplots()
    draw_sweeps(axis, study, roles)
    count = len(study.read(f"protocol-{study.key_of(roles[0])}")["names"])
    title(axis, "", f"Drifting gratings (n = {count} other sessions)")
    return figure


def supplement6(study: Study, results: dict[str, Any]) -> Figure:
    """Draw Supplementary Figure 6: distances and their ratio for subsampled neurons."""
    found = study.read("subsampling")
    figure = Figure(figsize=(WIDTH, 5.2), layout="constrained")
    axes = figure.subplots(2, 2)
    for row, (kind, letters) in enumerate((("without", "AB"), ("with", "CD"))):
        distances = np.array(found["distances"][kind])
        words = f"{distances.shape[1]} draws {kind} replacement"
        _draw_growth(axes[row, 0], distances, found["sizes"])
        title(axes[row, 0], letters[0], f"Distances, {words}")
        _draw_ratio(axes[row, 1], distances, found["sizes"])
        title(axes[row, 1], letters[1], f"Ratio, {words}")
    names = f"two sessions with {' and '.join(map(str, found['n_neurons']))} neurons"
    figure.suptitle(f"{titles(study)['natural']}, {names}", fontsize=SMALL_SIZE)
    return figure


def _draw_growth(axis: Axes, distances: FloatArray, sizes: Sequence[int]) -> None:
    for k, size in enumerate(sizes):
        shade = 0.25 + 0.75 * k / max(1, len(sizes) - 1)
        mean, spread = distances[k].mean(axis=0), distances[k].std(axis=0, ddof=1)
        axis.errorbar(
            SUBSAMPLED_ALPHAS,
            mean,
            spread,
            color=PALETTE[0],
            alpha=shade,
            marker="o",
            capsize=2,
            label=f"n = {size}",
        )
    axis.set_xticks(SUBSAMPLED_ALPHAS)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("alpha (0: covariances, 2: means)")
    axis.set_ylabel(f"plug-in distance ({UNIT}; bars: 1 s.d.)")
    _legend_below(axis, ncols=3)
    dress(axis)


def _draw_ratio(axis: Axes, distances: FloatArray, sizes: Sequence[int]) -> None:
    ratios = distances[:, :, 0] / distances[:, :, -1]
    spread = ratios.std(axis=1, ddof=1)
    axis.errorbar(sizes, ratios.mean(axis=1), spread, color=PALETTE[0], marker="o", capsize=2)
    axis.axhline(1, color=INK, linewidth=0.6, linestyle=":")
    axis.set_ylim(0, 1.15 * max(1.0, float((ratios.mean(axis=1) + spread).max())))
    axis.set_xticks(sizes)
    axis.set_xlabel("number of neurons")
    axis.set_ylabel("d$_0$ / d$_2$ (bars: 1 s.d.)")
    dress(axis)
