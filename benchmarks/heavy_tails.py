"""Why do intervals of covariance distances sometimes lie below the truth if noise has heavy tails?

    python -m benchmarks.heavy_tails [--simulations 60]

Populations with skewed or Student noise, and Gaussian ones for comparison, of 20 trials, mostly
after PCA. They are not those that confirm the intervals, and have other seeds. Nothing of the
library was chosen on them. Results are added to benchmarks/results/heavy_tails.json after every
cell, so that an interrupted run continues when it is started again, and a larger ``--simulations``
adds to what is there. The table of docs/evidence/inference.md is written at the end.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt

import repshape as rs
from benchmarks.cell_runs import run_cells
from benchmarks.inference_tables import markdown, replace_table
from benchmarks.interval_cells import Cell, make_cells
from benchmarks.intervals import Row, row_of

FloatArray = npt.NDArray[np.float64]
RESULTS = Path(__file__).parent / "results" / "heavy_tails.json"
CELLS = [
    *make_cells(
        "latent",
        ("skewed", "scale", 10, 20, 15, 3, 0.0),
        ("skewed", "scale", 12, 20, 11, 3, 0.0),
        ("skewed", "scale", 7, 20, 16, 4, 0.0),
        ("skewed", "scale", 10, 20, 5, None, 0.0),
        ("skewed", "scale", 10, 20, 15, 3, 1.0),
        ("skewed", "both", 11, 20, 12, 3, 1.0),
    ),
    *make_cells(
        "tuned",
        ("Student", "scale", 10, 20, 12, 3, 0.0),
        ("Student", "scale", 8, 20, 14, 3, 0.0),
        ("Student", "scale", 12, 20, 10, 3, 0.0),
        ("Student", "equal", 10, 20, 12, 3, 0.0),
    ),
    *make_cells("random", ("Student", "scale", 9, 20, 5, None, 0.0)),
    *make_cells(
        "latent",
        ("Gaussian", "scale", 10, 20, 15, 3, 0.0),
        ("Gaussian", "scale", 12, 20, 5, None, 0.0),
    ),
    *make_cells("tuned", ("Gaussian", "scale", 10, 20, 12, 3, 0.0)),
]
# Of Student's t distribution with 7 degrees of freedom, at 95 %: 8 groups of trials.
QUANTILE = 1.8946
# Unwidened intervals that their errors are described from.
FEWEST = 10
HEAD = ["setting", "simulations", "coverage", "wholly above", "wholly below", "widened"]
HEAD += ["bias / truth", "standard error / deviation", "correlation of estimate and error"]


def simulate(cell: Cell, seed: int) -> Row:
    """Squared plug-in distance, estimate and ends; whether it was widened."""
    design = cell.conditions, cell.neurons, cell.trials, len(cell.kind), int(cell.alpha)
    rng = np.random.default_rng([seed, 991, *design])
    x, y = (one.sample(cell.trials, rng) for one in cell.pair)
    found = rs.inference.distance(x, y, cell.metric(), random_state=seed, workers=1)
    return [float(f"{one:.6g}") for one in row_of(found, True)]


def table(results: dict[str, Any]) -> str:
    """Return the table of docs/evidence/inference.md; the last columns are of unwidened ones."""
    rows = []
    for cell in (one for one in CELLS if one.name in results):
        truth = results[f"truth of {cell.name}"]
        every = np.array(results[cell.name])
        low, high = every[:, 2], every[:, 3]
        shares = (low <= truth) & (truth <= high), low > truth, high < truth, every[:, 4] > 0
        row = [cell.name, len(every), *(f"{np.mean(one):.2f}" for one in shares)]
        rows.append([*row, *_errors(every[every[:, 4] == 0], truth)])
    return markdown(HEAD, rows)


def _errors(rows: FloatArray, truth: float) -> list[str]:
    """Return bias, size of the standard error, and its correlation with the estimate."""
    if len(rows) < FEWEST:
        return ["", "", ""]
    estimates, widths = rows[:, 1], (rows[:, 3] - rows[:, 2]) / 2  # a multiple of the error
    errors = widths / QUANTILE
    bias = f"{100 * (estimates.mean() / truth - 1):+.0f} %" if truth else ""
    size = np.sqrt(np.mean(errors**2)) / estimates.std()
    return [bias, f"{size:.2f}", f"{np.corrcoef(estimates, errors)[0, 1]:.2f}"]


def main() -> None:
    """Run the command line."""
    replace_table("heavy tails", table(run_cells(__doc__, RESULTS, CELLS, simulate)))


if __name__ == "__main__":
    main()
