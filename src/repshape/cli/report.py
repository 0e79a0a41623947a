"""The command that writes a page: report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repshape.cli.shared import (
    AsJson,
    Metadata,
    Quiet,
    Seed,
    check_output_files,
    number,
    option,
    tell,
)


def report(
    matrices: Annotated[
        list[Path],
        typer.Argument(
            metavar="MATRIX",
            help="Matrices of the same networks: .npz or .csv files, directories that "
            "repshape pairwise wrote, or directories of these.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, option("FILE", "The page to write: .html.", "--out", "-o")],
    cohort: Annotated[
        list[Path] | None,
        option(
            "COHORT",
            "The cohort, which is needed to draw pairs of networks. Repeat the option to give each "
            "matrix its own, in the same order.",
        ),
    ] = None,
    metadata: Metadata = None,
    title: Annotated[str | None, option("TEXT", "Title of the page.")] = None,
    labels: Annotated[
        str | None,
        option(
            "COLUMN",
            "Column of the metadata whose groups are compared; by default the first with groups.",
        ),
    ] = None,
    blocks: Annotated[
        str | None,
        option(
            "COLUMN", "Column that says which networks belong together, such as the same animal."
        ),
    ] = None,
    max_pairs: Annotated[
        int,
        number(
            "Maximum number of pairs to draw for each matrix; nearest neighbours come first.", min=0
        ),
    ] = 1000,
    max_intervals: Annotated[
        int | None,
        number(
            "Maximum number of pairs of each matrix that get a confidence interval, nearest "
            "neighbours first. [default: as many as take some seconds]",
            min=0,
        ),
    ] = None,
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
      repshape report distances.csv --metadata mice.csv -o report.html
    """  # noqa: D301 (click reads the backspace)
    from repshape.report.write import write_report

    inputs = [*matrices, *(cohort or []), *([metadata] if metadata else [])]
    check_output_files([out], inputs=inputs)
    found = write_report(
        matrices,
        out,
        cohort=cohort or None,
        metadata=metadata,
        title=title,
        labels=labels,
        blocks=blocks,
        max_pairs=max_pairs,
        max_intervals=max_intervals,
        random_state=seed,
        progress=False if quiet else None,
    )
    lines = [
        f"{found.n_networks} networks by {', '.join(found.matrices)}.",
        *found.sentences,
        *found.left_out,
        f"Wrote {found.path} ({found.n_bytes / 2**20:.1f} MiB)",
    ]
    tell(lines, found.summary(), as_json=as_json, quiet=quiet)
