"""Theorems about the energy shape metric, one per test."""

from __future__ import annotations

import numpy as np
import pytest
from examples import assert_metric
from scipy.stats import norm

import repshape as rs
from repshape.groups import GROUPS, nearest_orthogonal
from repshape.reference import energy as reference


def network(seed, M=6, L=8, n=3):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(M, n, n)) / np.sqrt(n)
    return rng.normal(size=(M, 1, n)) + rng.normal(size=(M, L, n)) @ mixing


def rotation(n, seed=0, special=False):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    if special and np.linalg.det(Q) < 0:
        Q[0] *= -1
    return Q


def squared(distance):
    return np.sign(distance) * distance**2


@pytest.mark.parametrize("group", GROUPS)
def test_at_q_two_it_is_the_distance_of_means(group):
    """App. F.1: E_2 is the distance of means, so "v" is a Procrustes distance of means."""
    x, y = network(1), network(2, L=5)
    alignment = rs.EnergyShapeMetric(2.0, group=group, estimator="v").align(x, y)
    gaps = x.mean(1) - y.mean(1) @ alignment.transform
    assert alignment.distance**2 == pytest.approx((gaps**2).sum(1).mean(), rel=1e-10)
    means = rs.GaussianShapeMetric(2.0, group=group).align(x.mean(1), y.mean(1))
    if group != "permutation":  # a global optimum is certain only for the others
        assert alignment.distance == pytest.approx(means.mean_distance, rel=1e-7)


def test_at_q_two_the_unbiased_estimate_takes_off_the_noise_of_the_means():
    """E |X - Y|^2 - E |X - X'|^2 / 2 - E |Y - Y'|^2 / 2 over distinct pairs."""
    x, y = network(1), network(2, L=5)
    alignment = rs.EnergyShapeMetric(2.0, estimator="u").align(x, y)
    gaps = ((x.mean(1) - y.mean(1) @ alignment.transform) ** 2).sum(1)
    noise = sum(one.var(1, ddof=1).sum(1) / one.shape[1] for one in (x, y))
    assert squared(alignment.distance) == pytest.approx((gaps - noise).mean(), rel=1e-10)


@pytest.mark.parametrize("q", [0.5, 0.8, 1.0, 1.5, 2.0])
def test_diracs_are_as_far_apart_as_their_points_to_the_power(q):
    """E_q(delta_x, delta_y) = |x - y|^(q/2)."""
    x, y = np.random.default_rng(0).normal(size=(2, 1, 4))
    metric = rs.EnergyShapeMetric(q, estimator="v", group="identity")
    expected = np.linalg.norm(x - y) ** (q / 2)
    assert metric.distance(x, y) == pytest.approx(expected, rel=1e-12)
    many = metric.distance(x[:, None].repeat(3, 1), y[:, None].repeat(5, 1))
    assert many == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("q", [0.5, 1.0, 1.5, 2.0])
def test_v_is_a_metric_on_samples(q, group):
    """Exactly symmetric, zero for equal networks, positive, and without violated triangles."""
    # Rotated and perturbed copies of one cloud, whose optimal alignments are found.
    base = network(1)
    networks = [
        (base + 0.3 * network(seed)) @ (rotation(3, seed, True) if seed % 2 else np.eye(3))
        for seed in range(2, 6)
    ]
    metric = rs.EnergyShapeMetric(q, estimator="v", group=group)
    assert_metric(metric, networks)


@pytest.mark.parametrize("q", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize(
    ("group", "Q"),
    [
        ("orthogonal", rotation(3)),
        ("rotation", rotation(3, special=True)),
        ("permutation", np.eye(3)[[2, 0, 1]]),
    ],
)
def test_transforms_of_the_group_do_not_count(group, Q, q):
    """d(x, y Q) = d(x, y), and d(x, x Q) = 0."""
    x, y = network(1, M=12), network(2, M=12)
    metric = rs.EnergyShapeMetric(q, estimator="v", group=group)
    assert metric.distance(x, y @ Q) == pytest.approx(metric.distance(x, y), rel=1e-7)
    alignment = metric.align(x, x @ Q)
    # The chord below the floor turns rounding of s = 1e-31 into s 1e-24^(q/2 - 1).
    assert alignment.distance < (1e-6 if q < 1 else 1e-7)
    assert alignment.converged
    np.testing.assert_allclose(alignment.transform, Q.T, atol=1e-7)


@pytest.mark.parametrize("estimator", ["u", "v"])
def test_order_of_trials_does_not_count(estimator):
    x, y = network(1), network(2)
    metric = rs.EnergyShapeMetric(estimator=estimator)
    shuffled = y[:, np.random.default_rng(0).permutation(8)]
    assert metric.distance(x, shuffled) == pytest.approx(metric.distance(x, y), rel=1e-9)


def test_scaling_both_networks_scales_the_distance_to_the_power():
    """d_q(cx, cy) = c^(q/2) d_q(x, y)."""
    x, y = network(1), network(2)
    for q in (0.5, 1.0, 1.5):
        metric = rs.EnergyShapeMetric(q, estimator="v")
        expected = 100 ** (q / 2) * metric.distance(x, y)
        assert metric.distance(100 * x, 100 * y) == pytest.approx(expected, rel=1e-9)


def test_u_is_unbiased_at_a_fixed_transform():
    """One neuron, Gaussian: E |N(m, s^2)| is the folded normal's mean, known in closed form.

    40000 conditions are independent repetitions with three trials. The mean of the estimates must
    lie within four standard errors of the truth, which 1 in 16000 seeds would violate; "v" is off
    by far more.
    """
    rng = np.random.default_rng(7)
    M, L, shift, s_x, s_y = 40_000, 3, 0.7, 1.0, 1.6
    x, y = rng.normal(0, s_x, (M, L, 1)), rng.normal(shift, s_y, (M, L, 1))

    def folded(m, s):
        return 2 * s * norm.pdf(m / s) + m * (1 - 2 * norm.cdf(-m / s))

    truth = folded(shift, np.hypot(s_x, s_y)) - 0.5 * sum(
        folded(0, np.sqrt(2) * s) for s in (s_x, s_y)
    )
    each = [
        reference.energy_squared([a], [b], np.eye(1), 1.0, np.ones(1), "u")
        for a, b in zip(x[:4000], y[:4000], strict=True)
    ]
    error = np.std(each) / np.sqrt(M)
    unbiased, biased = (
        squared(rs.EnergyShapeMetric(estimator=e, group="identity").distance(x, y)) for e in "uv"
    )
    assert abs(unbiased - truth) < 4 * error
    assert abs(biased - truth) > 40 * error


def test_the_squared_estimate_of_a_copy_is_negative_and_its_root_says_so():
    """For a network and itself, the cross term has L zero distances that the within-terms omit."""
    x = network(1)
    distance = rs.EnergyShapeMetric().distance(x, x)
    gaps = [reference.within(one, 1.0, "u") for one in x]
    assert distance == pytest.approx(-np.sqrt(np.mean(gaps) / x.shape[1]), rel=1e-9)


@pytest.mark.parametrize("estimator", ["u", "v"])
def test_no_transform_is_below_the_lower_bound(estimator):
    x, y = network(1), network(1) @ rotation(3)
    alignment = rs.EnergyShapeMetric(estimator=estimator).align(x, y)
    assert alignment.lower_bound <= alignment.distance
    assert alignment.distance - alignment.lower_bound < 1e-7  # tight for copies


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
@pytest.mark.parametrize("q", [0.5, 1.0, 1.5])
def test_reweighted_least_squares_never_ascends(q, group):
    """App. F.2: the surrogate bounds the loss and touches it, so the loss never increases."""
    x, y = network(1, n=5), network(2, n=5)
    start = GROUPS[group](np.random.default_rng(0).normal(size=(5, 5)))
    climb = reference.irls(x, y, start, q, np.full(6, 1 / 6), group)
    assert climb.values[-1] > climb.values[0]
    assert np.diff(climb.values).min() >= -1e-14 * abs(climb.values[0])


@pytest.mark.parametrize("q", [0.5, 1.0, 1.5])
def test_reweighted_least_squares_never_ascends_where_trials_meet(q):
    x = network(1)
    start = nearest_orthogonal(np.eye(3) + 0.1 * np.random.default_rng(0).normal(size=(3, 3)))
    climb = reference.irls(x, x, start, q, np.full(6, 1 / 6))
    assert np.diff(climb.values).min() >= -1e-14 * abs(climb.values[0])
    np.testing.assert_allclose(climb.transform, np.eye(3), atol=1e-9)


def test_the_native_search_never_ascends():
    """More iterations never end higher."""
    x, y = network(1, M=30, n=6), network(2, M=30, n=6)
    found = [
        rs.EnergyShapeMetric(n_starts=1, max_iter=k, estimator="v").distance(x, y)
        for k in range(1, 25)
    ]
    assert np.diff(found).max() <= 1e-12
    assert found[-1] < found[0]
