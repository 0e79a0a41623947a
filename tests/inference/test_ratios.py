"""Ratios of distances: Fieller's interval, and what is said where it is unbounded."""

import warnings

import numpy as np
import pytest

import repshape as rs
from repshape.inference import UnboundedRatioWarning
from repshape.inference.estimates import Estimate, Moments
from repshape.inference.ratios import ratio_interval, warn_unbounded

IDENTITY = rs.GaussianShapeMetric(group="identity")
QUANTILE = 1.645


def moments(top: float, bottom: float, *, correlation: float = 0.3) -> Moments:
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    return Moments(np.array([top, bottom]), covariance, QUANTILE)


def accepted(found: Moments, squared_ratio: np.ndarray) -> np.ndarray:
    """Whether t - rho b is within q standard errors of 0, by the definition."""
    slope = np.stack([np.ones_like(squared_ratio), -squared_ratio])
    error = np.sqrt(np.einsum("ik,ij,jk->k", slope, found.covariance, slope))
    t, b = np.maximum(found.squared, 0)
    return np.asarray(np.abs(t - squared_ratio * b) <= found.quantile * error)


@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.9])
@pytest.mark.parametrize(
    ("top", "bottom"),
    [(9.0, 4.0), (1.0, 4.0), (0.0, 4.0), (-3.0, 4.0), (4.0, 1.0), (1.2, 1.0), (5.0, -2.0)],
)
def test_the_interval_is_the_hull_of_the_accepted_ratios(
    top: float, bottom: float, correlation: float
) -> None:
    found = moments(top, bottom, correlation=correlation)
    grid = np.concatenate([np.linspace(0, 400, 400_001), [1e6, 1e9]])
    inside = grid[accepted(found, grid)]
    low, high = np.square(ratio_interval(found).ends)
    assert low == pytest.approx(inside.min(), abs=2e-3)
    if np.isinf(high):
        assert inside.max() == grid[-1]
    else:
        assert high == pytest.approx(inside.max(), abs=2e-3)


def test_fieller_agrees_with_the_delta_method_where_both_distances_are_clear() -> None:
    scale = 1e-4
    found = Moments(np.array([4.0, 1.0]), scale * np.array([[2.0, 0.5], [0.5, 1.0]]), QUANTILE)
    slope = np.array([0.5 / 4, -0.5])
    error = np.sqrt(slope @ found.covariance @ slope)
    value, ends, standard_error = ratio_interval(found)
    assert value == 2
    np.testing.assert_allclose(ends, 2 * np.exp([-QUANTILE * error, QUANTILE * error]), rtol=1e-4)
    assert standard_error == pytest.approx(2 * error, rel=1e-9)


@pytest.mark.parametrize(
    ("top", "bottom", "estimate"), [(-1.0, 9.0, 0.0), (9.0, -1.0, np.inf), (-1.0, -1.0, np.nan)]
)
def test_estimates_that_are_not_positive(top: float, bottom: float, estimate: float) -> None:
    value, (low, high), _ = ratio_interval(moments(top, bottom))
    np.testing.assert_equal(value, estimate)
    assert 0 <= low <= high
    assert np.isinf(high) == (bottom < 0)
    assert (low == 0) == (top < 0)


def test_an_interval_has_the_same_shape_in_any_unit() -> None:
    plain = moments(9.0, 4.0)
    for unit in (1e-150, 1e150):
        scaled = Moments(unit * plain.squared, unit * plain.covariance * unit, QUANTILE)
        np.testing.assert_allclose(ratio_interval(scaled).ends, ratio_interval(plain).ends)


def test_fieller_covers_at_its_level_at_any_distance_from_zero() -> None:
    """Normal estimates: the level is exact where neither estimate is replaced by 0, else larger."""
    rng = np.random.default_rng(5)
    factor = np.linalg.cholesky(moments(0, 0).covariance)
    for top, bottom in ((20.0, 10.0), (2.0, 0.5), (0.5, 3.0), (4.0, 0.0)):
        truth = np.sqrt(top / bottom) if bottom else np.inf
        drawn = np.array([top, bottom]) + rng.normal(size=(2000, 2)) @ factor.T
        ends = [ratio_interval(moments(*one)).ends for one in drawn.tolist()]
        share = np.mean([low <= truth <= high for low, high in ends])
        assert share > 0.9 - 3 * np.sqrt(0.09 / 2000)
        if top >= 10:
            assert share < 0.9 + 3 * np.sqrt(0.09 / 2000)


def test_an_unclear_mean_distance_is_said() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 24, 2))
    y = 3.0 * rng.normal(size=(4, 24, 2))  # the same means: d_0 / d_2 is infinite
    with pytest.warns(UnboundedRatioWarning, match="d_2 is not separated from 0") as caught:
        found = rs.inference.ratio(x, y, IDENTITY)
    assert found.interval[0] > 0
    assert np.isinf(found.interval[1])
    assert caught[0].filename == __file__


def test_two_copies_have_no_ratio() -> None:
    x = np.random.default_rng(0).normal(size=(4, 24, 2))
    with pytest.warns(UnboundedRatioWarning, match=r"Both squared distances .* no estimate"):
        found = rs.inference.ratio(x, x.copy(), IDENTITY)
    assert np.isnan(found.estimate)
    assert found.interval == (0.0, np.inf)


def test_clear_distances_are_not_mentioned() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 40, 2))
    y = 2 * rng.normal(size=(6, 40, 2)) + 3 * rng.normal(size=(6, 1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rs.inference.ratio(x, y, IDENTITY)
    assert 0 < found.interval[0] < found.estimate < found.interval[1] < np.inf


def test_a_ratio_of_zero_is_said() -> None:
    found = Estimate(0.0, (0.0, 0.4), 0.9, 0.1, 0.3, "calibrated", 8, 0)
    with pytest.warns(UnboundedRatioWarning, match="covariance distance is estimated as 0"):
        warn_unbounded(found)
