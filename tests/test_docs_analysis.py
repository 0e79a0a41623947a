"""What docs/analysis.md shows must run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from repshape.cli import run

PAGE = (Path(__file__).parents[1] / "docs" / "analysis.md").read_text(encoding="utf-8")


def test_python_blocks_run_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile("\n".join(blocks), "analysis.md", "exec"), {"__name__": "__main__"})
    assert "0 left" in capsys.readouterr().out


@pytest.mark.parametrize("line", re.findall(r"^repshape (.*)$", PAGE, re.MULTILINE))
def test_commands_parse(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is missing is a failure (1); an option that is missing is bad usage (2)."""
    monkeypatch.chdir(tmp_path)
    assert run(line.split()) == 1
