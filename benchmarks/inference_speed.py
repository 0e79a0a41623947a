"""Processor time of `repshape.inference.matrix`, as a multiple of that of `repshape.pairwise`.

    python -m benchmarks.inference_speed NAME

The result is added to benchmarks/results/inference.json under this name (of a release or a method),
and the table of docs/evidence/inference.md is written. 24 networks with 5 to 12 neurons, 12
conditions and 20 trials; one worker.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

import repshape as rs
from benchmarks.inference import RESULTS
from benchmarks.inference_tables import load, markdown, replace_table, save

NETWORKS, CONDITIONS, TRIALS = 24, 12, 20


def cohort() -> dict[str, np.ndarray]:
    """Networks that share a part of their means."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(CONDITIONS, 1, 12))
    out = {}
    for k in range(NETWORKS):
        n = int(rng.integers(5, 13))
        means = base @ rng.normal(size=(12, n)) / np.sqrt(12)
        means = means + 0.7 * rng.normal(size=(CONDITIONS, 1, n))
        factors = 0.5 * np.eye(n) + 0.4 * rng.normal(size=(CONDITIONS, n, n)) / np.sqrt(n)
        out[f"n{k}"] = means + rng.normal(size=(CONDITIONS, TRIALS, n)) @ factors
    return out


def seconds(function: Any, *args: Any) -> float:
    start = time.process_time()
    function(*args, workers=1, progress=False)
    return time.process_time() - start


def main() -> None:
    (name,) = sys.argv[1:]
    networks, metric = cohort(), rs.GaussianShapeMetric()
    warnings.simplefilter("ignore")
    times = [seconds(one, networks, metric) for one in (rs.pairwise, rs.inference.matrix)]
    save(RESULTS, f"speed: {name}", [float(f"{one:.3g}") for one in times])
    replace_table("speed", speed_table(load(RESULTS)))


def speed_table(results: dict[str, Any]) -> str:
    rows = []
    for key, times in results.items():
        if key.startswith("speed: "):
            base, whole = times
            rows.append([key.removeprefix("speed: "), base, whole, f"{whole / base:.1f}"])
    return markdown(["method", "`pairwise` (s)", "`inference.matrix` (s)", "ratio"], rows)


if __name__ == "__main__":
    main()
