"""Command line: ``python -m experiments.vae train --scale small --out DIR``.

The steps are ``train``, ``score``, ``measure`` and ``figures``; ``all`` takes them in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from experiments.common.command import (
    OnStart,
    add_commands_of_results,
    follow,
    print_claims,
    reported,
)
from experiments.common.options import StudyOptions, add_command
from experiments.common.results import read_results
from experiments.vae.decide import decide_stored
from experiments.vae.draw import draw_all
from experiments.vae.known import KnownResults
from experiments.vae.results import measure_all
from experiments.vae.run import Study, check_scores, score_all, train_all
from experiments.vae.settings import UNTRAINED

app = typer.Typer(
    help="The paper's study of variational autoencoders.",
    no_args_is_help=True,
    add_completion=False,
)


class Dataset(StrEnum):
    """Data sets of the study."""

    DSPRITES = "dsprites"
    MNIST = "mnist"
    CIFAR10 = "cifar10"


class Scale(StrEnum):
    """Sizes of the study."""

    TINY = "tiny"
    SMALL = "small"
    PAPER = "paper"


ScaleOption = Annotated[
    Scale, typer.Option(help="A test of the programs, two cores, or the sizes of the paper.")
]
SpritesOption = Annotated[
    str | None,
    typer.Option(
        help="The original file of dSprites, or 'rendered'. By default the file in the folder of "
        "the images, if it is there; only the paper's scale insists on one of the two."
    ),
]
Only = Annotated[Dataset | None, typer.Option(help="Only this data set.")]


@dataclass(frozen=True, kw_only=True)
class Options(StudyOptions):
    """What this study can be told."""

    scale: ScaleOption = Scale.SMALL
    only: Only = None
    sprites: SpritesOption = None

    def study(self) -> Study:
        """Return the study that the options describe."""
        only = None if self.only is None else self.only.value
        return Study.of_scale(
            self.scale.value,
            self.out,
            self.images,
            only,
            self.part.value,
            self.chosen_seeds,
            kept=self.kept,
            sprites=self.sprites,
            device=self.device,
        )


@add_command(app, Options)
def train(options: Options) -> None:
    """Train all networks that are not finished yet."""
    console = Console(stderr=True)
    with reported(console):
        study = options.study()
    follow(console, "networks trained", partial(train_all, study), options.workers)
    print_training(console, list(study.records()))


@add_command(app, Options, without=("only", "device"))
def score(
    options: Options,
    full: Annotated[
        int, typer.Option(min=0, help="Score this many networks at the paper's sizes instead.")
    ] = 0,
) -> None:
    """Compute the disentanglement scores of the trained sprite networks."""
    console = Console(stderr=True)
    with reported(console):
        study = replace(options, only=Dataset.DSPRITES).study()
    steps = partial(check_scores, study, full) if full else partial(score_all, study)
    follow(console, "networks scored", steps, options.workers)


@add_command(app, Options, without=("images", "sprites", "device"))
def measure(
    options: Options,
    known: Annotated[
        Path | None,
        typer.Option(
            help="Folder of earlier results. Distances between networks with the same records and "
            "latents are taken from there instead of being computed again."
        ),
    ] = None,
) -> None:
    """Compute the distances between the networks, and decide the claims."""
    console = Console(stderr=True)
    with reported(console):
        study = options.study()

    def steps(processes: int, on_start: OnStart) -> Iterator[dict[str, Any]]:
        earlier = None if known is None else KnownResults(known)
        return measure_all(study, processes, on_start, earlier)

    follow(console, "matrices", steps, options.workers)
    print_claims(console, read_results(options.out)[0])


figures = add_commands_of_results(app, decide_stored, draw_all)


@add_command(app, Options, "all", without=("seeds", "only"))
def everything(options: Options) -> None:
    """Train, score, measure and draw; repeat the command to continue."""
    train(options)
    score(options)
    measure(options)
    figures(options.out)


def print_training(console: Console, records: list[dict[str, Any]]) -> None:
    """Print how training went, by objective; failed networks are counted, and kept."""
    table = Table()
    for heading in ("data set", "objective", "strength", "networks", "failed", "explained", "KL"):
        table.add_column(heading)
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for record in records:
        if record["objective"] != UNTRAINED:
            key = record["dataset"], record["objective"], f"{record['strength']:g}"
            groups.setdefault(key, []).append(record)
    for key, members in groups.items():
        means = [mean_text(members, field) for field in ("explained", "kl")]
        failed = sum(record["failed"] for record in members)
        table.add_row(*key, str(len(members)), str(failed), *means)
    console.print(table)


def mean_text(records: list[dict[str, Any]], field: str) -> str:
    """Return the mean of a field over the records that have it."""
    values = [record[field] for record in records if record[field] is not None]
    return f"{sum(values) / len(values):.3g}" if values else "-"


if __name__ == "__main__":
    app()
