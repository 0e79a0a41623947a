"""Drawings that are committed are those of their generators, and name what exists."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

import repshape as rs
from docs.blocks import ROOT

sys.path.insert(0, str(ROOT))  # the tools are no part of the package

from docs_tools import alpha_slider, decision_tree, register


def test_the_decision_tree_is_current() -> None:
    assert decision_tree.PATH.read_text(encoding="utf-8") == decision_tree.draw()
    narrow = decision_tree.NARROW_PATH.read_text(encoding="utf-8")
    assert narrow == decision_tree.draw(narrow=True)


def test_the_decision_tree_names_metrics_of_the_package() -> None:
    names = [name for step in decision_tree.STEPS for name in re.findall(r"\w+Metric", step.call)]
    assert len(names) == len(decision_tree.STEPS)
    assert all(hasattr(rs, name) for name in names)


def test_the_animation_turns_by_the_rotation_between_the_networks() -> None:
    """The second network was made by a turn of 140 degrees; its other means move that a little."""
    (shown,) = re.findall(r"rotate\(([\d.]+)deg\)", register.PATH.read_text(encoding="utf-8"))
    assert abs(float(shown) - 140) < 5
    x, y = register.networks()
    found = rs.GaussianShapeMetric(group="rotation").align(x, y)
    turn = np.rad2deg(np.arctan2(found.transform[0, 1], found.transform[0, 0]))
    assert abs(float(shown) - turn) < 0.1


@pytest.mark.parametrize("k", [0, 3, 5, 10])
def test_the_slider_shows_the_distances_of_the_toy_networks(k: int) -> None:
    (text,) = re.findall(r'<script type="application/json">(.*)</script>', alpha_slider.stored())
    data = json.loads(text)
    toy = rs.datasets.toy_networks()
    metric = rs.GaussianShapeMetric(alpha=data["alphas"][k])
    for pair, values in zip(alpha_slider.PAIRS.values(), data["distances"], strict=True):
        assert values[k] == pytest.approx(
            metric.distance(*(toy[toy.labels.index(one)] for one in pair)), abs=0.006
        )
    # A plane shows distances within a family of networks well, in the same units for all alphas.
    first, second = (np.array(data["points"][one]) for one in (5, k))
    spread = np.linalg.norm(second[toy.labels.index("c5s0")] - second[toy.labels.index("c5s8")])
    unit = np.linalg.norm(first[toy.labels.index("c5s0")] - first[toy.labels.index("c5s8")])
    assert spread / unit == pytest.approx(values[k] / values[5], abs=0.15)


def test_the_slider_is_small_and_asks_nobody() -> None:
    text = alpha_slider.stored()
    assert len(text) < 60_000
    assert "http" not in text
