"""Saving of results, and of their tables in the documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs" / "evidence" / "inference.md"


def save(path: Path, key: str, value: Any) -> None:
    """Set one entry of a JSON file."""
    path.parent.mkdir(exist_ok=True)
    everything = json.loads(path.read_text()) if path.exists() else {}
    everything[key] = value
    path.write_text(json.dumps(everything, indent=1) + "\n")


def replace_table(name: str, table: str, path: Path = DOCS) -> None:
    """Replace the table between the markers with this name, if the page has them."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = path.read_text() if path.exists() else ""
    if begin in text and end in text:
        before, rest = text.split(begin, 1)
        after = rest.split(end, 1)[1]
        path.write_text(f"{before}{begin}\n{table}\n{end}{after}")
