"""Responses of trained networks to noisy test images, collected from their weights.

For each tau there is a cohort on disk. Networks that are in it are not collected again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import repshape as rs
from experiments.common import files
from experiments.common.images import TrainTest
from experiments.common.jobs import run_jobs
from experiments.common.reproducible import deterministic, weights_hash
from experiments.patch_gaussian.data import balanced_choice, channel_moments
from experiments.patch_gaussian.networks import (
    REPRESENTATION,
    ResNet,
    build_network,
    set_weights,
)
from experiments.patch_gaussian.run import Study
from experiments.patch_gaussian.settings import NetworkPlan
from experiments.patch_gaussian.training import as_tensor, random_stream
from repshape.errors import InputError

RESPONSES = "responses"
COVARIANCE = "unbiased"


def cohort_path(study: Study, tau: float) -> Path:
    """Return where the responses at one tau are kept; it names the numbers of images and passes."""
    size = study.measure
    return study.out / RESPONSES / f"tau-{tau:g}-{size.n_images}x{size.n_passes}"


def load_network(study: Study, plan: NetworkPlan, data: TrainTest) -> ResNet:
    """Return a trained network, or raise if its weights are not those of its record."""
    stored = study.network(plan)
    weights = stored.arrays(files.WEIGHTS)
    if weights_hash(weights) != stored.json(files.RECORD)["weights_sha256"]:
        raise InputError(f"The weights of {plan.name} are not those that its record describes.")
    network = build_network(study.settings.architecture, *channel_moments(data.train), 0)
    set_weights(network, weights)
    return network.eval().to(study.device)


def collect_all(
    study: Study, plans: Sequence[NetworkPlan], workers: int = 1
) -> Iterator[dict[str, Any]]:
    """Collect all responses that are missing; yield the name of each network when it is done.

    With several workers, each is a process that collects the responses at one tau after another,
    and the names are those of the taus: a cohort on disk then has one writer.
    """
    if workers == 1:
        yield from _collect(study, plans)
        return
    yield from run_jobs(partial(collect_tau, study, plans), study.settings.taus, workers)


def collect_tau(study: Study, plans: Sequence[NetworkPlan], tau: float) -> dict[str, Any]:
    """Collect the responses of all networks at one tau."""
    for _ in _collect(replace(study, settings=replace(study.settings, taus=(tau,))), plans):
        pass
    return {"name": f"responses at tau = {tau:g}"}


def _collect(study: Study, plans: Sequence[NetworkPlan]) -> Iterator[dict[str, Any]]:
    data = study.data()
    chosen = balanced_choice(data.test.labels, study.measure.n_images)
    images = as_tensor(data.test.pixels(chosen)).to(study.device)
    cohorts = {tau: open_cohort(cohort_path(study, tau)) for tau in study.settings.taus}
    for plan in plans:
        network = load_network(study, plan, data)
        for tau, cohort in cohorts.items():
            with deterministic():
                collect_one(study, plan, network, tau, cohort, images, [str(k) for k in chosen])
        yield {"name": f"responses of {plan.name}"}


def open_cohort(path: Path) -> rs.Cohort:
    """Open a cohort on disk, or create it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return rs.Cohort.open(path) if path.exists() else rs.Cohort.create(path)


def collect_one(
    study: Study,
    plan: NetworkPlan,
    network: ResNet,
    tau: float,
    cohort: rs.Cohort,
    images: Any,
    conditions: list[str],
) -> None:
    """Add the responses of one network at one tau to their cohort, unless it has them."""
    size = study.measure
    options: dict[str, Any] = {
        "noise": tau,
        "random_state": noise_seed(plan, tau),
        "conditions": conditions,
        "progress": False,
    }
    if size.keep_trials:
        rs.pytorch.collect(
            network,
            REPRESENTATION,
            images,
            size.n_passes,
            moments=False,
            cohort=cohort,
            name=plan.name,
            **options,
        )
        return
    if plan.name not in cohort.labels:
        found: Any = rs.pytorch.collect(
            network, REPRESENTATION, images, size.n_passes, covariance=COVARIANCE, **options
        )
        ridge = size.ridge * np.eye(found.means.shape[1])
        cohort.add(
            plan.name, rs.Gaussians(found.means, found.covariances + ridge, conditions=conditions)
        )


def noise_seed(plan: NetworkPlan, tau: float, *words: str) -> int:
    """Return a seed of the noise that no other network, tau or use has."""
    stream = random_stream("responses", plan.seed, plan.cell, f"{tau:g}", *words)
    return int(stream.integers(2**63))


def read_networks(
    study: Study, plans: Sequence[NetworkPlan], tau: float, half: int = 0
) -> rs.Cohort | list[rs.Gaussians]:
    """Return the networks at one tau, of all passes or of the first or second half (1 or 2)."""
    names = [plan.name for plan in plans]
    cohort = rs.Cohort.open(cohort_path(study, tau))
    if not study.measure.keep_trials:
        return cohort[names]
    count = study.measure.n_passes // 2
    part = (slice(None), slice(None, count), slice(count, 2 * count))[half]
    found = []
    for name in names:
        trials: Any = cohort[name]
        kept = rs.Trials([one[part] for one in trials.responses], conditions=trials.conditions)
        found.append(rs.estimate_moments(kept, COVARIANCE))
    return found
