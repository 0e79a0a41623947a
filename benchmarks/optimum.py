"""The default search compared with the best of 100 random restarts: distances and times.

    python -m benchmarks.optimum [--pairs N]

Saves benchmarks/results/optimum.json.
"""

from __future__ import annotations

import argparse
import json
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks import workloads
from benchmarks.solver import RESULTS, show


def study(name: str, pairs: workloads.Pairs, alpha: float) -> dict[str, object]:
    """Compare the default with 100 random restarts and the means, all run to convergence."""
    default = rs.GaussianShapeMetric(alpha)
    many = rs.GaussianShapeMetric(alpha, n_starts=101, random_state=1)
    alone = rs.GaussianShapeMetric(alpha, n_starts=1)
    prepared = [(default.prepare(x), default.prepare(y)) for x, y in pairs]
    found, seconds = [], []
    for metric in (alone, default, many):
        begin = time.perf_counter()
        found.append(np.array([metric.align_prepared(x, y).distance for x, y in prepared]))
        seconds.append(time.perf_counter() - begin)
    excess = 100 * (found[1] / found[2] - 1)
    return {
        "family": name,
        "alpha": alpha,
        "pairs": len(pairs),
        "one_start_max_%": float((100 * (found[0] / found[2] - 1)).max()),
        "median_%": float(np.median(excess)),
        "p99_%": float(np.percentile(excess, 99)),
        "min_%": float(excess.min()),
        "share_of_time": seconds[1] / seconds[2],
        "times_one_start": seconds[1] / seconds[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20, help="maximum number of pairs per family")
    options = parser.parse_args()
    families = {
        "related": workloads.related(20),
        "nearly isotropic": workloads.nearly_isotropic(20),
    }
    if workloads.macaque_file():
        for category in ("natural", "synthetic"):
            families[f"macaque V1, {category}"] = workloads.macaque(category)
    with threadpool_limits(1):
        rows = []
        for name, pairs in families.items():
            for alpha in (0.0, 0.5, 1.0):
                rows.append(study(name, pairs[: options.pairs], alpha))
                show(rows[-1:], name)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "optimum.json").write_text(json.dumps(rows, indent=1))
    show(rows, "default against 100 restarts")


if __name__ == "__main__":
    main()
