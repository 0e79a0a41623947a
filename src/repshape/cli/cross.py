"""The command that computes distances between two cohorts: cross."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repshape.cli.pairwise import (
    Text,
    make_preprocess,
    read_starts,
    resumable,
    tell_estimate,
    tell_known,
)
from repshape.cli.shared import (
    AsJson,
    Parameters,
    Quiet,
    check_output_files,
    check_output_folder,
    number,
    option,
    tell,
    usage,
    warnings_in_words,
    with_parameters,
)
from repshape.errors import FewTrialsWarning, InputError, SearchWarning
from repshape.metrics.registry import listed_names, make_metric

if TYPE_CHECKING:  # slow to import: not for --help
    from repshape.engine.plan import Settings
    from repshape.matrix.cross import CrossDistances

FILE = ".npz"  # a name with another ending is that of a store


def cross(
    rows: Annotated[
        Path,
        typer.Argument(metavar="ROWS", help="The cohort of the rows.", show_default=False),
    ],
    columns: Annotated[
        Path,
        typer.Argument(metavar="COLUMNS", help="The cohort of the columns.", show_default=False),
    ],
    out: Annotated[
        Path,
        option(
            "PATH",
            "File to write (.npz), or directory. A computation into a directory can be resumed.",
            "--out",
            "-o",
        ),
    ],
    metric: Annotated[str, option("NAME", f"Metric: {listed_names()}.")] = "gaussian",
    alpha: Annotated[
        float | None,
        number("Weight of the means, from 0 (covariances only) to 2 (means only); 1 by default."),
    ] = None,
    group: Annotated[
        Text,
        option(
            "NAME",
            "Transforms to minimise over: orthogonal (the default), rotation, permutation, "
            "identity or soft.",
        ),
    ] = None,
    covariance: Annotated[
        Text,
        option("NAME", "Estimator of the covariances, such as ledoit-wolf; mle by default."),
    ] = None,
    set_: Parameters = None,
    transform: Annotated[
        Text,
        option("NAME", "Transform every response first: sqrt, anscombe or log1p, for counts."),
    ] = None,
    center: Annotated[
        bool | None,
        typer.Option(
            help="Subtract the grand mean of each network. By default, only together with another "
            "step of preprocessing.",
            show_default=False,
        ),
    ] = None,
    components: Annotated[
        int | None, number("Number of principal components to keep; all by default.", min=1)
    ] = None,
    whitening: Annotated[
        float, number("Strength of whitening, from 0 (none) to 1 (full).", min=0, max=1)
    ] = 0.0,
    scale: Annotated[
        bool, typer.Option("--scale", help="Scale each network to unit total variance.")
    ] = False,
    starts: Annotated[
        Text, number("Number of starting points of the solver; auto by default.")
    ] = None,
    seed: Annotated[int | None, number("Seed of the random starting points.")] = None,
    effort: Annotated[
        str, option("NAME", "How each pair is searched: full, or brief (from a few starts).")
    ] = "full",
    workers: Annotated[
        int | None, number("Number of threads or Dask workers; all cores by default.", min=1)
    ] = None,
    memory: Annotated[
        Text, option("SIZE", "Memory to use, such as 2G; a quarter of the total by default.")
    ] = None,
    shard: Annotated[Text, option("i/N", "Compute only the i-th of N parts.")] = None,
    engine: Annotated[str, option("NAME", "Where to compute: threads or dask.")] = "threads",
    scheduler: Annotated[Text, option("ADDRESS", "Address of a Dask scheduler.")] = None,
    tile: Annotated[
        int | None, number("Number of networks along each side of a stored tile.", min=1)
    ] = None,
    replace: Annotated[
        list[str] | None,
        option(
            "NAME",
            "A network of the output whose responses have changed, such as rows/NAME. Repeatable.",
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        option(
            "NAME",
            "A network of the output that a cohort no longer has, such as columns/NAME. "
            "Repeatable.",
        ),
    ] = None,
    wait: Annotated[
        float,
        number("Seconds to wait for a run that uses the output with other networks.", min=0),
    ] = 0.0,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate",
            help="Only solve a few pairs, and say how much time, disk and memory all would take.",
        ),
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute the distances from each network of a cohort to each network of another.

    Pairs within a cohort are not computed. If the output is a directory, an interrupted run resumes
    when you repeat the command, and several shards can work on it at the same time. The steps of
    preprocessing are those of repshape pairwise.

    \b
    Examples:
      repshape cross mice.zarr layers.zarr -o c.npz --components 20
      repshape cross resnet.zarr vgg.zarr -o c.zarr --components 50 --shard 2/8
    """  # noqa: D301 (click reads the backspace)
    from repshape.engine.cross import plan_cross
    from repshape.io.cohort import Cohort
    from repshape.report.info import describe_cross

    parameters: dict[str, Any] = {"alpha": alpha, "group": group, "covariance": covariance}
    parameters |= {"random_state": seed, "n_starts": read_starts(starts)}
    settings: dict[str, Any] = {"workers": workers, "memory": memory, "shard": shard}
    settings |= {"tile": tile, "scheduler": scheduler, "wait": wait, "effort": effort}
    settings |= {"engine": "dask" if scheduler else engine, "progress": False if quiet else None}
    check = check_output_folder if out.suffix != FILE else _check_file
    check(out, inputs=[rows, columns])
    with usage():
        parameters["preprocess"] = make_preprocess(transform, center, components, whitening, scale)
        chosen = make_metric(metric, **with_parameters(parameters, set_))
        checked = _check_settings(out, settings)
    cohorts = Cohort.open(rows), Cohort.open(columns)
    with resumable(out), warnings_in_words(FewTrialsWarning, quiet=quiet):
        warnings.simplefilter("ignore", SearchWarning)  # the summary says it in words
        store = None if out.suffix == FILE else out
        changes = {"replace": replace, "remove": remove}
        run = plan_cross(*cohorts, chosen, None, store, checked, **changes)
        if estimate:
            tell_estimate(run, out, as_json=as_json, quiet=quiet)
            return
        known = tell_known(run, quiet=quiet)
        C: CrossDistances = run.run()[""]
    if store is None:
        C.save(out)
    found = describe_cross(C, str(out))
    lines = [f"{out}: {found.lines[0]}", *found.lines[1:]]
    tell(lines, found.data | {"known_pairs": known}, as_json=as_json, quiet=quiet)


def _check_file(out: Path, inputs: list[Path]) -> None:
    check_output_files([out], inputs=inputs)


def _check_settings(out: Path, settings: dict[str, Any]) -> Settings:
    """Return the settings, or raise if options cannot be used together, before anything is read."""
    from repshape.engine.plan import Settings

    checked = Settings.checked(**settings)
    if out.suffix == FILE and (settings["engine"] == "dask" or settings["shard"]):
        raise InputError(f"Shards and Dask need a store, a folder. Got {out} instead.")
    return checked
