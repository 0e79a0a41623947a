"""Does the noise floor of one recording predict the distance of two recordings of one network?

    python -m benchmarks.floors [--simulations 60]

The populations are of the family "latent" in `benchmarks.interval_cells`, with other sizes; the
extrapolation to all trials was chosen on the family "random". Results are added to
benchmarks/results/floors.json after every cell, so that an interrupted run continues when it is
started again, and a larger ``--simulations`` adds to what is there. The table of
docs/evidence/inference.md is written at the end.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import repshape as rs
from benchmarks.cell_runs import run_cells
from benchmarks.inference_tables import markdown, replace_table
from benchmarks.interval_cells import Cell, make_cells

RESULTS = Path(__file__).parent / "results" / "floors.json"
N_SPLITS = 5
CELLS = make_cells(
    "latent",
    # at least a few trials per dimension
    ("Gaussian", "equal", 12, 40, 8, None, 1.0),
    ("skewed", "equal", 9, 20, 5, None, 0.0),
    ("counts", "equal", 9, 16, 10, 3, 2.0),
    ("counts", "equal", 10, 20, 16, 4, 1.0),
    ("skewed", "equal", 11, 30, 14, 5, 1.0),
    # few trials
    ("Gaussian", "equal", 8, 10, 6, None, 1.0),
    ("gamma counts", "equal", 8, 16, 12, None, 1.0),
    ("Gaussian", "equal", 7, 12, 14, None, 0.0),
    ("Gaussian", "equal", 6, 10, 30, None, 1.0),
)
HEAD = ["setting", "simulations", "two recordings", "floor", "error of its square"]
HEAD += ["floor from halves alone", "error of its square"]


def simulate(cell: Cell, seed: int) -> list[float]:
    """Squared distance of two recordings, squared floor of the first, and the same from halves."""
    rng = np.random.default_rng([seed, 61, crc32(cell.name.encode())])
    x, y = (cell.pair[0].sample(cell.trials, rng) for _ in range(2))
    metric = cell.metric()
    found = rs.inference.floor(x, metric, n_splits=N_SPLITS, random_state=seed, workers=1)
    squares = metric.distance(x, y) ** 2, found.estimate**2, found.plug_in**2 / 2
    return [float(f"{one:.6g}") for one in squares]


def table(results: dict[str, Any]) -> str:
    """Return the table of docs/evidence/inference.md."""
    rows = []
    for cell in (one for one in CELLS if one.name in results):
        truth, *floors = np.mean(results[cell.name], axis=0)
        row = [cell.name.removeprefix("equal, "), len(results[cell.name]), f"{truth**0.5:.2f}"]
        for one in floors:
            row += [f"{one**0.5:.2f}", f"{100 * (one / truth - 1):+.0f} %"]
        rows.append(row)
    return markdown(HEAD, rows)


def main() -> None:
    """Run the command line."""
    replace_table("floors", table(run_cells(__doc__, RESULTS, CELLS, simulate)))


if __name__ == "__main__":
    main()
