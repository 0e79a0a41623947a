"""Train and score the networks of a study, and keep what is finished whenever a run is stopped.

The folder of a network has ``latents.npz``, ``weights.npz`` and ``record.json``; later also
``scores.json``. An interrupted run resumes when the command is repeated (`common.files`).

Networks that are already trained and scored are in the archives of the folder ``trained``, beside
this file, mostly without their weights (`keep`). With ``--kept`` the commands read them from there,
and train and score only the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.common import files
from experiments.common.archives import NetworkFiles, archive_of, find_archives, read_records
from experiments.common.devices import CPU, check_device
from experiments.common.jobs import run_jobs
from experiments.common.reproducible import require_torch
from experiments.common.rounds import CONFIRMATION, PILOT, is_chosen, settings_of_round
from experiments.vae.data import RENDERED, ImageData, find_sprites, load_data, load_sprites
from experiments.vae.scales import MEASURE_SCALES, ROUNDS, SCORE_SCALES
from experiments.vae.settings import (
    CHOSEN,
    UNTRAINED,
    MeasureSettings,
    NetworkPlan,
    ScoreSettings,
    Settings,
    plan_networks,
)

SPRITES = "dsprites"
LATENTS = "latents.npz"
SCORES = "scores.json"
FULL_SCORES = "scores_full.json"
KEPT = Path(__file__).parent / "trained"


@dataclass(frozen=True)
class Study:
    """Where a study is kept, and what it consists of.

    Attributes
    ----------
    out : Path
    settings : mapping of str to Settings
        By data set.
    scores : ScoreSettings
    measure : MeasureSettings
    images : Path or None
        Folder of the image files (`load_data`).
    only : str or None
        Work on this data set alone.
    scale : str
        Name of the settings.
    seeds : range or None
        Work on these seeds alone.
    archives : tuple of Path
        Networks that are kept there need not be trained (`common.archives`).
    sprites : str or None
        The original file of dSprites, or "rendered" (`data.find_sprites`).
    device : str
        Of the training.
    part : str
        The pilot or the confirmation (`common.rounds`).
    """

    out: Path
    settings: Mapping[str, Settings]
    scores: ScoreSettings
    measure: MeasureSettings
    images: Path | None = None
    only: str | None = None
    scale: str = "small"
    seeds: range | None = None
    archives: tuple[Path, ...] = ()
    sprites: str | None = None
    device: str = CPU
    part: str = PILOT

    def folder(self, plan: NetworkPlan) -> Path:
        """Return the folder of a network."""
        return self.out / files.NETWORKS / plan.name

    def network(self, plan: NetworkPlan) -> NetworkFiles:
        """Return what is stored of a network."""
        return NetworkFiles(self.folder(plan), archive_of(plan.name, self.archives))

    def plans(self) -> list[NetworkPlan]:
        """Return all networks, of one data set or of all, of some seeds or of all."""
        chosen = [self.only] if self.only else list(self.settings)
        plans = [plan for name in chosen for plan in plan_networks(name, self.settings[name])]
        return [plan for plan in plans if is_chosen(plan.seed, self.seeds)]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of all networks that are finished."""
        return read_records(map(self.network, self.plans()))

    def data(self, dataset: str) -> ImageData:
        """Load a data set."""
        size = self.settings[dataset]
        counts = size.n_held_out, size.n_validation
        sprites = self.sprites if dataset == SPRITES else None
        return load_data(dataset, self.images, size.architecture.side, *counts, sprites)

    def sprites_file(self) -> Path | None:
        """Return the original file of dSprites, or None if sprites are rendered."""
        return find_sprites(self.images, self.sprites, required=self.scale == "paper")

    def summary(self) -> dict[str, Any]:
        """Return what decides the results, ready for JSON."""
        found = {name: asdict(size) for name, size in self.settings.items()}
        return {"datasets": found, "chosen": CHOSEN}

    @classmethod
    def of_scale(
        cls,
        scale: str,
        out: Path,
        images: Path | None = None,
        only: str | None = None,
        part: str = PILOT,
        seeds: range | None = None,
        *,
        kept: bool = False,
        sprites: str | None = None,
        device: str = CPU,
    ) -> Study:
        """Return a study with the settings of a scale, for the pilot or the confirmation."""
        settings = settings_of_round(ROUNDS, part, scale)
        measure = MEASURE_SCALES[scale]
        if part == CONFIRMATION:  # the pilot has compared numbers of samples, which decide no claim
            measure = replace(measure, untrained_pairs=True, sweep_seeds=0)
        sizes = settings, SCORE_SCALES[scale], measure
        archives = [
            path
            for name in (settings if kept else ())
            for path in find_archives(KEPT, dataset=name, settings=asdict(settings[name]))
        ]
        return cls(out, *sizes, images, only, scale, seeds, tuple(archives), sprites, device, part)

    def prepare(self) -> None:
        """Check that PyTorch and the folder can be used, before anything is computed."""
        require_torch()
        check_device(self.device)
        files.claim_folder(self.out, self.summary(), "datasets")


def train_all(study: Study, workers: int, on_start: Callable[[int, int], None]) -> Iterator[Any]:
    """Train the networks that have no record yet; yield each record as it is written.

    ``workers`` is the number of processes. ``on_start`` is called once, with the number of networks
    that were finished before and of all networks.
    """
    yield from train_plans(study, study.plans(), workers, on_start)


def train_plans(
    study: Study, plans: list[NetworkPlan], workers: int, on_start: Callable[[int, int], None]
) -> Iterator[Any]:
    """Train some networks, as `train_all` trains all."""
    study.prepare()
    jobs = [plan for plan in plans if not study.network(plan).has(files.RECORD)]
    if any(plan.dataset == SPRITES for plan in jobs):
        study.sprites_file()
    for dataset in dict.fromkeys(plan.dataset for plan in jobs):
        study.data(dataset)  # missing files are reported before anything is trained
    on_start(len(plans) - len(jobs), len(plans))
    yield from run_jobs(partial(train_job, study), jobs, workers)


def train_job(study: Study, plan: NetworkPlan) -> dict[str, Any]:
    """Train one network and write its files, the record last."""
    from experiments.vae.training import train_network

    data, size = study.data(plan.dataset), study.settings[plan.dataset]
    outcome = train_network(plan, data, size, device=study.device)
    record, folder = outcome.record, study.folder(plan)
    if plan.dataset == SPRITES:
        record = record | {"sprites": sprites_words(study.sprites_file())}
    files.prepare_network_folder(folder)
    files.write_arrays(folder / LATENTS, outcome.latents)
    files.write_arrays(folder / files.WEIGHTS, outcome.weights)
    files.write_json(folder / files.RECORD, record)
    return record


def sprites_words(file: Path | None) -> str:
    """Return where sprites come from, for the record of a network."""
    return RENDERED if file is None else file.name


def score_all(study: Study, workers: int, on_start: Callable[[int, int], None]) -> Iterator[Any]:
    """Score the trained sprite networks that have no scores yet; yield what is written."""
    study.prepare()
    plans = [plan for plan in study.plans() if is_scored(plan)]
    plans = [plan for plan in plans if study.network(plan).has(files.RECORD)]
    jobs = [plan for plan in plans if not study.network(plan).has(SCORES)]
    on_start(len(plans) - len(jobs), len(plans))
    yield from run_jobs(partial(score_job, study), jobs, workers)


def check_scores(
    study: Study, count: int, workers: int, on_start: Callable[[int, int], None]
) -> Iterator[Any]:
    """Score some networks once more at the sizes of the paper, to show the difference."""
    study.prepare()
    scored = [p for p in study.plans() if is_scored(p) and study.network(p).has(SCORES)]
    plans = scored[:: max(1, len(scored) // count)][:count]
    jobs = [plan for plan in plans if not study.network(plan).has(FULL_SCORES)]
    on_start(len(plans) - len(jobs), len(plans))
    full = replace(study, scores=SCORE_SCALES["paper"])
    yield from run_jobs(partial(score_job, full, name=FULL_SCORES), jobs, workers)


def is_scored(plan: NetworkPlan) -> bool:
    """Return whether a network has scores: it needs known factors, and training."""
    return plan.dataset == "dsprites" and plan.objective != UNTRAINED


def score_job(study: Study, plan: NetworkPlan, name: str = SCORES) -> dict[str, Any]:
    """Encode every sprite with one network, and write its fifteen scores to a file."""
    from experiments.vae.encoding import encode_sprites
    from experiments.vae.scores import all_scores

    weights = study.network(plan).arrays(files.WEIGHTS)
    architecture = study.settings[plan.dataset].architecture
    sprites = load_sprites(study.sprites_file(), architecture.side)
    table = encode_sprites(architecture, weights, sprites, study.scores.strides)
    found = {"name": plan.name} | all_scores(table, study.scores)
    folder = study.folder(plan)
    files.prepare_network_folder(folder)
    files.write_json(folder / name, found)
    return found
