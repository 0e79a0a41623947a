"""What all commands share: common options, the one printer, and the checks of outputs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from repshape.errors import InputError, RepshapeError

if TYPE_CHECKING:  # slow to import: not for --help
    from repshape.matrix.distances import DistanceMatrix

LARGEST_SEED = 2**32 - 1  # that scikit-learn takes


def option(metavar: str, help: str, *names: str, **limits: Any) -> Any:
    """Return an option whose value is shown as ``metavar`` in the help."""
    return typer.Option(*names, metavar=metavar, help=help, **limits)


def number(help: str, *names: str, **limits: Any) -> Any:
    """Return an option that takes a number; ``min`` and ``max`` limit it."""
    return option("NUMBER", help, *names, **limits)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages.")]


def _check_seed(seed: int | None) -> int | None:
    if seed is not None and not 0 <= seed <= LARGEST_SEED:
        raise typer.BadParameter(f"A seed must be an integer from 0 to {LARGEST_SEED}.")
    return seed


Metadata = Annotated[
    Path | None,
    option(
        "FILE",
        "CSV table of further metadata. Its first column names the networks, and its other columns "
        "replace those of the same name.",
    ),
]
Seed = Annotated[int, number("Seed of the random numbers.", callback=_check_seed)]


Parameters = Annotated[
    list[str] | None,
    option(
        "NAME=VALUE",
        "Set any other parameter of the metric, such as regularization=0.1. Repeatable.",
        "--set",
    ),
]


def with_parameters(options: Mapping[str, Any], given: Iterable[str] | None) -> dict[str, Any]:
    """Return the parameters of a metric: those that have an option, and those given by ``--set``.

    The value of ``--set`` is read as JSON (a number, true, a list) or else as text.

    >>> with_parameters({"q": None, "group": "soft"}, ["q=0.5", "estimator=v"])
    {'q': 0.5, 'group': 'soft', 'estimator': 'v'}
    """
    found = {name: value for name, value in options.items() if value is not None}
    for one in given or []:
        name, equals, text = one.partition("=")
        if not name or not equals:
            raise InputError(f"--set takes a parameter as NAME=VALUE. Got {one!r} instead.")
        if name in found:
            raise InputError(f"The parameter {name!r} must be given once. Got it more than once.")
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    order = [*options, *found]  # as the options are listed, and then as given
    return {name: found[name] for name in dict.fromkeys(order) if name in found}


def load_matrix(path: Path) -> DistanceMatrix:
    """Read a matrix of distances; a directory that holds several of them is refused by name."""
    from repshape.matrix.distances import DistanceMatrix
    from repshape.report.sources import stores_in

    inside = stores_in(path)
    if inside is not None:
        names = ", ".join(one.name for one in inside)
        raise InputError(f"{path} holds several matrices: {names}. Choose one, as in {inside[0]}")
    return DistanceMatrix.load(path)


def tell(lines: Iterable[str], data: Mapping[str, Any], *, as_json: bool, quiet: bool) -> None:
    """Print the results of a command: in words to stderr, and as one JSON object to stdout."""
    if not quiet:
        for line in lines:
            typer.echo(line, err=True)
    if as_json:
        from repshape.io.json import json_text

        typer.echo(json_text(data))


@contextmanager
def warnings_in_words(kind: type[Warning], *, quiet: bool) -> Iterator[None]:
    """Print warnings of a kind to stderr as sentences, without a place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", kind)
        show = warnings.showwarning

        def say(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, kind):
                show(message, category, *place, **more)
            elif not quiet:
                typer.echo(f"Warning: {message}", err=True)

        warnings.showwarning = say
        yield


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
