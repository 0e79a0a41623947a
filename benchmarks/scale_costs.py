"""How the cost of a pair grows with its size, and how well a run is estimated before it starts.

`exponents` compares the paper's complexity (App. D.1: S iterations of M n^3 operations for each of
K^2 pairs) with measured times. `estimates` compares `repshape pairwise --estimate` with the time,
memory and disk of whole runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks.scale_jobs import command, full_covariances, trial_networks, vae_like
from repshape.engine.estimate import estimate_cost
from repshape.engine.plan import Settings
from repshape.engine.run import plan_pairwise
from repshape.errors import SearchWarning
from repshape.io.cohort import save_networks

# Conditions and neurons; for the energy metric also trials.
GAUSSIAN_GRID = [(M, n) for n in (5, 10, 20, 50, 100) for M in (25, 100, 400) if M * n**2 <= 10**6]
ENERGY_GRID = [
    (M, L, n) for n in (5, 10, 30, 100) for M in (20, 80) for L in (10, 40) if M * L * n <= 10**5
]
K_GRID = (12, 24, 48)
# The networks of a grid point; all pairs of them are solved, or one if they are large.
NETWORKS = 4
EVERY_PAIR = [(i, j) for j in range(NETWORKS) for i in range(j)]
LARGE = 100
# Smaller networks spend much of their time outside of matrix products.
OVERHEAD = 20
# Steps of one start, by which a single gradient is timed.
STEPS = 20


def relatives(
    count: int, conditions: int, sizes: Sequence[int], noise: float = 0.7, seed: int = 0
) -> Iterator[Any]:
    """Yield networks that share means and covariances up to rotation and noise.

    Network k has ``sizes[k % len(sizes)]`` neurons, the first of those of the largest.
    """
    rng = np.random.default_rng(seed)
    most = max(sizes)
    code = rng.normal(size=(conditions, most))
    roots = rng.normal(size=(conditions, most, most)) / most**0.5
    for k in range(count):
        n = sizes[k % len(sizes)]
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        A = Q @ (roots[:, :n] + noise * rng.normal(size=(conditions, n, most)) / most**0.5)
        S = A @ A.transpose(0, 2, 1)
        means = (code[:, :n] + noise * rng.normal(size=(conditions, n))) @ Q.T
        yield f"net {k}", (means, (S + S.transpose(0, 2, 1)) / 2), {"neurons": n}


def exponents(folder: Path) -> dict[str, Any]:
    """Fit the processor seconds of a pair, and of a gradient, to powers of the sizes."""
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        gaussian = _fit_grid(
            rs.GaussianShapeMetric(),
            ("M", "n"),
            GAUSSIAN_GRID,
            lambda M, n: relatives(NETWORKS, M, [n]),
        )
        energy = _fit_grid(
            rs.EnergyShapeMetric(),
            ("M", "L", "n"),
            ENERGY_GRID,
            lambda M, L, n: trial_networks(NETWORKS, M, n, L),
        )
        return {"gaussian": gaussian, "energy": energy, "networks": _fit_networks()}


def _fit_grid(
    metric: Any,
    names: tuple[str, ...],
    grid: Sequence[tuple[int, ...]],
    make: Callable[..., Iterator[Any]],
) -> dict[str, Any]:
    rows = []
    for sizes in grid:
        prepared = [metric.prepare(network) for _, network, _ in make(*sizes)]
        pairs = EVERY_PAIR if sizes[-1] < LARGE else EVERY_PAIR[:1]
        seconds, _ = _timed(metric.solve_pairs, prepared, pairs)
        step = metric.with_parameters(n_starts=1, max_iter=STEPS, tol=1e-14)
        one, found = _timed(step.align_prepared, *prepared[:2])
        row = dict(zip(names, sizes, strict=True))
        row |= {"seconds_a_pair": seconds / len(pairs)}
        row |= {"seconds_a_gradient": one / found.n_iterations}
        rows.append(row | {"gradients": row["seconds_a_pair"] / row["seconds_a_gradient"]})
        print(row, file=sys.stderr, flush=True)
    large = [row for row in rows if row["n"] >= OVERHEAD]
    fits = {"all": _fits(names, rows), f"n >= {OVERHEAD}": _fits(names, large)}
    return {"sizes": names, "fits": fits, "rows": rows}


def _fits(names: tuple[str, ...], rows: Sequence[dict[str, float]]) -> dict[str, Any]:
    sizes = [[row[name] for name in names] for row in rows]
    return {
        what: _powers(sizes, [row[what] for row in rows])
        for what in ("seconds_a_pair", "seconds_a_gradient")
    }


def _timed(function: Callable[..., Any], *given: Any, **options: Any) -> tuple[float, Any]:
    start = time.thread_time()
    found = function(*given, **options)
    return time.thread_time() - start, found


def _powers(sizes: Sequence[Sequence[float]], seconds: Sequence[float]) -> dict[str, Any]:
    """Return the least squares fit of log(seconds), and its largest factor of error."""
    A = np.column_stack([np.ones(len(sizes)), np.log(sizes)])
    weights = np.linalg.lstsq(A, np.log(seconds), rcond=None)[0]
    worst = np.exp(np.abs(A @ weights - np.log(seconds)).max())
    return {
        "constant": float(np.exp(weights[0])),
        "exponents": weights[1:].tolist(),
        "largest_factor": float(worst),
    }


def _fit_networks() -> dict[str, Any]:
    """Fit the processor seconds of a whole matrix, polish included, to a power of K."""
    rows = []
    for K in K_GRID:
        networks = [network for _, network, _ in relatives(K, 60, [10])]
        seconds, _ = _timed(rs.pairwise, networks, rs.GaussianShapeMetric(), workers=1)
        rows.append({"K": K, "seconds": seconds})
    return _powers([[row["K"]] for row in rows], [row["seconds"] for row in rows]) | {"rows": rows}


# Runs that the estimate was not tuned on: networks, and options of the command.
JOBS: dict[str, tuple[Callable[[], Iterator[Any]], list[str]]] = {
    "60 VAE-like, M=512, n=10, diagonal": (lambda: vae_like(60, 512, 10, seed=7), []),
    "32 relatives, M=50, n=6 to 30, full": (
        lambda: relatives(32, 50, [6, 10, 14, 18, 22, 26, 30], seed=7),
        ["--alpha", "0.5"],
    ),
    "32 unrelated, M=40, n=12, full": (lambda: full_covariances(32, 40, 12), []),
    "40 recordings, M=30, L=20, n=20, energy": (
        lambda: trial_networks(40, 30, 20, 20),
        ["--metric", "energy"],
    ),
    "40 VAE-like, M=100, n=12, permutation": (
        lambda: vae_like(40, 100, 12, seed=7),
        ["--group", "permutation"],
    ),
    "40 recordings, M=200, L=60, n=40, one step a pair, --memory 100M": (
        lambda: trial_networks(40, 200, 40, 60),
        ["--starts", "1", "--max-iter", "1", "--no-polish", "--memory", "100M"],
    ),
}


def estimates(folder: Path) -> dict[str, Any]:
    """Estimate each job, run it, and return both, with the factor between them."""
    code = "from repshape.cli import main; main()"
    _, idle, _ = command("pairwise", "--help")  # the time that Python takes to start
    result = {}
    for number, (name, (make, options)) in enumerate(JOBS.items()):
        cohort, out = str(folder / f"c{number}"), folder / f"d{number}"
        save_networks(make(), cohort)
        given = ["pairwise", cohort, "-o", str(out), "--workers", "1", *options]
        told = subprocess.run(
            [sys.executable, "-c", code, *given, "--estimate", "--json", "--quiet"],
            capture_output=True,
            text=True,
            check=True,
        )
        before = json.loads(told.stdout)
        _, cpu, peak = command(*given, "--quiet")
        disk = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        measured = {"cpu_seconds": cpu - idle, "memory": peak * 2**20, "disk": disk}
        estimated = {key: before[key] for key in measured}
        factors = {key: estimated[key] / measured[key] for key in measured}
        result[name] = {"estimated": estimated, "measured": measured, "factors": factors}
        result[name]["sampled_pairs"] = before["n_sampled_pairs"]
        print(name, json.dumps(result[name]), file=sys.stderr, flush=True)
    return result


def vae_1800(folder: Path) -> dict[str, Any]:
    """Estimate the paper's largest job: 1800 VAEs, M=2048, n=10, diagonal, on two cores.

    A hundred networks stand for all of them.
    """
    some = [network for _, network, _ in vae_like(100, 2048, 10)]
    settings = Settings.checked(workers=2, memory="8G")
    every = [some[k % len(some)] for k in range(1800)]
    metric = {"": rs.GaussianShapeMetric()}
    found = estimate_cost(plan_pairwise(every, metric, {"": None}, None, None, None, settings))
    parts = {"searching": found.searching, "polishing": found.polishing}
    milliseconds = 1000 * found.cpu_seconds / found.n_pairs
    return {
        "pairs": found.n_pairs,
        "sampled_pairs": found.n_sampled_pairs,
        "hours_on_two_cores": found.seconds / 3600,
        "milliseconds_a_pair": milliseconds,
        "cpu_hours": {name: seconds / 3600 for name, seconds in parts.items()},
    }
