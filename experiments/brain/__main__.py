"""Command line: ``python -m experiments.brain [measure | figures | all] --source simulated``."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.brain.figures import draw_all
from experiments.brain.keep import open_kept
from experiments.brain.results import RESULTS, read_results
from experiments.brain.settings import Source, settings_of
from experiments.brain.study import Study, measure
from experiments.common.command import Scale, ScaleOption, follow, reported
from experiments.common.options import Out, Workers

COLOURS = {"holds": "green", "does not hold": "red", "inconclusive": "yellow"}


class Step(StrEnum):
    """What to do."""

    MEASURE = "measure"
    FIGURES = "figures"
    ALL = "all"


def main(
    step: Annotated[
        Step, typer.Argument(help="Measure, decide the claims and draw figures, or both.")
    ] = Step.ALL,
    *,
    source: Annotated[Source, typer.Option(help="Where the recordings come from.")] = (
        Source.SIMULATED
    ),
    scale: ScaleOption = Scale.PAPER,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the NWB files, or of the macaque recordings."),
    ] = None,
    out: Out = Path("brain-output"),
    beside: Annotated[
        list[Path] | None,
        typer.Option(help="Results of another run or of the VAE study, to compare; repeatable."),
    ] = None,
    workers: Workers = None,
    results: Annotated[
        Path | None,
        typer.Option(help="Draw from this file of kept distances; see experiments.brain.keep."),
    ] = None,
) -> None:
    """Run the paper's study of visual cortex, with error bars over animals."""
    console = Console(stderr=True)
    study = Study(out, source, settings_of(source, scale), data)
    if results is not None:
        if step is not Step.FIGURES:
            raise typer.BadParameter("'--results' is for the step 'figures'.")
        with reported(console):
            study = open_kept(results, out)
    if step is not Step.FIGURES:
        follow(console, "measuring", partial(measure, study), workers)
    if step is not Step.MEASURE:
        follow(console, "drawing", partial(_draw, study, beside or []), workers)
        print_claims(console, read_results(out))
        console.print(f"{RESULTS}, report.html and the figures are in {out}.", highlight=False)


def _draw(study: Study, beside: list[Path], workers: int, on_start: Any) -> Any:
    return draw_all(study, beside, workers, on_start)


def print_claims(console: Console, results: dict[str, Any]) -> None:
    """Print every claim with its numbers and verdict."""
    table = Table(show_lines=True)
    for heading in ("claim", "what it says", "numbers", "verdict"):
        table.add_column(heading)
    for claim in results["claims"]:
        numbers = escape("\n".join(map(criterion_words, claim["criteria"])))
        colour = COLOURS[claim["verdict"]]
        words = f"[{colour}]{claim['verdict']}"
        table.add_row(claim["name"], claim["sentence"], numbers, words)
    console.print(table)
    for record in results["sessions"]:
        if reasons := set(record["left_out"].values()) - {"no such stimulus"}:
            console.print(f"{record['name']} was left out: {'; '.join(sorted(reasons))}.")


def criterion_words(row: dict[str, Any]) -> str:
    """Return a criterion with its interval and threshold.

    >>> row = {"name": "d_2", "value": 0.5, "low": 0.1, "high": 0.9, "above": 0, "n_units": 8}
    >>> criterion_words(row)
    'd_2: 0.50 [0.10, 0.90], must be above 0 (n = 8)'
    """
    if row["value"] is None:
        unknown = "a mean of squares is not positive" if row["n_units"] else "not measured"
        why = row.get("why", unknown)
        return f"{row['name']}: not known ({why}), must be above {row['above']:.3g}"
    ends = row.get("why", "no interval")
    if row["low"] is not None:
        ends = f"{row['low']:.2f}, {row['high']:.2f}"
    words = f"{row['name']}: {row['value']:.2f} [{ends}], must be above {row['above']:.3g}"
    return f"{words} (n = {row['n_units']})" if row["n_units"] else words


if __name__ == "__main__":
    typer.run(main)
