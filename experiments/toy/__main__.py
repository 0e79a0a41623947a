"""Command line: ``python -m experiments.toy --out DIR [--only fig2] [--quick]``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from experiments.toy.data import FULL, QUICK
from experiments.toy.page import check_words
from experiments.toy.run import FIGURES, RESULTS, all_claims, run_figures
from repshape.errors import InputError

INTERRUPTED = 130  # what shells expect of a program that Ctrl-C has stopped


def main(
    out: Annotated[Path, typer.Option(help="Folder for pictures and results.json.")],
    only: Annotated[list[str] | None, typer.Option(help="Only this figure; repeatable.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller grid, in seconds.")] = False,
) -> None:
    """Make the paper's toy figures, and check what it says about them."""
    console = Console(stderr=True)
    steps = len([name for name in FIGURES if not only or name in only])
    columns = (TextColumn("{task.description:6}"), BarColumn(), MofNCompleteColumn())
    try:
        with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
            task = progress.add_task("", total=steps, completed=-1)
            results = run_figures(
                out,
                QUICK if quick else FULL,
                only or (),
                lambda name: progress.update(task, advance=1, description=name),
            )
            progress.update(task, completed=steps)
    except KeyboardInterrupt:
        console.print(f"Stopped. Figures that were finished are in {out}.", highlight=False)
        raise typer.Exit(INTERRUPTED) from None
    except InputError as error:
        console.print(str(error), highlight=False)
        raise typer.Exit(2) from None
    print_claims(console, results)
    console.print(f"Pictures and {RESULTS} are in {out}.", highlight=False)


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
