"""Simulations of the tests and intervals of `repshape.inference`, and a study of macaque V1.

    python -m benchmarks.inference [--simulations 400] [--only equality intervals ...]

Results are added to benchmarks/results/inference.json after every few simulations, so that an
interrupted run continues when it is started again, and a larger ``--simulations`` adds to what is
there. The tables of docs/evidence/inference.md are written at the end, or with ``--only tables``.
The recordings are used if REPSHAPE_DATA names their directory.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks import fresh_sizes, inference_v1, intervals, workloads
from benchmarks.inference_models import NETWORK_CELLS, Model, clouds, groups_of_networks
from benchmarks.inference_tables import load, save, write_tables

RESULTS = Path(__file__).parent / "results" / "inference.json"
PARTS = (
    "equality",
    "power",
    "groups",
    "networks",
    "neighbors",
    "intervals",
    "sizes",
    "methods",
    "macaque",
    "tables",
)
# Results are saved after this many seconds of simulations.
SAVE_SECONDS = 20.0
# A looser tolerance than the default saves half of the time and changes no digit that is shown.
TOLERANCE = 1e-6
TRUTH_STARTS = 64
PERMUTATIONS = 999
# Simulations of an interval cell before the next cell gets its turn, and the most of the cells
# that are not about distances of Gaussian metrics.
BATCH = 20
MOST_OTHERS = 100


def metric_of(alpha: float, components: int | None, **options: Any) -> rs.GaussianShapeMetric:
    phi = None if components is None else rs.Preprocess(n_components=components)
    return rs.GaussianShapeMetric(alpha, **{"preprocess": phi, "tol": TOLERANCE, **options})


WHITENED = rs.Preprocess(n_components=5, whitening=0.5, scale=True)
ENERGY = rs.EnergyShapeMetric(preprocess=rs.Preprocess(n_components=5), n_starts=4, tol=1e-4)
RAGGED = (8, 15, 20)
# Kind of network, neurons, trials of x and of y, and metric.
EQUALITY_CELLS: dict[str, tuple[str, int, Any, Any, rs.GaussianShapeMetric]] = {
    "PCA 5, few trials": ("Poisson", 20, 10, 10, metric_of(1.0, 5)),
    "PCA 5, few trials, more neurons": ("Poisson", 48, 10, 10, metric_of(1.0, 5)),
    "PCA 5, Gaussian": ("Gaussian", 20, 40, 40, metric_of(1.0, 5)),
    "PCA 10, many neurons": ("Poisson", 100, 40, 40, metric_of(1.0, 10)),
    "no PCA": ("Poisson", 20, 10, 10, metric_of(1.0, None)),
    "PCA 5, unequal trials": ("Poisson", 20, 10, 40, metric_of(1.0, 5)),
    "PCA 5, covariances": ("Poisson", 20, 10, 10, metric_of(0.0, 5)),
    "PCA 5, means": ("Poisson", 20, 10, 10, metric_of(2.0, 5)),
    "PCA 5, Gaussian, covariances": ("Gaussian", 20, 20, 20, metric_of(0.0, 5)),
    "no PCA, Gaussian, means": ("Gaussian", 20, 20, 20, metric_of(2.0, None)),
    "no PCA, four blocks": ("Poisson", 12, 8, 8, metric_of(1.0, None)),
    "PCA 5, ten blocks": ("Poisson", 20, 50, 50, metric_of(1.0, 5)),
    "PCA 5, whitened and scaled": ("Gaussian", 48, 20, 20, metric_of(1.0, 5, preprocess=WHITENED)),
    "no PCA, covariances, unequal": ("Poisson", 12, 12, 30, metric_of(0.0, None)),
    "no PCA, permutations": ("Poisson", 12, 10, 10, metric_of(1.0, None, group="permutation")),
    "PCA 5, energy distance": ("Poisson", 20, 20, 20, ENERGY),
    "PCA 5, trials differ by condition": ("Poisson", 20, RAGGED, (12, 9), metric_of(1.0, 5)),
}
# How much the second network differs when power is measured.
CHANGES = {"Poisson": 0.3, "Gaussian": 0.5}
POWER_CELLS = tuple(EQUALITY_CELLS)[:8]
GROUP_CELLS = (
    "10/10",
    "5/15",
    "6/6/6",
    "4/8/12",
    "5/15, smaller group 1.5 times as wide",
    "4/8/12, smaller group 1.5 times as wide",
    "10/10, one group twice as wide",
    "8 animals with 3 recordings, permuted freely",
    "8 animals with 3 recordings",
    "two areas in 8 animals, permuted freely",
    "two areas in 8 animals",
    "10/10, shifted",
    "5/15, shifted",
    "6/6/6, shifted",
    "8 animals with 3 recordings, shifted",
    "two areas in 8 animals, permuted freely, shifted",
    "two areas in 8 animals, shifted",
)
NEIGHBOR_CELLS = ("10/10", "10/10, shifted")
# Kind of network, neurons, trials, components and change.
INTERVAL_CELLS: dict[str, tuple[str, int, int, int | None, float]] = {
    "P20 L10, equal": ("Poisson", 20, 10, 5, 0.0),
    "P48 L40, equal": ("Poisson", 48, 40, 5, 0.0),
    "G48 L20, equal": ("Gaussian", 48, 20, 5, 0.0),
    "P20 L40": ("Poisson", 20, 40, 5, 0.13),
    "P48 L40": ("Poisson", 48, 40, 5, 0.12),
    "P48 L10": ("Poisson", 48, 10, 5, 0.12),
    "G48 L20": ("Gaussian", 48, 20, 5, 0.4),
    "P12 L10, no PCA": ("Poisson", 12, 10, None, 0.1),
}
INTERVAL_METHODS = ("halves", "jackknife")


def equality_cell(name: str, changed: bool, seed: int) -> list[float]:
    """The p-value of one simulation, and the smallest possible one."""
    kind, n, L_x, L_y, metric = EQUALITY_CELLS[name]
    model = _model(kind, n, CHANGES[kind] if changed else 0.0)
    rng = np.random.default_rng([seed, len(name), n, changed])
    pair = model.sample(0, L_x, rng), model.sample(1, L_y, rng)
    found = rs.inference.equality(*pair, metric, random_state=seed, workers=1)
    return [found.p_value, found.smallest_p_value]


def group_cell(name: str, seed: int) -> list[float]:
    """The p-values of one simulation: of the groups, of their dispersion, and the smallest one."""
    points, codes, blocks = clouds(name, np.random.default_rng([seed, crc32(name.encode())]))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    options = {"n_permutations": PERMUTATIONS, "random_state": seed}
    found = rs.inference.groups(D, codes, blocks, **options)
    return [found.p_value, found.dispersion_p_value, found.smallest_p_value]


def network_cell(name: str, seed: int) -> list[float]:
    """The p-values of one simulation: of distances, angles, norms, and dispersion."""
    networks, codes = groups_of_networks(name, np.random.default_rng([seed, crc32(name.encode())]))
    options = {"n_splits": 1, "n_permutations": PERMUTATIONS, "random_state": seed, "workers": 1}
    tests = rs.inference.confounds(networks, metric_of(1.0, None), labels=codes, **options).tests
    p_values = [tests[side].p_value for side in ("distances", "angles", "norms")]
    return [*p_values, tests["distances"].dispersion_p_value]


def interval_cell(name: str, method: str, seed: int) -> list[float]:
    """Squared plug-in distance, squared estimate, and squared ends of its interval."""
    kind, n, L, components, change = INTERVAL_CELLS[name]
    metric, model = metric_of(1.0, components), _model(kind, n, change)
    rng = np.random.default_rng([seed, n, L])
    pair = model.sample(0, L, rng), model.sample(1, L, rng)
    found = rs.inference.distance(*pair, metric, method=method, random_state=seed, workers=1)
    return [d * abs(d) for d in (found.plug_in, found.estimate, *found.interval)]


def neighbor_cell(name: str, seed: int) -> list[float]:
    """The p-values of one simulation: of the groups, and of their prediction from neighbours."""
    points, codes, _ = clouds(name, np.random.default_rng([seed, crc32(name.encode())]))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    test = rs.inference.groups(D, codes, n_permutations=PERMUTATIONS, random_state=seed)
    score = rs.analysis.knn_classify(
        D, codes, n_neighbors=range(1, 8), n_folds=4, n_repeats=10, random_state=seed
    )
    assert score.p_value is not None
    return [test.p_value, score.p_value]


_MODELS: dict[tuple[str, int, float], Model] = {}


def _model(kind: str, n: int, change: float) -> Model:
    return _MODELS.setdefault((kind, n, change), Model(kind, n, change))


def true_squared(name: str) -> float:
    """The squared distance of the true networks of an interval cell."""
    kind, n, _, components, change = INTERVAL_CELLS[name]
    metric = metric_of(1.0, components, n_starts=TRUTH_STARTS, tol=1e-9)
    return float(metric.distance(*_model(kind, n, change).networks) ** 2)


def simulate(part: str, name: str, one: Callable[[int], list[float]], target: int) -> None:
    """Add simulations to a cell until there are ``target``, and save them now and then."""
    key = f"{part}: {name}"
    rows: list[list[float]] = load(RESULTS).get(key, [])
    saved = time.monotonic()
    while len(rows) < target:
        rows.append([float(f"{value:.6g}") for value in one(len(rows))])
        if len(rows) == target or time.monotonic() - saved > SAVE_SECONDS:
            save(RESULTS, key, rows)
            saved = time.monotonic()
            print(f"{key}: {len(rows)} of {target}", flush=True)


def run_intervals(target: int) -> None:
    """Simulate the default intervals, some of every cell at a time: all have about as many."""
    jobs = list(intervals.jobs())
    for key, truth, _ in jobs:
        if f"truth of {key}" not in load(RESULTS):
            save(RESULTS, f"truth of {key}", float(f"{truth():.6g}"))
    for count in range(BATCH, target + BATCH, BATCH):
        for key, _, one in jobs:
            part, name = key.split(": ", 1)
            most = target if part == "fresh" and name != "README" else min(MOST_OTHERS, target)
            simulate(part, name, one, min(count, most))


def run(parts: list[str], target: int) -> None:
    """Run the simulations of some parts."""
    if "groups" in parts:
        for name in GROUP_CELLS:
            simulate("groups", name, lambda k, name=name: group_cell(name, k), target)
    if "networks" in parts:
        for name in NETWORK_CELLS:
            simulate("networks", name, lambda k, name=name: network_cell(name, k), target)
    if "neighbors" in parts:
        for name in NEIGHBOR_CELLS:
            simulate("neighbors", name, partial(neighbor_cell, name), target)
    if "equality" in parts:
        for name in EQUALITY_CELLS:
            simulate("size", name, lambda k, name=name: equality_cell(name, False, k), target)
    if "power" in parts:
        for name in POWER_CELLS:
            simulate("power", name, lambda k, name=name: equality_cell(name, True, k), target)
    if "intervals" in parts:
        run_intervals(target)
    if "sizes" in parts:
        for name in (*fresh_sizes.EQUALITY, *fresh_sizes.GROUPS):
            simulate("fresh size", name, partial(fresh_sizes.row, name), target)
    if "methods" in parts:
        for name in INTERVAL_CELLS:
            save(RESULTS, f"truth: {name}", true_squared(name))
            for method in INTERVAL_METHODS:
                one = partial(interval_cell, name, method)
                simulate(f"interval by {method}", name, one, target)
    if "macaque" in parts and workloads.macaque_file() is not None:
        inference_v1.study(load(RESULTS), partial(save, RESULTS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    for name in ("FewTrialsWarning", "UnboundedRatioWarning", "UnstableSubspaceWarning"):
        warnings.simplefilter("ignore", getattr(rs.inference, name))
    with threadpool_limits(limits=1, user_api="blas"):
        run(options.only, options.simulations)
    write_tables(load(RESULTS))


if __name__ == "__main__":
    main()
