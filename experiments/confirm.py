"""Train, keep, measure and show the confirmation of both network studies; repeat it to continue.

python -m experiments.confirm --images DIR --out DIR [--study vae] [--no-train] [--seeds 3:8]

Untrained autoencoders come first: they take less than a second each, and are not kept. Then one
whole seed after another is trained and added to the archive of its data set. Distances are measured
once all seeds of a group of networks are finished, or all that ``--seeds`` names. Results go to the
folder of the study, and the pages of the documentation are written again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Protocol

import typer
from rich.console import Console

from experiments import standard
from experiments.brain import page as brain_page
from experiments.brain.keep import kept_file
from experiments.common.archives import archive_of
from experiments.common.command import follow, reported
from experiments.common.options import Images, Part, Seeds, Workers
from experiments.common.results import ARRAYS, RESULTS
from experiments.common.rounds import CONFIRMATION
from experiments.patch_gaussian import __main__ as patch_gaussian
from experiments.patch_gaussian import keep as patch_keep
from experiments.patch_gaussian import page as patch_page
from experiments.patch_gaussian import run as patch_run
from experiments.vae import __main__ as vae
from experiments.vae import keep as vae_keep
from experiments.vae import page as vae_page
from experiments.vae import run as vae_run
from experiments.vae.data import RENDERED
from experiments.vae.settings import UNTRAINED

# Those with few networks first: a data set is measured when all of its networks are trained.
ORDER = (vae.Dataset.MNIST, vae.Dataset.CIFAR10, vae.Dataset.DSPRITES)


class Studies(StrEnum):
    """The network studies."""

    VAE = "vae"
    PATCH_GAUSSIAN = "patch_gaussian"


class Planned(Protocol):
    """A network of either study."""

    @property
    def name(self) -> str:
        """Name of the network."""

    @property
    def seed(self) -> int:
        """Its seed."""


@dataclass(frozen=True)
class Confirmation:
    """Where everything is, and what may be done.

    Attributes
    ----------
    out : Path
        Networks, responses and distances, in a folder for each study.
    images : Path or None
    workers : int or None
    train : bool
        Whether networks that are not kept are trained.
    console : Console
    seeds : str or None
        Train and measure only these seeds of trained networks; the pages say so.
    """

    out: Path
    images: Path | None
    workers: int | None
    train: bool
    console: Console
    seeds: str | None = None

    # Variational autoencoders

    def vae_options(self, scale: vae.Scale = vae.Scale.SMALL) -> vae.Options:
        """Return the options of all commands about autoencoders."""
        return vae.Options(
            out=self.out / f"vae-{scale.value}",
            workers=self.workers,
            images=self.images,
            part=Part.CONFIRMATION,
            kept=True,
            scale=scale,
            sprites=RENDERED,
        )

    def autoencoders(self) -> None:
        """Confirm the study of autoencoders, as far as its networks are trained."""
        small = self.vae_options()
        self.make_untrained(small)
        if self.train:
            for dataset in ORDER:
                self.train_autoencoders(dataset)
        self.measure_autoencoders(small, CONFIRMATION)
        paper = self.vae_options(vae.Scale.PAPER)
        self.make_untrained(paper)
        self.measure_autoencoders(paper, vae_page.ARCHITECTURES)

    def make_untrained(self, options: vae.Options) -> None:
        """Make the untrained networks that are missing."""
        with reported(self.console):
            study = options.study()
        plans = [plan for plan in study.plans() if plan.objective == UNTRAINED]
        make = partial(vae_run.train_plans, study, plans)
        follow(self.console, "untrained networks", make, options.workers)

    def train_autoencoders(self, dataset: vae.Dataset) -> None:
        """Train and score the seeds of a data set that are not kept yet; keep each."""
        options = replace(self.vae_options(), only=dataset, seeds=self.seeds)
        trained = [plan for plan in options.study().plans() if plan.objective != UNTRAINED]
        for seed in missing_seeds(trained, options.study().archives):
            own = replace(options, seeds=str(seed))
            vae.train(own)
            if dataset is vae.Dataset.DSPRITES:
                vae.score(own)
            with reported(self.console):
                path = vae_keep.keep_networks(own.study(), CONFIRMATION, vae_run.KEPT)
            self.console.print(f"seed {seed} is kept in {path}", highlight=False)

    def measure_autoencoders(self, options: vae.Options, name: str) -> None:
        """Measure the groups of networks that are complete, and store the results."""
        vae.measure(replace(options, seeds=self.seeds))
        store_results(options.out, vae_page.RESULTS_FOLDER / name)

    # Patch-Gaussian

    def patch_networks(self) -> None:
        """Confirm the study of Patch-Gaussian, if all of its networks are trained."""
        options = patch_gaussian.Options(
            out=self.out / "patch-gaussian",
            workers=self.workers,
            images=self.images,
            part=Part.CONFIRMATION,
            seeds=self.seeds,
            kept=True,
        )
        with reported(self.console):
            study = options.study()
        left = missing_seeds(study.plans(), study.archives)
        if left and not self.train:
            words = (
                f"Patch-Gaussian: {len(left)} seeds are not trained yet, so nothing is measured."
            )
            self.console.print(words, highlight=False)
            return
        for seed in left:
            own = replace(options, seeds=str(seed))
            patch_gaussian.train(own)
            with reported(self.console):
                path = patch_keep.keep_networks(own.study(), CONFIRMATION, patch_run.KEPT)
            self.console.print(f"seed {seed} is kept in {path}", highlight=False)
        patch_gaussian.measure(options)
        store_results(options.out, patch_page.RESULTS_FOLDER / CONFIRMATION)


def missing_seeds(plans: Iterable[Planned], archives: tuple[Path, ...]) -> list[int]:
    """Return the seeds of which a network is not in the archives."""
    return sorted({plan.seed for plan in plans if archive_of(plan.name, archives) is None})


def store_results(out: Path, folder: Path) -> None:
    """Copy the results of a run to the folder of a study, from which pages are written."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (RESULTS, ARRAYS):
        shutil.copyfile(out / name, folder / name)


def write_pages(docs: Path) -> Iterator[Path]:
    """Write the pages of all studies whose results are stored; yield all files."""
    yield from vae_page.write_vae_page(vae_page.RESULTS_FOLDER, docs)
    yield from patch_page.write_study_page(patch_page.RESULTS_FOLDER, docs)
    for source in brain_page.SHOWN:
        if kept_file(source).exists():
            yield from brain_page.redraw(kept_file(source), docs)
    yield from standard.write_pages(docs)


def main(
    out: Annotated[Path, typer.Option(help="Folder for networks and distances.")],
    images: Images = None,
    workers: Workers = None,
    study: Annotated[Studies | None, typer.Option(help="Only this study.")] = None,
    train: Annotated[
        bool, typer.Option(help="Train what is missing, or measure only what is there.")
    ] = True,
    docs: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
    seeds: Seeds = None,
) -> None:
    """Continue the confirmation of the network studies, up to their pages."""
    console = Console(stderr=True)
    run = Confirmation(out, images, workers, train, console, seeds)
    if study in (None, Studies.VAE):
        run.autoencoders()
    if study in (None, Studies.PATCH_GAUSSIAN):
        run.patch_networks()
    for path in write_pages(docs):
        console.print(f"wrote {path}", highlight=False)


if __name__ == "__main__":
    typer.run(main)
