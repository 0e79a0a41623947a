"""The command that writes a page: report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from repshape.cli.options import Metadata, Printing, Seed, Text, argument, number, option, values
from repshape.cli.shared import check_outputs


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Parameters of `write_report`, by name."""

    cohort: Annotated[
        list[Path] | None,
        option(
            "COHORT",
            "The cohort, which is needed to draw pairs of networks. Repeat the option to give each "
            "matrix its own, in the same order.",
        ),
    ] = None
    metadata: Metadata = None
    title: Annotated[Text, option("TEXT", "Title of the page.")] = None
    labels: Annotated[
        Text,
        option(
            "COLUMN",
            "Column of the metadata whose groups are compared; by default the first with groups.",
        ),
    ] = None
    blocks: Annotated[
        Text,
        option(
            "COLUMN", "Column that says which networks belong together, such as the same animal."
        ),
    ] = None
    max_pairs: Annotated[
        int,
        number(
            "Maximum number of pairs to draw for each matrix; nearest neighbours come first.", min=0
        ),
    ] = 1000
    max_intervals: Annotated[
        int | None,
        number(
            "Maximum number of pairs of each matrix that get a confidence interval, nearest "
            "neighbours first. [default: as many as take some seconds]",
            min=0,
        ),
    ] = None
    random_state: Seed = 0


@dataclass(frozen=True, kw_only=True)
class ReportOptions(PageOptions, Printing):
    """Options of the command report."""

    matrices: Annotated[
        list[Path],
        argument(
            "MATRIX",
            "Matrices of the same networks: .npz or .csv files, directories that "
            "repshape pairwise wrote, or directories of these. Or one result of repshape cross, or "
            "of repshape models (.json).",
        ),
    ]
    out: Annotated[Path, option("FILE", "The page to write: .html.", "--out", "-o")]


def report(given: ReportOptions) -> None:
    """Write one self-contained HTML page about a cohort.

    The page needs no connection to the internet and no other files: you can send it by e-mail.

    \b
    Examples:
      repshape report distances.npz -o report.html
      repshape report sweep energy.zarr --cohort mice.zarr -o report.html
      repshape report distances.csv --metadata mice.csv -o report.html
      repshape report models.json -o report.html
    """  # noqa: D301 (click reads the backspace)
    from repshape.report.write import write_report

    check_outputs([given.out], inputs=[*given.matrices, *(given.cohort or []), given.metadata])
    parameters = values(given, PageOptions) | {"progress": given.progress}
    found = write_report(given.matrices, given.out, **parameters)
    lines = [
        f"{found.n_networks} networks by {', '.join(found.matrices)}.",
        *found.sentences,
        *found.left_out,
        f"Wrote {found.path} ({found.n_bytes / 2**20:.1f} MiB)",
    ]
    given.tell(lines, found.summary())
