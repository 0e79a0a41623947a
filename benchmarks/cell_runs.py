"""Simulations of cells that are saved one by one, and continue when they are started again."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import repshape as rs
from benchmarks.inference_tables import load, save
from benchmarks.interval_cells import Cell

EXPECTED = (
    rs.errors.FewTrialsWarning,
    rs.errors.SearchWarning,
    rs.inference.UnstableSubspaceWarning,
)


def run_cells(
    description: str | None,
    path: Path,
    cells: Sequence[Cell],
    simulate: Callable[[Cell, int], list[float]],
) -> dict[str, Any]:
    """Simulate each cell as often as the command line says, and return all that is saved.

    The true squared distance of each cell is saved, too.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--simulations", type=int, default=60)
    target = parser.parse_args().simulations
    for category in EXPECTED:
        warnings.simplefilter("ignore", category)
    with threadpool_limits(limits=1, user_api="blas"):
        for cell in cells:
            kept, key = load(path), f"truth of {cell.name}"
            if key not in kept:
                save(path, key, 0.0 if cell.differ == "equal" else float(f"{cell.truth:.6g}"))
            rows = kept.get(cell.name, [])
            if len(rows) < target:
                rows += [simulate(cell, k) for k in range(len(rows), target)]
                save(path, cell.name, rows)
    return load(path)
