"""Tables of the coverage of intervals, by cell and pooled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binom

from benchmarks.interval_cells import CONFIRM, Cell

NOMINAL = 0.9
# A cell fails if its coverage is below this, by a one-sided test at 1 % with Holm's correction.
LEAST, ERROR = 0.85, 0.01


def covered(rows: np.ndarray, truth: float) -> np.ndarray:
    """Whether each interval contains the truth, lies above it, and below it, (3, simulations)."""
    low, high = rows[:, 2], rows[:, 3]
    # A ratio that cannot be estimated is NaN, and covers nothing.
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
        bias = np.nanmean(rows[:, 1]) - truth
        name = key.removeprefix("calibrated: ").removeprefix("calibrated ")
        cells = [name, len(rows), f"{truth:.2f}", f"{np.nanmean(rows[:, 0]) - truth:+.2f}"]
        cells += [f"{bias:+.2f}", *shares(covered(rows, truth)), f"{rows[:, 4].mean():.2f}"]
        out.append(cells)
    return out


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


def pooled_table(results: dict[str, Any]) -> list[list[Any]]:
    """Coverage pooled over the cells of a kind, each simulation with equal weight."""
    out = []
    for name, belongs in POOLS.items():
        found, counts, widened = [], {}, []
        for cell in CONFIRM:
            here = known(results, f"calibrated: {cell.name}")
            if here is None or not belongs(cell, here[1] == 0):
                continue
            one = covered(*here)
            found.append(one)
            widened.append(here[0][:, 4])
            counts[cell.name] = (int(one[0].sum()), one.shape[1])
        if found:
            every = np.concatenate(found, axis=1)
            lowest = min(hits / total for hits, total in counts.values())
            cells = [name, len(found), every.shape[1], *shares(every), f"{lowest:.2f}"]
            out.append([*cells, len(failing(counts)), f"{np.concatenate(widened).mean():.2f}"])
    return out
