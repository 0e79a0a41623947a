"""The reference: two formulas for every number, and gradients against finite differences."""

import numpy as np
import ot
import pytest

from repshape.reference import gaussian as reference

SHAPES = [(3, 3, 3, 3), (4, 2, 3, 1), (2, 4, 1, 4), (3, 3, 1, 3), (3, 3, 3, 1), (1, 1, 1, 1)]


def problem(seed, n_x, n_y, r_x, r_y, M=5):
    rng = np.random.default_rng(seed)
    A, C = rng.normal(size=(M, n_x, r_x)), rng.normal(size=(M, n_y, r_y))
    mu, nu = rng.normal(size=(M, n_x)), rng.normal(size=(M, n_y))
    T = np.linalg.qr(rng.normal(size=(max(n_x, n_y),) * 2))[0][:n_x, :n_y]
    w = rng.random(M)
    return mu, A, nu, C, T, w / w.sum()


def test_symmetric_roots_square_to_the_matrix():
    A = np.random.default_rng(0).normal(size=(6, 4, 2))
    S = A @ np.swapaxes(A, 1, 2)
    root = reference.symmetric_root(S)
    np.testing.assert_allclose(root @ root, S, atol=1e-12)
    np.testing.assert_allclose(root, np.swapaxes(root, 1, 2), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 6])
def test_bures_is_pots(n):
    A, C = np.random.default_rng(1).normal(size=(2, n, n))
    S, R = A @ A.T, C @ C.T
    peer = ot.gaussian.bures_distance(S, R)
    assert np.sqrt(reference.bures_squared(S, R)) == pytest.approx(float(peer), rel=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_residuals_are_bures_distances_in_the_larger_space(shape):
    """Sum of w B(S, T R T')^2, with the smaller network moved into the larger."""
    _, A, _, C, T, w = problem(2, *shape)
    if T.shape[0] < T.shape[1]:
        moved, other = T.T @ A, C
    else:
        moved, other = T @ C, A
    S, R = (F @ np.swapaxes(F, 1, 2) for F in (moved, other))
    expected = w @ reference.bures_squared(S, R)
    assert reference.covariance_gap(A, C, T, w) == pytest.approx(expected, rel=1e-6)
    flipped = reference.covariance_gap(C, A, T.T, w)
    assert reference.covariance_gap(A, C, T, w) == pytest.approx(flipped, rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_residuals_are_traces_minus_nuclear_norms(shape):
    """B^2 = tr S + tr R - 2 |A' T C|_*."""
    _, A, _, C, T, w = problem(3, *shape)
    value, _ = reference.covariance_objective(A, C, T, w)
    traces = w @ ((A**2).sum((1, 2)) + (C**2).sum((1, 2)))
    assert reference.covariance_gap(A, C, T, w) == pytest.approx(traces - 2 * value, rel=1e-10)
    nuclear = np.linalg.norm(reference.cross_products(A, C, T), "nuc", axis=(1, 2))
    assert value == pytest.approx(w @ nuclear, rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 1.7, 2.0])
def test_the_gradient_is_that_of_finite_differences(shape, alpha):
    mu, A, nu, C, T, w = problem(4, *shape)
    _, gradient = reference.objective(mu, A, nu, C, T, alpha, w)
    numeric = np.zeros_like(T)
    for index in np.ndindex(T.shape):
        step = np.zeros_like(T)
        step[index] = 1e-6
        ahead, behind = (
            reference.objective(mu, A, nu, C, T + s, alpha, w)[0] for s in (step, -step)
        )
        numeric[index] = (ahead - behind) / 2e-6
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_objective_is_convex_and_homogeneous(shape):
    """g(2 T) = 2 g(T), g(T) = <T, grad>, and g(U) >= <U, grad g(T)> for every U."""
    mu, A, nu, C, T, w = problem(5, *shape)
    rng = np.random.default_rng(6)
    value, gradient = reference.objective(mu, A, nu, C, T, 0.7, w)
    assert np.sum(gradient * T) == pytest.approx(value, rel=1e-12)
    assert reference.objective(mu, A, nu, C, 2 * T, 0.7, w)[0] == pytest.approx(2 * value)
    for _ in range(20):
        U = rng.normal(size=T.shape)
        assert reference.objective(mu, A, nu, C, U, 0.7, w)[0] >= np.sum(U * gradient) - 1e-12


@pytest.mark.parametrize("shape", SHAPES)
def test_the_spectral_gap_is_a_lower_bound(shape):
    _, A, _, C, _, w = problem(7, *shape)
    rng = np.random.default_rng(8)
    n_x, n_y = shape[:2]
    gap = reference.spectral_gap(A, C, w)
    for _ in range(30):
        T = np.linalg.qr(rng.normal(size=(max(n_x, n_y),) * 2))[0][:n_x, :n_y]
        assert gap <= reference.covariance_gap(A, C, T, w) * (1 + 1e-12)


def test_the_spectral_gap_is_reached_where_axes_agree():
    rng = np.random.default_rng(9)
    s, t = -np.sort(-rng.random((2, 4, 3)), axis=2)
    A, C = (d[:, :, None] * np.eye(3) for d in (s, t))
    w = np.full(4, 0.25)
    expected = np.mean(((s - t) ** 2).sum(1))
    assert reference.spectral_gap(A, C, w) == pytest.approx(expected)
    assert reference.covariance_gap(A, C, np.eye(3), w) == pytest.approx(expected)


@pytest.mark.parametrize("shape", [(2, 2), (3, 1), (1, 3), (2, 0), (0, 2)])
def test_polar_factors_are_partial_isometries(shape):
    X = np.random.default_rng(10).normal(size=(4, *shape))
    P = reference.polar(X)
    assert P.shape == X.shape
    gram = P @ np.swapaxes(P, 1, 2) if shape[0] <= shape[1] else np.swapaxes(P, 1, 2) @ P
    if 0 not in shape:
        np.testing.assert_allclose(gram, np.tile(np.eye(min(shape)), (4, 1, 1)), atol=1e-14)
        np.testing.assert_allclose(
            np.sum(P * X, axis=(1, 2)), np.linalg.norm(X, "nuc", axis=(1, 2)), rtol=1e-12
        )


def test_residuals_keep_precision_where_traces_lose_it():
    """B(S, S + tiny)^2 far below rounding of the traces."""
    A = np.eye(3)[None]
    C = A + 1e-10 * np.diag([1.0, -2.0, 3.0])
    gap = reference.covariance_gap(A, C, np.eye(3), np.ones(1))
    assert gap == pytest.approx(14e-20, rel=1e-5)
