"""Covariance and mean distances of macaque V1 populations, with intervals and noise floors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from scipy.stats import t as student

import repshape as rs
from benchmarks import workloads

CATEGORIES = ("natural", "synthetic")
# All nine populations have at least 6 units; six of them have at least 16.
COMPONENTS = (6, 16)
GROUPS = 6
SPLITS = 4
LEVEL = 0.9


def study() -> list[dict[str, object]]:
    return [study_of(count) for count in COMPONENTS]


def study_of(components: int) -> dict[str, object]:
    """Ratios d_0 / d_2 of all pairs for both categories, and their summary."""
    metric = metric_of(components)
    pairs, floors, distances = [], [], []
    for category in CATEGORIES:
        populations = workloads.macaque_populations(category, components)
        floors += floors_of(populations, category, components)
        distances += distances_of(populations, category, components)
        for first, second in combinations(populations, 2):
            found = rs.inference.ratio(
                populations[first], populations[second], metric, n_groups=GROUPS, level=LEVEL
            )
            pairs.append(
                {
                    "x": first,
                    "y": second,
                    "category": category,
                    "ratio": found.estimate,
                    "low": found.interval[0],
                    "high": found.interval[1],
                    "plug_in": found.plug_in,
                }
            )
    return {
        "n_components": components,
        "populations": len(populations),
        "monkeys": len({monkey(name) for name in populations}),
        "pairs": pairs,
        "floors": floors,
        "plug_in_distances": distances,
        "summary": summarise(pairs),
    }


def metric_of(components: int, alpha: float = 1.0) -> rs.GaussianShapeMetric:
    phi = rs.Preprocess(n_components=components)
    return rs.GaussianShapeMetric(alpha, preprocess=phi, tol=1e-5, max_iter=200)


def floors_of(
    populations: dict[str, rs.Trials], category: str, components: int
) -> list[dict[str, object]]:
    """The noise floor of each population, for covariances and for means."""
    rows = []
    for alpha in (0.0, 2.0):
        for name, trials in populations.items():
            floor = rs.inference.floor(trials, metric_of(components, alpha), n_splits=SPLITS)
            row = {"population": name, "category": category, "alpha": alpha}
            rows.append({**row, "floor": floor.estimate})
    return rows


def distances_of(
    populations: dict[str, rs.Trials], category: str, components: int
) -> list[dict[str, object]]:
    """Plug-in distances of all pairs, to compare with the noise floors."""
    sweep = rs.analysis.interpolate(populations.values(), (0.0, 2.0), metric_of(components))
    names = list(populations)
    return [
        {"x": names[i], "y": names[j], "category": category, "d_0": d_0, "d_2": d_2}
        for (i, j), d_0, d_2 in zip(sweep.pairs.tolist(), *sweep.distances.tolist(), strict=True)
    ]


def monkey(population: str) -> str:
    return population.split("_")[0]


def summarise(pairs: list[dict[str, object]]) -> dict[str, object]:
    """Natural and synthetic ratios, with jackknife intervals over populations and monkeys."""
    sides = {c: [p for p in pairs if p["category"] == c] for c in CATEGORIES}
    names = [(p["x"], p["y"]) for p in sides["natural"]]
    out: dict[str, object] = {"pairs": len(names)}
    for key in ("ratio", "plug_in"):
        values = {c: np.array([p[key] for p in sides[c]], dtype=float) for c in CATEGORIES}
        contrast = np.log(values["natural"] / values["synthetic"])
        out[key] = {
            "median_natural": float(np.nanmedian(values["natural"])),
            "median_synthetic": float(np.nanmedian(values["synthetic"])),
            "natural_smaller": int(np.sum(contrast < 0)),
            "undefined": int(np.isnan(contrast).sum()),
            "mean_log_contrast": float(np.nanmean(contrast)),
            "interval_populations": leave_out(contrast, names, lambda name: name),
            "interval_monkeys": leave_out(contrast, names, monkey),
        }
    apart = zip(sides["natural"], sides["synthetic"], strict=True)
    out["intervals_apart"] = int(sum(a["high"] < b["low"] for a, b in apart))
    return out


def leave_out(
    contrast: np.ndarray, names: list[tuple[str, str]], unit: Callable[[str], str]
) -> list[float]:
    """Jackknife interval of the mean over pairs, leaving out each unit with all of its pairs."""
    units = sorted({unit(name) for pair in names for name in pair})
    kept = [np.array([u not in (unit(a), unit(b)) for a, b in names]) for u in units]
    means = np.array([np.nanmean(contrast[k]) for k in kept])
    count = len(units)
    error = np.sqrt((count - 1) / count * ((means - means.mean()) ** 2).sum())
    half = student.ppf((1 + LEVEL) / 2, count - 1) * error
    centre = np.nanmean(contrast)
    return [float(centre - half), float(centre + half)]


def table(studies: list[dict[str, object]]) -> str:
    head = "| components | populations (monkeys) | pairs | estimate | median natural | "
    head += "median synthetic | natural smaller | mean log ratio of ratios | "
    head += "90 %, by population | 90 %, by monkey |"
    lines = [head, "|" + "---|" * 10]
    for s in studies:
        for key, word in (("plug_in", "plug-in"), ("ratio", "corrected")):
            r = s["summary"][key]
            cells = [s["n_components"], f"{s['populations']} ({s['monkeys']})"]
            cells += [s["summary"]["pairs"], word]
            cells += [f"{r['median_natural']:.2f}", f"{r['median_synthetic']:.2f}"]
            cells += [f"{r['natural_smaller']} of {s['summary']['pairs'] - r['undefined']}"]
            cells += [f"{r['mean_log_contrast']:+.3f}"]
            for kind in ("interval_populations", "interval_monkeys"):
                cells += ["[{:+.2f}, {:+.2f}]".format(*r[kind])]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n\n" + floor_table(studies)


def floor_table(studies: list[dict[str, object]]) -> str:
    head = "| components | category | median plug-in d_0 | its floor | median plug-in d_2 | "
    head += "its floor | pairs whose intervals of d_0 / d_2 are apart (natural below) |"
    lines = [head, "|" + "---|" * 7]
    for s in studies:
        for category in CATEGORIES:
            cells = [str(s["n_components"]), category]
            for alpha, key in ((0.0, "d_0"), (2.0, "d_2")):
                found = [d[key] for d in s["plug_in_distances"] if d["category"] == category]
                kept = [f for f in s["floors"] if f["alpha"] == alpha]
                noise = [f["floor"] for f in kept if f["category"] == category]
                cells += [f"{np.median(found):.2f}", f"{np.median(noise):.2f}"]
            cells.append(f"{s['summary']['intervals_apart']} of {s['summary']['pairs']}")
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
