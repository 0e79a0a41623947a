"""The two figures of paper/paper.md, of saved results: python -m benchmarks.paper_figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.evidence import load
from benchmarks.inference_tables import CELL_KEYS
from benchmarks.interval_tables import CELL_HEAD, cell_table
from benchmarks.stamps import ROOT

PAPER = ROOT / "paper"
BLUE, ORANGE, GREY = "#3b6fb6", "#d9822b", "#777777"


def speed(path: Path) -> None:
    """How many times faster than netrep a pair is, from one start and by default."""
    rows = [row for row in load("solver")["pairs"] if "ratio_netrep" in row][::-1]
    places = np.arange(len(rows))
    figure, ax = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
    for key, shift, colour, words in (
        ("ratio_netrep", 0.2, BLUE, "one start in both"),
        ("ratio_netrep_auto", -0.2, ORANGE, "default search of repshape"),
    ):
        ax.barh(places + shift, [row[key] for row in rows], 0.36, color=colour, label=words)
    ax.set(
        xscale="log", xlim=(1, None), xlabel="times faster than netrep (one core, one BLAS thread)"
    )
    ax.set_yticks(places, [row["workload"] for row in rows], fontsize=8)
    ax.legend(fontsize=8, frameon=False, loc="lower right")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=200)
    plt.close(figure)


def coverage(path: Path) -> None:
    """The share of 90 % intervals that contain the true squared distance, in every setting."""
    rows = [
        dict(zip(CELL_HEAD, row, strict=True)) for row in cell_table(load("inference"), CELL_KEYS)
    ]
    shares = np.array([float(row["coverage"]) for row in rows])
    counts = np.array([int(row["simulations"]) for row in rows])
    order = np.argsort(shares)
    figure, ax = plt.subplots(figsize=(6.5, 2.2), layout="constrained")
    error = np.sqrt(0.9 * 0.1 / counts[order])
    ax.fill_between(np.arange(len(rows)), 0.9 - 2 * error, 0.9 + 2 * error, color=GREY, alpha=0.2)
    ax.axhline(0.9, color=GREY, lw=1)
    ax.plot(np.arange(len(rows)), shares[order], "o", ms=4, color=BLUE)
    ax.set(ylim=(0.6, 1.01), ylabel="coverage", xlabel="simulated settings, sorted")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=200)
    plt.close(figure)


if __name__ == "__main__":
    PAPER.mkdir(exist_ok=True)
    speed(PAPER / "speed.png")
    coverage(PAPER / "coverage.png")
