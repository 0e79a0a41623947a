"""The command line: it parses and calls the library, and nothing else.

Results go to files, human words to stderr; ``--json`` prints one JSON object to stdout. Exit 0 is
done, 1 failed with a one-line reason, 2 bad usage.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from repshape._version import package_version
from repshape.cli import analysis as analysis_commands
from repshape.cli import report as report_commands
from repshape.errors import RepshapeError

if TYPE_CHECKING:
    from repshape.matrix.distances import DistanceMatrix
    from repshape.report.info import Info

app = typer.Typer(
    name="repshape",
    help="Distances between stochastic neural representations.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # failures are one line, written by `run`
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No words on stderr.")]
Text = str | None


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"repshape {package_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show version.")
    ] = False,
) -> None:
    """Distances between stochastic neural representations."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page, the figure and the data.")] = Path(
        "demo-output"
    ),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary to stdout as one JSON object.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No words on stderr.")] = False,
) -> None:
    """Measure 99 toy networks, decide the findings of Figure 2, and show all on one page."""
    from repshape.demo import run_demo, save_demo  # slow to import: not for --help and --version

    progress = False if quiet else None
    result = run_demo(progress=progress)
    files = save_demo(result, out, progress=progress)
    if not quiet:
        typer.echo(result.words(), err=True)
        typer.echo(f"Wrote {len(files)} files to {out}.", err=True)
        typer.echo(f"Open the page in a browser: {files[0].resolve().as_uri()}", err=True)
    if as_json:
        typer.echo(json.dumps(result.summary() | {"files": [str(file) for file in files]}))


@app.command("import")
def import_(
    sources: Annotated[
        list[str], typer.Argument(help="A manifest (.csv), or files: .npz, .npy, .h5[#group].")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The cohort to make.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build a cohort from files.

    The manifest is a CSV table with the columns name and file (relative to the manifest); every
    other column is metadata. All networks must have the same conditions, in the same order.

    \b
    Examples:
      repshape import mice.csv -o mice.zarr
      repshape import a.npz b.npy recordings.h5#mouse3 -o cohort.zarr
    """  # noqa: D301 (click reads the backspace)
    from repshape.io.importing import import_cohort
    from repshape.report.info import describe_cohort

    _say(describe_cohort(import_cohort(sources, out)), as_json, quiet)


@app.command()
def info(
    path: Annotated[str, typer.Argument(help="A cohort, a matrix of distances or a network.")],
    as_json: AsJson = False,
) -> None:
    """Describe a cohort, a matrix of distances, or the file of one network.

    \b
    Examples:
      repshape info cohort.zarr
      repshape info distances.zarr --json
    """  # noqa: D301
    from repshape.report.info import info as describe

    _say(describe(path), as_json, quiet=False)


@app.command()
def pairwise(
    cohort: Annotated[Path, typer.Argument(help="The cohort, made by repshape import.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A store that can be continued; or a .npz or .csv.")
    ],
    metric: Annotated[str, typer.Option(help="gaussian, energy, wasserstein, ...")] = "gaussian",
    alpha: Annotated[
        list[float] | None,
        typer.Option(help="Weight of the means, 0 to 2; give it several times to sweep."),
    ] = None,
    q: Annotated[float | None, typer.Option(help="Exponent of the energy metric.")] = None,
    p: Annotated[float | None, typer.Option(help="Exponent of the Wasserstein metric.")] = None,
    group: Annotated[Text, typer.Option(help="orthogonal, rotation, permutation, ...")] = None,
    covariance: Annotated[Text, typer.Option(help="mle, unbiased, ledoit-wolf, ...")] = None,
    components: Annotated[int | None, typer.Option(help="Reduce networks by PCA.")] = None,
    scale: Annotated[bool, typer.Option("--scale", help="Scale networks to variance 1.")] = False,
    whitening: Annotated[float, typer.Option(help="0 none to 1 whole.")] = 0.0,
    starts: Annotated[Text, typer.Option(help="Starts of the solver: auto, or a number.")] = None,
    tol: Annotated[float | None, typer.Option(help="Tolerance of the solver.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Most gradients of one start.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random starts.")] = None,
    polish: Annotated[bool, typer.Option(help="Restart pairs from compositions.")] = True,
    workers: Annotated[int | None, typer.Option(help="Threads, or Dask workers.")] = None,
    memory: Annotated[Text, typer.Option(help="Budget, such as 2G [a quarter of RAM].")] = None,
    shard: Annotated[Text, typer.Option(help="i/N: only every N-th tile.")] = None,
    engine: Annotated[str, typer.Option(help="threads or dask.")] = "threads",
    scheduler: Annotated[Text, typer.Option(help="Address of a Dask scheduler.")] = None,
    alignments: Annotated[Text, typer.Option(help="Keep alignments: float32, float64.")] = None,
    tile: Annotated[int | None, typer.Option(help="Edge of the tiles of a new store.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute all distances of a cohort.

    A run that was stopped, by whatever, continues where it was when the same command is given
    again. Several shards may work on one store at once.

    \b
    Examples:
      repshape pairwise mice.zarr -o d.zarr --covariance ledoit-wolf --components 20
      repshape pairwise mice.zarr -o sweep --alpha 0 --alpha 1 --alpha 2
      repshape pairwise vaes.zarr -o d.zarr --shard $SLURM_ARRAY_TASK_ID/100
      repshape pairwise vaes.zarr -o d.zarr --scheduler tcp://head:8786
    """  # noqa: D301
    from repshape.cli.commands import check_pairwise, run_pairwise, sweep
    from repshape.io.cohort import Cohort

    common = {"q": q, "p": p, "group": group, "covariance": covariance, "tol": tol}
    common |= {"max_iter": max_iter, "random_state": seed, "n_starts": starts}
    settings = {"workers": workers, "memory": memory, "shard": shard, "alignments": alignments}
    settings |= {"tile": tile, "polish": polish, "scheduler": scheduler}
    settings |= {"engine": "dask" if scheduler else engine, "progress": False if quiet else None}
    with _usage():
        metrics = sweep(metric, alpha, common, (components, scale, whitening))
        check_pairwise(out, metrics, settings)
    with _resumable(out):
        found = run_pairwise(Cohort.open(cohort), metrics, out, settings)
    _report(found, out, as_json, quiet)


def _report(
    found: dict[str, tuple[Path, DistanceMatrix]], out: Path, as_json: bool, quiet: bool
) -> None:
    from repshape.report.info import describe_matrix, polish_words

    for path, D in found.values():
        if not quiet:
            typer.echo(f"{path}: {D!r}", err=True)
            if "polish" in D.description:
                typer.echo(polish_words(D.description["polish"]), err=True)
    if as_json:
        described = [describe_matrix(D, str(path)).data for path, D in found.values()]
        single = described[0] if len(described) == 1 else {"out": str(out), "matrices": described}
        typer.echo(json.dumps(single))


def _say(described: Info, as_json: bool, quiet: bool) -> None:
    """Print a description: as one JSON object to stdout, or in words to stderr."""
    if as_json:
        typer.echo(json.dumps(described.data))
    elif not quiet:
        for line in described.lines:
            typer.echo(line, err=True)


@contextmanager
def _usage() -> Iterator[None]:
    """Make a bad parameter a matter of usage (exit 2)."""
    try:
        yield
    except RepshapeError as error:
        raise typer.BadParameter(str(error)) from None


@contextmanager
def _resumable(out: Path) -> Iterator[None]:
    """Say how to continue when the user stops a run."""
    try:
        yield
    except KeyboardInterrupt:
        # A write that was in flight is given up; its event loop need not complain at exit.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        words = "repshape: stopped."
        if out.is_dir():
            words += f" What is finished is safe in {out}: give the same command to continue."
        typer.echo(words, err=True)
        raise typer.Exit(1) from None


analysis_commands.register(app)
report_commands.register(app)


def run(arguments: Sequence[str]) -> int:
    """Run the command line on the given arguments and return its exit code."""
    try:
        app(list(arguments), prog_name="repshape")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        print(f"repshape: {reason}", file=sys.stderr)
        return 1
    return 0


def main() -> None:
    """Run the command line of this process."""
    sys.exit(run(sys.argv[1:]))
