"""Train and score the networks of a study, and keep what is finished whenever a run is stopped.

A folder holds ``settings.json`` and one folder for each network: ``latents.npz``, ``weights.npz``
and, written last, ``record.json``; later ``scores.json``. A network is finished once its record is
there, so an interrupted run continues where it stopped when the command is repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from experiments.vae.data import ImageData, load_data, load_sprites
from experiments.vae.jobs import run_jobs
from experiments.vae.scores import all_scores
from experiments.vae.settings import (
    CHOSEN,
    UNTRAINED,
    NetworkPlan,
    ScoreSettings,
    Settings,
    plan_networks,
)
from experiments.vae.sprites import FloatArray
from repshape.errors import MissingDependencyError, StorageError
from repshape.io.writing import TEMPORARY_SUFFIX, atomic_write

SETTINGS = "settings.json"
NETWORKS = "networks"
RECORD = "record.json"
LATENTS = "latents.npz"
WEIGHTS = "weights.npz"
SCORES = "scores.json"
TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Study:
    """Where a study is kept, and what it consists of.

    Attributes
    ----------
    out : Path
    settings : mapping of str to Settings
        By data set.
    scores : ScoreSettings
    images : Path or None
        Folder of the image files (`load_data`).
    only : str or None
        Work on this data set alone.
    """

    out: Path
    settings: Mapping[str, Settings]
    scores: ScoreSettings
    images: Path | None = None
    only: str | None = None

    def folder(self, plan: NetworkPlan) -> Path:
        """Return the folder of a network."""
        return self.out / NETWORKS / plan.name

    def plans(self) -> list[NetworkPlan]:
        """Return all networks, of one data set or of all."""
        chosen = [self.only] if self.only else list(self.settings)
        return [plan for name in chosen for plan in plan_networks(name, self.settings[name])]

    def data(self, dataset: str) -> ImageData:
        """Load a data set."""
        size = self.settings[dataset]
        counts = size.n_held_out, size.n_validation
        return load_data(dataset, self.images, size.architecture.side, *counts)

    def summary(self) -> dict[str, Any]:
        """Return what decides the results, ready for JSON."""
        found = {name: size.summary() for name, size in self.settings.items()}
        return {"datasets": found, "chosen": CHOSEN}


@dataclass(frozen=True)
class Job:
    """One network of a study, for a worker."""

    study: Study
    plan: NetworkPlan


def train_all(study: Study, workers: int, on_start: Callable[[int, int], None]) -> Iterator[Any]:
    """Train the networks that have no record yet; yield each record as it is written.

    Parameters
    ----------
    study : Study
    workers : int
        Processes, one core each.
    on_start : callable
        Called once, with the number of networks that were finished before and of all networks.
    """
    require_torch()
    claim_folder(study)
    plans = study.plans()
    jobs = [Job(study, plan) for plan in plans if not (study.folder(plan) / RECORD).exists()]
    for dataset in dict.fromkeys(job.plan.dataset for job in jobs):
        study.data(dataset)  # missing files are reported before anything is trained
    on_start(len(plans) - len(jobs), len(plans))
    yield from run_jobs(train_job, jobs, workers)


def train_job(job: Job) -> dict[str, Any]:
    """Train one network and write its files, the record last."""
    from experiments.vae.training import train_network

    study, plan = job.study, job.plan
    outcome = train_network(plan, study.data(plan.dataset), study.settings[plan.dataset])
    folder = study.folder(plan)
    folder.mkdir(parents=True, exist_ok=True)
    remove_temporary(folder)
    write_arrays(folder / LATENTS, outcome.latents)
    write_arrays(folder / WEIGHTS, outcome.weights)
    write_json(folder / RECORD, outcome.record)
    return outcome.record


def read_records(study: Study) -> Iterator[dict[str, Any]]:
    """Yield the records of all networks that are finished."""
    for plan in study.plans():
        path = study.folder(plan) / RECORD
        if path.exists():
            yield json.loads(path.read_text())


def score_all(study: Study, workers: int, on_start: Callable[[int, int], None]) -> Iterator[Any]:
    """Score the trained sprite networks that have no scores yet; yield what is written."""
    require_torch()
    claim_folder(study)
    plans = [plan for plan in study.plans() if is_scored(plan)]
    plans = [plan for plan in plans if (study.folder(plan) / RECORD).exists()]
    jobs = [Job(study, plan) for plan in plans if not (study.folder(plan) / SCORES).exists()]
    on_start(len(plans) - len(jobs), len(plans))
    yield from run_jobs(score_job, jobs, workers)


def is_scored(plan: NetworkPlan) -> bool:
    """Return whether a network has scores: it needs known factors, and training."""
    return plan.dataset == "dsprites" and plan.objective != UNTRAINED


def score_job(job: Job) -> dict[str, Any]:
    """Encode every sprite with one network, and write its fifteen scores."""
    from experiments.vae.encoding import encode_sprites

    study, plan = job.study, job.plan
    weights = dict(np.load(study.folder(plan) / WEIGHTS, allow_pickle=False))
    architecture = study.settings[plan.dataset].architecture
    sprites = load_sprites(study.images, architecture.side)
    table = encode_sprites(architecture, weights, sprites)
    found = {"name": plan.name} | all_scores(table, study.scores)
    write_json(study.folder(plan) / SCORES, found)
    return found


def claim_folder(study: Study) -> None:
    """Write the settings into the study's folder, or raise if it was made with others."""
    path = study.out / SETTINGS
    settings = json.loads(json.dumps(study.summary()))  # as they will be read: with lists
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, settings)
    elif json.loads(path.read_text())["datasets"] != settings["datasets"]:
        raise StorageError(f"{study.out} has networks of other settings. Choose another folder.")


def require_torch() -> None:
    """Raise a sentence that helps, if PyTorch is not installed."""
    if find_spec("torch") is None:
        raise MissingDependencyError(f"This command needs PyTorch: pip install {TORCH}.")


def remove_temporary(folder: Path) -> None:
    """Remove files that a run left incomplete when it was killed."""
    for path in folder.glob(f".*{TEMPORARY_SUFFIX}"):
        path.unlink()


def write_arrays(path: Path, arrays: Mapping[str, FloatArray]) -> None:
    """Write arrays to an .npz file, whole or not at all."""
    with atomic_write(path) as handle:
        np.savez(handle, allow_pickle=False, **arrays)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    with atomic_write(path) as handle:
        handle.write((json.dumps(value, indent=2, allow_nan=False) + "\n").encode())
