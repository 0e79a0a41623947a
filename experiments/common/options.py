"""The options of the commands of a network study, written once.

A study has its options in a dataclass that extends `StudyOptions`, and each of its commands takes
one as the first argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from experiments.common import rounds
from experiments.common.devices import CPU


class Part(StrEnum):
    """Rounds of a study (`rounds`)."""

    PILOT = rounds.PILOT
    CONFIRMATION = rounds.CONFIRMATION


Out = Annotated[Path, typer.Option(help="Folder of the study; repeat a command to continue.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")]
Images = Annotated[
    Path | None, typer.Option(help="Folder of the image files; else REPSHAPE_IMAGES.")
]
PartOption = Annotated[
    Part,
    typer.Option(
        "--round",
        help="The networks of the first round, or those of fresh seeds. Each has its own folder.",
    ),
]
Seeds = Annotated[
    str | None, typer.Option(help="Only these seeds: a number, or a range such as 10:12.")
]
Device = Annotated[str, typer.Option(help="Device of PyTorch, such as cuda:0.")]
Kept = Annotated[
    bool,
    typer.Option("--kept", help="Use the networks that are kept with the study; train the others."),
]


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What every network study can be told."""

    out: Out
    workers: Workers = None
    images: Images = None
    part: PartOption = Part.PILOT
    seeds: Seeds = None
    kept: Kept = False
    device: Device = CPU

    @property
    def chosen_seeds(self) -> range | None:
        """The seeds to work on, or None for all."""
        return rounds.read_seeds(self.seeds)


OptionsType = TypeVar("OptionsType", bound=StudyOptions)
Function = TypeVar("Function", bound=Callable[..., None])


def add_command(
    app: typer.Typer,
    kind: type[OptionsType],
    name: str | None = None,
    *,
    without: Collection[str] = (),
) -> Callable[[Function], Function]:
    """Add a command that takes the options of a study; return the function as it is.

    Parameters
    ----------
    app : typer.Typer
    kind : type
        Dataclass of the options, which the function takes as its first argument. Further parameters
        of the function become options of this command alone.
    name : str, optional
        By default that of the function.
    without : collection of str
        Options that would mean nothing to this command.
    """

    def add(function: Function) -> Function:
        hints = get_type_hints(kind, include_extras=True)
        shared = [
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if one.default is MISSING else one.default,
                annotation=hints[one.name],
            )
            for one in fields(kind)
            if one.name not in without
        ]
        own_hints = get_type_hints(function, include_extras=True)
        own = [
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own_hints[one.name])
            for one in list(inspect.signature(function).parameters.values())[1:]
        ]

        def run(**values: Any) -> None:
            given = {one.name: values.pop(one.name) for one in shared}
            function(kind(**given), **values)

        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in (*shared, *own)}
        app.command(name or function.__name__)(run)
        return function

    return add
