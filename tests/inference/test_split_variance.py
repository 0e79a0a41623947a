"""The variance of a mean over splits: its parts have the expectations that theory gives them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from repshape.inference.halves import HalfEstimates
from repshape.inference.split_variance import SplitDesign, split_weights, statistics

FloatArray = npt.NDArray[np.float64]
SPLITS = [
    (0, 1, 2, 3, 4),
    (0, 1, 5, 6, 7),
    (0, 2, 5, 8, 9),
    (0, 3, 4, 6, 9),
    (0, 1, 4, 7, 8),
    (0, 2, 3, 7, 9),
    (0, 4, 5, 6, 8),
    (0, 1, 3, 5, 9),
]
R = 5  # splits with deleted groups
DESIGN = SplitDesign.of(SPLITS, 10, R)
Estimates = tuple[FloatArray, FloatArray]


def products(delta: float, count: int, seed: int, dimensions: int = 6) -> Estimates:
    """Estimates (splits, count) and (G, R, count): products of the means of halves of 10 groups.

    The slow twin of the weights: the differences u of two networks are averaged in each half.
    """
    u = delta + np.random.default_rng(seed).normal(size=(10, count, dimensions))

    def product(split: tuple[int, ...], gone: int) -> FloatArray:
        kept = [g for g in range(10) if g != gone]
        sides = [[g for g in kept if (g in split) is here] for here in (True, False)]
        return np.sum(u[sides[0]].mean(axis=0) * u[sides[1]].mean(axis=0), axis=1)

    whole = np.array([product(split, -1) for split in SPLITS])
    deleted = np.array([[product(split, g) for split in SPLITS[:R]] for g in range(10)])
    return whole, deleted


def mean_statistics(whole: FloatArray, deleted: FloatArray) -> FloatArray:
    """The mean over simulations, which are the last axis."""
    found = [statistics(whole[:, k, None], deleted[..., k, None]) for k in range(whole.shape[1])]
    return np.mean(found, axis=0)


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
    whole, deleted = products(delta, 4000, seed=1)
    parts = np.array([6 * delta**2, 6.0, 0.0])
    np.testing.assert_allclose(mean_statistics(whole, deleted), DESIGN.expected @ parts, rtol=0.05)
    assert whole.mean(axis=0).var() == pytest.approx(DESIGN.variance @ parts, rel=0.08)


def test_expectations_of_independent_noise() -> None:
    rng = np.random.default_rng(2)
    whole, deleted = rng.normal(size=(8, 2000)), rng.normal(size=(10, R, 2000))
    np.testing.assert_allclose(mean_statistics(whole, deleted), DESIGN.expected[:, 2], rtol=0.05)
    assert whole.mean(axis=0).var() == pytest.approx(DESIGN.variance[2], rel=0.1)


@pytest.mark.parametrize(("delta", "excess"), [(0.0, 1.55), (3.0, 1.0)])
def test_variance_is_nearly_unbiased_where_the_jackknife_is_not(
    delta: float, excess: float
) -> None:
    """At a true distance of 0 the jackknife's standard error is 1.5 times too large."""
    whole, deleted = products(delta, 1500, seed=3)
    truth = whole.mean(axis=0).var()
    ours = DESIGN.variances(whole, deleted).mean()
    jackknife = mean_statistics(whole, deleted)[0]
    assert np.sqrt(jackknife / truth) == pytest.approx(excess, rel=0.08)
    # Parts are not negative, which makes small ones too large on average.
    assert 0.95 < np.sqrt(ours / truth) < 1.25


def test_caution_means_at_least_the_jackknife() -> None:
    whole, deleted = products(0.0, 50, seed=6)
    plain, cautious = (DESIGN.variances(whole, deleted, cautious=one) for one in (False, True))
    means = deleted.mean(axis=1)
    jackknife = 0.9 * np.sum((means - means.mean(axis=0)) ** 2, axis=0)
    np.testing.assert_allclose(cautious, np.maximum(plain, jackknife))


def test_correlated_estimates_keep_their_correlation() -> None:
    """Two terms that are the same have a difference without error."""
    whole, deleted = products(1.0, 1, seed=4)
    twice = np.concatenate([whole, whole], axis=1), np.concatenate([deleted, deleted], axis=2)
    found = HalfEstimates(SPLITS, *twice).moments(0.9)
    slope = np.array([1.0, -1.0])
    assert slope @ found.covariance @ slope == pytest.approx(0.0, abs=1e-12)
    alone = HalfEstimates(SPLITS, whole, deleted).each(0.9)[0]
    assert found.covariance[0, 0] == pytest.approx(alone.covariance[0, 0])
    assert found.squared[0] == pytest.approx(alone.squared[0])


def test_constant_estimates_have_no_error() -> None:
    found = HalfEstimates(SPLITS, np.ones((8, 2)), np.ones((10, R, 2))).moments(0.9)
    np.testing.assert_array_equal(found.covariance, np.zeros((2, 2)))
