"""The distance matrix at scale: time, memory, overhead, polish and what 1800 networks would take.

    python -m benchmarks.scale [toy] [vae] [memory] [macaque] [exponents] [estimates] [vae_1800]

Without names all are run. Each result is printed and kept in benchmarks/results/scale.json.
NETREP_PATH names a checkout of netrep, REPSHAPE_DATA the folder of the recordings; what needs one
that is not set is left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import repshape as rs
from benchmarks.scale_costs import estimates, exponents, vae_1800
from benchmarks.scale_jobs import (
    Profile,
    command,
    full_covariances,
    macaque,
    vae_like,
)
from benchmarks.stamps import write
from repshape.cli import run
from repshape.io.cohort import save_networks

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


BENCHMARKS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "toy": toy,
    "vae": vae,
    "exponents": exponents,
    "estimates": estimates,
    "vae_1800": vae_1800,
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
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept[name] = found
        write(RESULTS, kept, continues=True)
        print(name, json.dumps(found, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
