"""Bias, dynamics and speed of the metrics of time series; writes docs/evidence/processes.md.

    NETREP_PATH=/path/to/netrep python -m benchmarks.process [bias | speed]

Takes some minutes on one core. Without NETREP_PATH the table of speed is left as it is.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  its BLAS must be loaded before threads are limited
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks import stamps
from benchmarks.markers import markdown, write
from benchmarks.netrep import load
from repshape.errors import InputError

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evidence" / "processes.md"
RESULTS = ROOT / "benchmarks" / "results" / "process.json"
MODES: dict[str, dict[str, Any]] = {
    "marginal": {"mode": "marginal"},
    "joint": {"mode": "joint"},
    "causal": {"mode": "causal"},
    "causal, order 1": {"mode": "causal", "order": 1},
}
TRIALS = (20, 50, 100, 200, 1000)
CONDITIONS, STEPS, NEURONS = 2, 10, 5
REPEATS = 15
SINGLE = 3  # conditions that are compared one by one
LARGEST_CORRECTED = 200  # trials; with more of them, the correction takes long and changes little


def simulate(rng: np.random.Generator, A: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return trials of x_t = A x_(t-1) + noise, of shape (conditions, trials, time, neurons)."""
    x = rng.normal(size=shape)
    for t in range(1, shape[2]):
        x[:, :, t] += x[:, :, t - 1] @ A.T
    return x


def bias() -> list[dict[str, Any]]:
    """Squared distances between two samples of one process: the truth is 0."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(NEURONS, NEURONS))
    A *= 0.8 / np.abs(np.linalg.eigvals(A)).max()
    means = 3 * rng.normal(size=(CONDITIONS, 1, STEPS, NEURONS))  # so that one start is enough
    rows = []
    for L in TRIALS:
        shape = (CONDITIONS, L, STEPS, NEURONS)
        made = [means + simulate(rng, A, shape) for _ in range(2 * REPEATS)]
        pairs = list(zip(made[::2], made[1::2], strict=True))
        for name, settings in MODES.items():
            metric = rs.ProcessShapeMetric(n_starts=1, **settings)
            rows.append({"trials": L, "mode": name, **errors(metric, pairs, L)})
            print(rows[-1], flush=True)
    return rows


def errors(metric: rs.ProcessShapeMetric, pairs: list[Any], L: int) -> dict[str, float | None]:
    """Return means of the plug-in squared distance and of its correction; None if refused."""
    try:
        plug_in = [metric.distance(*pair) ** 2 for pair in pairs]
    except InputError:
        return {"plug_in": None, "corrected": None, "spread": None}
    found: dict[str, float | None] = {"plug_in": float(np.mean(plug_in))}
    if L > LARGEST_CORRECTED:
        return found | {"corrected": None, "spread": None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"method": "halves", "progress": False}
            made = [rs.inference.distance(*pair, metric, **options) for pair in pairs]
    except InputError:
        return found | {"corrected": None, "spread": None}
    squared = [one.estimate * abs(one.estimate) for one in made]
    return found | {"corrected": float(np.mean(squared)), "spread": float(np.std(squared))}


def timed(run: Any) -> tuple[float, Any]:
    """Return the seconds of processor time of a call, and its result."""
    start = time.process_time()  # of this process, whatever else the machine does
    result = run()
    return time.process_time() - start, result


def pair_of_systems(M: int, L: int, P: int, n: int) -> list[np.ndarray]:
    """Return trials of two random linear systems."""
    rng = np.random.default_rng(1)
    networks = []
    for _ in range(2):
        A = rng.normal(size=(n, n))
        A *= 0.8 / np.abs(np.linalg.eigvals(A)).max()
        means = rng.normal(size=(M, 1, P, n)).cumsum(axis=2) / 3
        networks.append(simulate(rng, A, (M, L, P, n)) + means)
    return networks


def theirs(metrics: Any, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return seconds and distance of netrep for one condition, x and y (trials, time, neurons)."""
    moments = []
    for one in (x, y):
        flat = one.reshape(len(one), -1)
        S = np.cov(flat.T, bias=True) + 1e-10 * np.eye(flat.shape[1])  # theirs needs full rank
        moments.append((flat.mean(axis=0), S))
    metric = metrics.GPStochasticMetric(n_dims=x.shape[2])
    seconds, found = timed(partial(metric.fit_score, *moments))
    return seconds, float(found)


def ours(x: np.ndarray, y: np.ndarray, n_starts: int | str) -> tuple[float, float]:
    """Return seconds and distance of repshape, the preparation of both networks included."""
    metric = rs.ProcessShapeMetric(n_starts=n_starts)
    return timed(partial(metric.distance, x, y))


def speed(metrics: Any) -> list[dict[str, Any]]:
    """Time and distance of pairs with 50 trials, 20 steps and 20 neurons, on one thread."""
    x, y = pair_of_systems(30, 50, 20, 20)
    ours(x[:1], y[:1], 1)  # the first call is slower
    rows = []
    for m in range(SINGLE):
        row: dict[str, Any] = {"what": f"condition {m + 1} alone"}
        row["netrep_s"], row["netrep"] = theirs(metrics, x[m], y[m])
        rows.append(row | both_searches(x[m : m + 1], y[m : m + 1]))
        print(rows[-1], flush=True)
    # A single transform for 30 conditions: netrep would do at least as much as 30 single ones take.
    least = 30 * float(np.mean([row["netrep_s"] for row in rows]))
    rows.append({"what": "30 conditions", "netrep_s": least, "netrep": None} | both_searches(x, y))
    print(rows[-1], flush=True)
    return rows


def both_searches(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return seconds and distances of repshape from one start, and by default."""
    (one_s, one), (auto_s, auto) = (ours(x, y, starts) for starts in (1, "auto"))
    return {"one_s": one_s, "one": one, "auto_s": auto_s, "auto": auto}


def shown(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def main() -> None:
    """Measure, save the results, and write the tables."""
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with threadpool_limits(1):
        if "speed" not in sys.argv:
            found["bias"] = bias()
        if os.environ.get("NETREP_PATH") and "bias" not in sys.argv:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # netrep uses deprecated functions of NumPy
                found["speed"] = speed(load())
    stamps.write(RESULTS, found, continues=True)
    for name, lines in tables(found).items():
        write(PAGE, name, lines)


def tables(found: dict[str, Any]) -> dict[str, list[str]]:
    """Return the tables of docs/evidence/processes.md."""
    biases = [
        [
            str(r["trials"]),
            r["mode"],
            shown(r["plug_in"]),
            shown(r["corrected"]),
            shown(r["spread"]),
        ]
        for r in found["bias"]
    ]
    bias_head = ["trials", "mode", "plug-in", "corrected by halves", "its standard deviation"]
    speeds = [
        [
            r["what"],
            shown(r["netrep_s"], 1),
            shown(r["one_s"], 3),
            shown(r["auto_s"], 3),
            f"{r['netrep_s'] / r['one_s']:.0f}, {r['netrep_s'] / r['auto_s']:.0f}",
            shown(r["netrep"], 4),
            shown(r["one"], 4),
            shown(r["auto"], 4),
        ]
        for r in found["speed"]
    ]
    head = ["pair", "netrep, s", "repshape, one start, s", "repshape, default, s", "times faster"]
    head += ["netrep's distance", "one start", "default"]
    return {"bias": markdown(bias_head, biases), "speed": markdown(head, speeds)}


if __name__ == "__main__":
    main()
