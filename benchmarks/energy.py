"""Speed and memory of EnergyShapeMetric on one core, compared with netrep and the reference.

    python benchmarks/energy.py                      # the reference alone
    NETREP_PATH=/path/to/netrep python benchmarks/energy.py

Times are processor times, which depend less on other programs. Ours include preparation. Losses are
means of |x - T y| over conditions and pairs of trials, at the transform that each program finds.
netrep stops when a step gains less than 1e-6, and ours when the gradient is below 1e-9. Results are
printed, and saved in benchmarks/results/energy.json.
"""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks.stamps import write
from repshape import _native
from repshape.groups import nearest_orthogonal
from repshape.reference import energy as reference

RESULTS = Path(__file__).parent / "results" / "energy.json"
SMALL, FULL = (128, 64, 10), (2048, 64, 10)  # conditions, trials, neurons
REPEATS = 7


def white(shape, seed):
    """Trials without any structure, which are the hardest to align."""
    return np.random.default_rng(seed).normal(size=shape)


def structured(shape, seed):
    """Trials with a different mean and covariance in each condition."""
    M, L, n = shape
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(M, n, n)) / np.sqrt(n)
    return rng.normal(size=(M, 1, n)) + rng.normal(size=(M, L, n)) @ mixing


def loss(x, y, T):
    """The loss of a transform (n_y, n_x), by the reference."""
    return reference.loss(x, y, T.T, 1.0, np.full(len(x), 1 / len(x)))


def seconds(task, repeats):
    """Processor time of the fastest of several runs, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = task()
        best = min(best, time.process_time() - start)
    return best, result


def run_reference(x, y):
    start = nearest_orthogonal(np.einsum("mi,mj->ij", x.mean(1), y.mean(1)))
    weights = np.full(len(x), 1 / len(x))
    took, found = seconds(lambda: reference.irls(x, y, start, 1.0, weights, tol=1e-7), 1)
    return {
        "seconds": took,
        "iterations": len(found.values) - 1,
        "loss": loss(x, y, found.transform.T),
    }


def run_netrep(x, y):
    """Time netrep's EnergyStochasticMetric with its defaults, or say why that is impossible."""
    if "NETREP_PATH" not in os.environ:
        return {"skipped": "NETREP_PATH is not set"}
    sys.path.insert(0, os.environ["NETREP_PATH"])
    if not hasattr(np, "row_stack"):
        setattr(np, "row_stack", np.vstack)  # noqa: B010 - what NumPy 2 calls it
    try:
        from netrep.metrics.stochastic import EnergyStochasticMetric
    except ImportError as error:
        return {"skipped": str(error)}
    metric = EnergyStochasticMetric()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        took, _ = seconds(lambda: metric.fit(x, y), 1)
    return {
        "seconds": took,
        "iterations": len(metric.loss_hist) - 1,
        "loss": loss(x, y, metric.Q),
    }


def run_ours(x, y, n_starts):
    """Time preparation and alignment together."""
    metric = rs.EnergyShapeMetric(n_starts=n_starts)
    took, found = seconds(lambda: metric.align(x, y), REPEATS)
    return {
        "seconds": took,
        "iterations": found.n_iterations,
        "converged": found.converged,
        "loss": loss(x, y, found.transform),
    }


def peak_megabytes():
    """Peak memory of this process; on Linux, getrusage would include that of its parent."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def full_size(folder):
    """Additional peak memory and time of one distance at the size of the paper."""
    # The networks are read from disk: creating them here would raise the peak.
    x, y = (np.load(Path(folder) / f"{name}.npy") for name in "xy")
    metric = rs.EnergyShapeMetric(n_starts=1)
    before = peak_megabytes()
    took, _ = seconds(lambda: metric.align(x, y), 1)
    return {"shape": FULL, "added_megabytes": peak_megabytes() - before, "seconds": took}


def compare(x, y):
    """Run every program on one pair, with ratios of times and differences of losses."""
    results = {
        "ours, one start": run_ours(x, y, 1),
        "ours, auto": run_ours(x, y, "auto"),
        "reference": run_reference(x, y),
        "netrep": run_netrep(x, y),
    }
    ours = results["ours, one start"]
    for rival in ("reference", "netrep"):
        if "seconds" in results[rival]:
            results[rival]["ratio"] = results[rival]["seconds"] / ours["seconds"]
            results[rival]["excess loss"] = results[rival]["loss"] - ours["loss"]
    return results


def main():
    if "--full" in sys.argv:
        print(json.dumps(full_size(sys.argv[-1])))
        return
    results = {
        "shape": SMALL,
        "instruction_set": _native.instruction_set(),
        "processor": platform.processor() or platform.machine(),
        "white": compare(white(SMALL, 0), white(SMALL, 1)),
        "structured": compare(structured(SMALL, 0), structured(SMALL, 1)),
    }
    with tempfile.TemporaryDirectory() as folder:
        for seed, name in enumerate("xy"):
            np.save(Path(folder) / f"{name}.npy", structured(FULL, seed))
        child = [sys.executable, __file__, "--full", folder]
        results["full"] = json.loads(subprocess.run(child, check=True, capture_output=True).stdout)
    write(RESULTS, results)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
