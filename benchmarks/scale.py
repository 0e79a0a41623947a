"""The distance matrix at scale: time, memory, overhead, polish and what 1800 networks would take.

    python benchmarks/scale.py [toy] [vae] [memory] [macaque] [model]

Without names all are run. Each result is printed and kept in benchmarks/results/scale.json.
NETREP_PATH names a checkout of netrep, REPSHAPE_DATA the folder of the recordings; what needs one
that is not set is left out.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import repshape as rs
from repshape.cli import run
from repshape.io.cohort import save_networks
from scale_jobs import (
    Profile,
    command,
    full_covariances,
    macaque,
    trial_networks,
    vae_like,
)

RESULTS = Path(__file__).parent / "results" / "scale.json"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def toy(folder: Path) -> dict[str, Any]:
    """99 toy networks, 4851 pairs, by command, against netrep's own pairwise."""
    networks = rs.datasets.toy_networks()
    rs.Cohort.from_networks(networks).save(folder / "toy")
    start = time.perf_counter()
    assert run(["pairwise", str(folder / "toy"), "-o", str(folder / "toy-d"), "--quiet"]) == 0
    seconds = time.perf_counter() - start
    D = rs.DistanceMatrix.load(folder / "toy-d")
    result = {"pairs": 4851, "seconds": seconds, "sum_of_distances": D.condensed().sum()}
    if "NETREP_PATH" in os.environ:
        code = NETREP.format(path=os.environ["NETREP_PATH"])
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        found = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        theirs = json.loads(found.stdout)
        result |= {"netrep_seconds": theirs["seconds"], "netrep_sum_of_distances": theirs["sum"]}
        result["times_faster"] = theirs["seconds"] / seconds
    return result


NETREP = """
import json, sys, time
sys.path.insert(0, {path!r})
from netrep.metrics.stochastic import GaussianStochasticMetric
import repshape as rs
if __name__ == "__main__":
    data = [(x.means, x.covariances) for x in rs.datasets.toy_networks()]
    start = time.perf_counter()
    D, _ = GaussianStochasticMetric(alpha=1.0).pairwise_distances(data, verbose=False)
    print(json.dumps(dict(seconds=time.perf_counter() - start, sum=D.sum() / 2)))
"""


def vae(folder: Path) -> dict[str, Any]:
    """300 VAE-like networks, M=512, n=10, diagonal, end to end; and the engine's overhead."""
    start = time.perf_counter()
    cohort = save_networks(vae_like(300, 512, 10), folder / "vae")
    saved = time.perf_counter() - start
    with Profile() as profile:
        D = rs.pairwise(cohort, rs.GaussianShapeMetric(alpha=1.0), store=folder / "vae-d")
    return {
        "pairs": len(D.condensed()),
        "save_seconds": saved,
        "seconds": profile.wall,
        "cpu_seconds": profile.cpu,
        "solving_cpu_seconds": profile.solving,
        "preparing_cpu_seconds": profile.preparing,
        "overhead": 1 - profile.solving / profile.cpu,
        "milliseconds_a_pair": 1000 * profile.cpu / len(D.condensed()),
        "polish": D.description["polish"],
    }


def memory(folder: Path) -> dict[str, Any]:
    """90 networks, M=500, n=64, full covariances, 1.4 GB, with few iterations in little memory."""
    save_networks(full_covariances(90, 500, 64), folder / "full")
    size = sum(file.stat().st_size for file in (folder / "full").rglob("*") if file.is_file())
    options = ["--memory", "450M", "--starts", "1", "--max-iter", "1", "--no-polish", "--quiet"]
    used = command("pairwise", str(folder / "full"), "-o", str(folder / "full-d"), *options)
    D = rs.DistanceMatrix.load(folder / "full-d")
    names = ("seconds", "cpu_seconds", "peak_mib")
    found = dict(zip(names, used, strict=True))
    return found | {"bytes": size, "pairs": len(D.condensed()), "complete": D.complete}


def macaque_v1(folder: Path) -> dict[str, Any]:
    """Nine V1 populations, natural and synthetic images, with and without polish."""
    result = {}
    for category, name in enumerate(("natural", "synthetic")):
        networks = macaque(Path(os.environ["REPSHAPE_DATA"]), category)
        for alpha in (0.0, 1.0, 2.0):
            metric = rs.GaussianShapeMetric(alpha=alpha, covariance="ledoit-wolf")
            with Profile() as plain:
                rs.pairwise(networks.values(), metric, polish=False)
            with Profile() as polished:
                D = rs.pairwise(networks.values(), metric)
            times = {"cpu_seconds": polished.cpu, "cpu_seconds_without": plain.cpu}
            result[f"{name}, alpha {alpha:g}"] = D.description["polish"] | times
    return result


def model(folder: Path) -> dict[str, Any]:
    """Fit processor seconds of a pair on small jobs, and check the fit on others.

    log(seconds) = a + b log(M) + c log(n), for diagonal networks, polish included; and seconds of
    preparing a network of trials, d M L n^2.
    """
    metric = rs.GaussianShapeMetric(alpha=1.0)

    def measured(K: int, M: int, n: int) -> float:
        networks = [network for _, network, _ in vae_like(K, M, n, seed=M + n)]
        with Profile() as profile:
            rs.pairwise(networks, metric, workers=1)
        return profile.cpu / (K * (K - 1) / 2)

    grid = [(M, n) for M in (128, 256, 1024) for n in (5, 8, 16)]
    seconds = np.array([measured(12, M, n) for M, n in grid])
    A = np.column_stack([np.ones(len(grid)), np.log(grid)])
    weights = np.linalg.lstsq(A, np.log(seconds), rcond=None)[0]

    def predicted(M: int, n: int) -> float:
        return float(np.exp(weights @ [1.0, np.log(M), np.log(n)]))

    checks = {}
    for K, M, n in ((30, 512, 10), (20, 2048, 10)):
        found = measured(K, M, n)
        checks[f"K={K}, M={M}, n={n}"] = {"measured": found, "predicted": predicted(M, n)}
    pair = checks["K=20, M=2048, n=10"]["measured"]
    pairs = 1800 * 1799 // 2
    return {
        "log_seconds_a_pair": dict(
            zip(("constant", "log_M", "log_n"), weights.tolist(), strict=True)
        ),
        "fitted_on": [
            {"M": M, "n": n, "seconds": s} for (M, n), s in zip(grid, seconds, strict=True)
        ],
        "checked_on": checks,
        "trials": _preparing(metric),
        "vae_1800": {
            "pairs": pairs,
            "seconds_a_pair_predicted": predicted(2048, 10),
            "seconds_a_pair_measured": pair,
            "hours_on_two_cores_predicted": pairs * predicted(2048, 10) / 2 / 3600,
            "hours_on_two_cores_measured_pair": pairs * pair / 2 / 3600,
        },
    }


def _preparing(metric: rs.GaussianShapeMetric) -> list[dict[str, float]]:
    rows = []
    for M, L, n in ((100, 20, 20), (100, 80, 20), (400, 20, 20), (100, 80, 60)):
        (one,) = [network for _, network, _ in trial_networks(1, M, n, L)]
        start = time.process_time()
        metric.prepare(one)
        rows.append({"M": M, "L": L, "n": n, "seconds": time.process_time() - start})
    return rows


BENCHMARKS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "toy": toy,
    "vae": vae,
    "model": model,
    "macaque": macaque_v1,
    "memory": memory,
}


def main(names: list[str]) -> None:
    for name in names or BENCHMARKS:
        if name == "macaque" and "REPSHAPE_DATA" not in os.environ:
            print("macaque: REPSHAPE_DATA is not set", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = BENCHMARKS[name](Path(folder))
        machine = {"processor": platform.processor() or platform.machine(), "cores": CORES}
        load = os.getloadavg()[0]  # other work on the machine makes seconds longer, not cpu_seconds
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept[name] = found | {"machine": machine | {"load": load}}
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(kept, indent=2) + "\n")
        print(name, json.dumps(found, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
