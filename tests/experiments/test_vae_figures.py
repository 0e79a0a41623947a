"""Figures, report and page: from stored results alone, and current."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from experiments.common.drawing import REPORT
from experiments.common.pages import criterion_words
from experiments.common.results import read_results
from experiments.vae.__main__ import app
from experiments.vae.claims import CLAIMS
from experiments.vae.cost import COST
from experiments.vae.data import ORIGINAL
from experiments.vae.draw import FIGURES
from experiments.vae.page import IMAGES, RESULTS_FOLDER, page_text
from stored_support import draw_quickly, forbid_distances
from typer.testing import CliRunner

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


@pytest.mark.nightly  # the same page is compared with the documentation in test_stored_pages.py
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
    assert f"`{ORIGINAL}`" in text
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
    assert "Training took 2.0 core hours" in text
    assert "20 networks are not finished yet" in text
    assert "180 trained networks are compared here; 1 failed to train: 1 one." in text


def test_criteria_without_numbers_say_so() -> None:
    criterion = {"name": "energy", "estimate": None, "lower": None, "upper": None}
    assert criterion_words(criterion | {"p_value": None}) == "energy: not measured"


def test_both_rounds_are_shown_side_by_side(results: dict[str, Any], cost: dict[str, Any]) -> None:
    """Verdicts of the confirmation stand beside those of the pilot, and its numbers are shown."""
    later = json.loads(json.dumps(results))
    later["claims"][0]["verdict"] = "does not hold"
    later["claims"][0]["criteria"][0]["verdict"] = "does not hold"
    for row in later["numbers"]["distances"].values():
        row["unit"] = "pairs"
    text = page_text(results, cost, later, later)
    assert "| claim | pilot | verdict | confirmation | verdict of the confirmation |" in text
    first = next(line for line in text.splitlines() if line.startswith("| **ratio.**"))
    assert first.split(" | ")[2] == "**inconclusive**"
    assert first.split(" | ")[4] == "**does not hold** |"
    assert "its verdict is the one that counts" in text
    assert "Untrained networks with the paper's architectures" in text
    assert " pairs |" in text
    assert " pairs |" not in page_text(results, cost)


def test_the_page_shows_centred_ratios_and_both_protocols(
    results: dict[str, Any], cost: dict[str, Any]
) -> None:
    text = page_text(results, cost)
    row = results["numbers"]["distances"]["dsprites-untrained-pytorch"]
    shown = f"{row['centred_log_ratio']['estimate']:.2f} ["
    line = next(
        one for one in text.splitlines() if one.startswith("| dSprites, untrained, PyTorch")
    )
    assert shown in line
    theirs = results["numbers"]["random_test_sets"]["objective and every strength"]["alpha-0"]
    assert f"| {theirs['estimate']:.2f} ± {theirs['spread']:.2f} |" in text
    assert f"| dSprites | 1800 | {cost['job']['dsprites']['seconds_per_step']:.3g} |" in text
