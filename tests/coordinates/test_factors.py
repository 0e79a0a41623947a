"""Factors of the same covariances, in coordinates that lose nothing."""

import numpy as np
import pytest

from repshape.coordinates.factors import (
    TRIANGULAR_FROM,
    Factors,
    factorise,
    in_free_coordinates,
    in_principal_axes,
)
from repshape.responses import Gaussians


def dense(net):
    A = net.factors[:, :, None] * np.eye(net.factors.shape[1]) if net.diagonal else net.factors
    return A @ np.swapaxes(A, 1, 2)


def in_neurons(net):
    Q = np.eye(net.means.shape[1]) if net.basis is None else net.basis
    return net.means @ Q.T, Q @ dense(net) @ Q.T


def networks(rng, M=5, n=4):
    A = rng.normal(size=(M, n, n))
    mu = rng.normal(size=(M, n))
    yield Gaussians(mu, A @ np.swapaxes(A, 1, 2))
    yield Gaussians(mu, rng.random((M, n)))
    yield Gaussians.from_factors(mu, A[:, :, :2])
    yield Gaussians.from_factors(mu, np.tile(A, 3))
    yield Gaussians.from_factors(mu, [A[m][:, : m % (n + 1)] for m in range(M)])
    yield Gaussians.points(mu)
    yield Gaussians(mu, np.zeros((M, n, n)))
    yield Gaussians(np.zeros((M, n)), np.zeros((M, n)))


@pytest.mark.parametrize("k", range(8))
def test_factors_multiply_to_the_covariances(k):
    network = list(networks(np.random.default_rng(0)))[k]
    net = factorise(network)
    np.testing.assert_allclose(dense(net), network.covariances, atol=1e-13)
    np.testing.assert_array_equal(net.means, network.means)
    assert net.diagonal == (network.kind == "diagonal")


@pytest.mark.parametrize("k", range(8))
def test_the_spectrum_is_that_of_the_covariances(k):
    network = list(networks(np.random.default_rng(1)))[k]
    net = factorise(network)
    values = np.linalg.eigvalsh(network.covariances)[:, ::-1]
    padded = np.pad(net.spectrum, ((0, 0), (0, 4 - net.spectrum.shape[1])))
    np.testing.assert_allclose(padded**2, values, atol=1e-13)
    assert np.all(np.diff(net.spectrum, axis=1) <= 0)
    assert np.all(net.spectrum >= 0)


def test_width_is_the_largest_rank_and_zero_beyond_each():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(4, 6, 5))
    thin = [np.zeros((6, 3)), A[1][:, :1], A[2][:, :3], np.hstack([A[3][:, :2]] * 2)]
    net = factorise(Gaussians.from_factors(np.zeros((4, 6)), thin))
    assert net.factors.shape == (4, 6, 3)
    assert np.count_nonzero(net.spectrum, axis=1).tolist() == [0, 1, 3, 2]
    S = np.stack([a @ a.T for a in thin])
    full = factorise(Gaussians(np.zeros((4, 6)), S))
    assert np.count_nonzero(full.spectrum, axis=1).tolist() == [0, 1, 3, 2]


def test_many_conditions_are_factorised_in_chunks(monkeypatch):
    network = next(networks(np.random.default_rng(3), M=11))
    whole = factorise(network)
    monkeypatch.setattr("repshape.coordinates.factors.CHUNK_ENTRIES", 33)
    chunked = factorise(network)
    np.testing.assert_allclose(chunked.factors, whole.factors, atol=1e-13)


@pytest.mark.parametrize("k", range(8))
def test_principal_axes_lose_nothing(k):
    """basis @ coordinates are the neurons again, and the basis is orthonormal."""
    network = list(networks(np.random.default_rng(4)))[k]
    weights = np.full(5, 0.2)
    net = in_principal_axes(factorise(network), weights)
    mu, S = in_neurons(net)
    np.testing.assert_allclose(mu, network.means, atol=1e-13)
    np.testing.assert_allclose(S, network.covariances, atol=1e-13)
    np.testing.assert_allclose(net.basis.T @ net.basis, np.eye(net.basis.shape[1]), atol=1e-13)


@pytest.mark.parametrize("shape", [(3, 2, 50), (2, 1, 7), (40, 3, 6)])
def test_silent_dimensions_are_dropped_exactly(shape):
    """Few responses of many neurons, and many responses within few dimensions."""
    rng = np.random.default_rng(5)
    M, r, n = shape
    inside = min(n - 2, M * (r + 1))
    Q = np.linalg.qr(rng.normal(size=(n, inside)))[0]
    network = Gaussians.from_factors(
        rng.normal(size=(M, inside)) @ Q.T, Q @ rng.normal(size=(M, inside, r))
    )
    net = in_principal_axes(factorise(network), np.full(M, 1 / M))
    assert net.means.shape == (M, inside)
    mu, S = in_neurons(net)
    np.testing.assert_allclose(mu, network.means, atol=1e-12)
    np.testing.assert_allclose(S, network.covariances, atol=1e-12)


@pytest.mark.parametrize("deviations", [(1.0, 1.0), (1.0, 1e-3), (1.0, 0.0)])
def test_few_columns_among_many_neurons_lose_nothing(deviations):
    """By the Cholesky factor of the Gram matrix, by QR if that is inaccurate, and at lower rank."""
    rng = np.random.default_rng(12)
    factors = rng.normal(size=(3, 40, 2)) * np.array(deviations)
    network = Gaussians.from_factors(rng.normal(size=(3, 40)), factors)
    net = in_free_coordinates(network, np.full(3, 1 / 3))
    assert net.means.shape == (3, 3 + 3 * np.count_nonzero(deviations))
    mu, S = in_neurons(net)
    np.testing.assert_allclose(mu, network.means, atol=1e-12)
    np.testing.assert_allclose(S, network.covariances, atol=1e-12)
    np.testing.assert_allclose(net.basis.T @ net.basis, np.eye(net.basis.shape[1]), atol=1e-11)


def test_square_factors_become_triangular_where_that_pays():
    rng = np.random.default_rng(13)
    n = TRIANGULAR_FROM
    for size, expected in [(n, True), (n - 1, False)]:
        S = np.stack([np.cov(rng.normal(size=(size, 3 * size))) for _ in range(4)])
        network = Gaussians(rng.normal(size=(4, size)), S)
        net = in_free_coordinates(network, np.full(4, 0.25))
        assert np.array_equal(net.factors, np.tril(net.factors)) == expected
        np.testing.assert_allclose(in_neurons(net)[1], S, atol=1e-12)


@pytest.mark.parametrize("form", ["full", "factors"])
def test_triangular_factors_are_accurate_whatever_the_conditioning(form):
    rng = np.random.default_rng(14)
    n = TRIANGULAR_FROM
    spread = np.geomspace(1, [1.0, 1e-1, 1e-3, 1e-6, 0.1], n).T[..., None]
    A = spread * rng.normal(size=(5, n, n))
    make = Gaussians.from_factors if form == "factors" else Gaussians
    given = A if form == "factors" else A @ np.swapaxes(A, 1, 2)
    net = in_free_coordinates(make(rng.normal(size=(5, n)), given), np.full(5, 0.2))
    assert np.array_equal(net.factors, np.tril(net.factors))
    S = A @ np.swapaxes(A, 1, 2)
    np.testing.assert_allclose(in_neurons(net)[1], S, atol=1e-14 * np.abs(S).max())
    if form == "factors":  # the least singular values too, which covariances do not hold
        exact = np.linalg.svd(A, compute_uv=False)
        np.testing.assert_allclose(np.linalg.svd(net.factors, compute_uv=False), exact, rtol=1e-9)


def test_a_small_dimension_is_kept():
    """1e-10 of the largest response is a response."""
    rng = np.random.default_rng(6)
    mu = rng.normal(size=(30, 4)) * np.array([1, 1, 1, 1e-10])
    net = in_principal_axes(factorise(Gaussians.points(mu)), np.full(30, 1 / 30))
    assert net.means.shape == (30, 4)
    np.testing.assert_allclose(in_neurons(net)[0][:, 3], mu[:, 3], rtol=1e-4)


def test_a_network_that_never_responds_keeps_one_dimension():
    net = in_principal_axes(factorise(Gaussians.points(np.zeros((3, 5)))), np.full(3, 1 / 3))
    assert net.means.shape == (3, 1)
    assert net.basis.shape == (5, 1)


def test_a_rotated_copy_becomes_the_same_numbers():
    rng = np.random.default_rng(7)
    network = next(networks(rng, M=9))
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    copy = Gaussians(network.means @ Q.T, Q @ network.covariances @ Q.T)
    weights = np.full(9, 1 / 9)
    first, second = (in_principal_axes(factorise(one), weights) for one in (network, copy))
    np.testing.assert_allclose(first.means, second.means, atol=1e-10)
    np.testing.assert_allclose(dense(first), dense(second), atol=1e-10)


def test_diagonal_networks_stay_diagonal():
    rng = np.random.default_rng(8)
    network = Gaussians(rng.normal(size=(5, 4)), rng.random((5, 4)))
    net = in_principal_axes(factorise(network), np.full(5, 0.2))
    assert isinstance(net, Factors)
    assert net.diagonal
    assert net.factors.shape == (5, 4)
    assert np.all(np.diff((net.factors**2).mean(0)) <= 0)


def test_covariances_of_independent_neurons_are_taken_as_diagonal():
    rng = np.random.default_rng(3)
    means, variances = rng.normal(size=(5, 4)), rng.uniform(size=(5, 4))
    variances[2, 1] = 0
    short = factorise(Gaussians(means, variances))
    full = factorise(Gaussians(means, variances[:, :, None] * np.eye(4)))
    assert full.diagonal
    np.testing.assert_array_equal(full.factors, short.factors)
    np.testing.assert_array_equal(full.spectrum, short.spectrum)


def test_one_correlation_makes_covariances_full():
    S = np.tile(np.eye(3), (4, 1, 1))
    S[3, 0, 1] = S[3, 1, 0] = 0.1
    assert not factorise(Gaussians(np.zeros((4, 3)), S)).diagonal
    assert factorise(Gaussians(np.zeros((4, 3)), np.zeros((4, 3, 3)))).factors.shape[2] == 0
