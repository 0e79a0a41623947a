"""The command line: it parses and calls the library, and nothing else.

Results go to files, human words to stderr; ``--json`` prints one JSON object to stdout. Exit 0 is
done, 1 failed with a one-line reason, 2 bad usage.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from repshape import cli_analysis
from repshape._version import package_version

app = typer.Typer(
    name="repshape",
    help="Distances between stochastic neural representations.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # failures are one line, written by `run`
)


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
    out: Annotated[Path, typer.Option(help="Folder for the figure and the data.")] = Path(
        "demo-output"
    ),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary to stdout as one JSON object.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No words on stderr.")] = False,
) -> None:
    """Measure 99 toy networks at alpha 1, 2 and 0, and draw the plane that each one finds."""
    from repshape.demo import run_demo, save_demo  # slow to import: not for --help and --version

    result = run_demo(progress=False if quiet else None)
    files = save_demo(result, out)
    if not quiet:
        typer.echo(result.words(), err=True)
        typer.echo(f"Wrote {len(files)} files; the figure is {files[0]}", err=True)
    if as_json:
        typer.echo(json.dumps(result.summary() | {"files": [str(file) for file in files]}))


cli_analysis.register(app)


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
