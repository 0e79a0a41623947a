"""Time of comparing the layers of two networks, 12 x 12.

python -m benchmarks.layers [--layers 12] [--units 512] [--components 50]

Each layer is a random map of the one before, and the second network
is a perturbed copy of the first. Times of the processor are kept in benchmarks/results/layers.json.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import repshape as rs

RESULTS = Path(__file__).parent / "results"
CONDITIONS, TRIALS = 100, 20
CHANGE, NOISE = 0.3, 0.5


def layers(count: int, units: int, rng: np.random.Generator) -> list[rs.Trials]:
    """Return layers, each of which is a random map of the one before, with noise."""
    x = rng.normal(size=(CONDITIONS, units))
    out = []
    for _ in range(count):
        x = np.tanh(1.5 * x @ rng.normal(size=(units, units)) / np.sqrt(units))
        out.append(rs.Trials(x[:, None] + NOISE * rng.normal(size=(CONDITIONS, TRIALS, units))))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--units", type=int, default=512)
    parser.add_argument("--components", type=int, default=50)
    given = parser.parse_args()
    first = layers(given.layers, given.units, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    shape = (CONDITIONS, 1, given.units)
    second = [rs.Trials(np.array(one.responses) + CHANGE * rng.normal(size=shape)) for one in first]
    metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=given.components))
    start, clock = time.process_time(), time.perf_counter()
    C = rs.cross(first, second, metric, progress=False)
    found = {
        **vars(given),
        "conditions": CONDITIONS,
        "trials": TRIALS,
        "processor_seconds": time.process_time() - start,
        "seconds": time.perf_counter() - clock,
        "nearest_is_its_copy": int((C.values.argmin(axis=1) == np.arange(given.layers)).sum()),
    }
    (RESULTS / "layers.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
