"""The page of wrong habits, docs/pitfalls.md: ``python -m docs_tools.pitfalls`` writes it.

What repshape says about a habit is an error or a warning. A habit about which nothing is said ends
the run, unless it returns a sentence.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import docs_tools.habits_outside  # noqa: F401 (adds its habits to the list)
from docs_tools.habits import HABITS, Habit, Run

from repshape.errors import RepshapeError, words_of

PAGE = Path(__file__).parents[1] / "docs" / "pitfalls.md"
INTRODUCTION = """\
# What can go wrong on the way in

Most wrong numbers are made before the first distance is computed: by a label on the wrong row, a
window in the wrong unit, or an array with its axes swapped. This page lists such habits, and what
`repshape` says about each. After an error, nothing was computed. After a warning, the result may be
right, and you should check. The tables are made by running the code, and a test compares them with
the current version.
"""
HASH = re.compile(r"'[0-9a-f]{16,64}'")
# Characters that mean something in Markdown.
SPECIAL = "\\|*_[]`"


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for topic in dict.fromkeys(one.topic for one in HABITS):
        rows = [_row(one) for one in HABITS if one.topic == topic]
        head = [f"## {topic}", "", "| habit | what repshape says |", "|---|---|"]
        parts.append("\n".join([*head, *rows, ""]))
    return "\n".join(parts)


def _row(one: Habit) -> str:
    shown = last_statement(one.run).replace("|", "\\|")
    return f"| {inspect.getdoc(one.run)}<br>`{shown}` | {outcome(one.run)} |"


def last_statement(run: Run) -> str:
    """Return the last statement of a function that is not a return, on one line."""
    function = ast.parse(dedent(inspect.getsource(run))).body[0]
    assert isinstance(function, ast.FunctionDef)
    found = [one for one in function.body if not isinstance(one, ast.Return)]
    return ast.unparse(found[-1])


def outcome(run: Run) -> str:
    """Run a habit; return what repshape says, or raise if it says nothing."""
    with warnings.catch_warnings(record=True) as caught, _empty_folder():
        warnings.simplefilter("always")
        try:
            said = run()
        except RepshapeError as error:
            return f"**Error:** {in_cell(str(error))}"
    if caught:
        return f"**Warning:** {in_cell(words_of(caught[0].message))}"
    if said is None:
        raise AssertionError(f"Nothing is said about {run.__name__}.")
    return said


def in_cell(text: str) -> str:
    r"""Return text as a cell of a Markdown table shows it; hashes are left out.

    >>> in_cell("a | b\nand *c* <d> of '0123456789abcdef'")
    "a \\| b and \\*c\\* &lt;d&gt; of '...'"
    """
    text = HASH.sub("'...'", text)  # they depend on the versions of other packages
    for character in SPECIAL:
        text = text.replace(character, f"\\{character}")
    return " ".join(text.replace("<", "&lt;").replace(">", "&gt;").split())


@contextmanager
def _empty_folder() -> Iterator[None]:
    """Work in a folder of its own, so that messages have short paths."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
