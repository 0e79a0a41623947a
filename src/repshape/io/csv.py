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
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from repshape.errors import InputError

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
