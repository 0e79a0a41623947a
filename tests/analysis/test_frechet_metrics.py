"""Means of networks for every metric that can average: copies, middles, plain twins, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import logm, sqrtm

import repshape as rs
from repshape.analysis import cluster_shapes, frechet_ceiling, frechet_mean
from repshape.errors import InputError, InputTypeError
from repshape.solvers.starts import random_orthogonal

FloatArray = npt.NDArray[np.float64]
GROUNDS = ("root-frobenius", "log-euclidean", "affine-invariant")
# Metrics whose networks are Gaussians; the others compare trials.
GAUSSIAN: dict[str, Any] = {
    "procrustes": rs.ProcrustesShapeMetric(),
    "angular": rs.ProcrustesShapeMetric(distance="angular"),
    "whitened": rs.ProcrustesShapeMetric(whitening=0.5, weights=[1, 2, 1, 1, 3, 1]),
    **{one: rs.CovarianceShapeMetric(ground=one, tol=1e-10, n_starts=5) for one in GROUNDS},
}
ENERGY = rs.EnergyShapeMetric(estimator="v", tol=1e-9)


def network(seed: int, M: int = 6, n: int = 3) -> rs.Gaussians:
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(M, n, n + 3)) / np.sqrt(n + 3)
    return rs.Gaussians.from_factors(2 * rng.normal(size=(M, n)), factors)


def trials(seed: int, M: int = 4, L: int = 5, n: int = 2) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.asarray(2 * rng.normal(size=(M, 1, n)) + rng.normal(size=(M, L, n)))


def turned(net: Any, seed: int) -> Any:
    n = net.n_neurons if isinstance(net, rs.Gaussians) else net.shape[-1]
    Q = random_orthogonal(n, np.random.default_rng(seed))
    if isinstance(net, rs.Gaussians):
        return rs.Gaussians.from_factors(net.means @ Q, Q.T @ net.stored)
    return net @ Q


@pytest.mark.parametrize("name", GAUSSIAN)
def test_mean_of_rotated_copies_is_that_network(name: str) -> None:
    net, metric = network(0), GAUSSIAN[name]
    found = frechet_mean([turned(net, seed) for seed in range(4)], metric)
    assert found.converged
    size = metric.distance(net, network(1))
    assert found.distances.max() < 1e-5 * size
    for seed, T in enumerate(found.transforms):
        np.testing.assert_allclose(T @ T.T, np.eye(3), atol=1e-9)
        if name in GROUNDS:
            moved = T.T @ turned(net, seed).covariances @ T
            np.testing.assert_allclose(moved, found.mean.covariances, atol=1e-4)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_mean_of_two_is_in_the_middle(name: str) -> None:
    """Each of these spaces has geodesics, and the middle is where the variance is smallest."""
    x, y, metric = network(1), network(2), GAUSSIAN[name]
    whole = metric.distance(x, y)
    found = frechet_mean([x, y], metric)
    np.testing.assert_allclose(found.distances, whole / 2, rtol=1e-5)
    np.testing.assert_allclose(found.variance, whole**2 / 4, rtol=1e-5)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation", "identity"])
def test_mean_of_means_is_the_average_of_aligned_means(group: str) -> None:
    nets = [network(seed) for seed in range(4)]
    metric = rs.ProcrustesShapeMetric(group=group, center=False)
    found = frechet_mean(nets, metric, weights=[0.1, 0.2, 0.3, 0.4])
    parts = [net.means @ T for net, T in zip(nets, found.transforms, strict=True)]
    average = np.average(parts, axis=0, weights=[0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(found.mean.means, average, atol=1e-3)
    for net, distance in zip(nets, found.distances, strict=True):
        assert metric.distance(found.mean, net) == pytest.approx(distance, rel=1e-9)


def test_mean_of_alpha_two_is_that_of_procrustes() -> None:
    nets = [network(seed) for seed in range(3)]
    gaussian = frechet_mean(nets, rs.GaussianShapeMetric(2.0))
    procrustes = frechet_mean(nets, rs.ProcrustesShapeMetric(center=False))
    # At alpha = 2 the squared distance is twice a mean over conditions; here it is a sum.
    assert procrustes.variance == pytest.approx(gaussian.variance * 6 / 2, rel=1e-6)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_no_neighbour_has_a_smaller_variance(name: str) -> None:
    nets, metric = [network(seed) for seed in range(4)], GAUSSIAN[name]
    found = frechet_mean(nets, metric)
    inside = metric.with_parameters()
    if isinstance(metric, rs.ProcrustesShapeMetric):
        inside = metric.with_parameters(center=False, whitening=0.0)
        nets = [_preprocessed(metric, net) for net in nets]

    def variance(mean: rs.Gaussians) -> float:
        return float(np.mean([inside.distance(mean, net) ** 2 for net in nets]))

    assert variance(found.mean) == pytest.approx(found.variance, rel=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(5):
        means = found.mean.means + 0.02 * rng.normal(size=found.mean.means.shape)
        factors = found.mean.factors
        if factors.any():
            factors = factors + 0.02 * rng.normal(size=factors.shape)
        assert variance(rs.Gaussians.from_factors(means, factors)) > found.variance


def _preprocessed(metric: Any, net: rs.Gaussians) -> rs.Gaussians:
    phi = metric._fit_phi(net)
    return phi.apply(rs.Gaussians.points(net.means))  # type: ignore[no-any-return]


@pytest.mark.parametrize("ground", GROUNDS)
def test_covariances_solve_the_equation_of_their_mean(ground: str) -> None:
    """Without alignment: sum w F(C_k) = F(S), or sum w log(S^-1/2 C_k S^-1/2) = 0."""
    nets = [network(seed, M=1) for seed in range(3)]
    metric = rs.CovarianceShapeMetric(ground=ground, group="identity")
    S = frechet_mean(nets, metric, tol=1e-14, max_iter=500).mean.covariances[0]
    C = [net.covariances[0] for net in nets]
    if ground == "root-frobenius":
        np.testing.assert_allclose(sqrtm(S), np.mean([sqrtm(one) for one in C], axis=0), atol=1e-9)
    elif ground == "log-euclidean":
        np.testing.assert_allclose(logm(S), np.mean([logm(one) for one in C], axis=0), atol=1e-9)
    else:
        white = np.linalg.inv(np.real(sqrtm(S)))
        logs = [logm(white @ one @ white) for one in C]
        np.testing.assert_allclose(np.mean(logs, axis=0), 0.0, atol=1e-6)


def test_networks_of_unequal_size_and_weight_zero() -> None:
    nets = [network(0, n=4), network(1, n=3), network(2, n=5)]
    for name in ("procrustes", "angular", "root-frobenius"):
        found = frechet_mean(nets, GAUSSIAN[name], weights=[1, 1, 0])
        alone = frechet_mean(nets[:2], GAUSSIAN[name])
        assert found.mean.n_neurons == 4
        np.testing.assert_allclose(found.distances[:2], alone.distances, rtol=1e-5)
        assert [T.shape for T in found.transforms] == [(4, 4), (3, 4), (5, 4)]


# Energy: mixtures of samples


def test_energy_mean_of_rotated_copies_is_that_sample() -> None:
    x = trials(0)
    found = frechet_mean([turned(x, seed) for seed in range(3)], ENERGY)
    assert found.converged
    assert found.mean.n_trials.tolist() == [15] * 4
    assert found.distances.max() < 1e-3 * ENERGY.distance(x, trials(1))
    assert ENERGY.distance(found.mean, x) < 1e-3 * ENERGY.distance(x, trials(1))


@pytest.mark.parametrize("q", [0.5, 1.0, 1.5])
def test_energy_mean_of_two_is_the_mixture_in_the_middle(q: float) -> None:
    """Mixtures are averages in a Euclidean space: the mean is at half the distance of both."""
    x, y = trials(1), trials(2)
    metric = rs.EnergyShapeMetric(q, estimator="v", group="identity")
    found = frechet_mean([x, y], metric)
    np.testing.assert_allclose(found.distances, metric.distance(x, y) / 2, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(found.mean), np.concatenate([x, y], axis=1))


def test_energy_mean_has_a_smaller_variance_than_every_network() -> None:
    nets = [trials(seed) for seed in range(3)]
    found = frechet_mean(nets, ENERGY)
    for net in nets:
        assert found.variance < np.mean([ENERGY.distance(net, other) ** 2 for other in nets])
    again = [ENERGY.distance(found.mean, net) for net in nets]
    np.testing.assert_allclose(found.distances, again, rtol=1e-4)


# Ceilings, clusters and large networks


@pytest.mark.parametrize("kind", ["procrustes", "root-frobenius", "energy", "process"])
def test_ceilings_and_clusters_take_the_same_metrics(kind: str) -> None:
    if kind == "energy":
        nets: list[Any] = [trials(seed) for seed in range(3)]
        metric: Any = ENERGY
    elif kind == "process":
        rng = np.random.default_rng(0)
        nets = [
            rng.normal(size=(3, 30, 2, 2)) + 3 * rng.normal(size=(3, 1, 2, 2)) for _ in range(3)
        ]
        metric = rs.ProcessShapeMetric()
    else:
        nets, metric = [network(seed) for seed in range(3)], GAUSSIAN[kind]
    found = frechet_ceiling(nets, metric)
    others = frechet_mean(nets, metric, weights=[0, 1, 1])
    np.testing.assert_allclose(found.to_others[0], others.distances[0], rtol=1e-4)
    assert (found.to_all < found.to_others).all()
    copies = [nets[0], nets[1], *(turned_any(one, 3) for one in nets[:2])]
    assert cluster_shapes(copies, 2, metric).groups.tolist() == [0, 1, 0, 1]


def turned_any(net: Any, seed: int) -> Any:
    return turned(net, seed)


@pytest.mark.nightly  # a quarter of a minute
def test_a_mean_of_large_networks_stops_at_the_precision_of_alignments() -> None:
    rng = np.random.default_rng(0)
    mu, A = rng.normal(size=(3, 48)), rng.normal(size=(3, 48, 48)) / 7
    nets = []
    for seed in range(3):
        Q = random_orthogonal(48, np.random.default_rng(seed))
        means, factors = mu + 0.3 * rng.normal(size=mu.shape), A + 0.04 * rng.normal(size=A.shape)
        nets.append(rs.Gaussians.from_factors(means @ Q, Q.T @ factors))
    found = frechet_mean(nets)
    assert found.converged
    assert found.n_iterations < 20
    closer = frechet_mean(nets, rs.GaussianShapeMetric(tol=1e-9))
    assert found.variance == pytest.approx(closer.variance, rel=1e-5)


def test_refusals() -> None:
    x = trials(0)
    with pytest.raises(InputError, match=r"needs EnergyShapeMetric\(estimator='v'\)"):
        frechet_mean([x, trials(1)], rs.EnergyShapeMetric())
    with pytest.raises(InputError, match="equal weights, and as many trials of each condition"):
        frechet_mean([x, trials(1)], ENERGY, weights=[1, 2])
    with pytest.raises(InputError, match="equal weights, and as many trials of each condition"):
        frechet_mean([x, trials(1, L=7)], ENERGY)
    with pytest.raises(InputTypeError, match=r"averaged: GaussianShapeMetric, .* Got Wasser"):
        frechet_mean([x, trials(1)], rs.WassersteinShapeMetric())
    with pytest.raises(InputError, match="needs a group of orthogonal transforms"):
        frechet_mean([x, trials(1)], rs.ProcrustesShapeMetric(group="soft"))
