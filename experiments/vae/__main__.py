"""Command line: ``python -m experiments.vae [train | score] --scale small --out DIR``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

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

from experiments.vae.run import Study, read_records, score_all, train_all
from experiments.vae.settings import SCALES, SCORE_SCALES, UNTRAINED
from repshape._parallel import check_workers
from repshape.errors import RepshapeError

INTERRUPTED = 130  # what shells expect of a program that Ctrl-C has stopped

app = typer.Typer(
    help="The paper's study of variational autoencoders.",
    no_args_is_help=True,
    add_completion=False,
)
Steps = Callable[[Study, int, Callable[[int, int], None]], Iterator[dict[str, Any]]]


class Scale(StrEnum):
    """Sizes of the study."""

    SMALL = "small"
    PAPER = "paper"


class Dataset(StrEnum):
    """Data sets of the study."""

    DSPRITES = "dsprites"
    MNIST = "mnist"
    CIFAR10 = "cifar10"


Out = Annotated[Path, typer.Option(help="Folder of the study; repeat a command to continue.")]
ScaleOption = Annotated[Scale, typer.Option(help="Two cores, or the sizes of the paper.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")]
Images = Annotated[
    Path | None, typer.Option(help="Folder of the image files; else REPSHAPE_IMAGES.")
]


@app.command()
def train(
    out: Out,
    scale: ScaleOption = Scale.SMALL,
    workers: Workers = None,
    images: Images = None,
    only: Annotated[Dataset | None, typer.Option(help="Only this data set.")] = None,
) -> None:
    """Train all networks that are not finished yet."""
    chosen = None if only is None else only.value
    study = Study(out, SCALES[scale], SCORE_SCALES[scale], images, chosen)
    console = Console(stderr=True)
    follow(console, "networks trained", train_all, study, workers)
    print_training(console, list(read_records(study)))


@app.command()
def score(
    out: Out, scale: ScaleOption = Scale.SMALL, workers: Workers = None, images: Images = None
) -> None:
    """Compute the disentanglement scores of the trained sprite networks."""
    study = Study(out, SCALES[scale], SCORE_SCALES[scale], images, Dataset.DSPRITES.value)
    follow(Console(stderr=True), "networks scored", score_all, study, workers)


def follow(console: Console, what: str, steps: Steps, study: Study, workers: int | None) -> None:
    """Run a command with a progress bar; turn what can go wrong into a sentence."""
    columns = (TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, *times, console=console) as progress:
            task = progress.add_task(what, total=None)

            def begin(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            for found in steps(study, check_workers(workers), begin):
                progress.update(task, advance=1, description=found["name"])
    except KeyboardInterrupt:
        console.print("Stopped. Repeat the command to continue.", highlight=False)
        raise typer.Exit(INTERRUPTED) from None
    except RepshapeError as error:
        console.print(str(error), highlight=False)
        raise typer.Exit(1) from None


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
