"""Command line: ``python -m experiments.toy [measure | figures | all] --scale paper --out DIR``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from experiments.common.command import INTERRUPTED, Scale
from experiments.toy.data import SCALES
from experiments.toy.page import check_words
from experiments.toy.run import RESULTS, all_claims, chosen, draw_figures, measure
from repshape.errors import InputError


class Step(StrEnum):
    """What to do."""

    measure = "measure"
    figures = "figures"
    all = "all"


def main(
    step: Annotated[
        Step,
        typer.Argument(help="Measure and store the results, draw the stored results, or both."),
    ] = Step.all,
    *,
    out: Annotated[Path, typer.Option(help="Folder for results and figures.")],
    scale: Annotated[
        Scale, typer.Option(help="The grid of the paper, or a smaller one that takes seconds.")
    ] = Scale.PAPER,
    only: Annotated[list[str] | None, typer.Option(help="Only this figure; repeatable.")] = None,
) -> None:
    """Reproduce the toy figures of the paper, and check its claims about them."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:14}"), BarColumn(), MofNCompleteColumn())
    try:
        names, results = chosen(only or ()), None
        with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
            for one in (Step.measure, Step.figures) if step is Step.all else (step,):
                task = progress.add_task(one, total=len(names), completed=-1)

                def show(name: str, task: Any = task, verb: str = one) -> None:
                    progress.update(task, advance=1, description=f"{verb} {name}")

                if one is Step.measure:
                    results = measure(out, SCALES[scale], names, show)
                else:
                    results = draw_figures(out, only or (), show)
                progress.update(task, completed=len(names))
    except KeyboardInterrupt:
        console.print(f"Interrupted. Finished results are in {out}.", highlight=False)
        raise typer.Exit(INTERRUPTED) from None
    except InputError as error:
        console.print(str(error), highlight=False)
        raise typer.Exit(2) from None
    if results is not None:
        print_claims(console, results)
    console.print(f"{RESULTS} and the figures are in {out}.", highlight=False)


def print_claims(console: Console, results: Mapping[str, Any]) -> None:
    """Print every claim with its numbers and verdict."""
    table = Table(show_lines=True)
    for heading in ("claim", "what it says", "numbers", "verdict"):
        table.add_column(heading)
    claims = all_claims(results)
    for claim in claims:
        verdict = "[green]holds" if claim["holds"] else "[red]does not hold"
        numbers = "\n".join(map(check_words, claim["checks"]))
        table.add_row(claim["name"], claim["sentence"], numbers, verdict)
    console.print(table)
    held = sum(claim["holds"] for claim in claims)
    console.print(f"{held} of {len(claims)} claims hold.", highlight=False)


if __name__ == "__main__":
    typer.run(main)
