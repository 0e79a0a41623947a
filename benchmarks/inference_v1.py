"""Covariance and mean distances of macaque V1 populations, natural against synthetic images."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform

import repshape as rs
from benchmarks import workloads

CATEGORIES = ("natural", "synthetic")
ALPHAS = {"d_0": 0.0, "d_2": 2.0}
# All nine populations have at least 6 units; six of them have at least 16.
COMPONENTS = (6, 16)
SPLITS = 4
LEVEL = 0.9
COLUMNS = ("estimate", "low", "high", "plug_in", "floor")

Matrices = dict[str, Any]  # the labels, and a list over pairs for each of the columns


# What the results are called: by matched halves (release 0.2) and by the calibrated method.
HALVES, CALIBRATED = "macaque", "macaque calibrated"


def keys(prefix: str) -> dict[str, tuple[int, str, str]]:
    """The name of each matrix of the study, by components, category and distance."""
    cells = product(COMPONENTS, CATEGORIES, ALPHAS)
    return {f"{prefix}: {k} components, {c}, {d}": (k, c, d) for k, c, d in cells}


def study(known: dict[str, Any], keep: Callable[[str, Matrices], None]) -> None:
    """Estimate the matrices that are not known yet, and keep each of them."""
    for key, cell in keys(CALIBRATED).items():
        if key not in known:
            keep(key, estimates(*cell))
            print(key, flush=True)


def estimates(components: int, category: str, distance: str) -> Matrices:
    phi = rs.Preprocess(n_components=components)
    metric = rs.GaussianShapeMetric(ALPHAS[distance], preprocess=phi, tol=1e-5, max_iter=200)
    populations = workloads.macaque_populations(category, components)
    found = rs.inference.matrix(populations, metric, n_splits=SPLITS, level=LEVEL)
    frame = found.to_frame()
    numbers = {name: [float(f"{v:.6g}") for v in frame[name]] for name in COLUMNS}
    return {"labels": list(found.matrix.labels), "overlap": found.overlap, **numbers}


def tables(results: dict[str, Any]) -> str:
    """The tables of the study, by the newest method for which it is complete, or nothing."""
    old, new = (
        {cell: results[key] for key, cell in keys(prefix).items() if key in results}
        for prefix in (HALVES, CALIBRATED)
    )
    complete = [found for found in (new, old) if len(found) == len(keys(HALVES))]
    if not complete:
        return ""
    return f"{distance_table(old, new)}\n\n{comparison_table(complete[0])}"


def distance_table(
    old: dict[tuple[int, str, str], Matrices], new: dict[tuple[int, str, str], Matrices]
) -> str:
    """Medians over pairs, by both methods side by side."""
    head = "| components | images | distance | pairs | plug-in | floor | halves | above 0 | "
    head += "calibrated | above 0 | calibrated above the interval of halves |"
    lines = [head, "|" + "---|" * 11]
    for cell in keys(HALVES).values():
        known = [found.get(cell) for found in (old, new)]
        first = next(one for one in known if one is not None)
        cells = [*cell, len(first["low"])]
        cells += [f"{np.median(first[name]):.2f}" for name in ("plug_in", "floor")]
        for one in known:
            if one is None:
                cells += ["", ""]
                continue
            cells += [f"{np.median(one['estimate']):.2f}", int(np.sum(np.array(one["low"]) > 0))]
        if None not in known:
            gap = np.array(known[1]["estimate"]) > np.array(known[0]["high"])
            cells.append(f"{int(gap.sum())} of {len(gap)}")
        lines.append("| " + " | ".join(map(str, [*cells, ""][:11])) + " |")
    return "\n".join(lines)


def comparison_table(found: dict[tuple[int, str, str], Matrices]) -> str:
    """Log ratios of natural to synthetic, for each distance and for d_0 / d_2."""
    head = "| components | comparison | estimates | natural smaller | units | log ratio | "
    head += "90 % interval | p | smallest possible p |"
    lines = [head, "|" + "---|" * 9]
    for k, what, column in product(COMPONENTS, (*ALPHAS, "d_0 / d_2"), ("estimate", "plug_in")):
        sides = [values(found, k, category, what, column) for category in CATEGORIES]
        if min(side.min() for side in sides) <= 0:
            continue
        monkeys = [name.split("_")[0] for name in found[k, "natural", "d_0"]["labels"]]
        smaller = f"{int(np.sum(sides[0] < sides[1]))} of {len(sides[0])}"
        word = "corrected" if column == "estimate" else "plug-in"
        for unit, blocks in (("populations", None), ("monkeys", monkeys)):
            matrices = [squareform(side) for side in sides]
            test = rs.inference.paired(*matrices, blocks, relative=True, level=LEVEL)
            cells = [k, what, word, smaller, f"{test.n_blocks} {unit}", f"{test.estimate:+.3f}"]
            cells += ["[{:+.2f}, {:+.2f}]".format(*test.interval)]
            cells += [f"{test.p_value:.3f}", f"{test.smallest_p_value:.3f}"]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def values(
    found: dict[tuple[int, str, str], Matrices], k: int, category: str, what: str, column: str
) -> np.ndarray:
    """A distance, or the ratio of both, over pairs; negative where an estimate is."""
    if what in ALPHAS:
        return np.array(found[k, category, what][column])
    top, bottom = (np.array(found[k, category, name][column]) for name in ALPHAS)
    return np.where((top > 0) & (bottom > 0), top / np.where(bottom == 0, 1.0, bottom), -1.0)
