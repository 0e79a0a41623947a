"""Whole cohorts of relatives: processor time of a pair, and distances above the best known.

    python -m benchmarks.cohorts [--sizes 16 48] [--alphas 0 0.5 1] [--sample 24] [--other PYTHON]
    python -m benchmarks.cohorts pairs  # matrices against their pairs: benchmarks.cohort_pairs

PYTHON is an interpreter with another version of repshape, which is measured in turn. The best known
distance of a pair is the smallest of all runs, and of 100 restarts for a sample of pairs. Saves
benchmarks/results/cohorts.json and replaces the table in docs/evidence/scale.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs

ROOT = Path(__file__).parent
RESULTS = ROOT / "results" / "cohorts.json"
PAGE = ROOT.parent / "docs" / "evidence" / "scale.md"
PERTURBATIONS = (0.5, 1.0)


def relatives(
    count: int, perturbation: float, M: int = 60, n: int = 10, seed: int = 11
) -> list[Any]:
    """Rotated copies of one network, each with a perturbation of this size relative to it."""
    rng = np.random.default_rng(seed)
    decay = np.exp(-np.arange(n) / 3.0)
    A, mu = rng.normal(size=(M, n, n)) * decay, 0.3 * rng.normal(size=(M, n)) * decay
    networks = []
    for _ in range(count):
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        B = A + perturbation * rng.normal(size=A.shape) * decay
        nu = mu + 0.6 * perturbation * rng.normal(size=mu.shape) * decay
        networks.append(rs.Gaussians.from_factors(nu @ Q, Q.T @ B))
    return networks


def measure(count: int, perturbation: float, alpha: float, out: str) -> None:
    """Compute a matrix with polish, and save it with the processor time of a pair."""
    networks, metric = relatives(count, perturbation), rs.GaussianShapeMetric(alpha)
    warnings.simplefilter("ignore")  # of doubtful pairs
    with threadpool_limits(1):
        rs.pairwise(networks[:3], metric, workers=1)  # imports, and memory
        start = time.process_time()
        D = rs.pairwise(networks, metric, workers=1)
        seconds = time.process_time() - start
    kept = {name: getattr(D, name, None) for name in ("n_starts", "n_agreeing", "n_composed")}
    known = {name: one for name, one in kept.items() if one is not None}
    doubtful = getattr(D, "n_doubtful", -1)
    np.savez(out, values=D.condensed(), seconds=seconds, doubtful=doubtful, **known)


def restarts(count: int, perturbation: float, alpha: float, sample: int) -> dict[int, float]:
    """Return the best of 100 restarts for pairs that are spread over the matrix, by their place."""
    networks = relatives(count, perturbation)
    metric = rs.GaussianShapeMetric(alpha, n_starts=101, random_state=1)
    i, j = np.triu_indices(count, 1)
    places = np.linspace(0, len(i) - 1, min(sample, len(i))).astype(int)
    prepared = [metric.prepare(one) for one in networks]
    with threadpool_limits(1):
        found = metric.solve_pairs(prepared, np.column_stack([i[places], j[places]]))
    return dict(zip(places.tolist(), found.distance.tolist(), strict=True))


def study(
    count: int, perturbation: float, alpha: float, sample: int, pythons: dict[str, str]
) -> list[dict[str, Any]]:
    """Measure one cohort with every interpreter, one after the other."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, python in pythons.items():
            out = str(Path(folder, f"{name}.npz"))
            one = [python, __file__, "--measure", str(count), str(perturbation), str(alpha), out]
            environment = dict(os.environ)
            if name == "other":  # else it might import this version
                environment.pop("PYTHONPATH", None)
            subprocess.run(one, check=True, env=environment)
            found[name] = dict(np.load(out))
    best = np.min([one["values"] for one in found.values()], axis=0)
    for place, distance in restarts(count, perturbation, alpha, sample).items():
        best[place] = min(best[place], distance)
    rows = []
    for name, one in found.items():
        excess = 100 * (one["values"] / best - 1)
        rows.append(
            {
                "version": name,
                "networks": count,
                "perturbation": perturbation,
                "alpha": alpha,
                "ms_a_pair": 1e3 * float(one["seconds"]) / len(best),
                "mean_%": float(excess.mean()),
                "p99_%": float(np.percentile(excess, 99)),
                "max_%": float(excess.max()),
                "doubtful": int(one["doubtful"]),
            }
        )
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


COLUMNS = {
    "networks": "networks",
    "perturbation": "perturbation",
    "alpha": "alpha",
    "version": "version",
    "ms_a_pair": "ms a pair",
    "mean_%": "mean excess, %",
    "p99_%": "99th percentile, %",
    "max_%": "worst, %",
    "doubtful": "found once only",
}


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table."""
    from benchmarks import markers  # not there for the other interpreter

    shown = [row | {"doubtful": row["doubtful"] if row["doubtful"] >= 0 else ""} for row in rows]
    return markers.table(shown, COLUMNS, digits=2).split("\n")


def main() -> None:
    if sys.argv[1:2] == ["pairs"]:
        from benchmarks import cohort_pairs  # not there for the other interpreter

        cohort_pairs.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 48])
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.0, 0.5, 1.0])
    parser.add_argument("--sample", type=int, default=24, help="pairs that get 100 restarts")
    parser.add_argument("--other", help="interpreter with another version of repshape")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        count, perturbation, alpha, out = options.measure
        measure(int(count), float(perturbation), float(alpha), out)
        return
    from benchmarks import stamps  # not there for the other interpreter
    from benchmarks.markers import write

    pythons = {"this": sys.executable} | ({"other": options.other} if options.other else {})
    rows = [
        row
        for count in options.sizes
        for perturbation in PERTURBATIONS
        for alpha in options.alphas
        for row in study(count, perturbation, alpha, options.sample, pythons)
    ]
    stamps.write(RESULTS, {"rows": rows})
    write(PAGE, "cohorts", table(rows))


if __name__ == "__main__":
    main()
