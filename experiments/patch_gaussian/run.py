"""Train the networks of the study, and keep what is finished whenever a run is stopped.

The folder of a network has ``weights.npz`` and ``record.json``. An interrupted run resumes when the
command is repeated (`common.files`).

Networks that are already trained are in the archives of the folder ``trained``, beside this file.
With ``--kept`` the commands read them from there, and train only the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.common import files
from experiments.common.archives import NetworkFiles, archive_of, find_archives, read_records
from experiments.common.devices import CPU, check_device
from experiments.common.images import TrainTest
from experiments.common.jobs import run_jobs
from experiments.common.reproducible import deterministic, require_torch, versions, weights_hash
from experiments.common.rounds import PILOT, is_chosen, settings_of_round
from experiments.patch_gaussian.data import load_data
from experiments.patch_gaussian.settings import (
    CHOSEN,
    MEASURE_SCALES,
    ROUNDS,
    MeasureSettings,
    NetworkPlan,
    Settings,
    plan_networks,
)

if TYPE_CHECKING:
    from experiments.patch_gaussian.training import Trained

KEPT = Path(__file__).parent / "trained"


@dataclass(frozen=True)
class Study:
    """Where the study is kept, and what it consists of.

    Attributes
    ----------
    out : Path
        Records and weights, later also responses and distances.
    settings : Settings
    measure : MeasureSettings
    images : Path or None
        Folder of CIFAR-10 (`data.load_data`).
    scale : str
        Name of the settings.
    seeds : range or None
        Work on these seeds alone.
    archives : tuple of Path
        Networks that are kept there need not be trained (`common.archives`).
    device : str
        Of training and collecting.
    part : str
        The pilot or the confirmation (`common.rounds`).
    """

    out: Path
    settings: Settings
    measure: MeasureSettings
    images: Path | None = None
    scale: str = "small"
    seeds: range | None = None
    archives: tuple[Path, ...] = ()
    device: str = CPU
    part: str = PILOT

    @classmethod
    def of_scale(
        cls,
        scale: str,
        out: Path,
        images: Path | None = None,
        part: str = PILOT,
        seeds: range | None = None,
        *,
        kept: bool = False,
        device: str = CPU,
    ) -> Study:
        """Return a study with the settings of a scale, for the pilot or the confirmation."""
        settings = settings_of_round(ROUNDS, part, scale)
        archives = find_archives(KEPT, settings=asdict(settings)) if kept else ()
        measure = replace(MEASURE_SCALES[scale], centred=part == PILOT)
        return cls(out, settings, measure, images, scale, seeds, archives, device, part)

    def plans(self) -> list[NetworkPlan]:
        """Return all networks, of some seeds or of all."""
        return [plan for plan in plan_networks(self.settings) if is_chosen(plan.seed, self.seeds)]

    def folder(self, plan: NetworkPlan) -> Path:
        """Return the folder of a network."""
        return self.out / files.NETWORKS / plan.name

    def network(self, plan: NetworkPlan) -> NetworkFiles:
        """Return what is stored of a network."""
        return NetworkFiles(self.folder(plan), archive_of(plan.name, self.archives))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of all networks that are finished."""
        return read_records(map(self.network, self.plans()))

    def data(self) -> TrainTest:
        """Load the images."""
        size = self.settings
        return load_data(self.images, size.side, size.train_per_class, size.test_per_class)

    def summary(self) -> dict[str, Any]:
        """Return what decides the results, ready for JSON."""
        return {"settings": asdict(self.settings), "chosen": CHOSEN}


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
    check_device(study.device)
    files.claim_folder(study.out, study.summary(), "settings")
    plans = study.plans()
    jobs = [plan for plan in plans if not study.network(plan).has(files.RECORD)]
    if jobs:
        study.data()  # missing files are reported before anything is trained
    on_start(len(plans) - len(jobs), len(plans))
    yield from run_jobs(partial(train_job, study), jobs, workers)


def train_job(study: Study, plan: NetworkPlan) -> dict[str, Any]:
    """Train one network, and write its files, the record last."""
    from experiments.patch_gaussian import accuracy, networks, training

    data, folder = study.data(), study.folder(plan)
    files.prepare_network_folder(folder)
    watch = training.Stopwatch()
    with deterministic():
        trained = training.train_network(plan, data, study.settings, study.device)
        network = trained.network.eval()
        weights = networks.halve_weights(network)
        shares = accuracy.measure_accuracy(network, data.test, study.settings)
    files.write_arrays(folder / files.WEIGHTS, weights)
    record = _describe(study.settings, plan, trained) | {
        "accuracy": shares,
        "failed": not shares[accuracy.CLEAN] >= accuracy.SMALLEST_ACCURACY,
        "weights_sha256": weights_hash(weights),
        "versions": versions(),
        "device": study.device,
        **watch.read(),
    }
    files.write_json(folder / files.RECORD, record)
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
        "settings": asdict(settings),
    }
