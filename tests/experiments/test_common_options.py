"""Options of commands: shared ones for all, own ones for one, and none that does nothing."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from experiments.common.options import Part, StudyOptions, add_command
from typer.testing import CliRunner, Result


@dataclass(frozen=True, kw_only=True)
class Options(StudyOptions):
    """Those of a study with one option more."""

    width: Annotated[int, typer.Option(min=1)] = 3


@pytest.fixture
def called() -> list[tuple[Options, Any]]:
    return []


@pytest.fixture
def app(called: list[tuple[Options, Any]]) -> typer.Typer:
    found = typer.Typer()

    @add_command(found, Options, without=("images", "device"))
    def measure(options: Options, known: Path | None = None) -> None:
        """Measure it."""
        called.append((options, known))

    @add_command(found, Options, "all")
    def everything(options: Options) -> None:
        """Do everything."""
        measure(options, known=Path("else"))

    return found


def invoke(app: typer.Typer, *words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_options_reach_the_function(app: typer.Typer, called: list[tuple[Options, Any]]) -> None:
    words = ["--out", "a", "--width", "5", "--round", "confirmation", "--known", "b", "--seeds"]
    assert invoke(app, "measure", *words, "3:5").exit_code == 0
    options = Options(out=Path("a"), width=5, part=Part.CONFIRMATION, seeds="3:5")
    assert called == [(options, Path("b"))]
    assert options.chosen_seeds == range(3, 5)


def test_commands_call_each_other(app: typer.Typer, called: list[tuple[Options, Any]]) -> None:
    assert invoke(app, "all", "--out", "a", "--images", "i").exit_code == 0
    assert called == [(Options(out=Path("a"), images=Path("i")), Path("else"))]


def test_an_option_that_would_do_nothing_is_refused(app: typer.Typer) -> None:
    assert invoke(app, "all", "--out", "a", "--device", "cpu").exit_code == 0
    failed = invoke(app, "measure", "--out", "a", "--device", "cpu")
    assert failed.exit_code == 2
    assert "No such option" in failed.output
    assert "--out" in invoke(app, "measure").output  # it has no default
    listed = invoke(app, "measure", "--help").output
    assert "Measure it." in listed
    names = {one.name for one in fields(Options)} - {"images", "device", "part"}
    assert all(f"--{name}" in listed for name in names | {"round", "known"})
