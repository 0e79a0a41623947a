"""The commands that make and describe cohorts: import, info."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repshape.cli.shared import AsJson, Quiet, check_output_folder, option, tell


def import_(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="A manifest (.csv), or files of networks (.npz, .npy, .h5).",
            show_default=False,
        ),
    ],
    out: Annotated[Path, option("COHORT", "The cohort to create.", "--out", "-o")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Create a cohort from files.

    A manifest is a CSV table in UTF-8 with the columns "name" and "file" (relative to the
    manifest); all other columns are metadata. All networks must have the same conditions, in the
    same order. In an HDF5 file, "#" selects a group or an array.

    \b
    Examples:
      repshape import mice.csv -o mice.zarr
      repshape import a.npz b.npy recordings.h5#mouse3 -o cohort.zarr
    """  # noqa: D301 (click reads the backspace)
    from repshape.io.importing import import_cohort
    from repshape.report.info import describe_cohort

    check_output_folder(out, inputs=[Path(source.partition("#")[0]) for source in sources])
    found = describe_cohort(import_cohort(sources, out))
    tell(found.lines, found.data, as_json=as_json, quiet=quiet)


def info(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A cohort, a matrix of distances or a file of one network.",
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Describe a cohort, a matrix of distances or a network.

    \b
    Examples:
      repshape info cohort.zarr
      repshape info distances.npz --json
    """  # noqa: D301
    from repshape.report.info import info as describe

    found = describe(path)
    tell(found.lines, found.data, as_json=as_json, quiet=quiet)
