"""The commands that make and describe cohorts: import, info."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from repshape.cli.shared import AsJson, Quiet, check_output_folder, option, tell


def import_(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="A manifest (.csv), or files of one network each (.npz, .npy, .h5, .mat).",
            show_default=False,
        ),
    ],
    out: Annotated[Path, option("COHORT", "The cohort to create.", "--out", "-o")],
    common_conditions: Annotated[
        bool,
        typer.Option(
            "--common-conditions",
            help="Keep only the conditions that all networks have, in the order of the first "
            "network.",
        ),
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Create a cohort from files.

    A manifest is a CSV table in UTF-8 with the columns "name" and "file" (relative to the
    manifest); all other columns are metadata. All networks must have the same conditions in the
    same order, unless you pass --common-conditions. What follows "#" selects an array, a group or
    a struct inside a file.

    \b
    Examples:
      repshape import mice.csv -o mice.zarr
      repshape import a.npz b.mat recordings.h5#mouse3 -o cohort.zarr
    """  # noqa: D301 (click reads the backspace)
    from repshape.io.importing import import_cohort
    from repshape.report.info import describe_cohort

    check_output_folder(out, inputs=[Path(source.partition("#")[0]) for source in sources])
    with _advice_for_commands():
        cohort = import_cohort(sources, out, common_conditions=common_conditions)
    found = describe_cohort(cohort)
    lines = [*found.lines, *_dropped_words(cohort.dropped)]
    tell(lines, found.data | {"dropped": cohort.dropped}, as_json=as_json, quiet=quiet)


@contextmanager
def _advice_for_commands() -> Iterator[None]:
    """Replace the advice to call a function by the option that does the same."""
    from repshape._labels import COMMON
    from repshape.errors import InputError

    try:
        yield
    except InputError as error:
        option = "Pass --common-conditions to keep the conditions that all networks have."
        raise InputError(str(error).replace(COMMON, option)) from None


def _dropped_words(dropped: dict[str, tuple[str, ...]]) -> list[str]:
    from repshape._labels import list_labels

    return [
        f"Conditions of {name} that were dropped: {list_labels(labels)}."
        for name, labels in dropped.items()
    ]


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
