"""How often intervals contain the truth, over many small simulated cohorts.

python -m experiments.brain.coverage --cohorts 20 --out DIR
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from threadpoolctl import threadpool_limits

import repshape as rs
from experiments.brain import corrected, validation
from experiments.brain.settings import SMALL, Settings
from experiments.brain.simulate import animals_of, draw_trials
from experiments.brain.sources import GRATINGS, SCENES, Stimulus
from experiments.brain.study import without_nan
from experiments.common.command import follow
from experiments.common.files import claim_folder, write_json
from experiments.common.options import Out, Workers

COVERAGE = "coverage.json"
# Four animals give six pairs. Pairs within a cohort are not independent; cohorts are.
# Noise floors are not used here.
SIZE = replace(SMALL, n_animals=4, n_drifting=0, n_splits=1)
CLASSES = (GRATINGS, SCENES)


@dataclass(frozen=True)
class Coverage:
    """A set of simulated cohorts, each with its own seed."""

    out: Path
    settings: Settings
    n_cohorts: int

    def file(self, seed: int) -> Path:
        """Return the file of one cohort."""
        return self.out / f"cohort-{seed}.json"


def measure(
    run: Coverage, workers: int, on_start: Callable[[int, int], None] = lambda done, total: None
) -> Iterator[dict[str, Any]]:
    """Simulate and measure the cohorts that are missing; then write the summary."""
    summary = {"settings": vars(run.settings) | {"seed": None}}
    claim_folder(run.out, summary, "settings")
    seeds = range(1, run.n_cohorts + 1)
    missing = [seed for seed in seeds if not run.file(seed).exists()]
    on_start(run.n_cohorts - len(missing), run.n_cohorts)
    for seed in missing:
        size = replace(run.settings, seed=seed)
        with threadpool_limits(limits=1, user_api="blas"):  # matrices are small
            found = {one.key: measure_class(size, one, workers) for one in CLASSES}
        write_json(run.file(seed), without_nan(found))
        yield {"name": f"cohort {seed}"}
    write_json(run.out / COVERAGE, summarise([json.loads(run.file(s).read_text()) for s in seeds]))


def measure_class(settings: Settings, stimulus: Stimulus, workers: int) -> dict[str, Any]:
    """Compare one class of one cohort with the truth: errors and intervals of every pair."""
    animals = animals_of(settings)
    tables = {animal.name: animal.tables[stimulus.table] for animal in animals}
    rows = {name: validation.shown(table, stimulus) for name, table in tables.items()}
    networks = {
        one.name: draw_trials(one, tables[one.name], rows[one.name], one.trials_rng())
        for one in animals
    }
    moments: dict[str, rs.Gaussians] = validation.true_networks(
        settings, stimulus.key, list(networks)
    )
    truth = validation.true_distances(moments, settings.n_components, workers)
    out: dict[str, Any] = {}
    for alpha, exact in truth.items():
        found = corrected.measure_class(
            networks, settings, float(alpha), settings.n_components, workers
        )
        out[f"d_{alpha}"] = {"truth": exact, **{k: found[k] for k in corrected.COLUMNS}}
    ratios = corrected.pair_ratios(networks, settings, workers)["values"]
    exact_ratios = (np.array(truth["0"]) / np.array(truth["2"]))[: len(ratios)]
    estimate, low, high, plug_in = np.array(ratios, dtype=np.float64).T.tolist()
    out["d_0 / d_2"] = {
        "truth": exact_ratios.tolist(),
        "estimate": estimate,
        "low": low,
        "high": high,
        "plug_in": plug_in,
    }
    out["gamma"] = validation.shrinkage_errors(networks, moments, settings)
    return out


def summarise(cohorts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return coverage, with its standard error over cohorts, and bias, by class and distance."""
    out: dict[str, Any] = {"cohorts": len(cohorts), "classes": {}}
    for key, first in cohorts[0].items():
        found = {what: [cohort[key][what] for cohort in cohorts] for what in first}
        gamma = found.pop("gamma")
        out["classes"][key] = {what: _summary(one) for what, one in found.items()}
        out["classes"][key]["gamma"] = validation.shrinkage_summary(gamma)
    return out


def _summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Summarise one distance over cohorts; a ratio that could not be estimated is left out."""
    names = ("truth", "estimate", "low", "high", "plug_in")
    shares, errors, plain = [], [], []
    for one in found:
        truth, estimate, low, high, plug_in = (np.array(one[n], dtype=np.float64) for n in names)
        known = np.isfinite(estimate) & np.isfinite(low)
        inside = (low <= truth) & (truth <= high)
        if known.any():
            shares.append(float(inside[known].mean()))
        errors += (np.sign(estimate) * (estimate / truth) ** 2 - 1)[known].tolist()
        plain += ((plug_in / truth) ** 2 - 1)[known].tolist()
    spread = float(np.std(shares, ddof=1) / np.sqrt(len(shares))) if len(shares) > 1 else None
    return {
        "coverage": float(np.mean(shares)),
        "standard_error": spread,
        "bias": float(np.median(errors)),
        "bias, plug-in": float(np.median(plain)),
        "intervals": len(errors),
    }


def main(
    out: Out = Path("brain-coverage"),
    cohorts: Annotated[int, typer.Option(min=2, help="Number of simulated cohorts.")] = 20,
    workers: Workers = None,
) -> None:
    """Count how often 90 % intervals contain the true distances of simulated cohorts."""
    run = Coverage(out, SIZE, cohorts)
    console = Console(stderr=True)
    follow(console, "cohorts", partial(measure, run), workers)
    console.print_json((out / COVERAGE).read_text())


if __name__ == "__main__":
    typer.run(main)
