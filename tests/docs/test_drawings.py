"""Drawings that are committed are those of their generators, and name what exists."""

from __future__ import annotations

import re
import sys

import numpy as np

import repshape as rs
from docs.blocks import ROOT

sys.path.insert(0, str(ROOT))  # the tools are no part of the package

from docs_tools import decision_tree, register


def test_the_decision_tree_is_current() -> None:
    assert decision_tree.PATH.read_text(encoding="utf-8") == decision_tree.draw()


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
