"""Energy distances of the toy networks before and after repair, for docs/evidence/repair.md.

python -m benchmarks.energy_repair [TRIALS ...]
"""

from __future__ import annotations

import sys

import numpy as np

import repshape as rs
from repshape.demo.findings import quadratic_r2

TRIALS = (20, 50, 200)


def row(n_trials: int, exact: rs.DistanceMatrix) -> str:
    toy = rs.datasets.toy_networks(n_trials=n_trials)
    D = rs.pairwise(toy, rs.EnergyShapeMetric(), progress=False)
    result = rs.repair(D)
    points = rs.embed(result.matrix).points
    before, distances = result.before, exact.condensed()
    numbers = {
        "share broken": before.count / before.n_inequalities,
        "largest": before.relative,
        "negative": before.n_negative,
        "left": result.after.count,
        "moved": result.moved / np.linalg.norm(D.condensed()),
        "correlation before": np.corrcoef(D.condensed(), distances)[0, 1],
        "after": np.corrcoef(result.matrix.condensed(), distances)[0, 1],
        "R2 correlation": quadratic_r2(points, toy.metadata["correlation"]),
        "R2 scale": quadratic_r2(points, toy.metadata["scale"]),
    }
    cells = ", ".join(f"{name} {value:.3g}" for name, value in numbers.items())
    return f"{n_trials} trials: {before.count} broken, {cells}"


def main() -> None:
    exact = rs.pairwise(rs.datasets.toy_networks().networks, rs.GaussianShapeMetric())
    for n_trials in map(int, sys.argv[1:] or TRIALS):
        print(row(n_trials, exact), flush=True)


if __name__ == "__main__":
    main()
