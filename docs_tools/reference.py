"""The entries of the reference: those that its pages list, and those that the registry adds."""

from __future__ import annotations

import re
from pathlib import Path

from repshape.metrics.registry import METRICS

MARK = "<!-- metrics -->"
HEADING = re.compile(r"^::: (\S+)", re.MULTILINE)


def with_metrics(markdown: str) -> str:
    """Return a page with an entry for each metric of the registry in the place of the mark."""
    entries = "\n".join(f"::: repshape.{name}\n" for name in METRICS.values())
    return markdown.replace(MARK, entries)


def entries_of(page: Path) -> list[str]:
    """Return the names that a page has entries for."""
    return HEADING.findall(with_metrics(page.read_text(encoding="utf-8")))
