"""Options as data: a command is a dataclass of options, and a function that takes it.

A field is one option or argument, annotated with its help. Options that commands share are base
classes. A field that is passed on as a parameter has the name of that parameter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

LARGEST_SEED = 2**32 - 1  # that scikit-learn takes
Given = TypeVar("Given")
Text = str | None
Texts = list[str] | None


def argument(metavar: str, help: str) -> Any:
    """Return an argument: what a command takes without a name."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def option(metavar: str, help: str, *names: str, **limits: Any) -> Any:
    """Return an option whose value is shown as ``metavar`` in the help."""
    return typer.Option(*names, metavar=metavar, help=help, **limits)


def number(help: str, *names: str, **limits: Any) -> Any:
    """Return an option that takes a number; ``min`` and ``max`` limit it."""
    return option("NUMBER", help, *names, **limits)


def flag(help: str, *names: str, **limits: Any) -> Any:
    """Return an option that takes no value."""
    return typer.Option(*names, help=help, **limits)


def command(function: Callable[[Given], None]) -> Callable[..., None]:
    """Return a function for Typer whose parameters are the fields of what ``function`` takes.

    Help lists the fields of the class first, and then those of its bases in their order. A
    repeatable option that is not given is None.
    """
    (options,) = (hint for name, hint in get_type_hints(function).items() if name != "return")
    hints = get_type_hints(options, include_extras=True)
    defaults = {one.name: one.default for one in fields(options)}

    @wraps(function)
    def parsed(**given: Any) -> None:
        function(options(**{name: None if value == [] else value for name, value in given.items()}))

    parameters = []
    for name in (name for cls in options.__mro__ for name in inspect.get_annotations(cls)):
        default = inspect.Parameter.empty if defaults[name] is MISSING else defaults[name]
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=hints[name]))
    vars(parsed).update(__signature__=inspect.Signature(parameters))
    parsed.__annotations__ = hints
    return parsed


def values(given: Any, part: type[Any]) -> dict[str, Any]:
    """Return the options that a base class declares, by name.

    >>> values(Printing(as_json=True), Printing)
    {'as_json': True, 'quiet': False}
    """
    return {name: getattr(given, name) for name in inspect.get_annotations(part)}


@dataclass(frozen=True, kw_only=True)
class Printing:
    """How the results of a command are printed."""

    as_json: Annotated[bool, flag("Print one JSON object to stdout.", "--json")] = False
    quiet: Annotated[bool, flag("Print no messages.", "--quiet", "-q")] = False

    @property
    def progress(self) -> bool | None:
        """What to pass on as ``progress``: False, or None for a terminal only."""
        return False if self.quiet else None

    def say(self, line: str) -> None:
        """Print words to stderr."""
        if not self.quiet:
            typer.echo(line, err=True)

    def tell(
        self, lines: Iterable[str], data: Mapping[str, Any], files: Iterable[Path] | None = None
    ) -> None:
        """Print results: in words to stderr, and as one JSON object to stdout.

        ``files`` are those that were written, unless the words and the data name them.
        """
        wrote = [] if files is None else [f"Wrote {file}" for file in files]
        for line in [*lines, *wrote]:
            self.say(line)
        if self.as_json:
            from repshape.io.json import json_text

            named = {} if files is None else {"files": [str(file) for file in files]}
            typer.echo(json_text({**data, **named}))


def _check_seed(seed: int | None) -> int | None:
    if seed is not None and not 0 <= seed <= LARGEST_SEED:
        raise typer.BadParameter(f"A seed must be an integer from 0 to {LARGEST_SEED}.")
    return seed


Seed = Annotated[int, number("Seed of the random numbers.", "--seed", callback=_check_seed)]
Table = Annotated[
    Path | None, option("FILE", "Table to write: .csv, .npz or .json.", "--out", "-o")
]
Matrix = Annotated[
    Path,
    argument(
        "MATRIX",
        "A matrix of distances: .npz, .csv or a directory that repshape pairwise wrote.",
    ),
]
Metadata = Annotated[
    Path | None,
    option(
        "FILE",
        "CSV table of further metadata. Its first column names the networks, and its other columns "
        "replace those of the same name.",
    ),
]
Parameters = Annotated[
    Texts,
    option(
        "NAME=VALUE",
        "Set any other parameter of the metric, such as regularization=0.1. Repeatable.",
        "--set",
    ),
]
Workers = Annotated[
    int | None, number("Number of threads or Dask workers; all cores by default.", min=1)
]
Memory = Annotated[
    Text, option("SIZE", "Memory to use, such as 2G; a quarter of the total by default.")
]
Scheduler = Annotated[Text, option("ADDRESS", "Address of a Dask scheduler.")]
