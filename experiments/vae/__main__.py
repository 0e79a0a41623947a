"""Command line: ``python -m experiments.vae [train | score] --scale small --out DIR``."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from experiments.common.command import Images, Out, Scale, ScaleOption, Workers, follow
from experiments.vae.run import Study, score_all, train_all
from experiments.vae.scales import SCALES, SCORE_SCALES
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
    follow(console, "networks trained", partial(train_all, study), workers)
    print_training(console, list(study.records()))


@app.command()
def score(
    out: Out, scale: ScaleOption = Scale.SMALL, workers: Workers = None, images: Images = None
) -> None:
    """Compute the disentanglement scores of the trained sprite networks."""
    study = Study(out, SCALES[scale], SCORE_SCALES[scale], images, Dataset.DSPRITES.value)
    follow(Console(stderr=True), "networks scored", partial(score_all, study), workers)


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
