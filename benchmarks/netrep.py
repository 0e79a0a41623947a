"""Comparison with the public reference code; writes docs/evidence/netrep.md.

    NETREP_PATH=/path/to/netrep python -m benchmarks.netrep

Uses random networks with 8 conditions and 5 neurons. Takes about a minute.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import repshape as rs
from benchmarks import stamps
from benchmarks.markers import markdown, write

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evidence" / "netrep.md"
RESULTS = ROOT / "benchmarks" / "results" / "netrep.json"
M, N, PAIRS = 8, 5, 20


def load() -> Any:
    """Return netrep.metrics of the checkout that NETREP_PATH names."""
    path = os.environ.get("NETREP_PATH")
    if not path:
        sys.exit("NETREP_PATH must name a checkout of netrep.")
    sys.path.insert(0, path)
    return importlib.import_module("netrep.metrics")


def gaussians(rng: np.random.Generator, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Return random means and covariances."""
    A = rng.normal(size=(M, n, n))
    return rng.normal(size=(M, n)), A @ A.swapaxes(1, 2) / n


def same_numbers(metrics: Any) -> list[dict[str, Any]]:
    """Equivalent calls, and their results."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2, 28, N))
    x, y = gaussians(rng), gaussians(rng)
    cka = metrics.LinearCKA()
    cka.fit(*points)
    calls: list[tuple[str, str, float, float]] = []
    for score in ("angular", "euclidean"):
        calls.append(
            (
                f'LinearMetric(alpha=1.0, score_method="{score}")',
                f'ProcrustesShapeMetric(distance="{score}")',
                metrics.LinearMetric(alpha=1.0, score_method=score).fit_score(*points),
                rs.ProcrustesShapeMetric(distance=score).distance(*points),
            )
        )
    calls += [
        (
            "LinearMetric(alpha=0.0)",
            'ProcrustesShapeMetric(whitening=1.0, distance="angular")',
            metrics.LinearMetric(alpha=0.0).fit_score(*points),
            rs.ProcrustesShapeMetric(whitening=1.0, distance="angular").distance(*points),
        ),
        (
            "PermutationMetric()",
            'ProcrustesShapeMetric(group="permutation", distance="angular")',
            metrics.PermutationMetric().fit_score(*points),
            rs.ProcrustesShapeMetric(group="permutation", distance="angular").distance(*points),
        ),
        (
            "LinearCKA()",
            "baselines.cka(x, y, angular=True)",
            cka.score(*points),
            rs.baselines.cka(*points, angular=True),
        ),
    ]
    for alpha in (0.0, 1.0, 2.0):
        calls.append(
            (
                f"GaussianStochasticMetric(alpha={alpha})",
                f"GaussianShapeMetric({alpha}, n_starts=1)",
                metrics.GaussianStochasticMetric(alpha=alpha).fit_score(x, y),
                rs.GaussianShapeMetric(alpha, n_starts=1).distance(x, y),
            )
        )
    trials = rng.normal(size=(4, 12, 3)), 1.7 * rng.normal(size=(4, 12, 3)) + 1
    calls.append(
        (
            "EnergyStochasticMetric()",
            "EnergyShapeMetric(q=1.0)",
            metrics.EnergyStochasticMetric().fit_score(*trials),
            rs.EnergyShapeMetric(q=1.0).distance(*trials),
        )
    )
    return [
        {"netrep": a, "repshape": b, "theirs": float(c), "ours": float(d)} for a, b, c, d in calls
    ]


def excesses(metrics: Any) -> list[dict[str, float]]:
    """Their distance relative to ours, in percent: from the same start, and with our defaults."""
    rows = []
    for alpha in (0.0, 0.25, 0.5, 1.0, 1.5, 1.75, 2.0):
        rng = np.random.default_rng(1)
        theirs, start, best = [], [], []
        for _ in range(PAIRS):
            x, y = gaussians(rng), gaussians(rng)
            theirs.append(metrics.GaussianStochasticMetric(alpha=alpha).fit_score(x, y))
            start.append(rs.GaussianShapeMetric(alpha, n_starts=1).distance(x, y))
            best.append(rs.GaussianShapeMetric(alpha).distance(x, y))
        same, free = (100 * (np.array(theirs) / np.array(ours) - 1) for ours in (start, best))
        row = {"same_mean": same.mean(), "same_max": same.max()}
        row |= {"default_mean": free.mean(), "default_max": free.max()}
        rows.append({"alpha": alpha} | {key: float(value) for key, value in row.items()})
    return rows


def outcome(call: Callable[[], float]) -> str:
    """Return the number, or the name of the error."""
    try:
        return f"{call():.4g}"
    except Exception as error:
        return type(error).__name__


def edges(metrics: Any) -> list[dict[str, str]]:
    """Results of both for irregular data."""
    rng = np.random.default_rng(2)
    x, y, small = gaussians(rng), gaussians(rng), gaussians(rng, N - 1)
    few = rng.normal(size=(2, M, 6, 10))
    moments = [(one.mean(1), np.stack([np.cov(c.T) for c in one])) for one in few]
    trials = rng.normal(size=(2, M, 12, N))
    ragged = [list(trials[0]), [one[:9] for one in trials[1]]]
    gaussian, energy = metrics.GaussianStochasticMetric, metrics.EnergyStochasticMetric
    rows: list[tuple[str, Callable[[], float], Callable[[], float]]] = [
        (
            "Gaussian, permutation",
            lambda: gaussian(group="perm").fit_score(x, y),
            lambda: rs.GaussianShapeMetric(group="permutation").distance(x, y),
        ),
        (
            "Gaussian, identity",
            lambda: gaussian(group="identity").fit_score(x, y),
            lambda: rs.GaussianShapeMetric(group="identity").distance(x, y),
        ),
        (
            "energy, permutation",
            lambda: energy(group="perm").fit_score(*trials),
            lambda: rs.EnergyShapeMetric(group="permutation").distance(*trials),
        ),
        (
            "5 neurons against 4",
            lambda: gaussian().fit_score(x, small),
            lambda: rs.GaussianShapeMetric().distance(x, small),
        ),
        (
            "covariances of 6 trials, 10 neurons",
            lambda: gaussian().fit_score(*moments),
            lambda: rs.GaussianShapeMetric().distance(*moments),
        ),
        (
            "energy, 12 trials against 9",
            lambda: energy().fit_score(trials[0], trials[1][:, :9]),
            lambda: rs.EnergyShapeMetric().distance(*ragged),
        ),
        (
            "energy, two samples of one network",
            lambda: energy().fit_score(*trials),
            lambda: rs.EnergyShapeMetric().distance(*trials),
        ),
    ]
    return [{"case": a, "netrep": outcome(b), "repshape": outcome(c)} for a, b, c in rows]


def _share(theirs: float, ours: float) -> str:
    gap = abs(theirs / ours - 1)
    return f"{gap:.0e}" if gap else "0"


def main() -> None:
    """Measure, save the results, and write the tables."""
    metrics = load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # netrep uses deprecated functions of NumPy
        found = {"same": same_numbers(metrics), "alpha": excesses(metrics), "edges": edges(metrics)}
    stamps.write(RESULTS, found)
    for name, lines in tables(found).items():
        write(PAGE, name, lines)


def tables(found: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tables of docs/evidence/netrep.md."""
    same = [
        [f"`{r['netrep']}`", f"`rs.{r['repshape']}`", _share(r["theirs"], r["ours"])]
        for r in found["same"]
    ]
    names = ("same_mean", "same_max", "default_mean", "default_max")
    alpha = [
        [f"{r['alpha']:g}", *(f"{round(r[name], 2) + 0.0:.2f}" for name in names)]
        for r in found["alpha"]
    ]
    head = ["alpha", "same start, mean %", "largest %", "default, mean %", "largest %"]
    edges = [[r["case"], r["netrep"], r["repshape"]] for r in found["edges"]]
    return {
        "same": markdown(["netrep", "repshape", "relative difference"], same),
        "alpha": markdown(head, alpha),
        "edges": markdown(["case", "netrep", "repshape"], edges),
    }


if __name__ == "__main__":
    main()
