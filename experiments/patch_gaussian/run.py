"""Train the networks of the study, and keep what is finished whenever a run is stopped.

A folder holds ``settings.json`` and one folder for each network: ``responses-TAU.npz`` for each
tau, ``weights.npz`` and, written last, ``record.json``. A network is finished once its record is
there, so an interrupted run continues where it stopped when the command is repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from experiments.patch_gaussian.data import Cifar10, load_data
from experiments.patch_gaussian.jobs import run_jobs
from experiments.patch_gaussian.settings import CHOSEN, NetworkPlan, Settings, plan_networks
from repshape.errors import MissingDependencyError, StorageError
from repshape.io.writing import TEMPORARY_SUFFIX, atomic_write

if TYPE_CHECKING:
    from experiments.patch_gaussian.training import Trained

SETTINGS = "settings.json"
NETWORKS = "networks"
RECORD = "record.json"
WEIGHTS = "weights.npz"
TORCH = "torch==2.13.0"


@dataclass(frozen=True)
class Study:
    """Where the study is kept, and what it consists of.

    Attributes
    ----------
    out : Path
        Records, responses and weights; about 16 MB for each network of the small scale.
    settings : Settings
    images : Path or None
        Folder of CIFAR-10 (`data.load_data`).
    """

    out: Path
    settings: Settings
    images: Path | None = None

    def folder(self, plan: NetworkPlan) -> Path:
        """Return the folder of a network."""
        return self.out / NETWORKS / plan.name

    def responses(self, plan: NetworkPlan, tau: float) -> Path:
        """Return the file of a network's responses at one tau."""
        return self.folder(plan) / f"responses-{tau:g}.npz"

    def data(self) -> Cifar10:
        """Load the images."""
        size = self.settings
        return load_data(self.images, size.side, size.train_per_class, size.test_per_class)

    def summary(self) -> dict[str, Any]:
        """Return what decides the results, ready for JSON."""
        return {"settings": self.settings.summary(), "chosen": CHOSEN}


@dataclass(frozen=True)
class Job:
    """One network of the study, for a worker."""

    study: Study
    plan: NetworkPlan


def train_all(
    study: Study, workers: int, on_start: Callable[[int, int], None] = lambda done, total: None
) -> Iterator[dict[str, Any]]:
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
    plans = plan_networks(study.settings)
    jobs = [Job(study, plan) for plan in plans if not (study.folder(plan) / RECORD).exists()]
    if jobs:
        study.data()  # missing files are reported before anything is trained
    on_start(len(plans) - len(jobs), len(plans))
    yield from run_jobs(train_job, jobs, workers)


def train_job(job: Job) -> dict[str, Any]:
    """Train and measure one network, and write its files, the record last."""
    from experiments.patch_gaussian import networks, responses, training

    study, plan, data = job.study, job.plan, job.study.data()
    folder = study.folder(plan)
    folder.mkdir(parents=True, exist_ok=True)
    remove_temporary(folder)
    watch = training.Stopwatch()
    with training.deterministic():
        trained = training.train_network(plan, data, study.settings)
        network = trained.network.eval()
        accuracy = responses.measure_accuracy(network, data.test, study.settings)
        for tau, arrays in responses.measure_responses(network, plan, data, study.settings):
            write_arrays(study.responses(plan, tau), arrays)
    weights = networks.get_weights(network)
    write_arrays(folder / WEIGHTS, weights)
    record = _describe(study.settings, plan, trained) | {
        "accuracy": accuracy,
        "failed": not accuracy[responses.CLEAN] >= responses.SMALLEST_ACCURACY,
        "weights_sha256": training.weights_hash(weights),
        "versions": training.versions(),
        **watch.read(),
    }
    write_json(folder / RECORD, record)
    return record


def _describe(settings: Settings, plan: NetworkPlan, trained: Trained) -> dict[str, Any]:
    """Return what the plan and the training say, ready for JSON."""
    losses = [loss if np.isfinite(loss) else None for loss in trained.losses]
    patch = plan.patch
    return {
        "name": plan.name,
        "cell": plan.cell,
        "width": None if patch is None else patch.width,
        "sigma": None if patch is None else patch.sigma,
        "seed": plan.seed,
        "losses": losses,
        "settings": settings.summary(),
    }


def read_records(study: Study) -> Iterator[dict[str, Any]]:
    """Yield the records of all networks that are finished."""
    for plan in plan_networks(study.settings):
        path = study.folder(plan) / RECORD
        if path.exists():
            yield json.loads(path.read_text())


def claim_folder(study: Study) -> None:
    """Write the settings into the study's folder, or raise if it was made with others."""
    path = study.out / SETTINGS
    summary = json.loads(json.dumps(study.summary()))  # as they will be read: with lists
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, summary)
    elif json.loads(path.read_text())["settings"] != summary["settings"]:
        raise StorageError(f"{study.out} has networks of other settings. Choose another folder.")


def require_torch() -> None:
    """Raise an error that says how to install PyTorch, if it is not installed."""
    if find_spec("torch") is None:
        raise MissingDependencyError(f"Training needs PyTorch: pip install {TORCH}.")


def remove_temporary(folder: Path) -> None:
    """Remove files that a run left incomplete when it was killed."""
    for path in folder.glob(f".*{TEMPORARY_SUFFIX}"):
        path.unlink()


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays to an .npz file, whole or not at all."""
    with atomic_write(path) as handle:
        np.savez(handle, allow_pickle=False, **arrays)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    with atomic_write(path) as handle:
        handle.write((json.dumps(value, indent=2, allow_nan=False) + "\n").encode())
