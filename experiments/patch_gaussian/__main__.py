"""Command line: ``python -m experiments.patch_gaussian train --scale small --out DIR``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from experiments.patch_gaussian.claims import MANIPULATION
from experiments.patch_gaussian.manipulation import check_manipulation
from experiments.patch_gaussian.run import Study, read_records, train_all
from experiments.patch_gaussian.settings import SCALES, plan_networks
from repshape._parallel import check_workers
from repshape.errors import RepshapeError

INTERRUPTED = 130  # what shells expect of a program that Ctrl-C has stopped

app = typer.Typer(no_args_is_help=True, add_completion=False)


class Scale(StrEnum):
    """Sizes of the study."""

    SMALL = "small"
    PAPER = "paper"


Out = Annotated[Path, typer.Option(help="Folder of the study; repeat a command to continue.")]
ScaleOption = Annotated[Scale, typer.Option(help="Two cores, or the sizes of the paper.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")]
Images = Annotated[Path | None, typer.Option(help="Folder of CIFAR-10; else REPSHAPE_IMAGES.")]


@app.callback()
def describe() -> None:
    """Run the paper's study of Patch-Gaussian augmentation."""


@app.command()
def train(
    out: Out, scale: ScaleOption = Scale.SMALL, workers: Workers = None, images: Images = None
) -> None:
    """Train all networks that are not finished yet, and measure their responses."""
    study = Study(out, SCALES[scale], images)
    console = Console(stderr=True)
    follow_training(console, study, check_workers(workers))
    records = list(read_records(study))
    print_accuracy(console, records)
    if len(records) == len(plan_networks(study.settings)):
        print_manipulation(console, records)


def follow_training(console: Console, study: Study, workers: int) -> None:
    """Train with a progress bar; report errors in one sentence."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, *times, console=console) as progress:
            task = progress.add_task("networks trained", total=None)

            def begin(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            for record in train_all(study, workers, begin):
                last = f"networks trained, last {record['name']}"
                progress.update(task, advance=1, description=last)
    except KeyboardInterrupt:
        console.print("Stopped. Repeat the command to continue.", highlight=False)
        raise typer.Exit(INTERRUPTED) from None
    except RepshapeError as error:
        console.print(str(error), highlight=False)
        raise typer.Exit(1) from None


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
    console.print(f"The manipulation check {found.verdict}.", highlight=False)


if __name__ == "__main__":
    app()
