"""Energy distances of the toy networks before and after repair, for docs/evidence/repair.md.

python benchmarks/energy_repair.py [TRIALS ...]
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
import pandas as pd

import repshape as rs

TRIALS = (20, 50, 200)


def explained(points: npt.NDArray[np.float64], truth: pd.Series) -> float:
    """R2 of a quadratic map from the plane."""
    x, y = points.T
    design = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)
    target = truth.to_numpy(dtype=np.float64)
    residual = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return float(1.0 - residual.var() / target.var())


def row(n_trials: int, exact: rs.DistanceMatrix) -> str:
    toy = rs.datasets.toy_networks(n_trials=n_trials)
    D = rs.pairwise(toy.networks, rs.EnergyShapeMetric(), metadata=toy.metadata, progress=False)
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
        "R2 correlation": explained(points, toy.metadata["correlation"]),
        "R2 scale": explained(points, toy.metadata["scale"]),
    }
    cells = ", ".join(f"{name} {value:.3g}" for name, value in numbers.items())
    return f"{n_trials} trials: {before.count} broken, {cells}"


def main() -> None:
    exact = rs.pairwise(rs.datasets.toy_networks().networks, rs.GaussianShapeMetric())
    for n_trials in map(int, sys.argv[1:] or TRIALS):
        print(row(n_trials, exact), flush=True)


if __name__ == "__main__":
    main()
