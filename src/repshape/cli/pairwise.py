"""The command that computes distances: pairwise."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from repshape.baselines.measures import MEASURES
from repshape.cli.options import (
    Memory,
    Parameters,
    Printing,
    Scheduler,
    Text,
    Texts,
    Workers,
    argument,
    flag,
    number,
    option,
    values,
)
from repshape.cli.shared import (
    check_output_folder,
    check_outputs,
    resumable,
    usage,
    warnings_in_words,
    with_parameters,
)
from repshape.errors import FewTrialsWarning, InputError, SearchWarning, check_choice
from repshape.metrics.registry import known_metrics, make_metric

if TYPE_CHECKING:  # slow to import: not for --help
    from repshape.engine.job import Run
    from repshape.engine.plan import Settings
    from repshape.io.cohort import Cohort
    from repshape.matrix.distances import DistanceMatrix

FILES = (".npz", ".csv")  # a name with another ending is that of a store


@dataclass(frozen=True, kw_only=True)
class GroundOptions:
    """Parameters of the metrics, by name: what is compared."""

    alpha: Annotated[
        list[float] | None,
        number(
            "Weight of the means, from 0 (covariances only) to 2 (means only); 1 by default. "
            "Repeat the option to compute several matrices."
        ),
    ] = None
    q: Annotated[float | None, number("Exponent of the energy metric; 1 by default.")] = None
    p: Annotated[float | None, number("Exponent of the wasserstein metric; 2 by default.")] = None
    mode: Annotated[
        Text,
        option(
            "NAME",
            "How the metrics of time series (process) and maps (conv) compare noise: marginal "
            "(within time steps or pixels), joint (over all of them), or causal (process only). "
            "The default is joint for process, and marginal for conv.",
        ),
    ] = None
    order: Annotated[
        int | None,
        number(
            "Number of past time steps that predict the next one in the causal mode; all by "
            "default.",
            min=1,
        ),
    ] = None
    shifts: Annotated[
        bool | None, flag("Minimise the conv metric over circular shifts, too.", "--shifts")
    ] = None
    ground: Annotated[
        Text,
        option(
            "NAME",
            "Distance between covariances in the covariance metric: root-frobenius (the default), "
            "log-euclidean or affine-invariant.",
        ),
    ] = None
    group: Annotated[
        Text,
        option(
            "NAME",
            "Transforms to minimise over: orthogonal (the default), rotation, permutation, "
            "identity or soft.",
        ),
    ] = None
    covariance: Annotated[
        Text,
        option("NAME", "Estimator of the covariances, such as ledoit-wolf; mle by default."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Parameters of the metrics, by name: how alignments are searched."""

    n_starts: Annotated[
        Text, number("Number of starting points of the solver; auto by default.", "--starts")
    ] = None
    tol: Annotated[float | None, number("Tolerance of the solver.")] = None
    max_iter: Annotated[
        int | None, number("Maximum number of gradient evaluations per starting point.")
    ] = None
    random_state: Annotated[int | None, number("Seed of the random starting points.", "--seed")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class PreprocessOptions:
    """Parameters of `Preprocess`, by name."""

    transform: Annotated[
        Text,
        option("NAME", "Transform every response first: sqrt, anscombe or log1p, for counts."),
    ] = None
    center: Annotated[
        bool | None,
        flag(
            "Subtract the grand mean of each network. By default, only together with another "
            "step of preprocessing.",
            show_default=False,
        ),
    ] = None
    n_components: Annotated[
        int | None,
        number("Number of principal components to keep; all by default.", "--components", min=1),
    ] = None
    whitening: Annotated[
        float, number("Strength of whitening, from 0 (none) to 1 (full).", min=0, max=1)
    ] = 0.0
    scale: Annotated[bool, flag("Scale each network to unit total variance.", "--scale")] = False


@dataclass(frozen=True, kw_only=True)
class PolishOptions:
    """Settings of the polish and of what it needs, by name."""

    polish: Annotated[
        bool, flag("Improve each alignment by starting from combinations of others.")
    ] = True
    alignments: Annotated[
        Text, option("TYPE", "Also store the alignments, as float32 or float64.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Settings of a run, by name."""

    effort: Annotated[
        str,
        option(
            "NAME",
            "How each pair is searched: full (as a pair by itself) or brief (a few starts, which "
            "may miss the optimum unless many networks are much alike).",
        ),
    ] = "full"
    workers: Workers = None
    memory: Memory = None
    shard: Annotated[Text, option("i/N", "Compute only the i-th of N parts.")] = None
    engine: Annotated[str, option("NAME", "Where to compute: threads or dask.")] = "threads"
    scheduler: Scheduler = None
    tile: Annotated[
        int | None, number("Number of networks along each side of a stored tile.", min=1)
    ] = None
    wait: Annotated[
        float,
        number("Seconds to wait for a run that uses the output with other networks.", min=0),
    ] = 0.0


@dataclass(frozen=True, kw_only=True)
class ChangeOptions:
    """What has changed since the output was written, and whether to compute at all."""

    replace: Annotated[
        Texts,
        option("NAME", "A network of the output whose responses have changed. Repeatable."),
    ] = None
    remove: Annotated[
        Texts,
        option("NAME", "A network of the output that the cohort no longer has. Repeatable."),
    ] = None
    estimate: Annotated[
        bool,
        flag(
            "Only solve a few pairs, and say how much time, disk and memory all would take.",
            "--estimate",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class MetricOptions(GroundOptions, PreprocessOptions, SearchOptions):
    """The metric, and any of its parameters."""

    metric: Annotated[
        str,
        option(
            "NAME",
            f"Metric: {', '.join(known_metrics())}; or a classical measure, with its options by "
            f"--set: {', '.join(MEASURES)} (1 minus a similarity).",
        ),
    ] = "gaussian"
    set_: Parameters = None


@dataclass(frozen=True, kw_only=True)
class PairwiseOptions(MetricOptions, PolishOptions, RunOptions, ChangeOptions, Printing):
    """Options of the command pairwise."""

    cohort: Annotated[Path, argument("COHORT", "A cohort made by repshape import.")]
    out: Annotated[
        Path,
        option(
            "PATH",
            "File to write (.npz or .csv), or directory. A computation into a directory can be "
            "resumed.",
            "--out",
            "-o",
        ),
    ]


def pairwise(given: PairwiseOptions) -> None:
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
      repshape pairwise mice.zarr -o cka.npz --metric cka --set debiased=true
      repshape pairwise mice.zarr -o d.zarr --estimate
      repshape pairwise mice.zarr -o d.zarr --replace "mouse 7" --remove "mouse 3"
    """  # noqa: D301 (click reads the backspace)
    from repshape.io.cohort import Cohort

    in_file = given.out.suffix in FILES
    if in_file:
        check_outputs([given.out], inputs=[given.cohort])
    else:
        check_output_folder(given.out, inputs=[given.cohort])
    with usage():
        metrics = make_metrics(given)
        settings = _settings(given, len(metrics))
    networks = Cohort.open(given.cohort)
    kept = resumable(given.out, "All finished tiles")
    with kept, warnings_in_words(FewTrialsWarning, quiet=given.quiet):
        warnings.simplefilter("ignore", SearchWarning)  # _tell_matrices says it in words
        run = _plan(networks, metrics, None if in_file else given.out, settings, given)
        if given.estimate:
            tell_estimate(run, given.out, given)
            return
        known = tell_known(run, given)
        found = _compute(run, given.out)
    _tell_matrices(found, known, given)


def _starts(text: str | None) -> int | str | None:
    """Return the number of starts that an option gives, or its text, for the metric to judge."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _preprocess(given: PreprocessOptions) -> Any:
    """Return the preprocessing that the options ask for, or None if there is none."""
    from repshape.preprocess import Preprocess

    chosen = values(given, PreprocessOptions)
    if not given.center and chosen == values(
        PreprocessOptions(center=given.center), PreprocessOptions
    ):
        return None
    return Preprocess(**chosen | {"center": given.center is not False})


def make_metrics(given: MetricOptions) -> dict[str, Any]:
    """Return one metric, or one for each of several alphas, by the name of its matrix."""
    check_choice("metric", given.metric, [*known_metrics(), *MEASURES])
    options = values(given, GroundOptions) | values(given, SearchOptions)
    options |= {"n_starts": _starts(given.n_starts), "preprocess": _preprocess(given)}
    parameters = with_parameters(options, given.set_)
    if given.metric in MEASURES:
        return {"": MEASURES[given.metric].as_distance(**parameters)}
    alphas = parameters.get("alpha")
    if not isinstance(alphas, list):  # no --alpha
        return {"": make_metric(given.metric, **parameters)}
    made = {alpha: make_metric(given.metric, **parameters | {"alpha": alpha}) for alpha in alphas}
    if len(made) < len(alphas):
        twice = next(alpha for alpha in alphas if alphas.count(alpha) > 1)
        raise InputError(f"Each --alpha must be given once. Got {twice:g} more than once.")
    if len(made) == 1:  # whatever its name, the matrix is the output itself
        return {"": made[alphas[0]]}
    return {f"alpha-{_digits(alpha)}": one for alpha, one in made.items()}


def make_one_metric(given: MetricOptions) -> Any:
    """Return the metric of a command that takes one."""
    metrics = list(make_metrics(given).values())
    if len(metrics) > 1:
        raise InputError(f"Give one --alpha. Got {len(metrics)}.")
    return metrics[0]


def _digits(number: float) -> str:
    """Return the shortest text that tells a number from all others."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def _settings(given: PairwiseOptions, n_metrics: int) -> Settings:
    """Return the settings, or raise if options cannot be used together, before anything is read."""
    in_file = given.out.suffix in FILES
    checked = make_settings(given, given, in_file, given.out, **values(given, PolishOptions))
    if in_file and n_metrics > 1:
        raise InputError(f"Several matrices need a folder. Got {given.out} instead.")
    return checked


def make_settings(
    given: RunOptions, printing: Printing, in_file: bool, out: Path, **more: Any
) -> Settings:
    """Return the settings of a run, or raise if they need a store and the output is a file."""
    from repshape.engine.plan import Settings

    chosen = values(given, RunOptions) | {"progress": printing.progress} | more
    if given.scheduler:
        chosen["engine"] = "dask"
    checked = Settings.checked(**chosen)
    if in_file and (chosen["engine"] == "dask" or given.shard):
        raise InputError(f"Shards and Dask need a store, a folder. Got {out} instead.")
    return checked


def _plan(
    cohort: Cohort,
    metrics: dict[str, Any],
    store: Path | None,
    settings: Settings,
    given: PairwiseOptions,
) -> Run:
    """Return what is to be done."""
    from repshape.engine.run import plan_pairwise

    names = dict.fromkeys(metrics)
    changes = {"replace": given.replace, "remove": given.remove}
    return plan_pairwise(cohort, metrics, names, None, None, store, settings, **changes)


def _compute(run: Run, out: Path) -> dict[Path, DistanceMatrix]:
    """Compute the matrices and return them by where they are."""
    found = run.run()
    if out.suffix not in FILES:
        return {out / name: D for name, D in found.items()}
    (D,) = found.values()
    D.save(out)
    return {out: D}


def tell_known(run: Run, given: Printing) -> int:
    """Say before the run how many pairs are known already, and return it."""
    known, total = run.count_pairs()
    if known:
        left = f"{total - known} are left to solve" if known < total else "none are left to solve"
        given.say(f"{known} of {total} pairs are known already; {left}.")
    return known


def tell_estimate(run: Run, out: Path, given: Printing) -> None:
    """Say what a run would cost."""
    from repshape.engine.estimate import estimate_cost

    found = estimate_cost(run)
    data = {"out": str(out), "seconds": found.seconds, "cpu_seconds": found.cpu_seconds}
    given.tell(found.lines(), data | asdict(found))


def _tell_matrices(found: dict[Path, DistanceMatrix], known: int, given: PairwiseOptions) -> None:
    from repshape.report.info import describe_matrix, polish_words, search_words

    lines = []
    for path, D in found.items():
        lines.append(f"{path}: {D!r}")
        if "polish" in D.description:
            lines.append(polish_words(D.description["polish"]))
        lines.extend(filter(None, [search_words(D)]))
    described = [describe_matrix(D, str(path)).data for path, D in found.items()]
    data = described[0] if len(described) == 1 else {"out": str(given.out), "matrices": described}
    given.tell(lines, data | {"known_pairs": known})
