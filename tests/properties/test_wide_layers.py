"""Few trials of hundreds of neurons, which are climbed in single precision."""

import numpy as np
import pytest

from repshape import GaussianShapeMetric
from repshape.metrics.base import warm_start

N, M, L = 200, 60, 4  # the responses span all dimensions
ALPHAS = [0.0, 1.0]


def layer(rng, n=N, noise=0.5):
    """Rectified responses to inputs that all layers share."""
    inputs = np.random.default_rng(0).normal(size=(M, 1, 12))
    signal = inputs @ rng.normal(size=(12, n)) / 3
    shared = rng.normal(size=(M, L, 12)) @ rng.normal(size=(12, n)) / 6
    return np.maximum(signal + shared + noise * rng.normal(size=(M, L, n)), 0)


def metric(alpha, group="orthogonal", **options):
    return GaussianShapeMetric(alpha, group=group, n_starts=1, **options)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_distances_are_symmetric_and_repeatable_to_the_bit(alpha):
    rng = np.random.default_rng(1)
    x, y = layer(rng), layer(rng, N + 13)
    once = metric(alpha).distance(x, y)
    assert once > 0
    assert metric(alpha).distance(y, x) == once
    assert metric(alpha).distance(x, y) == once


@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_turned_copies_are_as_close_as_the_turn_leaves_them(group, noise):
    """The known turn is one of the transforms, so that no distance exceeds the one it leaves."""
    rng = np.random.default_rng(2)
    x = layer(rng)
    Q = np.linalg.qr(rng.normal(size=(N, N)))[0]
    if group == "rotation" and np.linalg.det(Q) < 0:
        Q[:, 0] *= -1
    y = x + noise * rng.normal(size=x.shape)
    left = GaussianShapeMetric(1.0, group="identity").distance(x, y)
    assert metric(1.0, group).distance(x, y @ Q) <= left * (1 + 1e-6) + 1e-6 * np.linalg.norm(x)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_rotations_have_determinant_one_and_are_no_closer_than_orthogonal_transforms(alpha):
    rng = np.random.default_rng(3)
    x, y = layer(rng), layer(rng)
    found, free = metric(alpha, "rotation").align(x, y), metric(alpha).align(x, y)
    T = np.asarray(found.transform)
    np.testing.assert_allclose(T @ T.T, np.eye(N), atol=1e-9)
    assert np.linalg.det(T) == pytest.approx(1)
    assert found.distance >= free.distance * (1 - 2e-3)  # another maximum, perhaps


@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_start_is_no_longer_than_plain_alternation(alpha):
    """A hundred steps of alternation from the aligned means."""
    rng = np.random.default_rng(4)
    x, y = layer(rng), layer(rng)
    A, C = ((t - t.mean(1, keepdims=True)) / np.sqrt(L) for t in (x, y))
    gain = x.mean(1).T @ y.mean(1) / M
    U, _, Vt = np.linalg.svd(gain)
    for _ in range(100):
        T = U @ Vt
        u, s, vt = np.linalg.svd(A @ np.swapaxes(C @ T.T, 1, 2))
        G = alpha * gain + (2 - alpha) / M * np.einsum(
            "mri,mrs,msj->ij", A, u @ vt, C, optimize=True
        )
        U, _, Vt = np.linalg.svd(G)
    power = [
        alpha * (t.mean(1) ** 2).sum() + (2 - alpha) * (a**2).sum() for t, a in ((x, A), (y, C))
    ]
    value = alpha * np.vdot(gain, T) + (2 - alpha) / M * s.sum()
    plain = np.sqrt(sum(power) / M - 2 * value)
    assert metric(alpha).distance(x, y) <= plain * (1 + 1e-3)


def test_given_starts_never_end_farther_than_they_begin():
    rng = np.random.default_rng(5)
    x, y = layer(rng), layer(rng)
    best = metric(1.0)
    prepared = [best.prepare(x), best.prepare(y)]
    found = best.align_prepared(*prepared)
    start = warm_start(found._map, *prepared, "orthogonal")
    again = best.solve_pairs(prepared, [[0, 1]], starts=[start[None]])
    assert again.distance[0] <= found.distance * (1 + 1e-12)
