"""The commands that make and describe cohorts: import, info."""

from __future__ import annotations

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
    out: Annotated[Path, option("COHORT", "The cohort to create.", "--out", "-o")],
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
        option("START STOP", "NWB: seconds after the onset. By default 0 0.25.", "--window"),
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
    """Create a cohort from files.

    A manifest is a CSV table in UTF-8 with the columns "name" and "file" (relative to the
    manifest); all other columns are metadata. All networks must have the same conditions, in the
    same order. In an HDF5 file, "#" selects a group or an array. A rule of --units and --where is
    COLUMN=VALUE, COLUMN>=NUMBER or COLUMN<=NUMBER.

    \b
    Examples:
      repshape import mice.csv -o mice.zarr
      repshape import a.npz b.npy recordings.h5#mouse3 -o cohort.zarr
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
    check_output_folder(out, inputs=[Path(source.partition("#")[0]) for source in sources])
    if nwb or allen:
        cohort = import_nwb(sources, out, allen=allen, **_nwb_options(given, allen=allen))
    else:
        cohort = import_cohort(sources, out)
    found = describe_cohort(cohort)
    tell(found.lines, found.data, as_json=as_json, quiet=quiet)


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
