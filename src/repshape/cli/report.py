"""The command that writes a page: report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repshape.cli.shared import AsJson, Quiet, Seed, check_output_files, number, option, tell


def report(
    matrices: Annotated[
        list[Path],
        typer.Argument(
            metavar="MATRIX",
            help="Matrices of the same networks: .npz, .csv, stores or directories of stores.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, option("FILE", "The page to write: .html.", "--out", "-o")],
    cohort: Annotated[
        list[Path] | None,
        option(
            "COHORT",
            "The cohort, to draw pairs of networks. Repeat the option to give each matrix its own, "
            "in the same order.",
        ),
    ] = None,
    title: Annotated[str | None, option("TEXT", "Title of the page.")] = None,
    max_pairs: Annotated[
        int,
        number(
            "Maximum number of pairs to draw for each matrix; nearest neighbours come first.", min=0
        ),
    ] = 1000,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write one self-contained HTML page about a cohort.

    The page needs no connection to the internet and no other files: you can send it by e-mail.

    \b
    Examples:
      repshape report distances.npz -o report.html
      repshape report sweep energy.zarr --cohort mice.zarr -o report.html
    """  # noqa: D301 (click reads the backspace)
    from repshape.report.write import write_report

    check_output_files([out], inputs=[*matrices, *(cohort or [])])
    found = write_report(
        matrices,
        out,
        cohort=cohort or None,
        title=title,
        max_pairs=max_pairs,
        random_state=seed,
        progress=False if quiet else None,
    )
    lines = [
        f"{found.n_networks} networks by {', '.join(found.matrices)}.",
        *found.left_out,
        f"Wrote {found.path} ({found.n_bytes / 2**20:.1f} MiB)",
    ]
    tell(lines, found.summary(), as_json=as_json, quiet=quiet)
