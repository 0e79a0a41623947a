"""The table of features of docs/comparison.md, from docs/features.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

FEATURES = Path(__file__).parents[1] / "docs" / "features.toml"
MARK = "<!-- features -->"
PACKAGES = ("repshape", "netrep", "rsatoolbox", "POT")


def rows() -> list[dict[str, str]]:
    """Return the rows: a feature, what each package has of it, and perhaps the test of ours."""
    found: list[dict[str, str]] = tomllib.loads(FEATURES.read_text(encoding="utf-8"))["row"]
    return found


def table() -> str:
    """Return the rows as a Markdown table, with the file of each test."""
    head = ["", *PACKAGES, "tested in"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows():
        cells = [row["feature"], *(row[name] for name in PACKAGES)]
        file = row.get("test", "").split("::")[0].removeprefix("tests/")
        lines.append(f"| {' | '.join(cells)} | {f'`{file}`' if file else ''} |")
    return "\n".join(lines)
