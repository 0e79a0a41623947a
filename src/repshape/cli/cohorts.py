"""The commands that make and describe cohorts: import, info."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from repshape.cli.options import Printing, Text, Texts, argument, flag, option, values
from repshape.cli.shared import check_output_folder, usage


@dataclass(frozen=True, kw_only=True)
class NwbOptions:
    """How files in NWB are read."""

    stimulus: Annotated[Text, option("TABLE", "NWB: the intervals that are the trials.")] = None
    condition: Annotated[
        Texts, option("COLUMN", "NWB: a column that tells conditions apart. Repeatable.")
    ] = None
    area: Annotated[Texts, option("AREA", "NWB: an area of the units. Repeatable.")] = None
    window: Annotated[
        tuple[float, float] | None,
        option("START STOP", "NWB: seconds after the onset; --allen: 0 0.25."),
    ] = None
    units: Annotated[Texts, option("RULE", "NWB: units to keep, such as 'snr>=1'. Repeatable.")] = (
        None
    )
    where: Annotated[
        Texts, option("RULE", "NWB: trials to keep, such as 'contrast=0.8'. Repeatable.")
    ] = None
    blanks: Annotated[
        bool | None, flag("NWB: whether blanks are a condition.", "--blanks/--no-blanks")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ImportOptions(NwbOptions, Printing):
    """Options of the command import."""

    sources: Annotated[
        list[str],
        argument("FILE", "A manifest (.csv), or files of networks (.npz, .npy, .h5, .mat, .nwb)."),
    ]
    out: Annotated[
        Path, option("COHORT", "The cohort to create, or to add to with --add.", "--out", "-o")
    ]
    add: Annotated[bool, flag("Add the networks to a cohort that exists already.", "--add")] = False
    replace: Annotated[
        Texts,
        option(
            "NAME",
            "With --add: a network of the cohort that is replaced by the new one of this name. "
            "Repeatable.",
        ),
    ] = None
    common_conditions: Annotated[
        bool,
        flag(
            "Keep only the conditions that all networks have, in the order of the first network.",
            "--common-conditions",
        ),
    ] = False
    max_bytes: Annotated[
        Text,
        option(
            "SIZE", "How much a file may expand to, such as 8G. By default a quarter of the memory."
        ),
    ] = None
    nwb: Annotated[bool, flag("The files are NWB files.", "--nwb")] = False
    allen: Annotated[
        bool,
        flag(
            "The files are sessions of the Allen Institute's Visual Coding with Neuropixels, "
            "in NWB. Use its quality filter and conditions.",
            "--allen",
        ),
    ] = False


def import_(given: ImportOptions) -> None:
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

    asked = {name: one for name, one in values(given, NwbOptions).items() if one is not None}
    _check_together(given, asked)
    common: dict[str, Any] = {"common_conditions": given.common_conditions}
    common |= {"add": given.add, "replace": given.replace}
    inputs = [Path(source.partition("#")[0]) for source in given.sources]
    check_output_folder(given.out, inputs=inputs)
    with _advice_for_commands():
        if given.nwb or given.allen:
            common |= {"allen": given.allen} | _nwb_parameters(asked, allen=given.allen)
            cohort = import_nwb(given.sources, given.out, **common)
        else:
            cohort = import_cohort(given.sources, given.out, max_bytes=given.max_bytes, **common)
    found = describe_cohort(cohort)
    lines = [*found.lines, *_dropped_words(cohort.dropped)]
    given.tell(lines, found.data | {"dropped": cohort.dropped})


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


def _check_together(given: ImportOptions, asked: dict[str, Any]) -> None:
    """Exit with 2 if options do not go together."""
    if asked and not (given.nwb or given.allen):
        raise typer.BadParameter(f"--{next(iter(asked))} needs --nwb or --allen.")
    needed = [] if given.allen else ["stimulus", "condition"]
    if given.nwb and (missing := [f"--{one}" for one in needed if one not in asked]):
        raise typer.BadParameter(f"--nwb needs {' and '.join(missing)}.")
    if given.replace and not given.add:
        raise typer.BadParameter("--replace needs --add.")


def _nwb_parameters(given: dict[str, Any], *, allen: bool) -> dict[str, Any]:
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


@dataclass(frozen=True, kw_only=True)
class InfoOptions(Printing):
    """Options of the command info."""

    path: Annotated[
        str, argument("PATH", "A cohort, a matrix of distances or a file of one network.")
    ]


def info(given: InfoOptions) -> None:
    """Describe a cohort, a matrix of distances or a network.

    \b
    Examples:
      repshape info cohort.zarr
      repshape info distances.npz --json
    """  # noqa: D301
    from repshape.report.info import info as describe

    found = describe(given.path)
    given.tell(found.lines, found.data)
