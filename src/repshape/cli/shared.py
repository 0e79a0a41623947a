"""What all commands share: common options, the one printer, and the checks of outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from repshape.errors import RepshapeError

LARGEST_SEED = 2**32 - 1  # that scikit-learn takes


def option(metavar: str, help: str, *names: str, **limits: Any) -> Any:
    """Return an option whose value is shown as ``metavar`` in the help."""
    return typer.Option(*names, metavar=metavar, help=help, **limits)


def number(help: str, *names: str, **limits: Any) -> Any:
    """Return an option that takes a number; ``min`` and ``max`` limit it."""
    return option("NUMBER", help, *names, **limits)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages to stderr.")]


def _check_seed(seed: int | None) -> int | None:
    if seed is not None and not 0 <= seed <= LARGEST_SEED:
        raise typer.BadParameter(f"A seed must be an integer from 0 to {LARGEST_SEED}.")
    return seed


Seed = Annotated[int, number("Seed of the random numbers.", callback=_check_seed)]


def tell(lines: Iterable[str], data: Mapping[str, Any], *, as_json: bool, quiet: bool) -> None:
    """Print the results of a command: in words to stderr, and as one JSON object to stdout."""
    if not quiet:
        for line in lines:
            typer.echo(line, err=True)
    if as_json:
        from repshape.io.json import json_text

        typer.echo(json_text(data))


@contextmanager
def usage() -> Iterator[None]:
    """Turn an error of the library about an option into bad usage, which exits with 2."""
    try:
        yield
    except RepshapeError as error:
        raise typer.BadParameter(str(error)) from None


def check_output_files(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Exit with 2 unless all files can be written, and none of them is an input."""
    from repshape.io.paths import check_output_file, check_separate

    files = list(outputs)
    with usage():
        for file in files:
            check_output_file(file)
        check_separate(files, inputs)


def check_output_folder(output: Path, inputs: Iterable[Path]) -> None:
    """Exit with 2 unless a directory exists or can be made, and is not an input."""
    from repshape.io import paths

    with usage():
        paths.check_output_folder(output)
        paths.check_separate([output], inputs)


def check_tables(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Exit with 2 unless all files can be written as tables, and none of them is an input."""
    from repshape.io.paths import check_suffix
    from repshape.io.tables import SUFFIXES

    files = list(outputs)
    with usage():
        for file in files:
            check_suffix(file, SUFFIXES)
    check_output_files(files, inputs)
