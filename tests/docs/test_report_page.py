"""What docs/report.md and docs/evidence/scale.md say about reports is what the code does."""

from __future__ import annotations

import json
import re

from docs.blocks import DOCS, ROOT
from repshape.report.quality import FULL
from repshape.report.sources import MOST_NETWORKS
from repshape.report.write import MAX_PAIRS

PAGE = (DOCS / "report.md").read_text(encoding="utf-8")
ROWS = json.loads((ROOT / "benchmarks" / "results" / "report.json").read_text())["rows"]


def test_pictures_are_small() -> None:
    pictures = re.findall(r"\]\((images/[^)]+)\)", PAGE)
    assert len(pictures) == 4
    assert sum((DOCS / one).stat().st_size for one in pictures) < 600_000


def test_limits_are_those_of_the_code() -> None:
    assert f"Up to {FULL} networks" in PAGE
    assert f"The limit is {MOST_NETWORKS} networks" in PAGE
    assert f"At most {MAX_PAIRS} pairs" in PAGE


def test_reports_of_300_networks_open_in_three_seconds() -> None:
    assert any(row["networks"] == 300 and row["open_worst_ms"] < 3000 for row in ROWS)
