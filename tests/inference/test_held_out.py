"""Held-out conditions: alignments of some conditions, scored on others."""

from __future__ import annotations

import numpy as np
import pytest

import repshape as rs
from repshape.errors import InputError

METRIC = rs.GaussianShapeMetric(0.7, weights=np.arange(1.0, 9.0))


def networks(count: int = 3) -> list[rs.Gaussians]:
    rng = np.random.default_rng(0)
    names = [f"c{m}" for m in range(8)]
    return [
        rs.Gaussians(rng.normal(size=(8, 3)), rng.uniform(0.5, 2.0, (8, 3)), conditions=names)
        for _ in range(count)
    ]


def test_matrices_are_the_alignment_and_the_score_of_each_pair() -> None:
    x, y, z = networks()
    found = rs.inference.held_out({"x": x, "y": y, "z": z}, METRIC, test=[1, 4, 6])
    train, test = [0, 2, 3, 5, 7], [1, 4, 6]
    assert found.train_conditions.tolist() == train
    assert found.test_conditions.tolist() == test
    weights = np.arange(1.0, 9.0)
    fit, score = (METRIC.with_parameters(weights=weights[part]) for part in (train, test))
    names = np.array([f"c{m}" for m in range(8)])
    alignment = fit.align(x.select(names[train].tolist()), z.select(names[train].tolist()))
    assert found.train["x", "z"] == pytest.approx(alignment.distance)
    held = [one.select(names[test].tolist()) for one in (x, z)]
    assert found.test["x", "z"] == pytest.approx(score.score(alignment, *held))
    ratios = found.test.condensed() / found.train.condensed()
    assert found.growth == pytest.approx(np.median(ratios))


def test_labels_and_fractions_choose_conditions() -> None:
    pair = networks(2)
    by_name = rs.inference.held_out(pair, test=["c6", "c1", "c4"])
    assert by_name.test_conditions.tolist() == [1, 4, 6]
    one, two = (rs.inference.held_out(pair, test=0.25, random_state=s) for s in (0, 1))
    assert len(one.test_conditions) == len(two.test_conditions) == 2
    assert one.test_conditions.tolist() != two.test_conditions.tolist()


def test_an_exact_copy_is_at_distance_zero_on_other_conditions() -> None:
    x = networks(1)[0]
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    copy = rs.Gaussians(x.means @ Q, Q.T @ x.covariances @ Q, conditions=x.conditions)
    found = rs.inference.held_out([x, copy], test=0.5)
    assert found.test.values[0, 1] < 1e-4


def test_refusals() -> None:
    pair = networks(2)
    with pytest.raises(InputError, match=r"'test' parameter .* \(0, 1\)"):
        rs.inference.held_out(pair, test=1.5)
    with pytest.raises(InputError, match=r"one to hold out\. Got 0 and 8"):
        rs.inference.held_out(pair, test=range(8))
    with pytest.raises(InputError, match=r"There are 8 conditions\. Got position 8"):
        rs.inference.held_out(pair, test=[8])
    with pytest.raises(InputError, match="at least two networks"):
        rs.inference.held_out(pair[:1])
