"""Measure what the paper's job costs: processor time of pairs of trained networks.

python -m experiments.patch_gaussian.cost DIR --images FOLDER

Networks are measured with fewer images than the paper's 2000. The time of a gradient grows in
proportion to the number of images, but the number of starts falls where gradients are expensive;
two numbers of images show how the time of a pair grows.
"""

from __future__ import annotations

import json
import os
import platform
import time
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import repshape as rs
from experiments.common import files
from experiments.common.reproducible import deterministic
from experiments.common.stores import alpha_name, gaussian_metrics
from experiments.patch_gaussian.claims import ALPHAS, SPREAD_TAU
from experiments.patch_gaussian.collecting import COVARIANCE, load_network, noise_seed
from experiments.patch_gaussian.data import balanced_choice
from experiments.patch_gaussian.job import whole_job
from experiments.patch_gaussian.networks import REPRESENTATION
from experiments.patch_gaussian.run import Study
from experiments.patch_gaussian.settings import MEASURE_SCALES, PAPER, TAUS, plan_networks
from experiments.patch_gaussian.training import as_tensor
from repshape.errors import InputError

COST = "cost.json"
N_IMAGES = (80, 400)
N_PASSES = 200
N_NETWORKS = 2


def collect_networks(study: Study, n_images: int) -> dict[str, rs.Gaussians]:
    """Return trained networks with covariances of full rank, as the paper's are."""
    plans = [p for p in study.plans() if study.network(p).has(files.RECORD)]
    if len(plans) < N_NETWORKS:
        raise InputError(f"At least {N_NETWORKS} trained networks are needed. Got {len(plans)}.")
    data = study.data()
    images = as_tensor(data.test.pixels(balanced_choice(data.test.labels, n_images)))
    found = {}
    for plan in plans[:: len(plans) // N_NETWORKS][:N_NETWORKS]:
        with deterministic():
            network: Any = rs.pytorch.collect(
                load_network(study, plan, data),
                REPRESENTATION,
                images,
                N_PASSES,
                noise=SPREAD_TAU,
                covariance=COVARIANCE,
                random_state=noise_seed(plan, SPREAD_TAU, "cost"),
                progress=False,
            )
        ridge = MEASURE_SCALES["paper"].ridge * np.eye(network.means.shape[1])
        found[plan.name] = rs.Gaussians(network.means, network.covariances + ridge)
    return found


def measure_cost(study: Study) -> dict[str, Any]:
    """Return the processor seconds of a pair for each alpha, and of all pairs of the paper."""
    seconds: dict[str, dict[str, float]] = {}
    for n_images in N_IMAGES:
        networks = collect_networks(study, n_images)
        n_pairs = len(list(combinations(networks, 2)))
        for name, metric in gaussian_metrics(ALPHAS, centred=False).items():
            start = time.process_time()
            rs.pairwise(list(networks.values()), metric, workers=1, progress=False)
            taken = (time.process_time() - start) / n_pairs
            seconds.setdefault(name, {})[str(n_images)] = round(taken, 4)
    count = len(plan_networks(PAPER))
    n_paper = MEASURE_SCALES["paper"].n_images
    most = max(N_IMAGES)
    pairs = count * (count - 1) // 2 * len(TAUS)
    per_pair = {alpha_name(a): seconds[alpha_name(a)][str(most)] * n_paper / most for a in ALPHAS}
    return {
        "passes": N_PASSES,
        "networks": list(networks),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "seconds_per_pair": seconds,
        "paper_images": n_paper,
        "paper_seconds_per_pair": {name: round(value, 3) for name, value in per_pair.items()},
        "pairs": pairs,
        "core_hours": {name: round(value * pairs / 3600, 1) for name, value in per_pair.items()},
    }


def main(
    out: Annotated[Path, typer.Argument(help="Folder of a study with trained networks.")],
    images: Annotated[Path | None, typer.Option(help="As in the study.")] = None,
    scale: Annotated[str, typer.Option(help="As in the study.")] = "small",
    results: Annotated[Path, typer.Option(help="Where to write the result.")] = Path(
        "experiments/patch_gaussian/results"
    ),
    only_job: Annotated[
        bool, typer.Option(help="Time training and collecting alone; keep stored times of pairs.")
    ] = False,
) -> None:
    """Measure the processor time of a pair, and say what the paper's whole job would cost."""
    path = results / COST
    found: dict[str, Any] = {}
    if only_job:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    else:
        found = measure_cost(Study.of_scale(scale, out, images, kept=True))
    found["job"] = whole_job()
    results.mkdir(parents=True, exist_ok=True)
    files.write_json(path, found)
    typer.echo(job_words(found))
    typer.echo(f"wrote {path}", err=True)


def job_words(found: dict[str, Any]) -> str:
    """Return the price of the paper's job in a sentence."""
    job = found["job"]
    distances = sum(found.get("core_hours", {}).values())
    return (
        f"{job['networks']} networks: training {job['training_core_hours']} core hours, collecting "
        f"responses {job['collection_core_hours']}, distances {distances:.0f}; covariances take "
        f"{job['covariances_gigabytes']:g} GB"
    )


if __name__ == "__main__":
    typer.run(main)
