"""The commands that make and describe cohorts: import, info."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from repshape.cli.shared import AsJson, Quiet, check_output_folder, option, tell, usage


def import_(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="A manifest (.csv), or files of networks (.npz, .npy, .h5, .mat, .nwb).",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, option("COHORT", "The cohort to create, or to add to with --add.", "--out", "-o")
    ],
    add: Annotated[
        bool, typer.Option("--add", help="Add the networks to a cohort that exists already.")
    ] = False,
    replace: Annotated[
        list[str] | None,
        option(
            "NAME",
            "With --add: a network of the cohort that is replaced by the new one of this name. "
            "Repeatable.",
        ),
    ] = None,
    common_conditions: Annotated[
        bool,
        typer.Option(
            "--common-conditions",
            help="Keep only the conditions that all networks have, in the order of the first "
            "network.",
        ),
    ] = False,
    max_bytes: Annotated[
        str | None,
        option(
            "SIZE",
            "How much a file may expand to, such as 8G. By default a quarter of the memory.",
            "--max-bytes",
        ),
    ] = None,
    nwb: Annotated[bool, typer.Option("--nwb", help="The files are NWB files.")] = False,
    allen: Annotated[
        bool,
        typer.Option(
            "--allen",
            help="The files are sessions of the Allen Institute's Visual Coding with Neuropixels, "
            "in NWB. Use its quality filter and conditions.",
        ),
    ] = False,
    stimulus: Annotated[
        str | None, option("TABLE", "NWB: the intervals that are the trials.", "--stimulus")
    ] = None,
    condition: Annotated[
        list[str] | None,
        option("COLUMN", "NWB: a column that tells conditions apart. Repeatable.", "--condition"),
    ] = None,
    area: Annotated[
        list[str] | None, option("AREA", "NWB: an area of the units. Repeatable.", "--area")
    ] = None,
    window: Annotated[
        tuple[float, float] | None,
        option("START STOP", "NWB: seconds after the onset; --allen: 0 0.25.", "--window"),
    ] = None,
    units: Annotated[
        list[str] | None,
        option("RULE", "NWB: units to keep, such as 'snr>=1'. Repeatable.", "--units"),
    ] = None,
    where: Annotated[
        list[str] | None,
        option("RULE", "NWB: trials to keep, such as 'contrast=0.8'. Repeatable.", "--where"),
    ] = None,
    blanks: Annotated[
        bool | None,
        typer.Option("--blanks/--no-blanks", help="NWB: whether blanks are a condition."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Create a cohort from files, or add networks to one.

    A manifest is a CSV table in UTF-8 with the columns "name" and "file" (relative to the
    manifest); all other columns are metadata. All networks must have the same conditions in the
    same order, unless you pass --common-conditions. What follows "#" selects an array, a group or
    a struct inside a file. A rule of --units and --where is COLUMN=VALUE, COLUMN>=NUMBER or
    COLUMN<=NUMBER.

    With --add, the names of the networks must be new, unless you give them with --replace. Either
    all networks are added, or none.

    \b
    Examples:
      repshape import mice.csv -o mice.zarr
      repshape import a.npz b.mat recordings.h5#mouse3 -o cohort.zarr
      repshape import mouse-9.npz mouse-3.npz -o mice.zarr --add --replace mouse-3
      repshape import --allen *.nwb --stimulus natural_scenes --area VISp -o mice.zarr
      repshape import --nwb a.nwb --stimulus trials --condition choice --window 0 0.5 -o a.zarr
    """  # noqa: D301 (click reads the backspace)
    from repshape.io.importing import import_cohort, import_nwb
    from repshape.report.info import describe_cohort

    asked: dict[str, Any] = {
        "stimulus": stimulus,
        "condition": condition,
        "area": area,
        "window": window,
        "units": units,
        "where": where,
        "blanks": blanks,
    }
    given = {name: value for name, value in asked.items() if value not in (None, [])}
    _check_nwb(given, nwb=nwb, allen=allen)
    if replace and not add:
        raise typer.BadParameter("--replace needs --add.")
    common: dict[str, Any] = {"common_conditions": common_conditions}
    common |= {"add": add, "replace": replace or None}
    check_output_folder(out, inputs=[Path(source.partition("#")[0]) for source in sources])
    with _advice_for_commands():
        if nwb or allen:
            chosen = _nwb_options(given, allen=allen)
            cohort = import_nwb(sources, out, allen=allen, **common, **chosen)
        else:
            cohort = import_cohort(sources, out, max_bytes=max_bytes, **common)
    found = describe_cohort(cohort)
    lines = [*found.lines, *_dropped_words(cohort.dropped)]
    tell(lines, found.data | {"dropped": cohort.dropped}, as_json=as_json, quiet=quiet)


ADD = "or pass --add to add networks to it"
# How `read_nwb` asks for a window.
CALL = re.compile(r"call read_nwb\(.*window=\((\S+), (\S+)\)\)$")


@contextmanager
def _advice_for_commands() -> Iterator[None]:
    """Replace the advice to call a function by the option that does the same."""
    from repshape._labels import COMMON
    from repshape.errors import RepshapeError
    from repshape.io.records import OTHER_NAME

    try:
        yield
    except RepshapeError as error:
        option = "Pass --common-conditions to keep the conditions that all networks have."
        words = CALL.sub(r"pass --window \1 \2", str(error).replace(COMMON, option))
        raise type(error)(words.replace(OTHER_NAME, f"{OTHER_NAME}, {ADD}")) from None


def _dropped_words(dropped: dict[str, tuple[str, ...]]) -> list[str]:
    from repshape._labels import list_labels

    return [
        f"Conditions of {name} that were dropped: {list_labels(labels)}."
        for name, labels in dropped.items()
    ]


def _check_nwb(given: dict[str, Any], *, nwb: bool, allen: bool) -> None:
    """Exit with 2 if options do not go together."""
    if given and not (nwb or allen):
        raise typer.BadParameter(f"--{next(iter(given))} needs --nwb or --allen.")
    needed = [] if allen else ["stimulus", "condition"]
    if nwb and (missing := [f"--{one}" for one in needed if one not in given]):
        raise typer.BadParameter(f"--nwb needs {' and '.join(missing)}.")


def _nwb_options(given: dict[str, Any], *, allen: bool) -> dict[str, Any]:
    """Return options of the command line as `import_nwb` takes them."""
    from repshape.io.allen import ALLEN_FILTERS
    from repshape.io.nwb_rules import parse_rules

    direct = ("condition", "area", "window")
    options: dict[str, Any] = {name: given[name] for name in direct if name in given}
    options["stimulus"] = given.get("stimulus", "natural_scenes")
    if "blanks" in given:
        options["keep_blanks"] = given["blanks"]
    with usage():
        if "where" in given:
            options["where"] = parse_rules(given["where"])
        if "units" in given:
            rules = parse_rules(given["units"])
            options["filters"] = {**ALLEN_FILTERS, **rules} if allen else rules
    return options


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
