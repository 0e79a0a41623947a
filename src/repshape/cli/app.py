"""The command line `repshape`: its commands, its exit codes and its version.

Results go to files and messages to stderr; ``--json`` prints one JSON object to stdout. The exit
code is 0 for success, 1 for a failure (with a reason in one line) and 2 for bad usage. Modules that
are slow to import are imported inside the commands, so that ``--help`` and ``--version`` are quick.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from repshape._version import package_version
from repshape.cli.cohorts import import_, info
from repshape.cli.cross import cross
from repshape.cli.demo import demo
from repshape.cli.embed import embed
from repshape.cli.groups import groups
from repshape.cli.matrices import repair
from repshape.cli.models import models
from repshape.cli.neighbors import neighbors
from repshape.cli.options import command
from repshape.cli.pairwise import pairwise
from repshape.cli.report import report

COMMANDS: dict[str, Callable[[Any], None]] = {
    "demo": demo,
    "import": import_,
    "info": info,
    "pairwise": pairwise,
    "cross": cross,
    "repair": repair,
    "embed": embed,
    "neighbors": neighbors,
    "groups": groups,
    "models": models,
    "report": report,
}

app = typer.Typer(
    name="repshape",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # `run` prints failures, in one line
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"repshape {package_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Measure how differently noisy networks represent the same inputs."""


for _name, _command in COMMANDS.items():
    app.command(_name)(command(_command))


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
