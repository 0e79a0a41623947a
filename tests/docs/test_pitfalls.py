"""The page of wrong habits shows what repshape says today."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from docs.blocks import ROOT

sys.path.insert(0, str(ROOT))  # the tools are no part of the package

pytest.importorskip("pynwb")
pytest.importorskip("torch")
pytest.importorskip("xarray")

from docs_tools.habits import HABITS, Habit
from docs_tools.pitfalls import PAGE, last_statement, outcome, page

from repshape.errors import InputError


def test_the_page_is_up_to_date() -> None:
    shown, found = PAGE.read_text(encoding="utf-8").splitlines(), page().splitlines()
    advice = "Run python -m docs_tools.pitfalls, and read what changed."
    assert [one for one in found if one not in shown] == [], advice
    assert shown == found, advice


@pytest.mark.parametrize("one", HABITS, ids=lambda one: one.run.__name__)
def test_a_habit_is_described_and_its_code_is_one_line(one: Habit) -> None:
    assert (one.run.__doc__ or "").endswith(".")
    shown = last_statement(one.run)
    assert "\n" not in shown
    assert "|" not in shown


def silent() -> None:
    """Do nothing wrong."""


def refused() -> None:
    Path("left behind").touch()
    raise InputError("a | b")


def warned() -> None:
    warnings.warn("Careful.", UserWarning, stacklevel=1)


def right() -> str:
    value = 1 + 1
    return f"It is {value}."


class TestOutcome:
    def test_errors_and_warnings_are_quoted(self) -> None:
        assert outcome(refused) == r"**Error:** a \| b"
        assert outcome(warned) == "**Warning:** Careful."
        assert outcome(right) == "It is 2."
        assert not Path("left behind").exists()

    def test_silence_ends_the_run(self) -> None:
        with pytest.raises(AssertionError, match="Nothing is said about silent"):
            outcome(silent)

    def test_other_errors_end_the_run(self) -> None:
        with pytest.raises(ZeroDivisionError):
            outcome(lambda: str(1 / 0))

    def test_the_last_statement_is_shown(self) -> None:
        assert last_statement(right) == "value = 1 + 1"
        assert last_statement(refused) == "raise InputError('a | b')"
