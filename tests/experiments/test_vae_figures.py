"""Figures, report and page: from stored results alone, and current."""

from __future__ import annotations

from pathlib import Path

from experiments.common.pages import criterion_words
from experiments.vae.__main__ import app
from typer.testing import CliRunner

# The stored results


def test_figures_need_results(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["figures", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "Run the step 'measure' first" in done.stderr


# The page


def test_criteria_without_numbers_say_so() -> None:
    criterion = {"name": "energy", "estimate": None, "lower": None, "upper": None}
    assert criterion_words(criterion | {"p_value": None}) == "energy: not measured"
