"""What figures from stored results must not do."""

from __future__ import annotations

import pytest
from experiments.common import drawing

import repshape as rs
from repshape.report import quality


def forbid_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every function that computes distances fail."""

    def computed(*arguments: object, **options: object) -> None:
        raise AssertionError("the step 'figures' must not compute distances")

    for name in ("pairwise", "pairwise_many", "repair"):
        monkeypatch.setattr(rs, name, computed)


def draw_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw small pictures only, and let the report predict and embed with little effort."""
    monkeypatch.setattr(drawing, "FORMATS", {"png": {"dpi": 40}})
    monkeypatch.setattr(quality, "PERMUTATIONS", 9)
    monkeypatch.setattr(quality, "DIMENSIONS", (1, 2))
