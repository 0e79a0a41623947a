"""Pairs of realistic sizes with a planted alignment: fifty of them, and that misses are counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from fuzz import planted
from repshape.groups import Transform

# Enough to notice a search that misses many; how many it misses is measured by longer runs.
CASES = 50


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [planted.run(7, number) for number in range(CASES)]


def test_no_hard_check_fails(rows: list[dict[str, Any]]) -> None:
    assert [row["failed"] for row in rows if row["failed"]] == []


def test_families_take_turns(rows: list[dict[str, Any]]) -> None:
    assert Counter(row["family"] for row in rows) == dict.fromkeys(planted.FAMILIES, CASES // 5)


def test_hardly_any_pair_is_missed(rows: list[dict[str, Any]]) -> None:
    """Three of fifty would be improbable (p < 1e-3) if 0.3 % were missed."""
    assert sum(row["missed"] for row in rows) <= 2


def test_copies_without_noise_are_at_zero(rows: list[dict[str, Any]]) -> None:
    copies = [row for row in rows if row["noise"] == 0]
    assert copies
    for row in copies:
        assert row["climbed"] < 1e-5


@pytest.mark.parametrize("number", range(0, CASES, 7))
def test_the_planted_transform_aligns_the_pair(number: int) -> None:
    _, pair = planted.make(7, number)
    moved = pair.x @ pair.transform.T
    spread = pair.settings["noise"] * pair.x.std()
    assert np.std(moved - pair.y) == pytest.approx(spread, rel=0.25, abs=1e-12)
    assert 10 <= pair.x.shape[2] <= 60


def test_symmetries_are_exact() -> None:
    """The planted transform after a reflection of the last third is as good, to rounding."""
    _, pair = planted.make(7, 3)
    n = pair.x.shape[2]
    signs = np.ones(n)
    signs[2 * (n // 3) :] = -1
    centred = pair.x - pair.x.mean(axis=1, keepdims=True)
    covariances = np.einsum("mli,mlj->mij", centred, centred)
    np.testing.assert_allclose(covariances, signs[:, None] * covariances * signs, atol=1e-12)
    np.testing.assert_allclose(pair.x.mean(axis=1) * signs, pair.x.mean(axis=1), atol=1e-12)


def test_a_wrong_alignment_fails_and_a_missed_one_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metric = planted.rs.GaussianShapeMetric
    original = metric.align

    def wrong(self: Any, x: Any, y: Any) -> Any:
        found = original(self, x, y)
        object.__setattr__(found, "distance", found.distance + 0.1)
        return found

    monkeypatch.setattr(metric, "align", wrong)
    row = planted.run(7, 1)
    assert row["failed"].startswith("the distance is not its twin's")
    assert row["missed"]
    assert not row["warned"]
    (every, *_) = planted.cells([row])
    assert (every["cell"], every["missed"], every["silent"]) == ("all", 1, 1)


def test_an_alignment_outside_the_group_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = planted.rs.GaussianShapeMetric
    original = metric.align

    def outside(self: Any, x: Any, y: Any) -> Any:
        found = original(self, x, y)
        object.__setattr__(found, "_map", Transform(1.01 * np.eye(y.shape[2])))
        return found

    monkeypatch.setattr(metric, "align", outside)
    assert planted.run(7, 1)["failed"]
