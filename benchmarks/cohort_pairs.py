"""Matrices against their pairs: no distance longer than that of the pair alone, and at what cost.

    python -m benchmarks.cohorts pairs [--sizes 6 18 40] [--alphas 0 1] [--seed 500]

Every pair is first solved by itself, then in a matrix, then in a store that grows in three steps.
Saves benchmarks/results/cohort_pairs.json and replaces the table in docs/evidence/scale.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks import stamps
from repshape.engine.store import Store

ROOT = Path(__file__).parent
RESULTS = ROOT / "results" / "cohort_pairs.json"
PAGE = ROOT.parent / "docs" / "evidence" / "scale.md"
M = 20
# A pair counts as longer than alone beyond this share, which is that of rounding.
LONGER = 1e-6


def unrelated(rng: np.random.Generator, count: int) -> list[rs.Gaussians]:
    """Networks of 5 to 12 neurons that share nothing, with spectra of their own."""
    networks = []
    for _ in range(count):
        n = int(rng.integers(5, 13))
        B = rng.normal(size=(n, n)) * np.exp(-np.arange(n) / rng.uniform(2, n))
        A = B @ rng.normal(size=(M, n, n)) / np.sqrt(n)
        networks.append(rs.Gaussians.from_factors(rng.normal(size=(M, n)) @ B.T, A))
    return networks


def relatives(rng: np.random.Generator, count: int, n: int = 10) -> list[rs.Gaussians]:
    """Rotated copies of one network, each with a perturbation as large as itself."""
    decay = np.exp(-np.arange(n) / 3.0)
    A, mu = rng.normal(size=(M, n, n)) * decay, 0.3 * rng.normal(size=(M, n)) * decay
    networks = []
    for _ in range(count):
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        B = A + rng.normal(size=A.shape) * decay
        nu = mu + 0.6 * rng.normal(size=mu.shape) * decay
        networks.append(rs.Gaussians.from_factors(nu @ Q, Q.T @ B))
    return networks


def mixed(rng: np.random.Generator, count: int) -> list[rs.Gaussians]:
    """Two families of relatives, of different sizes, and unrelated networks, in turn."""
    third = -(-count // 3)
    kinds = relatives(rng, third), relatives(rng, third, n=7), unrelated(rng, third)
    return [kinds[k % 3][k // 3] for k in range(count)]


FAMILIES = {"unrelated": unrelated, "relatives": relatives, "mixed": mixed}


def solve_alone(networks: list[Any], metric: Any) -> tuple[rs.DistanceMatrix, float]:
    """Return the distance of every pair by itself, and the processor time of that."""
    K = len(networks)
    values, start = np.zeros((K, K)), time.process_time()
    for i, j in zip(*np.triu_indices(K, 1), strict=True):
        values[i, j] = values[j, i] = metric.distance(networks[i], networks[j])
    return rs.DistanceMatrix(values), time.process_time() - start


def grow(networks: list[Any], metric: Any, folder: str) -> tuple[rs.DistanceMatrix, Any, int]:
    """Return the matrix of a store grown in three steps, its first layer, and what grew longer."""
    every = {str(k): one for k, one in enumerate(networks)}
    before: rs.DistanceMatrix | None = None
    longer = 0
    for share in (1, 2, 3):
        some = dict(list(every.items())[: len(every) * share // 3])
        D = rs.pairwise(some, metric, store=Path(folder, "s"), workers=1)
        if before is not None:
            longer += int((D[list(before.labels)].condensed() > before.condensed()).sum())
        before = D
    assert before is not None
    return before, Store(Path(folder, "s")).entries(0).distance, longer


def study(family: str, count: int, alpha: float, seed: int) -> dict[str, Any]:
    """Measure one cohort."""
    rng = np.random.default_rng([seed, count, list(FAMILIES).index(family)])
    networks, metric = FAMILIES[family](rng, count), rs.GaussianShapeMetric(alpha)
    upper = np.triu_indices(count, 1)
    rs.pairwise(networks[:3], metric, workers=1)  # imports, and memory
    alone, own = solve_alone(networks, metric)
    start = time.process_time()
    D = rs.pairwise(networks, metric, workers=1)
    seconds = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        grown, first, longer = grow(networks, metric, folder)
    single = alone.condensed()
    gains = 1 - D.condensed() / single
    return {
        "family": family,
        "networks": count,
        "alpha": alpha,
        "pairs": len(gains),
        "longer": int((D.condensed() > (1 + LONGER) * single).sum()),
        "shorter": int((gains > LONGER).sum()),
        "largest_gain_%": 100 * float(gains.max()),
        "ms_a_pair": 1e3 * own / len(gains),
        "ratio": seconds / own,
        "own_differs": int((first[upper] != single).sum()),
        "grown_longer": longer + int((grown.condensed() > (1 + LONGER) * single).sum()),
        "grown_against_fresh_%": 100 * float((grown.condensed() / D.condensed() - 1).max()),
    }


COLUMNS = {
    "family": "family",
    "networks": "networks",
    "alpha": "alpha",
    "pairs": "pairs",
    "longer": "longer than alone",
    "shorter": "shorter than alone",
    "largest_gain_%": "shorter by at most, %",
    "ms_a_pair": "ms a pair alone",
    "ratio": "time, pairs alone = 1",
    "own_differs": "own search differs when grown",
    "grown_longer": "longer by growth",
    "grown_against_fresh_%": "grown above fresh, at most, %",
}


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table."""
    from benchmarks import markers

    order = list(FAMILIES)
    key = lambda row: (order.index(row["family"]), row["networks"], row["alpha"])  # noqa: E731
    return markers.table(sorted(rows, key=key), COLUMNS).split("\n")


def main(arguments: list[str]) -> None:
    from benchmarks.markers import write

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[6, 18, 40])
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.0, 1.0])
    parser.add_argument("--seed", type=int, default=500)
    parser.add_argument("--resume", action="store_true", help="keep what is measured already")
    parser.add_argument("--dry", action="store_true", help="print the rows, and save nothing")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # of doubtful pairs
    rows = read_rows(options.seed) if options.resume else []
    known = {(row["family"], row["networks"], row["alpha"]) for row in rows}
    with threadpool_limits(1):
        for cell in product(FAMILIES, options.sizes, options.alphas):
            if cell in known:
                continue
            rows.append(study(*cell, options.seed))
            print(rows[-1], file=sys.stderr, flush=True)
            if not options.dry:
                save(rows, options.seed)
    if not options.dry:
        write(PAGE, "cohort pairs", table(rows))


def read_rows(seed: int) -> list[dict[str, Any]]:
    """Return the rows that an interrupted run with this seed has saved."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"seed": None}
    return list(kept["rows"]) if kept["seed"] == seed else []


def save(rows: list[dict[str, Any]], seed: int) -> None:
    """Save what is measured so far."""
    stamps.write(RESULTS, {"seed": seed, "rows": rows}, continues=True)
