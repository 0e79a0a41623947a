"""What must not change a distance: representation, silent neurons, weights, units."""

import numpy as np
import pytest
from examples import ALPHAS, GROUPS, make_network, padded

from repshape import GaussianShapeMetric
from repshape.moments import OneTrialWarning, estimate_moments
from repshape.responses import Gaussians, Trials

SCALES = [1e-100, 1e-20, 1e-8, 1e-3, 1e3, 1e8, 1e20, 1e100]


def both(group, alpha, **options):
    return GaussianShapeMetric(alpha, group=group, **options)


def taken(network, index):
    """The network with the conditions of an index."""
    return Gaussians.from_factors(network.means[index], network.factors[index])


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("sizes", [(3, 2), (3, 1), (4, 2)])
def test_unequal_sizes_equal_padding_with_silent_neurons(group, alpha, sizes):
    """The smaller network with neurons that never respond is the same network."""
    rng = np.random.default_rng(0)
    metric = both(group, alpha)
    for rank in (0, 1, None):
        x, y = make_network(rng, 8, sizes[0], rank), make_network(rng, 8, sizes[1])
        whole = metric.distance(x, padded(y, sizes[0]))
        assert metric.distance(x, y) == pytest.approx(whole, rel=1e-9)
        assert metric.distance(y, x) == pytest.approx(whole, rel=1e-9)
        more = metric.distance(padded(x, 6), padded(y, 5))
        assert more == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("more", [(1, 1), (2, 1), (1, 4)])
def test_rotations_are_as_good_as_reflections_where_a_dimension_is_silent(alpha, more):
    """A reflection of the span extends to a rotation that flips the silent dimension."""
    rng = np.random.default_rng(1)
    for n in (2, 3):
        for _ in range(4):
            x, y = make_network(rng, 10, n), make_network(rng, 10, n)
            orthogonal = both("orthogonal", alpha).distance(x, y)
            wide = padded(x, n + more[0]), padded(y, n + more[1])
            assert both("rotation", alpha).distance(*wide) == pytest.approx(orthogonal, rel=1e-9)
            assert both("rotation", alpha).distance(x, wide[1]) == pytest.approx(
                orthogonal, rel=1e-9
            )


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_factors_full_and_diagonal_covariances_are_the_same_network(group, alpha):
    """Any factors of the same S give the same distance."""
    rng = np.random.default_rng(2)
    metric = both(group, alpha)
    y = make_network(rng, 9, 3)
    mu, deviations = rng.normal(size=(9, 3)), rng.random((9, 3)) + 0.1
    diagonal = Gaussians(mu, deviations**2)
    factors = Gaussians.from_factors(mu, deviations[:, :, None] * np.eye(3))
    wide = Gaussians.from_factors(mu, np.tile(factors.factors, 2) / np.sqrt(2))
    expected = metric.distance(diagonal, y)
    for same in (factors, wide, (mu, factors.covariances)):
        assert metric.distance(same, y) == pytest.approx(expected, rel=1e-9)
    full = (y.means, y.covariances)
    assert metric.distance(diagonal, full) == pytest.approx(expected, rel=1e-9)
    assert metric.distance(full, y) < 1e-7


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("covariance", ["mle", "unbiased", "ledoit-wolf", "ridge"])
@pytest.mark.parametrize("L", [3, 30])
def test_trials_are_the_same_network_as_their_moments(group, covariance, L):
    """Also with fewer trials than neurons, where covariances have low rank."""
    rng = np.random.default_rng(3)
    metric = both(group, 1.0, covariance=covariance)
    x, y = rng.normal(size=(10, L, 4)), rng.normal(size=(10, L + 1, 4))
    expected = metric.distance(x, y)
    x_moments, y_moments = estimate_moments(x, covariance), estimate_moments(y, covariance)
    assert metric.distance(x_moments, y_moments) == expected
    dense = [(m.means, m.covariances) for m in (x_moments, y_moments)]
    assert metric.distance(*dense) == pytest.approx(expected, rel=1e-7)
    ragged = [*x[:-1], np.vstack([x[-1], np.full((1, 4), np.nan)])]
    assert metric.distance(Trials(ragged), y) == expected


def test_ragged_trials_are_the_same_network_as_their_moments():
    rng = np.random.default_rng(4)
    x = [rng.normal(size=(L, 3)) for L in (1, 2, 5, 9, 4, 3)]
    y = rng.normal(size=(6, 4, 3))
    covariances = np.array([np.cov(trials.T, bias=True) for trials in x])
    moments = (np.array([trials.mean(0) for trials in x]), covariances)
    for group in GROUPS:
        metric = both(group, 1.0)
        with pytest.warns(OneTrialWarning, match="condition 0"):
            found = metric.distance(x, y)
        assert found == pytest.approx(metric.distance(moments, y), rel=1e-7)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_zero_weight_drops_the_condition(group, alpha):
    rng = np.random.default_rng(5)
    x, y = make_network(rng, 12, 3), make_network(rng, 12, 3)
    keep = np.arange(12) % 4 != 1
    weighted = both(group, alpha, weights=2.0 * keep).align(x, y)
    dropped = both(group, alpha).align(taken(x, keep), taken(y, keep))
    assert weighted.distance == pytest.approx(dropped.distance, rel=1e-9)
    assert weighted.lower_bound == pytest.approx(dropped.lower_bound, rel=1e-9)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_duplicates_of_a_condition_are_a_weight_of_two(group, alpha):
    rng = np.random.default_rng(6)
    x, y = make_network(rng, 9, 3), make_network(rng, 9, 3)
    twice = np.r_[np.arange(9), [2, 5]]
    weights = np.bincount(twice)
    weighted = both(group, alpha, weights=weights).align(x, y)
    doubled = both(group, alpha).align(taken(x, twice), taken(y, twice))
    assert weighted.distance == pytest.approx(doubled.distance, rel=1e-9)
    assert weighted.lower_bound == pytest.approx(doubled.lower_bound, rel=1e-9)
    assert weighted.distance != pytest.approx(both(group, alpha).distance(x, y), rel=1e-4)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("M", [10, 40])
def test_order_of_conditions_and_sum_of_weights_do_not_count(group, alpha, M):
    """Also with too many conditions to screen starts on all of them."""
    rng = np.random.default_rng(7)
    x, y, w = make_network(rng, M, 3), make_network(rng, M, 3), rng.random(M)
    order = rng.permutation(M)
    expected = both(group, alpha, weights=w).distance(x, y)
    assert both(group, alpha, weights=1e6 * w).distance(x, y) == pytest.approx(expected, rel=1e-10)
    shuffled = both(group, alpha, weights=w[order]).distance(taken(x, order), taken(y, order))
    assert shuffled == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("size", SCALES)
def test_distance_is_in_the_units_of_the_responses(group, alpha, size):
    """d(c x, c y) = c d(x, y), for every c that leaves squares finite."""
    rng = np.random.default_rng(8)
    metric = both(group, alpha)
    x, y = make_network(rng, 9, 3), make_network(rng, 9, 3)
    bigger = [Gaussians.from_factors(size * s.means, size * s.factors) for s in (x, y)]
    alignment, scaled = metric.align(x, y), metric.align(*bigger)
    assert scaled.distance / size == pytest.approx(alignment.distance, rel=1e-9)
    assert scaled.lower_bound / size == pytest.approx(alignment.lower_bound, rel=1e-9)
    assert scaled.converged


@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
@pytest.mark.parametrize("ratio", [1e-8, 1e8])
def test_networks_of_very_different_units_are_far_apart(group, ratio):
    """d(x, c y) is |x| or c |y|, up to the smaller of the two."""
    rng = np.random.default_rng(9)
    x, y = make_network(rng, 5, 3), make_network(rng, 5, 3)
    y = Gaussians.from_factors(ratio * y.means, ratio * y.factors)
    alignment = both(group, 1.0).align(x, y)
    size = max(np.mean((s.means**2).sum(1) + (s.factors**2).sum((1, 2))) for s in (x, y))
    assert alignment.distance == pytest.approx(np.sqrt(size), rel=1e-7)
    assert alignment.converged
