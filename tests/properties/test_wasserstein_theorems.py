"""Theorems about the sample Wasserstein shape metric, one per test."""

from __future__ import annotations

import numpy as np
import pytest
from examples import assert_metric

import repshape as rs
from repshape.groups import GROUPS, nearest_orthogonal
from repshape.solvers.alternation import descend
from repshape.solvers.plans import exact_plan
from repshape.solvers.transport import TransportProblem


def network(seed, M=5, L=7, n=3):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(M, n, n)) / np.sqrt(n)
    return rng.normal(size=(M, 1, n)) + rng.normal(size=(M, L, n)) @ mixing


def rotation(n, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    return Q * np.sign(np.linalg.det(Q)) if n % 2 else Q


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_it_is_a_metric_on_samples(p, group):
    """Exactly symmetric, zero for equal networks, positive, and without violated triangles."""
    base = network(1)
    networks = [
        (base + 0.2 * network(seed)) @ (rotation(3, seed) if seed % 2 else np.eye(3))
        for seed in range(2, 6)
    ]
    metric = rs.WassersteinShapeMetric(p, group=group)
    assert_metric(metric, networks)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(
    ("group", "Q"),
    [
        ("orthogonal", -rotation(3)),
        ("rotation", rotation(3)),
        ("permutation", np.eye(3)[[2, 0, 1]]),
    ],
)
def test_transforms_of_the_group_do_not_count(group, Q, p):
    """d(x, x Q) = 0, also with the trials in another order."""
    x = network(1, M=8)
    copy = x[:, np.random.default_rng(0).permutation(7)] @ Q
    alignment = rs.WassersteinShapeMetric(p, group=group).align(x, copy)
    assert alignment.distance < 1e-7
    np.testing.assert_allclose(alignment.transform, Q.T, atol=1e-7)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 5.0])
def test_alternation_never_ascends(p, group):
    """Transport at fixed T and the bounded step at fixed plan both descend."""
    x, y = network(1, n=4), network(2, n=4)
    problem = TransportProblem(x, y, np.full(5, 0.2), p, [exact_plan] * 5, np.zeros(5))
    worst = -np.einsum("mi,mj->ij", x.mean(1), y.mean(1))
    start = GROUPS[group](worst)
    found = descend(problem, start, GROUPS[group], tol=1e-12, max_iter=100)
    assert found.converged
    assert np.diff(found.values).max() <= 0
    assert found.values[-1] < found.values[0]


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_minus_twice_the_bound_is_the_gradient(p):
    """Danskin: the gradient of F is that at the optimal plan held fixed."""
    x, y = network(1), network(2)
    problem = TransportProblem(x, y, np.full(5, 0.2), p, [exact_plan] * 5, np.zeros(5))
    T = nearest_orthogonal(np.random.default_rng(0).normal(size=(3, 3)))
    _, G = problem.at(T)
    skew = np.array([[0.0, 1.0, -2.0], [-1.0, 0.0, 0.5], [2.0, -0.5, 0.0]])
    step = 1e-6

    def turned(t):
        half = 0.5 * t * skew
        return problem.at(T @ np.linalg.solve(np.eye(3) - half, np.eye(3) + half))[0]

    slope = (turned(step) - turned(-step)) / (2 * step)
    assert slope == pytest.approx(-2 * np.sum(G * (T @ skew)), rel=1e-5)


def test_gelbrich_bounds_it_by_the_gaussian_metric():
    """W_2 is at least the Gaussians' W_2 with the same means and covariances, at every T."""
    x, y = network(1), network(2)
    metric, gaussian = rs.WassersteinShapeMetric(), rs.GaussianShapeMetric()
    alignment = metric.align(x, y)
    assert gaussian.score(alignment, x, y) <= alignment.distance
    assert gaussian.distance(x, y) <= alignment.distance
    assert alignment.lower_bound <= gaussian.distance(x, y)


@pytest.mark.parametrize("p", [1.0, 1.5])
def test_means_bound_it(p):
    """Jensen: W_p >= |mean x - mean y| for p >= 1."""
    x, y = network(1), network(2)
    means = rs.GaussianShapeMetric(2.0).align(x.mean(1), y.mean(1)).mean_distance
    assert rs.WassersteinShapeMetric(p).align(x, y).lower_bound == pytest.approx(means, rel=1e-7)


def test_it_tends_to_the_gaussian_metric_with_more_trials():
    """On Gaussian samples in two dimensions the excess falls with L; benchmarks/families.py."""
    rng = np.random.default_rng(0)
    mu, A = rng.normal(size=(2, 8, 2)), rng.normal(size=(2, 8, 2, 2))
    exact = [(mu[k], A[k] @ A[k].swapaxes(1, 2)) for k in (0, 1)]
    truth = rs.GaussianShapeMetric().distance(*exact)
    noise = rng.normal(size=(2, 8, 160, 2))
    excess = []
    for L in (10, 40, 160):
        x, y = (mu[k][:, None] + noise[k, :, :L] @ A[k].swapaxes(1, 2) for k in (0, 1))
        excess.append(rs.WassersteinShapeMetric(n_starts=3).distance(x, y) / truth - 1)
    assert abs(excess[2]) < 0.05
    assert abs(excess[2]) < abs(excess[0])
