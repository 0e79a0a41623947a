"""The variance of a mean over splits: its parts have the expectations that theory gives them."""

from __future__ import annotations

import numpy as np
import pytest

from repshape.inference.halves import HalfEstimates
from repshape.inference.split_variance import SplitDesign, split_weights, statistics

SPLITS = [(0, 1, 2, 3, 4), (0, 1, 5, 6, 7), (0, 2, 5, 8, 9), (0, 3, 4, 6, 9), (0, 1, 4, 7, 8)]


def products(delta: float, count: int, seed: int, dimensions: int = 6) -> np.ndarray:
    """Estimates (1 + G, R, count) that are products of the means of halves of 10 groups.

    The slow twin of the weights: the differences u of two networks are averaged in each half.
    """
    u = delta + np.random.default_rng(seed).normal(size=(10, count, dimensions))
    rows = []
    for gone in range(-1, 10):
        kept = [g for g in range(10) if g != gone]
        first = [u[[g for g in kept if g in split]].mean(axis=0) for split in SPLITS]
        second = [u[[g for g in kept if g not in split]].mean(axis=0) for split in SPLITS]
        rows.append([np.sum(a * b, axis=1) for a, b in zip(first, second, strict=True)])
    return np.array(rows)


def test_weights_give_the_products_of_means() -> None:
    u = np.random.default_rng(0).normal(size=(10, 4))
    weights = split_weights(SPLITS, 10)
    for gone in (-1, 0, 7):
        kept = [g for g in range(10) if g != gone]
        a = u[[g for g in kept if g in SPLITS[1]]].mean(axis=0)
        b = u[[g for g in kept if g not in SPLITS[1]]].mean(axis=0)
        C = weights[gone + 1, 1]
        assert np.sum(C * (u @ u.T)) == pytest.approx(a @ b)
        np.testing.assert_array_equal(C, C.T)


@pytest.mark.parametrize("delta", [0.0, 0.5])
def test_expectations_of_the_statistics(delta: float) -> None:
    """With V = I in 6 dimensions, delta' V delta = 6 delta^2 and tr V^2 = 6."""
    design = SplitDesign.of(SPLITS, 10)
    found = products(delta, 4000, seed=1)
    mean = np.mean([statistics(found[..., k, None]) for k in range(4000)], axis=0)
    parts = np.array([6 * delta**2, 6.0, 0.0])
    np.testing.assert_allclose(mean, design.expected @ parts, rtol=0.05)
    assert found[0].mean(axis=0).var() == pytest.approx(design.variance @ parts, rel=0.08)


def test_expectations_of_independent_noise() -> None:
    design = SplitDesign.of(SPLITS, 10)
    noise = np.random.default_rng(2).normal(size=(11, 5, 2000))
    mean = np.mean([statistics(noise[..., k, None]) for k in range(2000)], axis=0)
    np.testing.assert_allclose(mean, design.expected[:, 2], rtol=0.05)
    assert noise[0].mean(axis=0).var() == pytest.approx(design.variance[2], rel=0.1)


@pytest.mark.parametrize(("delta", "excess"), [(0.0, 1.5), (3.0, 1.0)])
def test_variance_is_nearly_unbiased_where_the_jackknife_is_not(
    delta: float, excess: float
) -> None:
    """At a true distance of 0 the jackknife's standard error is 1.5 times too large."""
    found = products(delta, 1500, seed=3)
    truth = found[0].mean(axis=0).var()
    ours = SplitDesign.of(SPLITS, 10).variances(found).mean()
    means = found[1:].mean(axis=1)
    jackknife = (0.9 * np.sum((means - means.mean(axis=0)) ** 2, axis=0)).mean()
    assert np.sqrt(jackknife / truth) == pytest.approx(excess, rel=0.08)
    # Parts are not negative, which makes small ones too large on average.
    assert 0.95 < np.sqrt(ours / truth) < 1.3


def test_caution_ignores_that_splits_average_noise_out() -> None:
    design = SplitDesign.of(SPLITS, 10)
    noise = np.random.default_rng(5).normal(size=(11, 5, 300))
    plain, cautious = (design.variances(noise, cautious=one).mean() for one in (False, True))
    assert cautious > 2 * plain > 2 / 5
    smooth = products(0.0, 300, seed=6)
    plain, cautious = (design.variances(smooth, cautious=one).mean() for one in (False, True))
    assert cautious == pytest.approx(plain, rel=0.2)


def test_correlated_estimates_keep_their_correlation() -> None:
    """Two terms that are the same have a difference without error."""
    one = products(1.0, 1, seed=4)
    found = HalfEstimates(np.concatenate([one, one], axis=2), SPLITS).moments(0.9)
    slope = np.array([1.0, -1.0])
    assert slope @ found.covariance @ slope == pytest.approx(0.0, abs=1e-12)
    alone = HalfEstimates(one, SPLITS).each(0.9)[0]
    assert found.covariance[0, 0] == pytest.approx(alone.covariance[0, 0])
    assert found.squared[0] == pytest.approx(alone.squared[0])


def test_constant_estimates_have_no_error() -> None:
    found = HalfEstimates(np.ones((11, 5, 2)), SPLITS).moments(0.9)
    np.testing.assert_array_equal(found.covariance, np.zeros((2, 2)))
