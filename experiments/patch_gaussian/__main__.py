"""Command line: ``python -m experiments.patch_gaussian train --scale small --out DIR``.

The steps are ``train``, ``collect``, ``measure`` and ``figures``; ``all`` takes them in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from experiments.common.command import add_commands_of_results, follow, print_claims, reported
from experiments.common.options import StudyOptions, add_command
from experiments.common.results import read_results
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


@dataclass(frozen=True, kw_only=True)
class Options(StudyOptions):
    """What this study can be told."""

    scale: ScaleOption = Scale.SMALL

    def study(self) -> Study:
        """Return the study that the options describe."""
        names = self.scale.value, self.out, self.images, self.part.value
        return Study.of_scale(*names, self.chosen_seeds, kept=self.kept, device=self.device)


@add_command(app, Options)
def train(options: Options) -> None:
    """Train all networks that are not finished yet."""
    console = Console(stderr=True)
    with reported(console):
        study = options.study()
    follow(console, "networks trained", partial(train_all, study), options.workers)
    records = list(study.records())
    print_accuracy(console, records)
    if len(records) == len(study.plans()):
        print_manipulation(console, records)


@add_command(app, Options)
def collect(options: Options) -> None:
    """Collect responses alone, into cohorts on disk, for distances on a cluster."""
    console = Console(stderr=True)
    with reported(console):
        study = options.study()
    follow(console, "responses", partial(collect_responses, study), options.workers)


@add_command(app, Options)
def measure(options: Options) -> None:
    """Collect responses, compute the distances between the networks, and decide the claims."""
    console = Console(stderr=True)
    with reported(console):
        study = options.study()
    follow(console, "steps", partial(measure_all, study), options.workers)
    print_claims(console, read_results(options.out)[0])


figures = add_commands_of_results(app, decide_stored, draw_all)


@add_command(app, Options, "all")
def everything(options: Options) -> None:
    """Train, measure and draw; repeat the command to continue."""
    train(options)
    measure(options)
    figures(options.out)


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
