"""What the tutorials conclude is the truth of their data.

Tests of code blocks check that the pages print what they show, so that it is enough to read it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import repshape as rs
from docs.blocks import DOCS, find_blocks


def page(name: str) -> str:
    return (DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8")


def only(pattern: str, text: str) -> tuple[float, ...]:
    """Return the numbers of the only place where a pattern matches."""
    (found,) = re.findall(pattern, text)
    return tuple(map(float, (found,) if isinstance(found, str) else found))


def test_recordings_interval_contains_the_truth() -> None:
    text = page("recordings")
    shown = r"\nplug-in ([\d.]+); corrected ([\d.]+), interval \[([\d.]+), ([\d.]+)\]"
    plug_in, _, low, high = only(shown, text)
    (truth,) = only(r"\ntruth ([\d.]+)\n", text)
    assert low < truth < high < truth * 1.05
    assert plug_in > truth


def test_recordings_find_the_area_that_differs_and_no_other() -> None:
    """AL has another space of images; LM has that of V1 and fewer neurons."""
    text = page("recordings")
    naive, fair = re.findall(r"LM +V1 +([\d.]+)", text)
    differs, same = only(
        r"AL differed from V1 \(p = ([\d.]+)\), and LM did not \(p = (0\.\d)",
        " ".join(text.split()),
    )
    assert float(naive) < 0.05 < float(fair.rstrip("."))
    assert differs < 0.05 < same


def test_layers_match_by_depth_and_the_noise_is_that_of_the_simulation() -> None:
    text = page("layers")
    assert only(r"\n\w.*, (\d) of 4 layers of the first network were nearest", text) == (4,)
    low, high = only(r"90 % interval \[([\d.]+), ([\d.]+)\]\n", text)
    truth = np.sqrt(2 * 8 * (0.4 - 0.2) ** 2)  # alpha = 0: twice the squared Bures distance
    assert low < truth < high
    assert f"= {truth:.2f}$" in text


def test_layers_can_be_followed_with_a_pytorch_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps 2 to 5 run unchanged on what step 6 collects: the same weights, more dropout."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    steps = dict(re.findall(r"^## (\d)\..*?\n(.*?)(?=^## )", page("layers"), re.M | re.S))
    imports = "import warnings\nimport numpy as np\nimport repshape as rs"
    names: dict[str, Any] = {}
    for code in (
        imports,
        *(one.code for k in "62345" for one in find_blocks(steps[k]) if one.language == "python"),
    ):
        exec(code, names)
    assert "4 of 4 layers of the first network were nearest" in capsys.readouterr().out
    for layer in names["first"]:
        noise = [network[layer].var(axis=1).sum() for network in (names["first"], names["second"])]
        assert noise[0] < noise[1]


@pytest.mark.parametrize(("kind", "strength"), [("beta = 1", 1.0), ("beta = 10", 10.0)])
def test_vaes_use_about_as_many_latents_as_training_recorded(kind: str, strength: float) -> None:
    known = rs.datasets.load_vaes().select(objective="beta", strength=strength).metadata
    (shown,) = re.findall(rf"^{kind} +\[([\d, ]+)\]$", page("vaes"), re.MULTILINE)
    counted = np.array([int(one) for one in shown.split(",")])
    # The study counted them on other images, so that latents near the threshold may differ.
    assert np.abs(counted - known["active_latents"].to_numpy()[:5]).max() <= 1


def test_models_find_the_layer_that_brains_were_made_from() -> None:
    """The sentence is right by construction, and the intervals contain the true distances."""
    text = (DOCS / "models.md").read_text(encoding="utf-8")
    assert 'population = layers["seed 1: block 2"].means' in text
    assert "\nOf five layers, block 2 is nearest to the brains" in text
    shown = re.findall(r"^(.+): true ([\d.]+), estimated [\d.]+ \[([\d.]+), ([\d.]+)\]", text, re.M)
    truth = {name: float(true) for name, true, _, _ in shown}
    assert len(truth) == 5
    assert min(truth, key=lambda name: truth[name]) == "block 2"
    for _, true, low, high in shown:
        assert float(low) <= float(true) <= float(high)
