"""Wide layers: the time of a search in plain alternation steps, and its memory.

    python -m benchmarks.wide [--seed 1] [--other PYTHON] [--only CELL ...] [--again]

The unit of time is one step of plain alternation in NumPy, on thin factors and in double precision:
a gradient and a singular value decomposition, timed beside the searches. Times are processor
seconds of a pair that is prepared, on one core. PYTHON is an interpreter with another version of
repshape. Seed 0 was used to choose the settings of the search. Seed 1 is that of the table, but its
pairs at alpha = 0 had a part in choosing the ascent; other seeds had none.
Saves benchmarks/results/wide.json, one cell after the other, and continues from it; --again
repeats the searches of this version and keeps those of the other.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks.optimum import run_child
from benchmarks.search_families import layer_like
from benchmarks.stamps import write

RESULTS = Path(__file__).parent / "results" / "wide.json"
FloatArray = npt.NDArray[np.float64]
LARGEST_STEP = 2048  # neurons: a plain step of more takes minutes, and is not timed


@dataclass(frozen=True)
class Cell:
    """Layers of n units, passes of M inputs, compared at alpha; 0 passes: full covariances."""

    n: int
    M: int
    passes: int
    alpha: float
    one_start: bool = False  # the default makes one start for pairs as large as these


CELLS = {
    "n=128, alpha 1": Cell(128, 200, 10, 1.0),
    "n=128, alpha 0": Cell(128, 200, 10, 0.0),
    "n=256, alpha 1": Cell(256, 200, 10, 1.0),
    "n=256, alpha 0": Cell(256, 200, 10, 0.0),
    "n=512, alpha 1": Cell(512, 200, 10, 1.0, one_start=True),
    "n=512, alpha 0": Cell(512, 200, 10, 0.0, one_start=True),
    "n=1024, alpha 1": Cell(1024, 200, 10, 1.0, one_start=True),
    "n=1024, alpha 0": Cell(1024, 200, 10, 0.0, one_start=True),
    "n=4096, M=100, alpha 1": Cell(4096, 100, 10, 1.0, one_start=True),
    "n=100, M=2000, alpha 1": Cell(100, 2000, 0, 1.0),
}


def layer(rng: np.random.Generator, n: int, M: int, passes: int) -> FloatArray:
    """Responses (M, passes, n) of a layer of rectified units.

    Inputs are the same for all networks. Shared noise enters through weights of its own; variances
    of both decay over 40 dimensions. Every unit has private tuning and private noise besides.
    """
    decay = np.exp(-np.arange(40) / 15)
    inputs = np.random.default_rng(0).normal(size=(M, 1, 40))
    signal = (inputs * decay) @ rng.normal(size=(40, n)) / 3 + 0.2 * rng.normal(size=(M, 1, n))
    shared = (rng.normal(size=(M, passes, 40)) * decay) @ rng.normal(size=(40, n)) / 10
    return np.maximum(signal + shared + 0.1 * rng.normal(size=(M, passes, n)), 0)


def make_pair(cell: Cell, seed: int) -> tuple[Any, Any]:
    """Return two networks."""
    rng = np.random.default_rng([seed, cell.n, cell.M])
    if not cell.passes:
        return layer_like(rng, cell.M, cell.n), layer_like(rng, cell.M, cell.n)
    x, y = (rs.Trials(layer(rng, cell.n, cell.M, cell.passes)) for _ in range(2))
    return x, y


def thin(network: Any) -> tuple[FloatArray, FloatArray]:
    """Return the means and rows (M, r, n) whose Gram matrices are the covariances."""
    if isinstance(network, rs.Gaussians):
        return network.means, np.swapaxes(np.linalg.cholesky(network.covariances), 1, 2)
    trials = network.pooled.reshape(len(network.means), -1, network.n_neurons)
    means = trials.mean(axis=1)
    return means, (trials - means[:, None]) / np.sqrt(trials.shape[1])


def plain_step_seconds(x: Any, y: Any, alpha: float, repeats: int = 3) -> float:
    """Return the processor time of one step of plain alternation."""
    (mx, A), (my, C) = thin(x), thin(y)
    M, _, n = A.shape
    gain = alpha * mx.T @ my / M
    T, seconds = np.eye(n), []
    for _ in range(repeats):
        begin = time.process_time()
        cross = A @ np.swapaxes((C.reshape(-1, n) @ T.T).reshape(C.shape), 1, 2)
        U, _, Vt = np.linalg.svd(cross)
        G = gain + (2 - alpha) / M * A.reshape(-1, n).T @ ((U @ Vt) @ C).reshape(-1, n)
        U, _, Vt = np.linalg.svd(G)
        T = U @ Vt
        seconds.append(time.process_time() - begin)
    return median(seconds)


def search(prepared: tuple[Any, Any], metric: rs.GaussianShapeMetric) -> dict[str, float]:
    """Return what a search finds, and its time."""
    begin = time.process_time()
    found = metric.align_prepared(*prepared)
    return {
        "seconds": time.process_time() - begin,
        "distance": found.distance,
        "starts": found.n_starts,
        "iterations": found.n_iterations,
        "converged": bool(found.converged),
        "agreement": float(found.agreement),
    }


def run(cell: Cell, seed: int) -> dict[str, Any]:
    """Search one pair: from one start, by default, and with the memory of the first search."""
    pair = make_pair(cell, seed)
    metric = rs.GaussianShapeMetric(cell.alpha, n_starts=1)
    before = peak()
    begin = time.process_time()
    prepared = metric.prepare(pair[0]), metric.prepare(pair[1])
    ready = time.process_time() - begin
    one = search(prepared, metric)
    size = sum(network_bytes(one) for one in pair)
    out: dict[str, Any] = {"prepare_s": ready, "one": one, "inputs_MB": size / 1e6}
    out["added_MB"] = (peak() - before) / 1e6
    default = metric.with_parameters(n_starts="auto")
    out["default"] = one if cell.one_start else search(prepared, default)
    return out


def network_bytes(network: Any) -> int:
    """Return the size of the arrays that describe a network."""
    if isinstance(network, rs.Gaussians):
        return int(network.means.nbytes + network.stored.nbytes)
    return int(network.pooled.nbytes)


def peak() -> int:
    """Return the peak memory of this process, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def summarise(cell: Cell, seed: int, kept: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the table. In ``kept`` are the runs of this version and of the other."""
    this, other = kept["this"], kept.get("other")
    row: dict[str, Any] = {
        "n": cell.n,
        "M": cell.M,
        "passes": cell.passes or "full",
        "alpha": cell.alpha,
        "prepare_s": this["prepare_s"],
        "one_s": this["one"]["seconds"],
        "default_starts": this["default"]["starts"],
        "agreement": this["default"]["agreement"],
        "inputs_MB": this["inputs_MB"],
        "peak_over_inputs": 1 + this["added_MB"] / this["inputs_MB"],
    }
    unit = kept.get("unit_s")
    if unit:
        row["unit_ms"] = 1e3 * unit
    for name in ("one", "default"):
        if unit:
            row[f"{name}_units"] = this[name]["seconds"] / unit
        if unit and other:
            row[f"other_{name}_units"] = other[name]["seconds"] / unit
        if other:
            row[f"{name}_excess"] = this[name]["distance"] / other[name]["distance"] - 1
    return row


def measure(options: argparse.Namespace) -> None:
    """Measure what the kept results do not hold yet."""
    result = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    runs = result.setdefault(f"seed {options.seed}", {})
    for name in options.only:
        cell, kept = CELLS[name], runs.setdefault(name, {})
        child = ["--only", name, "--seed", str(options.seed)]
        if "unit_s" not in kept and cell.n <= LARGEST_STEP:
            kept["unit_s"] = plain_step_seconds(*make_pair(cell, options.seed), cell.alpha)
        if options.other and "other" not in kept:
            kept["other"] = run_child(options.other, "benchmarks.wide", *child)
        if "this" not in kept or options.again:
            kept["this"] = run_child(sys.executable, "benchmarks.wide", *child)
        kept["row"] = summarise(cell, options.seed, kept)
        print(json.dumps(kept["row"]), file=sys.stderr, flush=True)
        write(RESULTS, result, continues=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--other", help="an interpreter with another version of repshape")
    parser.add_argument("--only", nargs="+", default=list(CELLS), choices=CELLS)
    parser.add_argument("--again", action="store_true", help="repeat the searches of this version")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if options.child:
            found = run(CELLS[options.only[0]], options.seed)
            Path(options.child).write_text(json.dumps(found))
        else:
            measure(options)


if __name__ == "__main__":
    main()
