"""What docs/report.md shows must run as it stands, and its table be what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from repshape.cli import run
from repshape.report.quality import FULL
from repshape.report.sources import MOST_NETWORKS
from repshape.report.write import MAX_PAIRS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")


def test_python_blocks_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile("\n".join(blocks), "report.md", "exec"), {"__name__": "__main__"})
    assert "('means', 'covariances')" in capsys.readouterr().out
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize("line", re.findall(r"^repshape (.*)$", PAGE, re.MULTILINE))
def test_commands_parse(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is missing is a failure (1); an option that is missing is bad usage (2)."""
    monkeypatch.chdir(tmp_path)
    assert run(line.split()) == 1


def test_pictures_are_there() -> None:
    pictures = re.findall(r"\]\((images/[^)]+)\)", PAGE)
    assert len(pictures) == 3
    total = sum((ROOT / "docs" / one).stat().st_size for one in pictures)
    assert total < 600_000


def test_limits_are_those_of_the_code() -> None:
    assert f"Up to {FULL} networks" in PAGE
    assert f"The limit is {MOST_NETWORKS} networks" in PAGE
    assert f"At most {MAX_PAIRS} pairs" in PAGE


def test_times_are_those_that_were_measured() -> None:
    saved = json.loads((ROOT / "benchmarks" / "results" / "report.json").read_text())
    for row in saved["rows"]:
        times = [row[f"{name}_ms"] / 1000 for name in ("open", "switch", "sort", "select")]
        cells = [f"{row['networks']}", f"{row['make_s']:.0f}", f"{row['MB']:.1f}"]
        cells += [f"{one:.2f}" for one in times]
        assert f"| {' | '.join(cells)} |" in PAGE
    assert any(row["networks"] == 300 and row["open_worst_ms"] < 3000 for row in saved["rows"])
