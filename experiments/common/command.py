"""What the commands of the studies share: a progress bar, errors, and what needs results only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
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

from experiments.common.files import write_json
from experiments.common.results import RESULTS, read_results
from repshape.errors import RepshapeError

INTERRUPTED = 130  # the exit code that shells expect after Ctrl-C

OnStart = Callable[[int, int], None]
# Called with the number of processes and a function that takes the number of networks that were
# finished before and of all networks; yields what is known of each network once it is finished.
Steps = Callable[[int, OnStart], Iterator[dict[str, Any]]]


class Scale(StrEnum):
    """Sizes of a study."""

    SMALL = "small"
    PAPER = "paper"


ScaleOption = Annotated[Scale, typer.Option(help="Two cores, or the sizes of the paper.")]


def add_commands_of_results(
    app: typer.Typer,
    decide_stored: Callable[[Path], dict[str, Any]],
    draw_all: Callable[..., Iterator[dict[str, Any]]],
) -> Callable[..., None]:
    """Add the commands that need stored results only, decide and figures; return the latter."""

    @app.command()
    def decide(
        results: Annotated[
            Path, typer.Option(help="Folder of stored results; they are rewritten.")
        ],
    ) -> None:
        """Decide all claims again, from stored distances alone."""
        console = Console(stderr=True)
        with reported(console):
            found = decide_stored(results)
        write_json(results / RESULTS, found)
        print_claims(console, found)

    @app.command()
    def figures(
        out: Annotated[Path, typer.Option(help="Folder for the figures and the report.")],
        results: Annotated[
            Path | None, typer.Option(help="Folder of the stored results; by default the same.")
        ] = None,
    ) -> None:
        """Draw all figures and write the report, from stored results alone."""
        console = Console(stderr=True)
        follow(console, "figures", partial(draw_all, results or out, out), 1)
        print_claims(console, read_results(results or out)[0])

    return figures


@contextmanager
def reported(console: Console) -> Iterator[None]:
    """End the command with one sentence after an error, or after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        console.print("Stopped. Repeat the command to continue.", highlight=False)
        raise typer.Exit(INTERRUPTED) from None
    except RepshapeError as error:
        console.print(str(error), highlight=False)
        raise typer.Exit(1) from None


def follow(console: Console, what: str, steps: Steps, workers: int | None) -> None:
    """Run the steps of a command with a progress bar; report errors in one sentence."""
    columns = (TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn())
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    with reported(console), Progress(*columns, *times, console=console) as progress:
        task = progress.add_task(what, total=None)

        def begin(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        for found in steps(workers or available_cores(), begin):
            progress.update(task, advance=1, description=f"{what}, last {found['name']}")


def print_claims(console: Console, results: Mapping[str, Any]) -> None:
    """Print every claim with its verdict."""
    table = Table()
    for heading in ("claim", "what it says", "verdict"):
        table.add_column(heading)
    for claim in results["claims"]:
        note = f" ({claim['note']})" if claim["note"] else ""
        table.add_row(claim["name"], claim["sentence"], claim["verdict"] + note)
    console.print(table)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
