"""Command line: ``python -m experiments.patch_gaussian train --scale small --out DIR``.

The steps are ``train``, ``collect``, ``measure`` and ``figures``; ``all`` takes them in turn.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from experiments.common.command import (
    Device,
    Images,
    Kept,
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
from experiments.patch_gaussian.claims import MANIPULATION
from experiments.patch_gaussian.decide import decide_stored
from experiments.patch_gaussian.draw import draw_all
from experiments.patch_gaussian.manipulation import check_manipulation
from experiments.patch_gaussian.results import collect_responses, measure_all
from experiments.patch_gaussian.run import Study, train_all

app = typer.Typer(
    help="The paper's study of Patch-Gaussian augmentation.",
    no_args_is_help=True,
    add_completion=False,
)


class Scale(StrEnum):
    """Sizes of the study."""

    TINY = "tiny"
    SMALL = "small"
    WIDE = "wide"
    PAPER = "paper"


ScaleOption = Annotated[
    Scale,
    typer.Option(
        help="A test of the programs, two cores, wider networks at the corners of the grid, or the "
        "sizes of the paper."
    ),
]


@app.command()
def train(
    out: Out,
    scale: ScaleOption = Scale.SMALL,
    workers: Workers = None,
    images: Images = None,
    part: PartOption = Part.PILOT,
    seeds: Seeds = None,
    kept: Kept = False,
    device: Device = CPU,
) -> None:
    """Train all networks that are not finished yet."""
    console = Console(stderr=True)
    with reported(console):
        chosen = read_seeds(seeds)
        study = Study.of_scale(
            scale.value, out, images, part.value, chosen, kept=kept, device=device
        )
    follow(console, "networks trained", partial(train_all, study), workers)
    records = list(study.records())
    print_accuracy(console, records)
    if len(records) == len(study.plans()):
        print_manipulation(console, records)


@app.command()
def collect(
    out: Out,
    scale: ScaleOption = Scale.SMALL,
    workers: Workers = None,
    images: Images = None,
    part: PartOption = Part.PILOT,
    kept: Kept = False,
    device: Device = CPU,
) -> None:
    """Collect responses alone, into cohorts on disk, for distances on a cluster."""
    console = Console(stderr=True)
    with reported(console):
        study = Study.of_scale(scale.value, out, images, part.value, kept=kept, device=device)
    follow(console, "responses", partial(collect_responses, study), workers)


@app.command()
def measure(
    out: Out,
    scale: ScaleOption = Scale.SMALL,
    workers: Workers = None,
    images: Images = None,
    part: PartOption = Part.PILOT,
    kept: Kept = False,
) -> None:
    """Collect responses, compute the distances between the networks, and decide the claims."""
    console = Console(stderr=True)
    with reported(console):
        study = Study.of_scale(scale.value, out, images, part.value, kept=kept)
    follow(console, "steps", partial(measure_all, study), workers)
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
    """Train, measure and draw; repeat the command to continue."""
    train(out, scale, workers, images, part, kept=kept)
    measure(out, scale, workers, images, part, kept)
    figures(out)


def print_accuracy(console: Console, records: list[dict[str, Any]]) -> None:
    """Print the mean accuracy of each cell, clean and at every tau; failures are counted."""
    cells: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        cells.setdefault(record["cell"], []).append(record)
    if not cells:
        return
    noises = list(records[0]["accuracy"])
    table = Table(title="Accuracy")
    for heading in ("cell", "networks", "failed", *noises):
        table.add_column(heading)
    for cell, members in cells.items():
        means = [np.mean([record["accuracy"][noise] for record in members]) for noise in noises]
        failed = sum(record["failed"] for record in members)
        counts = (str(len(members)), str(failed))
        table.add_row(cell, *counts, *(f"{mean:.3f}" for mean in means))
    console.print(table)


def print_manipulation(console: Console, records: list[dict[str, Any]]) -> None:
    """Print the manipulation check: each criterion with its threshold, and the verdict."""
    found = check_manipulation(records)
    table = Table(title=MANIPULATION.sentence)
    for heading in ("criterion", "by seed", "must exceed", "verdict"):
        table.add_column(heading)
    for criterion in MANIPULATION.criteria:
        by_seed = "  ".join(f"{value:.3f}" for value in found.folds[criterion.name])
        verdict = found.verdicts[criterion.name]
        table.add_row(criterion.name, by_seed, f"{criterion.above:g}", verdict)
    console.print(table)
    for criterion in MANIPULATION.criteria:
        if criterion.note:
            console.print(f"{criterion.name}: {criterion.note}", highlight=False)
    console.print(f"The manipulation check {found.verdict}.", highlight=False)


if __name__ == "__main__":
    app()
