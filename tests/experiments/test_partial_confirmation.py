"""Pages and the table of verdicts, when only some seeds of the confirmation were measured.

The stored results of the pilot stand in for those of fresh seeds.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from experiments.common.results import RESULTS, read_results
from experiments.common.rounds import CONFIRMATION
from experiments.patch_gaussian import page as patch_page
from experiments.standard import verdicts_text
from experiments.vae import page as vae_page
from experiments.vae.cohorts import SPRITES

DOCS = Path(__file__).parents[2] / "docs"
VERSIONS = {"repshape": "0.3.0", "commit": "0123456789"}


@pytest.fixture(scope="module")
def patch() -> tuple[dict[str, Any], dict[str, Any]]:
    """The pilot of Patch-Gaussian, and a confirmation with 4 of 6 seeds."""
    pilot = read_results(patch_page.RESULTS_FOLDER)[0]
    later = deepcopy(pilot) | {"round": CONFIRMATION, "versions": VERSIONS}
    later["networks"] |= {"planned": 64, "measured": 64, "seeds": 4, "seeds_planned": 6}
    later["measure"]["centred"] = False
    return pilot, later


@pytest.fixture
def vaes() -> tuple[dict[str, Any], dict[str, Any]]:
    """The pilot of the autoencoders, and a confirmation with 5 of 10 seeds of the sprites."""
    pilot = read_results(vae_page.RESULTS_FOLDER)[0]
    later = deepcopy(pilot) | {"round": CONFIRMATION, "versions": VERSIONS}
    for one in later["networks"].values():
        one["seeds_planned"] = one["seeds"]
    later["networks"][SPRITES.name] |= {
        "planned": 90,
        "measured": 90,
        "seeds": 5,
        "seeds_planned": 10,
    }
    later["measure"]["untrained_pairs"] = True
    return pilot, later


def table_row(text: str, start: str) -> list[str]:
    """Return the cells of a row of a table."""
    line = next(one for one in text.splitlines() if one.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_of_patch_gaussian_says_how_many_seeds_it_has(
    patch: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    pilot, later = patch
    text = patch_page.page_text(pilot, {}, {}, later)
    assert "4 of 6 planned seeds." in text
    assert "confirmation has 4 fresh seeds" in text.replace("\n", " ")
    assert "64 networks are compared here" in text
    assert "repshape 0.3.0, commit `0123456789`" in text
    assert "The pilot was measured with repshape" in text
    assert table_row(text, "networks |")[2].startswith("64: 5 W x 3 sigma x 4 seeds, 4 without")
    assert text.count("in the confirmation, with 4 of 6 seeds (pilot: ") == len(pilot["claims"])
    assert "raw and centred" not in text
    assert "raw and centred" in patch_page.page_text(pilot, {}, {})


def test_the_page_of_the_autoencoders_says_how_many_seeds_it_has(
    vaes: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    pilot, later = vaes
    cost = json.loads((vae_page.RESULTS_FOLDER / "cost.json").read_text())
    pilot["networks"][SPRITES.name]["seeds"] = 5  # no more than the confirmation, which is shown
    text = vae_page.page_text(pilot, cost, later)
    assert "5 of 10 planned seeds of trained networks on dSprites (Kaiming initialisation)." in text
    assert "170 trained and 60 untrained networks are compared here" in text
    assert "Each untrained network is compared with only one other" in text.replace("\n", " ")
    own = table_row(text, "networks on sprites |")[2]
    assert own == "90, trained by us: 3 of 6 strengths, 5 of 50 seeds"
    assert table_row(text, "untrained networks |")[2].endswith("compared in disjoint pairs")
    sprites = [one for one in text.splitlines() if "with 5 of 10 seeds (pilot: " in one]
    # Claims about MNIST and CIFAR-10 have all of their seeds.
    assert len(sprites) == len(pilot["claims"]) - 2
    assert not any("MNIST" in one or "CIFAR" in one for one in sprites)
    assert "beta = 16 failed to train" not in text
    assert "beta = 16 failed to train" in vae_page.page_text(pilot, cost)


def test_figures_show_the_round_with_more_seeds(
    vaes: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    pilot, later = vaes
    cost = json.loads((vae_page.RESULTS_FOLDER / "cost.json").read_text())
    text = vae_page.page_text(pilot, cost, later)
    assert "260 trained and 60 untrained networks are compared here" in text
    assert "those of the pilot, which has more seeds" in text.replace("\n", " ")
    assert "| energy, 8 samples |" in text
    pilot["networks"][SPRITES.name]["seeds"] = 5
    text = vae_page.page_text(pilot, cost, later)
    assert "below are those of the confirmation" in text
    # What only the pilot compares is still there.
    assert "| energy, 8 samples |" in text
    assert "These are networks of the pilot." in text
    assert "## Scores at the paper's sizes" in text
    assert "12 networks of the pilot a second time" in text


def test_the_table_of_verdicts_says_which_have_fewer_seeds(
    patch: tuple[dict[str, Any], dict[str, Any]],
    vaes: tuple[dict[str, Any], dict[str, Any]],
    tmp_path: Path,
) -> None:
    for name, rounds in (("patch_gaussian", patch), ("vae", vaes)):
        folder = tmp_path / name / "results"
        (folder / CONFIRMATION).mkdir(parents=True)
        for path, found in zip((folder, folder / CONFIRMATION), rounds, strict=True):
            (path / RESULTS).write_text(json.dumps(found))
    text = verdicts_text(DOCS, tmp_path)
    assert table_row(text, "Patch-Gaussian | alpha |")[2:4] == ["holds", "holds (4 of 6 seeds)"]
    row = table_row(text, "Variational autoencoders | clusters |")
    assert row[2:4] == ["inconclusive", "inconclusive (5 of 10 seeds)"]
    row = table_row(text, "Variational autoencoders | ratio, MNIST |")
    assert row[2:4] == ["inconclusive", "inconclusive"]
