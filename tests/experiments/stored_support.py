"""What figures from stored results must not do."""

from __future__ import annotations

import pytest

import repshape as rs


def forbid_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every function that computes distances fail."""

    def computed(*arguments: object, **options: object) -> None:
        raise AssertionError("the step 'figures' must not compute distances")

    for name in ("pairwise", "pairwise_many", "repair"):
        monkeypatch.setattr(rs, name, computed)
