"""Command line: ``python -m experiments.vae train --scale small --out DIR``.

The steps are ``train``, ``score``, ``measure`` and ``figures``; ``all`` takes them in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from experiments.common.command import (
    Device,
    Images,
    Kept,
    OnStart,
    Out,
    Part,
    PartOption,
    Seeds,
    Workers,
    add_commands_of_results,
    follow,
    print_claims,
    reported,
)
from experiments.common.devices import CPU
from experiments.common.results import read_results
from experiments.common.rounds import read_seeds
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


@app.command()
def train(
    out: Out,
    scale: ScaleOption = Scale.SMALL,
    workers: Workers = None,
    images: Images = None,
    only: Only = None,
    part: PartOption = Part.PILOT,
    seeds: Seeds = None,
    kept: Kept = False,
    sprites: SpritesOption = None,
    device: Device = CPU,
) -> None:
    """Train all networks that are not finished yet."""
    console, name = Console(stderr=True), None if only is None else only.value
    with reported(console):
        chosen = read_seeds(seeds)
        study = Study.of_scale(
            scale.value,
            out,
            images,
            name,
            part.value,
            chosen,
            kept=kept,
            sprites=sprites,
            device=device,
        )
    follow(console, "networks trained", partial(train_all, study), workers)
    print_training(console, list(study.records()))


@app.command()
def score(
    out: Out,
    scale: ScaleOption = Scale.SMALL,
    workers: Workers = None,
    images: Images = None,
    full: Annotated[
        int, typer.Option(min=0, help="Score this many networks at the paper's sizes instead.")
    ] = 0,
    part: PartOption = Part.PILOT,
    seeds: Seeds = None,
    kept: Kept = False,
    sprites: SpritesOption = None,
) -> None:
    """Compute the disentanglement scores of the trained sprite networks."""
    console, name = Console(stderr=True), Dataset.DSPRITES.value
    with reported(console):
        chosen = read_seeds(seeds)
        study = Study.of_scale(
            scale.value, out, images, name, part.value, chosen, kept=kept, sprites=sprites
        )
    steps = partial(check_scores, study, full) if full else partial(score_all, study)
    follow(console, "networks scored", steps, workers)


@app.command()
def measure(
    out: Out,
    scale: ScaleOption = Scale.SMALL,
    workers: Workers = None,
    only: Only = None,
    known: Annotated[
        Path | None,
        typer.Option(
            help="Folder of earlier results. Distances between networks with the same records and "
            "latents are taken from there instead of being computed again."
        ),
    ] = None,
    part: PartOption = Part.PILOT,
    kept: Kept = False,
) -> None:
    """Compute the distances between the networks, and decide the claims."""
    console, name = Console(stderr=True), None if only is None else only.value
    with reported(console):
        study = Study.of_scale(scale.value, out, None, name, part.value, kept=kept)

    def steps(processes: int, on_start: OnStart) -> Iterator[dict[str, Any]]:
        earlier = None if known is None else KnownResults(known)
        return measure_all(study, processes, on_start, earlier)

    follow(console, "matrices", steps, workers)
    print_claims(console, read_results(out)[0])


figures = add_commands_of_results(app, decide_stored, draw_all)


@app.command(name="all")
def everything(
    out: Out,
    scale: ScaleOption = Scale.SMALL,
    workers: Workers = None,
    images: Images = None,
    part: PartOption = Part.PILOT,
    kept: Kept = False,
) -> None:
    """Train, score, measure and draw; repeat the command to continue."""
    train(out, scale, workers, images, part=part, kept=kept)
    score(out, scale, workers, images, part=part, kept=kept)
    measure(out, scale, workers, part=part, kept=kept)
    figures(out)


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
