"""The entries of the reference: those that its pages list, and those that registries add."""

from __future__ import annotations

import re
from pathlib import Path

from repshape.baselines.measures import MEASURES, table
from repshape.metrics.registry import METRICS

MARK = "<!-- metrics -->"
MEASURES_MARK = "<!-- measures -->"
HEADING = re.compile(r"^::: (\S+)", re.MULTILINE)


def with_metrics(markdown: str) -> str:
    """Return a page with the metrics, or the table of measures, in the place of their marks."""
    entries = "\n".join(f"::: repshape.{name}\n" for name in METRICS.values())
    measures = "\n".join(f"::: repshape.baselines.{name}\n" for name in MEASURES)
    with_measures = markdown.replace(MEASURES_MARK, f"{table()}\n\n{measures}")
    return with_measures.replace(MARK, entries)


def entries_of(page: Path) -> list[str]:
    """Return the names that a page has entries for."""
    return HEADING.findall(with_metrics(page.read_text(encoding="utf-8")))
