"""Distances compared with SciPy, POT and closed forms."""

from contextlib import nullcontext

import numpy as np
import ot
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import linear_sum_assignment
from scipy.spatial.transform import Rotation

from repshape import GaussianShapeMetric
from repshape.moments import OneTrialWarning
from repshape.reference import gaussian as reference

ALPHAS = (0.0, 0.3, 1.0, 1.7, 2.0)
GROUPS = ("orthogonal", "rotation", "permutation", "identity")


def spd(rng, M, n):
    A = rng.normal(size=(M, n, n))
    return A @ np.swapaxes(A, 1, 2)


def closest(X, Y, group):
    """min |X - Y T|_F over a group, by SciPy; three neurons for rotations."""
    if group == "orthogonal":
        return np.linalg.norm(X - Y @ orthogonal_procrustes(Y, X)[0])
    if group == "rotation":
        return Rotation.align_vectors(X, Y)[1]
    if group == "permutation":
        rows, columns = linear_sum_assignment(Y.T @ X, maximize=True)
        return np.linalg.norm(X[:, columns] - Y[:, rows])
    return np.linalg.norm(X - Y)


@pytest.mark.parametrize("shape", [(5, 2), (3, 8), (50, 20), (1, 3)])
def test_alpha_2_is_scipys_orthogonal_procrustes(shape):
    """d_2 = sqrt(2 / M) |X - Y T|_F, for any covariances."""
    rng = np.random.default_rng(0)
    M, n = shape
    X, Y = rng.normal(size=shape), rng.normal(size=shape)
    residual = np.linalg.norm(X - Y @ orthogonal_procrustes(Y, X)[0])
    found = GaussianShapeMetric(2.0).distance((X, spd(rng, M, n)), (Y, spd(rng, M, n)))
    assert found == pytest.approx(np.sqrt(2 / M) * residual, rel=1e-10)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_one_condition_without_transforms_is_pots_bures_wasserstein(n):
    """alpha = 1: the 2-Wasserstein distance of two Gaussians, and the Frechet inception one."""
    rng = np.random.default_rng(n)
    mu, nu = rng.normal(size=(2, 1, n))
    S, R = spd(rng, 1, n), spd(rng, 1, n)
    peer = ot.gaussian.bures_wasserstein_distance(mu[0], nu[0], S[0], R[0])
    found = GaussianShapeMetric(1.0, group="identity").distance((mu, S), (nu, R))
    assert found == pytest.approx(float(peer), rel=1e-8)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_many_conditions_without_transforms_are_the_mean_of_squares(alpha):
    """The traditional form of the Bures distance, from square roots of matrices."""
    rng = np.random.default_rng(1)
    mu, nu = rng.normal(size=(2, 7, 4))
    S, R = spd(rng, 7, 4), spd(rng, 7, 4)
    squares = alpha * ((mu - nu) ** 2).sum(1) + (2 - alpha) * reference.bures_squared(S, R)
    found = GaussianShapeMetric(alpha, group="identity").distance((mu, S), (nu, R))
    assert found == pytest.approx(np.sqrt(squares.mean()), rel=1e-8)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_zero_covariances_give_the_deterministic_metric(group, alpha):
    """d_a = sqrt(a / M) min |X - Y T|_F (eq. 2)."""
    rng = np.random.default_rng(2)
    for _ in range(6):
        X, Y = rng.normal(size=(2, 6, 3))
        expected = np.sqrt(alpha / 6) * closest(X, Y, group)
        metric = GaussianShapeMetric(alpha, group=group)
        assert metric.distance(X, Y) == pytest.approx(expected, rel=1e-9)
        zeros = (Y, np.zeros((6, 3)))
        assert metric.distance(X, zeros) == pytest.approx(expected, rel=1e-9)
        zeros = (Y, np.zeros((6, 3, 3)))
        assert metric.distance(X, zeros) == pytest.approx(expected, rel=1e-9)
        # At alpha = 2 the noise has no weight, so there is nothing to warn of.
        warned = nullcontext() if alpha == 2 else pytest.warns(OneTrialWarning)
        with warned:
            single_trials = metric.distance(X, Y[:, None, :])
        assert single_trials == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_zero_covariance_in_one_network_adds_the_variance_of_the_other(group, alpha, kind):
    """d_a^2 = a / M min |X - Y T|^2 + (2 - a) / M sum tr S."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(2, 6, 3))
    S = spd(rng, 6, 3) if kind == "full" else rng.random((6, 3))
    trace = np.trace(S, axis1=1, axis2=2) if kind == "full" else S.sum(1)
    expected = alpha / 6 * closest(X, Y, group) ** 2 + (2 - alpha) * trace.mean()
    alignment = GaussianShapeMetric(alpha, group=group).align((X, S), Y)
    assert alignment.distance == pytest.approx(np.sqrt(expected), rel=1e-9)
    assert alignment.converged


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_neuron_is_a_closed_form(group, alpha):
    """n = 1: T is 1, or -1 among orthogonal transforms; B(s^2, t^2) = |s - t|."""
    rng = np.random.default_rng(4)
    for M in (1, 5):
        mu, nu = rng.normal(size=(2, M, 1))
        s, t = rng.random((2, M, 1))
        signs = (1, -1) if group == "orthogonal" else (1,)
        gap = min(np.mean((mu - sign * nu) ** 2) for sign in signs)
        expected = np.sqrt(alpha * gap + (2 - alpha) * np.mean((s - t) ** 2))
        found = GaussianShapeMetric(alpha, group=group).distance((mu, s**2), (nu, t**2))
        assert found == pytest.approx(expected, rel=1e-9)
        dense = GaussianShapeMetric(alpha, group=group).distance(
            (mu, s[:, :, None] ** 2), (nu, t[:, :, None] ** 2)
        )
        assert dense == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
def test_one_condition_aligns_covariances_exactly(group):
    """M = 1, alpha = 0: axes can be matched, so only the sorted deviations differ."""
    rng = np.random.default_rng(5)
    S, R = spd(rng, 1, 4), spd(rng, 1, 4)
    mu = rng.normal(size=(1, 4))
    gaps = np.sqrt(np.linalg.eigvalsh(S[0])) - np.sqrt(np.linalg.eigvalsh(R[0]))
    alignment = GaussianShapeMetric(0.0, group=group).align((mu, S), (mu, R))
    assert alignment.distance == pytest.approx(np.sqrt(2 * np.sum(gaps**2)), rel=1e-8)
    assert alignment.distance == pytest.approx(alignment.lower_bound, rel=1e-8)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_condition_of_points_sees_lengths_alone(alpha):
    """M = 1, no noise: d = sqrt(a) | |x| - |y| |, also with unequal numbers of neurons."""
    rng = np.random.default_rng(6)
    for sizes in [(4, 4), (5, 2), (1, 3)]:
        x, y = rng.normal(size=(1, sizes[0])), rng.normal(size=(1, sizes[1]))
        expected = np.sqrt(alpha) * abs(np.linalg.norm(x) - np.linalg.norm(y))
        assert GaussianShapeMetric(alpha).distance(x, y) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("silent", ["points", "full", "diagonal"])
def test_a_network_that_never_responds_is_as_far_as_the_other_is_large(group, alpha, silent):
    """d(0, y)^2 = a |means|^2 + (2 - a) tr S, and d(0, 0) = 0."""
    rng = np.random.default_rng(7)
    zeros = np.zeros((5, 3))
    covariances = {"full": np.zeros((5, 3, 3)), "diagonal": zeros}
    zero = zeros if silent == "points" else (zeros, covariances[silent])
    Y, R = rng.normal(size=(5, 4)), spd(rng, 5, 4)
    metric = GaussianShapeMetric(alpha, group=group)
    alignment = metric.align(zero, (Y, R))
    squares = alpha * (Y**2).sum(1) + (2 - alpha) * np.trace(R, axis1=1, axis2=2)
    assert alignment.distance == pytest.approx(np.sqrt(squares.mean()), rel=1e-9)
    assert alignment.converged
    nothing = metric.align(zero, zeros)
    assert nothing.distance == 0.0
    assert nothing.converged
    assert np.isfinite(nothing.transform).all()


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
def test_few_trials_of_many_neurons_equal_their_own_coordinates(group, alpha):
    """Responses that span r < n dimensions are the same network in r coordinates."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(3, 2, 40))
    y = (x + 0.1 * rng.normal(size=x.shape)) @ np.linalg.qr(rng.normal(size=(40, 40)))[0]
    Q = np.linalg.qr(np.vstack([x.reshape(6, 40), y.reshape(6, 40)]).T)[0]
    metric = GaussianShapeMetric(alpha, group=group, tol=1e-9)
    assert metric.distance(x, y) == pytest.approx(metric.distance(x @ Q, y @ Q), rel=1e-8)
    transform = metric.align(x, y).transform
    np.testing.assert_allclose(transform @ transform.T, np.eye(40), atol=1e-12)
