"""CSV text that a spreadsheet shows as text, and that our readers restore exactly.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula, and runs it.
The rule for every CSV file that repshape writes: text that begins with one of these characters, a
tab or a line break, after any number of apostrophes, gets one more apostrophe in front. Numbers are
written as they are, negative ones too. Every reader of repshape removes that apostrophe again.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from repshape.errors import InputError

# Text that is a number: neither "007", which is a name, nor "1_000", which Python would accept.
WRITTEN_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?|-?inf|nan", re.ASCII)
TRUTHS = {"True": True, "False": False}
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def escape(text: str) -> str:
    """Return text as it is written into a cell.

    >>> escape("=1+1"), escape("'=1"), escape("-1.5"), escape("mouse 1")
    ("'=1+1", "''=1", '-1.5', 'mouse 1')
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def unescape(text: str) -> str:
    """Return the text that `escape` was given.

    >>> unescape("'=1+1"), unescape("''=1"), unescape("-1.5"), unescape("'t Hooft")
    ('=1+1', "'=1", '-1.5', "'t Hooft")
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def csv_bytes(rows: Iterable[Sequence[Any]]) -> bytes:
    """Return rows of cells as a CSV file: text is escaped, None is empty, floats keep every bit."""
    lines: list[str] = []
    # Python 3.11 and 3.12 quote a line break only if it belongs to the line terminator.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    for row in rows:
        writer.writerow([escape(cell) if isinstance(cell, str) else cell for cell in row])
    text = "".join(line.removesuffix("\r\n") + "\n" for line in lines)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        cell = text[max(0, error.start - 10) : error.end]
        raise InputError(f"Text near {cell!r} cannot be written as UTF-8.") from None


def csv_cells(text: str) -> list[list[str]]:
    """Return the cells of a CSV file as the text that was written into them."""
    return [[unescape(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""))]


def check_columns(names: Sequence[Any], what: str) -> None:
    """Raise one sentence if two columns of a table have the same name; some may have none.

    >>> check_columns(["name", "area", "area"], "mice.csv")
    Traceback (most recent call last):
        ...
    repshape.errors.InputError: mice.csv has two columns named 'area'.
    See "Troubleshooting" in the documentation.
    """
    repeated = [name for name, times in Counter(names).items() if times > 1 and name != ""]
    if repeated:
        raise InputError(f"{what} has two columns named {repeated[0]!r}.")


def typed_cells(cells: Sequence[str]) -> list[Any]:
    """Return a column as integers, floats or truth values if all of its cells are of one kind.

    Empty cells are None, and do not count. All other columns are text.

    >>> typed_cells(["1", "", "3"]), typed_cells(["1", "2.5"]), typed_cells(["007", "8"])
    ([1, None, 3], [1.0, 2.5], ['007', '8'])
    """
    filled = [cell for cell in cells if cell]
    read: Callable[[str], Any] = str
    if filled and all(cell in TRUTHS for cell in filled):
        read = TRUTHS.__getitem__
    elif filled and all(map(WRITTEN_NUMBER.fullmatch, filled)):
        read = int if all(cell.lstrip("+-").isdecimal() for cell in filled) else float
    return [read(cell) if cell else None for cell in cells]
