"""Collect what was measured into ``results.json``: numbers, claims, the multiverse, the truth."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import repshape as rs
from experiments.brain import multiverse, truth, validation
from experiments.brain.claims import CLASSES, COMPARABLE, WEAK
from experiments.brain.decide import decide, relevant
from experiments.brain.paired_tests import run_tests
from experiments.brain.settings import Source
from experiments.brain.statistics import (
    STATISTICS,
    ClassResults,
    Results,
    correlation,
    from_pairs,
    log_ratio,
    mean_distance_gap,
    pairs,
    signed_square,
    with_interval,
)
from experiments.brain.study import (
    CORRECTED_ALPHAS,
    TRUE_COHORT,
    TRUE_SUBSAMPLING,
    Study,
    corrected_name,
    variants,
    without_nan,
)
from experiments.brain.vaes import deciding_ratios, latest_ratios
from experiments.common.files import write_json
from experiments.common.results import COMMIT, VERSION
from repshape.errors import InputError

RESULTS = "results.json"
PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib")


def collect(study: Study, others: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Decide all claims and write ``results.json``; return its content.

    ``others`` are results of other runs; ratios of those of the VAE study decide the abstract.
    """
    if not study.classes or not study.has(f"protocol-{study.classes[0].key}"):
        raise InputError(f"{study.out} has no results. Run the step 'measure' first.")
    found = class_results(study)
    vaes = latest_ratios(others)
    subsampling = _optional(study, "subsampling")
    out = {
        **study.summary(),
        "versions": _versions(study),
        "sessions": study.records,
        "classes": {one.key: _class_summary(study, one.key, found) for one in study.classes},
        "claims": decide(study.source, found, subsampling, deciding_ratios(vaes)),
        "tests": run_tests(found, study.settings.seed),
        "multiverse": _multiverse(study),
        "vaes": [one._asdict() for one in vaes],
        "time": _seconds(study),
    }
    if study.source is Source.SIMULATED:
        out["truth"] = {one.key: _truth(study, one.key) for one in study.classes}
        out["true values"] = true_values(study)
        out["scored"] = truth.score(out["claims"], out["true values"])
    write_json(study.out / RESULTS, without_nan(out))
    return out


def read_results(out: Path) -> dict[str, Any]:
    """Read what `collect` wrote."""
    path = out / RESULTS
    if not path.exists():
        raise InputError(f"{out} has no {RESULTS}. Run the step 'measure' first.")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def class_results(study: Study) -> dict[str, ClassResults]:
    """Return what was measured of each class, by role."""
    animals = {one["name"]: one["animal"] for one in study.records}
    out = {}
    for stimulus in study.classes:
        plain = study.read(f"protocol-{stimulus.key}")
        geometry = _optional(study, f"geometry-{stimulus.key}") or {}
        halves = _optional(study, f"halves-{stimulus.key}") or {}
        columns = {name: geometry[name] for name in ("scale", "orientation", "signal") if geometry}
        columns["explained"] = plain["explained"]
        out[stimulus.role] = ClassResults(
            tuple(plain["names"]),
            tuple(animals[name] for name in plain["names"]),
            corrected_squares(study, stimulus.key, study.settings.n_components),
            {float(alpha): np.array(D) for alpha, D in plain["distances"].items()},
            {name: np.array(D) for name, D in halves.items() if "half" in name},
            {name: np.array(one, dtype=np.float64) for name, one in columns.items()},
        )
    return out


def corrected_squares(study: Study, key: str, components: int) -> dict[float, Any]:
    """Return matrices of corrected squared distances, by alpha."""
    return {
        alpha: from_pairs(
            signed_square(study.read(corrected_name(key, alpha, components))["estimate"])
        )
        for alpha in CORRECTED_ALPHAS
    }


def _class_summary(study: Study, key: str, found: Results) -> dict[str, Any]:
    role = next(one.role for one in study.classes if one.key == key)
    plain, one = study.read(f"protocol-{key}"), found[role]
    size = study.settings
    noisy = {
        f"{alpha:g}": study.read(corrected_name(key, alpha, size.n_components))
        for alpha in CORRECTED_ALPHAS
    }
    medians = {
        alpha: {name: float(np.median(c[name])) for name in ("estimate", "plug_in", "floor")}
        | {"above 0": int(np.sum(np.array(c["low"]) > 0)), "pairs": len(c["low"])}
        for alpha, c in noisy.items()
    }
    return {
        "role": role,
        "sessions": len(one.names),
        "animals": len(set(one.animals)),
        "conditions": plain["n_conditions"],
        "explained": float(np.mean(plain["explained"])),
        "gamma": float(np.mean(plain["gamma"])),
        "mantel": plain["mantel"],
        "protocol": {a: float(pairs(np.array(D)).mean()) for a, D in plain["distances"].items()},
        "corrected": medians,
        "overlap": noisy["0"]["overlap"],
        "log_ratio": with_interval(lambda f: log_ratio(f[role]), {role: one}).summary(),
        "log_ratio, plug-in": with_interval(
            lambda f: log_ratio(f[role]), {role: one.as_plug_in()}
        ).summary(),
    }


# The claims of the multiverse: a name, a statistic, and the range in which the claim holds.
def verdicts(found: Results) -> dict[str, tuple[float, bool]]:
    """Return the statistic of each claim in one cell, and whether it is on the claimed side."""
    ratios = {role: log_ratio(found[role]) for role in CLASSES}
    gap = ratios["artificial"] - ratios["natural"]
    D2 = mean_distance_gap(found)
    reversed_ = ratios["artificial"] > 0 > ratios["natural"]
    comparable = max(map(abs, ratios.values()))
    out = {
        "(a) comparable": (comparable, comparable < np.log(COMPARABLE)),
        "(c) depends on the stimulus": (gap, gap > 0),
        "reversal": (min(ratios["artificial"], -ratios["natural"]), reversed_),
        "Figure 3 D": (D2, D2 > 0),
    }
    if all(bool((one.squared[2.0] >= 0).all()) for one in found.values()):
        roots = [
            correlation(*(np.sqrt(np.abs(found[role].squared[a])) for a in (0.0, 2.0)))
            for role in CLASSES
        ]
        out["(b) weakly correlated"] = (max(roots), max(roots) < WEAK)
    return out


def _multiverse(study: Study) -> dict[str, Any]:
    """Return a row for each cell: its choices, both log ratios with intervals, and the claims."""
    if not study.has(f"multiverse-{study.key_of('natural')}"):
        return {}
    stored: dict[str, Any] = {}
    for name in study.measured:
        if name.startswith("multiverse-"):
            stored |= study.read(name)
    animals = {one["name"]: one["animal"] for one in study.records}
    rows = []
    for cell in multiverse.cells(study.settings, variants(study)):
        found = _cell_results(cell, stored, animals)
        rows.append({**cell._asdict(), "estimate": "plug-in", **_cell_row(found)})
    rows += _corrected_rows(study, animals)
    return {"rows": rows, "shares": shares(rows)}


def _cell_results(
    cell: multiverse.Cell, stored: Mapping[str, Any], animals: Mapping[str, str]
) -> dict[str, ClassResults]:
    keys, out = multiverse.keys_of(cell), {}
    for role in CLASSES:
        names = stored[keys[role, 0.0].text]["names"]
        squared = {
            alpha: from_pairs(stored[keys[role, alpha].text]["distances"]) ** 2
            for alpha in CORRECTED_ALPHAS
        }
        out[role] = ClassResults(tuple(names), tuple(animals[n] for n in names), squared)
    return out


def _cell_row(found: Results) -> dict[str, Any]:
    ratios = {
        role: with_interval(lambda f, role=role: log_ratio(f[role]), {role: found[role]}).summary()  # type: ignore[misc]
        for role in CLASSES
    }
    claims = {name: [value, bool(holds)] for name, (value, holds) in verdicts(found).items()}
    return {**{f"log R, {role}": one for role, one in ratios.items()}, "claims": claims}


def _corrected_rows(study: Study, animals: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return rows with corrected distances, for each number of components."""
    rows = []
    size = study.settings
    paper = multiverse.cells(size, variants(study))[0]
    for components in size.components:
        found = {}
        for role in CLASSES:
            key = study.key_of(role)
            names = study.read(corrected_name(key, 0.0, components))["names"]
            squared = corrected_squares(study, key, components)
            every = ClassResults(tuple(names), tuple(animals[n] for n in names), squared)
            found[role] = every.keep([name in study.multiverse_sessions for name in names])
        cell = paper._replace(components=components, covariance="mle")
        row = {**cell._asdict(), "estimate": "corrected", **_cell_row(found)}
        rows.append(row | {"difference": _difference(found)})
    return rows


def _difference(found: Results) -> dict[str, Any]:
    """Return the statistic of claim (c) with its intervals, and how many pairs agree with it."""
    both = relevant("", "", found)
    statistic = STATISTICS["Section 3.2 (c)"]["difference"]
    ratios = {}
    for role, one in both.items():
        top, bottom = (pairs(one.squared[alpha]) for alpha in CORRECTED_ALPHAS)
        known = (top > 0) & (bottom > 0)
        ratios[role] = np.where(known, top / np.where(known, bottom, 1.0), np.nan)
    gaps = ratios["artificial"] - ratios["natural"]
    return {
        "over animals": with_interval(statistic, both).summary(),
        "over sessions": with_interval(statistic, both, "names").summary(),
        "pairs with a smaller ratio for natural stimuli": int(np.sum(gaps > 0)),
        "pairs": int(np.isfinite(gaps).sum()),
    }


def shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the share of choices under which each claim holds: of all cells, and corrected."""
    names = list(dict.fromkeys(name for row in rows for name in row["claims"]))
    out = {}
    for name in names:
        kinds = {}
        for kind in ("plug-in", "corrected"):
            chosen = [row for row in rows if row["estimate"] == kind and name in row["claims"]]
            holds = [row["claims"][name][1] for row in chosen]
            kinds[kind] = [int(sum(holds)), len(holds)]
        out[name] = kinds
    return out


def _truth(study: Study, key: str) -> dict[str, Any]:
    found = study.read(f"truth-{key}")
    gamma = validation.shrinkage_summary([found["gamma"]])
    out = {"distances": found["distances"], "gamma": gamma}
    return out | ({"ratios": found["ratios"]} if "ratios" in found else {})


def true_values(study: Study) -> dict[str, Any]:
    """Return the true values of all statistics, by claim and criterion."""
    cohorts = [study.read(name) for name in study.measured if name.startswith(TRUE_COHORT)]
    values = [{k: v for k, v in one.items() if isinstance(v, dict)} for one in cohorts]
    return truth.mean_values(values, _optional(study, TRUE_SUBSAMPLING))


def _seconds(study: Study) -> dict[str, float]:
    """Return how long all pieces took together, and the time of the processor."""
    found = [study.read(name) for name in study.measured]
    return {name: round(sum(one[name] for one in found)) for name in ("seconds", "cpu_seconds")}


def _optional(study: Study, name: str) -> dict[str, Any] | None:
    return study.read(name) if study.has(name) else None


def _versions(study: Study) -> dict[str, str]:
    """Return the versions that decide the results, and what measured the distances."""
    found = {VERSION: rs.__version__, "python": platform.python_version()}
    pieces = [study.read(name) for name in study.measured]
    for key in (VERSION, COMMIT):
        if values := {piece.get(key, "") for piece in pieces} - {""}:
            found[key] = ", ".join(sorted(values))
    return found | {name: version(name) for name in PACKAGES}
