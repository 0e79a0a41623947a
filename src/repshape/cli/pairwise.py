"""The command that computes distances: pairwise."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    from repshape.engine.job import Run
    from repshape.engine.plan import Settings
    from repshape.io.cohort import Cohort
    from repshape.matrix.distances import DistanceMatrix
    from repshape.metrics.base import ShapeMetric

FILES = (".npz", ".csv")  # a name with another ending is that of a store
Text = str | None


def pairwise(
    cohort: Annotated[
        Path,
        typer.Argument(
            metavar="COHORT", help="A cohort made by repshape import.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        option(
            "PATH",
            "File to write (.npz or .csv), or directory. A computation into a directory can be "
            "resumed.",
            "--out",
            "-o",
        ),
    ],
    metric: Annotated[str, option("NAME", f"Metric: {listed_names()}.")] = "gaussian",
    alpha: Annotated[
        list[float] | None,
        number(
            "Weight of the means, from 0 (covariances only) to 2 (means only); 1 by default. "
            "Repeat the option to compute several matrices."
        ),
    ] = None,
    q: Annotated[float | None, number("Exponent of the energy metric; 1 by default.")] = None,
    p: Annotated[float | None, number("Exponent of the wasserstein metric; 2 by default.")] = None,
    mode: Annotated[
        Text,
        option(
            "NAME",
            "How the metrics of time series (process) and maps (conv) compare noise: marginal "
            "(within time steps or pixels), joint (over all of them), or causal (process only). "
            "The default is joint for process, and marginal for conv.",
        ),
    ] = None,
    order: Annotated[
        int | None,
        number(
            "Number of past time steps that predict the next one in the causal mode; all by "
            "default.",
            min=1,
        ),
    ] = None,
    shifts: Annotated[
        bool, typer.Option("--shifts", help="Minimise the conv metric over circular shifts, too.")
    ] = False,
    ground: Annotated[
        Text,
        option(
            "NAME",
            "Distance between covariances in the covariance metric: root-frobenius (the default), "
            "log-euclidean or affine-invariant.",
        ),
    ] = None,
    set_: Parameters = None,
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
    tol: Annotated[float | None, number("Tolerance of the solver.")] = None,
    max_iter: Annotated[
        int | None, number("Maximum number of gradient evaluations per starting point.")
    ] = None,
    seed: Annotated[int | None, number("Seed of the random starting points.")] = None,
    polish: Annotated[
        bool,
        typer.Option(help="Improve each alignment by starting from combinations of others."),
    ] = True,
    effort: Annotated[
        str,
        option(
            "NAME",
            "How each pair is searched: full (as a pair by itself) or brief (a few starts, which "
            "may miss the optimum unless many networks are much alike).",
        ),
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
    alignments: Annotated[
        Text, option("TYPE", "Also store the alignments, as float32 or float64.")
    ] = None,
    tile: Annotated[
        int | None, number("Number of networks along each side of a stored tile.", min=1)
    ] = None,
    replace: Annotated[
        list[str] | None,
        option("NAME", "A network of the output whose responses have changed. Repeatable."),
    ] = None,
    remove: Annotated[
        list[str] | None,
        option("NAME", "A network of the output that the cohort no longer has. Repeatable."),
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
    """Compute the distances between all networks of a cohort.

    If the output is a directory, an interrupted run resumes when you repeat the command, and
    several shards can work on it at the same time; a final run without --shard completes it. If
    networks were added to the cohort, only the new pairs are computed. Networks of the output that
    were replaced or removed must be named with --replace and --remove.

    The steps of preprocessing are --transform, --center, --components, --whitening and --scale, in
    this order, for each network by itself.

    \b
    Examples:
      repshape pairwise mice.zarr -o d.zarr --covariance ledoit-wolf --components 20
      repshape pairwise mice.zarr -o d.npz --transform sqrt --no-center
      repshape pairwise mice.zarr -o sweep --alpha 0 --alpha 1 --alpha 2
      repshape pairwise series.zarr -o d.zarr --metric process --mode causal --order 1
      repshape pairwise vaes.zarr -o d.zarr --shard $SLURM_ARRAY_TASK_ID/100
      repshape pairwise vaes.zarr -o d.zarr --scheduler tcp://head:8786
      repshape pairwise mice.zarr -o d.zarr --estimate
      repshape pairwise mice.zarr -o d.zarr --replace "mouse 7" --remove "mouse 3"
    """  # noqa: D301 (click reads the backspace)
    from repshape.io.cohort import Cohort

    parameters = {"q": q, "p": p, "group": group, "covariance": covariance, "tol": tol}
    parameters |= {"mode": mode, "order": order, "shifts": shifts or None, "ground": ground}
    parameters |= {"max_iter": max_iter, "random_state": seed, "n_starts": read_starts(starts)}
    settings: dict[str, Any] = {
        "workers": workers,
        "memory": memory,
        "shard": shard,
        "alignments": alignments,
    }
    settings |= {"tile": tile, "polish": polish, "scheduler": scheduler, "wait": wait}
    settings["effort"] = effort
    settings |= {"engine": "dask" if scheduler else engine, "progress": False if quiet else None}
    if out.suffix in FILES:
        check_output_files([out], inputs=[cohort])
    else:
        check_output_folder(out, inputs=[cohort])
    with usage():
        parameters["preprocess"] = make_preprocess(transform, center, components, whitening, scale)
        chosen = with_parameters(parameters | {"alpha": alpha or None}, set_)
        metrics = _metrics(metric, chosen)
        checked = _check_settings(out, len(metrics), settings)
    networks = Cohort.open(cohort)
    with resumable(out), warnings_in_words(FewTrialsWarning, quiet=quiet):
        warnings.simplefilter("ignore", SearchWarning)  # _tell_matrices says it in words
        run = _plan(networks, metrics, out, checked, replace=replace, remove=remove)
        if estimate:
            tell_estimate(run, out, as_json=as_json, quiet=quiet)
            return
        known = tell_known(run, quiet=quiet)
        found = _compute(run, out)
    _tell_matrices(found, out, known, as_json=as_json, quiet=quiet)


def read_starts(text: str | None) -> int | str | None:
    """Return the number of starts that an option gives, or its text, for the metric to judge."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def make_preprocess(
    transform: str | None,
    center: bool | None,
    components: int | None,
    whitening: float,
    scale: bool,
) -> Any:
    """Return the preprocessing that the options ask for, or None if there is none."""
    from repshape.preprocess import Preprocess

    if not (transform is not None or center or components is not None or whitening or scale):
        return None
    return Preprocess(center is not False, scale, components, whitening, transform)


def _metrics(name: str, parameters: dict[str, Any]) -> dict[str, ShapeMetric[Any]]:
    """Return one metric, or one for each of several alphas, by the name of its matrix."""
    alphas = parameters.get("alpha")
    if not isinstance(alphas, list):  # no --alpha
        return {"": make_metric(name, **parameters)}
    metrics = {alpha: make_metric(name, **parameters | {"alpha": alpha}) for alpha in alphas}
    if len(metrics) < len(alphas):
        twice = next(alpha for alpha in alphas if alphas.count(alpha) > 1)
        raise InputError(f"Each --alpha must be given once. Got {twice:g} more than once.")
    return {f"alpha-{_digits(alpha)}": one for alpha, one in metrics.items()}


def _digits(number: float) -> str:
    """Return the shortest text that tells a number from all others."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def _check_settings(out: Path, n_metrics: int, settings: dict[str, Any]) -> Settings:
    """Return the settings, or raise if options cannot be used together, before anything is read."""
    from repshape.engine.plan import Settings

    checked = Settings.checked(**settings)
    if out.suffix not in FILES:
        return checked
    if n_metrics > 1:
        raise InputError(f"Several matrices need a folder. Got {out} instead.")
    if settings["engine"] == "dask" or settings["shard"]:
        raise InputError(f"Shards and Dask need a store, a folder. Got {out} instead.")
    return checked


def _plan(
    cohort: Cohort,
    metrics: dict[str, ShapeMetric[Any]],
    out: Path,
    settings: Settings,
    **changes: Any,
) -> Run:
    """Return what is to be done."""
    from repshape.engine.run import plan_pairwise

    if len(metrics) == 1:  # whatever its name, the matrix is the output itself
        metrics = {"": next(iter(metrics.values()))}
    names = dict.fromkeys(metrics)
    store = None if out.suffix in FILES else out
    return plan_pairwise(cohort, metrics, names, None, None, store, settings, **changes)


def _compute(run: Run, out: Path) -> dict[Path, DistanceMatrix]:
    """Compute the matrices and return them by where they are."""
    found = run.run()
    if out.suffix not in FILES:
        return {out / name: D for name, D in found.items()}
    (D,) = found.values()
    D.save(out)
    return {out: D}


def tell_known(run: Run, *, quiet: bool) -> int:
    """Say before the run how many pairs are known already, and return it."""
    known, total = run.count_pairs()
    if known and not quiet:
        left = f"{total - known} are left to solve" if known < total else "none are left to solve"
        typer.echo(f"{known} of {total} pairs are known already; {left}.", err=True)
    return known


def tell_estimate(run: Run, out: Path, *, as_json: bool, quiet: bool) -> None:
    """Say what a run would cost."""
    from repshape.engine.estimate import estimate_cost

    found = estimate_cost(run)
    data = {"out": str(out), "seconds": found.seconds, "cpu_seconds": found.cpu_seconds}
    data |= asdict(found)
    tell(found.lines(), data, as_json=as_json, quiet=quiet)


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Say how to resume when the user interrupts a run."""
    try:
        yield
    except KeyboardInterrupt:
        import logging

        # A write that was under way is abandoned; its event loop need not complain at exit.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        words = "repshape: interrupted."
        if out.is_dir():
            words += f" All finished tiles are safe in {out}: give the same command to continue."
        typer.echo(words, err=True)
        raise typer.Exit(1) from None


def _tell_matrices(
    found: dict[Path, DistanceMatrix], out: Path, known: int, *, as_json: bool, quiet: bool
) -> None:
    from repshape.report.info import describe_matrix, polish_words, search_words

    lines = []
    for path, D in found.items():
        lines.append(f"{path}: {D!r}")
        if "polish" in D.description:
            lines.append(polish_words(D.description["polish"]))
        lines.extend(filter(None, [search_words(D)]))
    described = [describe_matrix(D, str(path)).data for path, D in found.items()]
    data = described[0] if len(described) == 1 else {"out": str(out), "matrices": described}
    tell(lines, data | {"known_pairs": known}, as_json=as_json, quiet=quiet)
