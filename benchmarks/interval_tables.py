"""Tables of the coverage of intervals, by cell and pooled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from benchmarks.interval_cells import Cell

NOMINAL = 0.9
# A cell fails if its coverage is below this, by a one-sided test at 1 % with Holm's correction.
LEAST, ERROR = 0.85, 0.01


def covered(rows: np.ndarray, truth: float) -> np.ndarray:
    """Whether each interval contains the truth, lies above it, and below it, (3, simulations)."""
    low, high = rows[:, 2], rows[:, 3]
    return np.array([(low <= truth) & (truth <= high), low > truth, high < truth])


def shares(found: np.ndarray) -> list[str]:
    return [f"{share:.3f}" for share in found.mean(axis=1)]


def failing(counts: dict[str, tuple[int, int]]) -> list[str]:
    """The cells whose coverage is significantly below `LEAST` (Holm)."""
    p = {name: float(binom.cdf(hits, total, LEAST)) for name, (hits, total) in counts.items()}
    out = []
    for rank, name in enumerate(sorted(p, key=p.__getitem__)):
        if p[name] > ERROR / (len(p) - rank):
            break
        out.append(name)
    return out


def known(results: dict[str, Any], key: str) -> tuple[np.ndarray, float] | None:
    """The simulations of a cell and its truth, or None if there are none."""
    rows = results.get(key)
    if not rows:
        return None
    truth = float(results[f"truth of {key}"])
    return np.array(rows, dtype=float), 0.0 if abs(truth) < 1e-9 else truth


def cell_table(results: dict[str, Any], keys: list[str]) -> list[list[Any]]:
    out = []
    for key in keys:
        found = known(results, key)
        if found is None:
            continue
        rows, truth = found
        name = key.removeprefix("fresh: ").removeprefix("fresh ")
        cells = [name, len(rows), f"{truth:.2f}", *(bias_of(rows[:, k], truth) for k in (0, 1))]
        out.append([*cells, *shares(covered(rows, truth)), f"{rows[:, 4].mean():.2f}"])
    return out


def bias_of(values: np.ndarray, truth: float) -> str:
    """The mean error; that of the median if some ratios are infinite or cannot be estimated."""
    if np.isinf(truth):
        return ""
    if np.isfinite(values).all():
        return f"{values.mean() - truth:+.2f}"
    return f"{np.nanmedian(values) - truth:+.2f} (median)"


CELL_HEAD = ["setting", "simulations", "truth", "plug-in bias", "bias", "coverage"]
CELL_HEAD += ["wholly above", "wholly below", "widened"]
POOLS: dict[str, Callable[[Cell, bool], bool]] = {
    "different, 20 or 50 trials": lambda cell, zero: not zero and cell.trials >= 20,
    "different, 20 or 50 trials, no PCA": lambda cell, zero: (
        not zero and cell.trials >= 20 and cell.components is None
    ),
    "different, 20 or 50 trials, PCA": lambda cell, zero: (
        not zero and cell.trials >= 20 and cell.components is not None
    ),
    "different, 10 trials": lambda cell, zero: not zero and cell.trials == 10,
    "distance 0, 20 or 50 trials": lambda cell, zero: zero and cell.trials >= 20,
    "distance 0, 10 trials": lambda cell, zero: zero and cell.trials == 10,
}
POOL_HEAD = ["networks", "settings", "simulations", "coverage", "wholly above", "wholly below"]
POOL_HEAD += ["lowest coverage of a setting", "significantly below 0.85", "widened"]


def pooled_table(results: dict[str, Any], cells: Sequence[Cell], prefix: str) -> list[list[Any]]:
    """Coverage pooled over the cells of a kind, each simulation with equal weight."""
    out = []
    for name, belongs in POOLS.items():
        found, counts, widened = [], {}, []
        for cell in cells:
            here = known(results, f"{prefix}: {cell.name}")
            if here is None or not belongs(cell, here[1] == 0):
                continue
            one = covered(*here)
            found.append(one)
            widened.append(here[0][:, 4])
            counts[cell.name] = (int(one[0].sum()), one.shape[1])
        if found:
            every = np.concatenate(found, axis=1)
            lowest = min(hits / total for hits, total in counts.values())
            row = [name, len(found), every.shape[1], *shares(every), f"{lowest:.2f}"]
            out.append([*row, len(failing(counts)), f"{np.concatenate(widened).mean():.2f}"])
    return out
