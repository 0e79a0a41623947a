"""Tables between the markers of a page, and the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import floor, log10
from pathlib import Path
from typing import Any

LEAST = 1e-3  # smaller numbers have an exponent
LEAST_SHARE = 1e-3  # percent; smaller shares are rounding errors


def replaced(text: str, name: str, table: str) -> str:
    """Return a page with another table between ``<!-- name -->`` and its end."""
    begin = f"<!-- {name} -->"
    pattern = re.compile(rf"{re.escape(begin)}\n.*?(<!-- end(?: of {re.escape(name)})? -->)", re.S)
    if not pattern.search(text):
        raise KeyError(f"The page has no table {name!r}.")
    return pattern.sub(lambda found: f"{begin}\n{table}\n{found[1]}", text, count=1)


def write(page: Path, name: str, lines: list[str]) -> None:
    """Replace the lines of the table between the markers of a page."""
    text = page.read_text(encoding="utf-8")
    page.write_text(replaced(text, name, "\n".join(lines)), encoding="utf-8")


def markdown(head: list[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def number(value: float, digits: int = 3) -> str:
    """Return a number with three significant digits, and without an exponent if it is large.

    >>> [number(one) for one in (11700.0, 0.48349, -3.8e-05, 2.0, 0.0)]
    ['11700', '0.483', '-3.8e-5', '2', '0']
    """
    if value == 0:
        return "0"
    if abs(value) < LEAST:
        digit, exponent = f"{value:.{min(digits, 2) - 1}e}".split("e")
        return f"{digit.removesuffix('.0')}e{int(exponent)}"
    rounded = round(value, digits - 1 - floor(log10(abs(value))))
    return f"{rounded:.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"


def cell(key: str, value: Any, digits: int = 3) -> str:
    """Return a value of a row as text; the name of a share ends in %."""
    if not isinstance(value, float):
        return "" if value is None else str(value)
    if key.endswith("%") and 0 < abs(value) < LEAST_SHARE:
        return f"< {LEAST_SHARE:g}"
    return number(value, digits)


def table(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str], digits: int = 3) -> str:
    """Return a Markdown table; ``columns`` maps keys of the rows to headings."""
    lines = [[cell(key, row.get(key), digits) for key in columns] for row in rows]
    return "\n".join(markdown(list(columns.values()), lines))
