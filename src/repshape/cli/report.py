"""The command that writes a page: report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(report)


def report(
    matrices: Annotated[
        list[Path],
        typer.Argument(
            metavar="MATRIX...",
            help="Stores, folders of stores, .npz or .csv, of the same networks.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write: .html.")],
    cohort: Annotated[
        list[Path] | None,
        typer.Option(help="The cohort, to draw pairs; or one for each matrix, in their order."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The heading.")] = None,
    max_pairs: Annotated[
        int, typer.Option(min=0, help="Pairs to draw for each matrix, nearest neighbours first.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = (
        False
    ),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No words on stderr.")] = False,
) -> None:
    """Write one self-contained page that shows a cohort.

    It needs no network access, and loads nothing from anywhere: send it as it is.

    \b
    Examples:
      repshape report distances.npz -o report.html
      repshape report sweep energy.zarr --cohort mice.zarr -o report.html
    """  # noqa: D301 (click reads the backspace)
    from repshape.io.tables import json_text
    from repshape.report.write import write_report

    found = write_report(
        matrices,
        out,
        cohort=cohort or None,
        title=title,
        max_pairs=max_pairs,
        random_state=seed,
        progress=False if quiet else None,
    )
    if not quiet:
        shown = ", ".join(found.matrices)
        typer.echo(f"{found.n_networks} networks by {shown}.", err=True)
        for note in found.left_out:
            typer.echo(note, err=True)
        typer.echo(f"Wrote {found.path} ({found.n_bytes / 2**20:.1f} MiB)", err=True)
    if as_json:
        typer.echo(json_text(found.summary()))
