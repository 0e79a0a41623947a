"""Measure what the paper's job costs: processor time of a pair of trained networks, 2048 images.

python -m experiments.vae.cost DIR

DIR may be empty: networks that are not there are those that are kept with the study (`run.KEPT`).
"""

from __future__ import annotations

import json
import os
import platform
import time
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

import repshape as rs
from experiments.common import files
from experiments.common.reproducible import deterministic
from experiments.common.stores import gaussian_metrics
from experiments.vae.claims import ALPHAS, ENERGY
from experiments.vae.cohorts import draw_trials, gaussians
from experiments.vae.data import load_data
from experiments.vae.run import Study, is_scored
from experiments.vae.settings import NetworkPlan
from repshape.errors import InputError

COST = "cost.json"
N_IMAGES, N_TRIALS = 2048, 64  # of the paper
N_NETWORKS = 4
PAPER_NETWORKS = 1800


def choose_networks(study: Study, count: int) -> list[NetworkPlan]:
    """Return the first trained network of each objective whose weights are there."""
    first: dict[str, NetworkPlan] = {}
    for plan in filter(is_scored, study.plans()):
        if study.network(plan).has(files.WEIGHTS):
            first.setdefault(plan.objective, plan)
    if len(first) < count:
        raise InputError(
            f"At least {count} trained networks of different objectives, with their weights, are "
            f"needed. Got {len(first)}."
        )
    return list(first.values())[:count]


def encoded_networks(study: Study, count: int) -> dict[str, rs.Gaussians]:
    """Return trained networks of different objectives, with the paper's number of images."""
    from experiments.vae.networks import Vae

    chosen = choose_networks(study, count)
    size = study.settings["dsprites"].architecture
    data = load_data("dsprites", study.images, size.side, N_IMAGES)
    images = data.read(data.held_out)
    found = {}
    with deterministic():
        for plan in chosen:
            vae = Vae.build(size, 0, plan.initialisation)
            vae.load(study.network(plan).arrays(files.WEIGHTS))
            found[plan.name] = gaussians(*vae.latents(images), N_IMAGES)
    return found


def measure_cost(study: Study) -> dict[str, Any]:
    """Return the processor seconds of a pair for each matrix, and of all pairs of the paper."""
    networks = encoded_networks(study, N_NETWORKS)
    metrics: dict[str, Any] = {**gaussian_metrics(ALPHAS, centred=False)}
    metrics[ENERGY] = rs.EnergyShapeMetric(1.0)
    n_pairs = len(list(combinations(networks, 2)))
    seconds = {}
    for name, metric in metrics.items():
        compared: list[Any] = list(networks.values())
        if name == ENERGY:
            compared = [draw_trials(key, one, N_TRIALS) for key, one in networks.items()]
        start = time.process_time()
        rs.pairwise(compared, metric, workers=1, progress=False)
        seconds[name] = round((time.process_time() - start) / n_pairs, 4)
    pairs = PAPER_NETWORKS * (PAPER_NETWORKS - 1) // 2
    return {
        "images": N_IMAGES,
        "trials": N_TRIALS,
        "networks": list(networks),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "seconds_per_pair": seconds,
        "pairs": pairs,
        "core_hours": {name: round(one * pairs / 3600, 1) for name, one in seconds.items()},
    }


def main(
    out: Annotated[Path, typer.Argument(help="Folder of a study with trained networks.")],
    results: Annotated[Path, typer.Option(help="Where to write the result.")] = Path(
        "experiments/vae/results"
    ),
    only_job: Annotated[
        bool, typer.Option(help="Time training and encoding alone; keep stored times of pairs.")
    ] = False,
) -> None:
    """Measure the processor time of a pair, and say what the paper's whole job would cost."""
    from experiments.vae.job import whole_job

    path = results / COST
    found: dict[str, Any] = {}
    if only_job:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    else:
        found = measure_cost(Study.of_scale("small", out, kept=True))
    found["job"] = whole_job()
    files.write_json(path, found)
    for name, job in found["job"].items():
        typer.echo(f"{name}: {job_words(job)}")
    distances = sum(found.get("core_hours", {}).values())
    typer.echo(f"dsprites: distances {distances:.0f} core hours")
    typer.echo(f"wrote {path}", err=True)


def job_words(job: dict[str, Any]) -> str:
    """Return the price of one data set in words."""
    return (
        f"{job['networks']} networks, training {job['training_core_hours']} core hours, encoding "
        f"{job['collection_core_hours']:g}; latents take {job['latents_megabytes']} MB"
    )


if __name__ == "__main__":
    typer.run(main)
