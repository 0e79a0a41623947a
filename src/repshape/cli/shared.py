"""What all commands share: the parameters of a metric, and the checks of inputs and outputs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from repshape.errors import InputError, RepshapeError

if TYPE_CHECKING:  # slow to import: not for --help
    from repshape.matrix.distances import DistanceMatrix


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


@contextmanager
def resumable(folder: Path | None, kept: str) -> Iterator[None]:
    """Say what is kept in a directory when the user interrupts a run, and exit with 1."""
    try:
        yield
    except KeyboardInterrupt:
        import logging

        # A write that was under way is abandoned; its event loop need not complain at exit.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        words = "repshape: interrupted."
        if folder is not None and folder.is_dir():
            words += f" {kept} are safe in {folder}: repeat the command to resume."
        typer.echo(words, err=True)
        raise typer.Exit(1) from None


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


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> list[Path]:
    """Return the files that were asked for; exit with 2 if one is an input or cannot be written."""
    from repshape.io.paths import check_output_file, check_separate

    files = [file for file in outputs if file is not None]
    with usage():
        for file in files:
            check_output_file(file)
        check_separate(files, [one for one in inputs if one is not None])
    return files


def check_output_folder(output: Path, inputs: Iterable[Path]) -> None:
    """Exit with 2 unless a directory exists or can be made, and is not an input."""
    from repshape.io import paths

    with usage():
        paths.check_output_folder(output)
        paths.check_separate([output], inputs)


def check_tables(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> list[Path]:
    """Return the files that were asked for; exit with 2 unless they can be written as tables."""
    from repshape.io.paths import check_suffix
    from repshape.io.tables import SUFFIXES

    files = [file for file in outputs if file is not None]
    with usage():
        for file in files:
            check_suffix(file, SUFFIXES)
    return check_outputs(files, inputs)
