"""Covariance and mean distances of macaque V1 populations, natural against synthetic images."""

from __future__ import annotations

from typing import Any

import numpy as np

import repshape as rs
from benchmarks import workloads

CATEGORIES = ("natural", "synthetic")
ALPHAS = {"d_0": 0.0, "d_2": 2.0}
# All nine populations have at least 6 units; six of them have at least 16.
COMPONENTS = (6, 16)
GROUPS = 6
SPLITS = 4
LEVEL = 0.9


def study() -> list[dict[str, Any]]:
    return [study_of(count) for count in COMPONENTS]


def study_of(components: int) -> dict[str, Any]:
    """Both distances of all pairs for both categories, and their paired comparison."""
    found = {
        (category, name): estimates(category, components, alpha)
        for category in CATEGORIES
        for name, alpha in ALPHAS.items()
    }
    some = found["natural", "d_0"].matrix
    monkeys = [label.split("_")[0] for label in some.labels]
    return {
        "n_components": components,
        "populations": list(some.labels),
        "monkeys": monkeys,
        "distances": [
            summary(category, name, matrix) for (category, name), matrix in found.items()
        ],
        "comparisons": comparisons(found, monkeys),
    }


def estimates(category: str, components: int, alpha: float) -> rs.inference.EstimatedMatrix:
    phi = rs.Preprocess(n_components=components)
    metric = rs.GaussianShapeMetric(alpha, preprocess=phi, tol=1e-5, max_iter=200)
    populations = workloads.macaque_populations(category, components)
    return rs.inference.matrix(populations, metric, n_groups=GROUPS, n_splits=SPLITS, level=LEVEL)


def summary(category: str, name: str, found: rs.inference.EstimatedMatrix) -> dict[str, Any]:
    """Medians over pairs, and how many distances are above 0."""
    table = found.to_frame()
    return {
        "category": category,
        "distance": name,
        "pairs": len(table),
        "above_zero": int((table["low"] > 0).sum()),
        "overlap": found.overlap,
        **{column: float(table[column].median()) for column in ("estimate", "plug_in", "floor")},
    }


def comparisons(found: dict[tuple[str, str], Any], monkeys: list[str]) -> list[dict[str, Any]]:
    """Log ratios of natural to synthetic, for each distance and for d_0 / d_2."""
    rows = []
    for kind in ("matrix", "plug_in"):
        values = {key: getattr(one, kind).values for key, one in found.items()}
        for what in (*ALPHAS, "d_0 / d_2"):
            first, second = (_values(values, category, what) for category in CATEGORIES)
            upper = np.triu_indices(len(first), 1)
            if min(first[upper].min(), second[upper].min()) <= 0:
                continue
            for unit, blocks in (("population", None), ("monkey", monkeys)):
                test = rs.inference.paired(first, second, blocks, relative=True, level=LEVEL)
                row = {"estimates": "corrected" if kind == "matrix" else "plug-in", "of": what}
                row |= {"unit": unit, "units": test.n_blocks, "log_ratio": test.estimate}
                row |= {"low": test.interval[0], "high": test.interval[1]}
                smaller = int(np.sum(first[upper] < second[upper]))
                row |= {"p_value": test.p_value, "smallest_p_value": test.smallest_p_value}
                rows.append(row | {"natural_smaller": smaller, "pairs": len(upper[0])})
    return rows


def _values(values: dict[tuple[str, str], np.ndarray], category: str, what: str) -> np.ndarray:
    if what in ALPHAS:
        return values[category, what]
    top, bottom = (values[category, name] for name in ALPHAS)
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0)


def table(studies: list[dict[str, Any]]) -> str:
    head = "| components | images | distance | pairs | plug-in | floor | corrected | above 0 |"
    lines = [head, "|" + "---|" * 8]
    for s in studies:
        for r in s["distances"]:
            cells = [s["n_components"], r["category"], r["distance"], r["pairs"]]
            cells += [f"{r[key]:.2f}" for key in ("plug_in", "floor", "estimate")]
            lines.append("| " + " | ".join(map(str, [*cells, r["above_zero"]])) + " |")
    return "\n".join(lines) + "\n\n" + comparison_table(studies)


def comparison_table(studies: list[dict[str, Any]]) -> str:
    head = "| components | comparison | estimates | natural smaller | units | log ratio | "
    head += "90 % interval | p | smallest possible p |"
    lines = [head, "|" + "---|" * 9]
    for s in studies:
        for r in s["comparisons"]:
            cells = [s["n_components"], r["of"], r["estimates"]]
            cells += [f"{r['natural_smaller']} of {r['pairs']}", f"{r['units']} {r['unit']}s"]
            cells += [f"{r['log_ratio']:+.3f}", f"[{r['low']:+.2f}, {r['high']:+.2f}]"]
            cells += [f"{r['p_value']:.3f}", f"{r['smallest_p_value']:.3f}"]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)
