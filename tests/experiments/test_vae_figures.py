"""Figures, report and page: from stored results alone, and current."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from experiments.common.drawing import REPORT
from experiments.common.pages import criterion_words
from experiments.common.results import ARRAYS, RESULTS, read_results
from experiments.vae.__main__ import app
from experiments.vae.claims import CLAIMS
from experiments.vae.cost import COST
from experiments.vae.draw import FIGURES
from experiments.vae.page import IMAGES, PAGE, RESULTS_FOLDER, page_text, write_vae_page
from stored_support import draw_quickly, forbid_distances
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
DRAWN = list(FIGURES.known)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return read_results(RESULTS_FOLDER)[0]


@pytest.fixture(scope="module")
def cost() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS_FOLDER / COST).read_text())
    return found


# The stored results


def test_stored_results_are_complete(results: dict[str, Any]) -> None:
    assert [claim["name"] for claim in results["claims"]] == [claim.name for claim in CLAIMS]
    for found, claim in zip(results["claims"], CLAIMS, strict=True):
        assert found["sentence"] == claim.sentence
        criteria = [(one["name"], one["above"], one["refuted_below"]) for one in found["criteria"]]
        assert criteria == [(c.name, c.above, c.refuted_below) for c in claim.criteria]
    assert FIGURES.drawable(results) == DRAWN
    assert sum(path.stat().st_size for path in RESULTS_FOLDER.iterdir()) < 2_000_000


def test_figures_are_drawn_from_stored_results_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is aligned or measured again, and no network is needed."""
    forbid_distances(monkeypatch)
    draw_quickly(monkeypatch)
    options = ["figures", "--results", str(RESULTS_FOLDER), "--out", str(tmp_path)]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.stderr
    expected = {f"{name}.png" for name in DRAWN} | {REPORT}
    assert {file.name for file in tmp_path.iterdir()} == expected
    assert (tmp_path / "fig4.png").read_bytes().startswith(b"\x89PNG")
    assert "inconclusive" in done.stderr


def test_figures_need_results(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["figures", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "Run the step 'measure' first" in " ".join(done.stderr.split())


# The page


def test_the_page_is_current(results: dict[str, Any], cost: dict[str, Any]) -> None:
    text = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    assert text == page_text(results, cost)


def test_results_of_the_tiny_scale_are_not_shown(
    results: dict[str, Any], cost: dict[str, Any]
) -> None:
    text = page_text(results | {"scale": "tiny"}, cost)
    assert "Not measured yet" in text
    assert f"**Of {len(CLAIMS)} claims, " not in text
    assert all(claim.sentence in text for claim in CLAIMS)


def test_results_of_other_scales_are_shown(results: dict[str, Any], cost: dict[str, Any]) -> None:
    text = page_text(results | {"scale": "small"}, cost)
    assert "Not measured yet" not in text
    assert f"**Of {len(CLAIMS)} claims, " in text
    assert '!!! note "Without' not in text
    assert "| energy, 256 samples |" in text
    assert "## Scores at the paper's sizes" in text
    for name in DRAWN:
        assert f"## {FIGURES.known[name].title}" in text
        assert f"../{IMAGES.as_posix()}/{name}.png" in text


def test_incomplete_studies_are_called_incomplete(
    results: dict[str, Any], cost: dict[str, Any]
) -> None:
    counts = {"planned": 200, "measured": 180, "failed": 1, "seeds": 9, "scored": 0}
    networks = {"one": counts | {"seconds": 7200.0, "score_seconds": 0.0}}
    text = page_text(results | {"scale": "small", "networks": networks}, cost)
    assert "Training took 2.0 hours of a core" in text
    assert "20 networks are not finished yet" in text
    assert "180 networks are compared here, of which 1 failed" in text


def test_criteria_without_numbers_say_so() -> None:
    criterion = {"name": "energy", "estimate": None, "lower": None, "upper": None}
    assert criterion_words(criterion | {"p_value": None}) == "energy: not measured"


def test_page_is_written_with_its_figures(
    results: dict[str, Any], cost: dict[str, Any], tmp_path: Path
) -> None:
    stored = tmp_path / "results"
    stored.mkdir()
    (stored / RESULTS).write_text(json.dumps(results | {"scale": "small"}))
    (stored / ARRAYS).write_bytes((RESULTS_FOLDER / ARRAYS).read_bytes())
    (stored / COST).write_text(json.dumps(cost))
    (tmp_path / "docs" / PAGE).parent.mkdir(parents=True)
    written = write_vae_page(stored, tmp_path / "docs")
    assert len(written) == 1 + len(DRAWN)
    assert all(path.stat().st_size > 0 for path in written)
