"""The toy networks: their construction, and the paper's Figure 2 C-E."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import repshape as rs
from repshape.datasets import toy_networks
from repshape.demo.findings import quadratic_r2
from repshape.errors import InputError, InputTypeError

# Construction


def test_grid_is_eleven_correlations_by_nine_scales() -> None:
    toy = toy_networks()
    assert len(toy) == len(toy.networks) == len(toy.labels) == 99
    assert list(toy.metadata.columns) == ["correlation", "scale"]
    assert toy.metadata["correlation"].nunique() == 11
    assert toy.metadata["scale"].nunique() == 9
    assert len(set(toy.labels)) == 99
    assert tuple(toy.metadata.index) == toy.labels
    assert toy[0] is toy.networks[0]
    assert toy[1:3] == toy.networks[1:3]


def test_correlations_are_opposite_to_the_bit() -> None:
    c = toy_networks(11, 1).metadata["correlation"].to_numpy()
    np.testing.assert_array_equal(c, -c[::-1])
    np.testing.assert_allclose(c, np.linspace(-0.9, 0.9, 11), atol=1e-15)
    assert toy_networks(1, 1).metadata["correlation"].item() == 0.0


def test_unrotated_moments_are_as_stated() -> None:
    toy = toy_networks(rotate=False)
    for network, (c, s) in zip(toy, toy.metadata.to_numpy(), strict=True):
        assert isinstance(network, rs.Gaussians)
        means = np.outer([-2.0, -1.0, 0.0, 1.0, 2.0], [1.0, 1.0])
        np.testing.assert_allclose(network.means, means, atol=1e-15)
        covariances = np.broadcast_to([[s, s * c], [s * c, s]], (5, 2, 2))
        np.testing.assert_allclose(network.covariances, covariances, atol=1e-15)


def test_rotations_are_rotations_and_were_applied() -> None:
    plain, turned = toy_networks(3, 2, rotate=False), toy_networks(3, 2)
    np.testing.assert_allclose(np.linalg.det(turned.rotations), 1.0)
    assert np.unique(turned.rotations[:, 0, 0]).size == 6
    for x, y, Q in zip(plain, turned, turned.rotations, strict=True):
        assert isinstance(x, rs.Gaussians)
        assert isinstance(y, rs.Gaussians)
        np.testing.assert_allclose(Q @ Q.T, np.eye(2), atol=1e-15)
        np.testing.assert_allclose(y.means, x.means @ Q.T, atol=1e-14)
        np.testing.assert_allclose(y.covariances, Q @ x.covariances @ Q.T, atol=1e-14)


def test_seed_decides_and_trials_share_the_rotations() -> None:
    first, again, other = toy_networks(), toy_networks(), toy_networks(random_state=1)
    np.testing.assert_array_equal(first.rotations, again.rotations)
    assert not np.allclose(first.rotations, other.rotations)
    np.testing.assert_array_equal(first.rotations, toy_networks(n_trials=2).rotations)
    with pytest.raises(ValueError, match="read-only"):
        first.rotations[0, 0, 0] = 1.0


def test_trials_have_the_exact_moments_in_the_limit() -> None:
    n_trials = 20_000
    exact, sampled = toy_networks(2, 2), toy_networks(2, 2, n_trials=n_trials)
    # Variances are at most 2 * 1.9 < 4, so a mean errs by at most sqrt(4 / L) and a covariance by
    # sqrt(2 * 16 / L); six of those leave room for all the comparisons.
    mean_error, covariance_error = 6 * np.sqrt(4 / n_trials), 6 * np.sqrt(32 / n_trials)
    for x, y in zip(exact, sampled, strict=True):
        assert isinstance(x, rs.Gaussians)
        assert isinstance(y, rs.Trials)
        assert (y.n_conditions, y.n_neurons) == (5, 2)
        for trials, mean, covariance in zip(y.responses, x.means, x.covariances, strict=True):
            assert trials.shape == (n_trials, 2)
            assert np.abs(trials.mean(axis=0) - mean).max() < mean_error
            assert np.abs(np.cov(trials.T) - covariance).max() < covariance_error


@pytest.mark.parametrize("name", ["n_correlations", "n_scales", "n_conditions", "n_trials"])
def test_bad_sizes_are_named(name: str) -> None:
    with pytest.raises(InputError, match=f"'{name}' parameter must be an integer of at least 1"):
        toy_networks(**{name: 0})
    with pytest.raises(InputTypeError, match=name):
        toy_networks(**{name: 2.5})


# What the metrics see


@pytest.fixture(scope="module")
def matrices() -> dict[float, rs.DistanceMatrix]:
    toy = toy_networks()
    return {a: rs.pairwise(toy, rs.GaussianShapeMetric(alpha=a)) for a in (0.0, 1.0, 2.0)}


def test_alpha_1_holds_the_grid(matrices: dict[float, rs.DistanceMatrix]) -> None:
    D = matrices[1.0]
    points = rs.embed(D).points
    assert quadratic_r2(points, D.metadata["correlation"]) > 0.95
    assert quadratic_r2(points, D.metadata["scale"]) > 0.95


def test_alpha_2_sees_no_difference(matrices: dict[float, rs.DistanceMatrix]) -> None:
    distances = matrices[2.0].condensed()
    assert distances.size == 4851
    assert distances.max() < 1e-6


def test_alpha_0_cannot_tell_opposite_correlations(
    matrices: dict[float, rs.DistanceMatrix],
) -> None:
    D = matrices[0.0]
    grid = D.values.reshape(11, 9, 11, 9)
    scales = np.arange(9)
    for c in range(11):
        assert grid[c, scales, 10 - c, scales].max() < 1e-6
    points = rs.embed(D).points
    assert quadratic_r2(points, D.metadata["correlation"]) < 0.05
    assert quadratic_r2(points, D.metadata["scale"]) > 0.95


# (0, 98) and (8, 90) are opposite corners of the grid, (4, 94) have opposite correlation and one
# scale, (45, 53) have no correlation and opposite scales, (20, 70) have nothing in common.
@pytest.mark.parametrize("pair", [(0, 98), (8, 90), (4, 94), (45, 53), (20, 70)])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 1.7, 2.0])
def test_distance_is_the_minimum_over_all_orthogonal_maps(
    pair: tuple[int, int], alpha: float
) -> None:
    toy = toy_networks()
    x, y = toy[pair[0]], toy[pair[1]]
    assert isinstance(x, rs.Gaussians)
    assert isinstance(y, rs.Gaussians)
    found = rs.GaussianShapeMetric(alpha=alpha).distance(x, y)
    # The slow twin subtracts large traces, so where the distance is zero it errs by sqrt(1e-15).
    assert found == pytest.approx(exhaustive_distance(x, y, alpha), rel=1e-6, abs=1e-6)


def exhaustive_distance(x: rs.Gaussians, y: rs.Gaussians, alpha: float) -> float:
    """Minimise over every angle and both determinants; a slow twin, good for n = 2 only."""
    angles = np.linspace(0.0, 2.0 * np.pi, 720, endpoint=False)
    step = angles[1]
    best = np.inf
    for determinant in (1.0, -1.0):
        costs = [cost(angle, determinant, x, y, alpha) for angle in angles]
        for k in np.argsort(costs)[:3]:
            refined = minimize_scalar(
                cost,
                args=(determinant, x, y, alpha),
                bounds=(angles[k] - step, angles[k] + step),
                method="bounded",
                options={"xatol": 1e-10},
            )
            best = min(best, float(refined.fun))
    return float(np.sqrt(max(best, 0.0)))


def cost(angle: float, determinant: float, x: rs.Gaussians, y: rs.Gaussians, alpha: float) -> float:
    """Eq. 7 squared at one orthogonal map, with the Bures term in closed form for n = 2.

    For 2 x 2 matrices S and R, tr sqrt(sqrt(S) R sqrt(S)) = sqrt(tr(S R) + 2 sqrt(det(S R))).
    """
    cos, sin = np.cos(angle), np.sin(angle)
    T = np.array([[cos, -determinant * sin], [sin, determinant * cos]])
    S, R = x.covariances, T @ y.covariances @ T.T
    means = ((x.means - y.means @ T.T) ** 2).sum(axis=-1)
    fidelity = np.sqrt(
        np.trace(S @ R, axis1=-2, axis2=-1) + 2.0 * np.sqrt(np.linalg.det(S) * np.linalg.det(R))
    )
    bures = np.trace(S + R, axis1=-2, axis2=-1) - 2.0 * fidelity
    return float((alpha * means + (2.0 - alpha) * bures).mean())
