"""The figure of the abstract's claim: d_0 / d_2 of visual cortex and of VAEs, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.brain.claims import LEVEL
from experiments.brain.study import Study
from experiments.brain.vaes import ABSTRACT, latest_ratios
from experiments.toy.panels import INK, PALETTE, WIDTH, dress, title
from repshape.plots.style import SMALL_SIZE

NOT_MEASURED = "not measured: pass the results of the VAE study with --beside"
NOT_KNOWN = "corrected: not known, because a mean of squares is not positive"
QUESTION = "Do artificial stimuli resemble untrained, and natural ones trained networks?"
CORRECTED: dict[str, Any] = {"s": 16, "color": PALETTE[0], "zorder": 3}
PLUG_IN: dict[str, Any] = {"s": 14, "marker": "D", "fc": "white", "ec": PALETTE[1], "zorder": 4}
VAES: dict[str, Any] = {"s": 16, "marker": "s", "color": PALETTE[2], "zorder": 3}


class Row(NamedTuple):
    """One line of the figure; numbers that are not known are NaN."""

    label: str
    value: float
    low: float
    high: float
    plug_in: float = float("nan")
    of_vaes: bool = False


def class_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return the lines of a file of results, one for each class of stimuli."""
    out = []
    for key, one in results.get("classes", {}).items():
        source, count = results["settings"]["source"], one["animals"]
        value, low, high = (_number(one["log_ratio"][name]) for name in ("value", "low", "high"))
        label = f"{source}: {key} (n = {count} animals)"
        out.append(Row(label, value, low, high, _number(one["log_ratio, plug-in"]["value"])))
    return out


def vae_rows(others: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the lines of groups of VAEs."""
    out = []
    for ratio in latest_ratios(others):
        label = f"VAEs: {ratio.networks}\n({ratio.level:.0%} interval, n = {ratio.n_units})"
        out.append(Row(label, ratio.value, ratio.low, ratio.high, of_vaes=True))
    return out


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def side_by_side(
    study: Study, results: dict[str, Any], others: Sequence[Mapping[str, Any]] = ()
) -> Figure:
    """Draw log (d_0 / d_2) of all classes here, of other runs, and of VAEs."""
    rows = [row for one in (results, *others) for row in class_rows(one)] + vae_rows(others)
    missing = not any(row.of_vaes for row in rows)
    count = len(rows) + missing
    figure = Figure(figsize=(WIDTH, 1.2 + 0.3 * count), layout="constrained")
    axis = figure.subplots()
    for k, row in enumerate(rows):
        look = VAES if row.of_vaes else CORRECTED
        axis.plot([row.low, row.high], [-k, -k], color=look["color"])
        axis.scatter(row.value, -k, **look)
        axis.scatter(row.plug_in, -k, **PLUG_IN)
        if np.isnan(row.value):
            _write(axis, -k, NOT_KNOWN)
    labels = [row.label for row in rows]
    if missing:
        labels.append("VAEs: trained and untrained")
        _write(axis, -len(rows), NOT_MEASURED)
    axis.set_yticks(-np.arange(count), labels)
    axis.set_ylim(-count + 0.4, 0.6)
    _explain(figure, axis, not missing)
    title(axis, "", f"{QUESTION}\n{verdict_words(results['claims'])}")
    return figure


def verdict_words(claims: Sequence[Mapping[str, Any]]) -> str:
    """Return the verdicts on the abstract, by initialisation.

    >>> verdict_words([{"name": "Abstract, Kaiming", "verdict": "inconclusive"}])
    'Kaiming: inconclusive'
    """
    found = [one for one in claims if one["name"].startswith(ABSTRACT)]
    return "; ".join(f"{one['name'].split(', ')[-1]}: {one['verdict']}" for one in found)


def _write(axis: Axes, height: float, words: str) -> None:
    """Write words into a line, in the middle of the panel."""
    axis.text(
        0.5,
        height,
        words,
        transform=axis.get_yaxis_transform(),
        fontsize=SMALL_SIZE,
        ha="center",
        va="center",
    )


def _explain(figure: Figure, axis: Axes, with_vaes: bool) -> None:
    """Add the axis label and the legend, below the lines."""
    axis.axvline(0, color=INK, linewidth=0.6, linestyle=":")
    axis.scatter([], [], **CORRECTED, label=f"corrected, {LEVEL:.0%} interval over animals")
    axis.scatter([], [], **PLUG_IN, label="plug-in with shrinkage, as in the paper")
    if with_vaes:
        axis.scatter([], [], **VAES, label="VAEs, plug-in (means and variances are known)")
    axis.set_xlabel("log (d$_0$ / d$_2$): above 0, covariances differ more than means")
    figure.legend(loc="outside lower center", ncols=3, fontsize=5.5)
    dress(axis)
