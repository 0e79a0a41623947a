"""Tables between the markers of a page."""

from __future__ import annotations

import re
from pathlib import Path


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


def markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]
