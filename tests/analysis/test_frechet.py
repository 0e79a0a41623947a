"""The mean of networks in shape space: copies, geodesics, any rank, groups and ceilings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import sqrtm

from repshape import Gaussians, GaussianShapeMetric, Preprocess
from repshape.analysis import cluster_shapes, frechet_ceiling, frechet_mean
from repshape.analysis._barycentre import barycentre
from repshape.errors import InputError, InputTypeError, NotConvergedWarning
from repshape.solvers.starts import random_orthogonal

FloatArray = npt.NDArray[np.float64]


def network(seed: int, M: int = 6, n: int = 4, rank: int | None = None) -> Gaussians:
    rng = np.random.default_rng(seed)
    width = n + 2 if rank is None else rank
    factors = rng.normal(size=(M, n, width)) / np.sqrt(width)
    return Gaussians.from_factors(rng.normal(size=(M, n)), factors)


def turned(net: Gaussians, seed: int) -> Gaussians:
    Q = random_orthogonal(net.n_neurons, np.random.default_rng(seed))
    return Gaussians.from_factors(net.means @ Q, Q.T @ net.stored)


def size(net: Gaussians) -> float:
    return float(np.sqrt((net.means**2).sum(1).mean() + net.total_variance.mean()))


@pytest.mark.parametrize("rank", [None, 2], ids=["full rank", "rank 2"])
def test_mean_of_rotated_copies_is_that_network(rank: int | None) -> None:
    net = network(0, rank=rank)
    found = frechet_mean([turned(net, seed) for seed in range(5)])
    assert GaussianShapeMetric().distance(found.mean, net) < 1e-6 * size(net)
    assert found.distances.max() < 1e-6 * size(net)
    assert found.converged


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation", "identity"])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_mean_of_two_is_the_middle_of_the_geodesic(group: str, alpha: float) -> None:
    x, y = network(1), network(2)
    metric = GaussianShapeMetric(alpha, group=group)
    whole = metric.distance(x, y)
    found = frechet_mean([x, y], metric)
    np.testing.assert_allclose(found.distances, whole / 2, rtol=1e-6)
    np.testing.assert_allclose(found.variance, whole**2 / 4, rtol=1e-6)


def test_middle_with_unequal_neurons_and_ranks() -> None:
    x, y = network(3, n=5, rank=2), network(4, n=3)
    whole = GaussianShapeMetric().distance(x, y)
    found = frechet_mean([x, y])
    assert found.mean.n_neurons == 5
    np.testing.assert_allclose(found.distances, whole / 2, rtol=1e-5)
    assert [T.shape for T in found.transforms] == [(5, 5), (3, 5)]


def test_transforms_bring_the_networks_onto_the_mean() -> None:
    nets = [turned(network(5), seed) for seed in range(3)]
    found = frechet_mean(nets)
    for net, T in zip(nets, found.transforms, strict=True):
        np.testing.assert_allclose(net.means @ T, found.mean.means, atol=1e-6)
        moved = T.T @ net.covariances @ T
        np.testing.assert_allclose(moved, found.mean.covariances, atol=1e-6)


def test_mean_is_better_than_every_network_and_than_its_neighbours() -> None:
    nets = [network(seed, M=5, n=3) for seed in range(4)]
    metric = GaussianShapeMetric()
    found = frechet_mean(nets, metric)

    def variance(candidate: Gaussians) -> float:
        return float(np.mean([metric.distance(candidate, net) ** 2 for net in nets]))

    np.testing.assert_allclose(variance(found.mean), found.variance, rtol=1e-6)
    assert found.variance < min(variance(net) for net in nets)
    rng = np.random.default_rng(0)
    for _ in range(5):
        means = found.mean.means + 0.02 * rng.normal(size=found.mean.means.shape)
        factors = found.mean.factors + 0.02 * rng.normal(size=found.mean.factors.shape)
        assert variance(Gaussians.from_factors(means, factors)) > found.variance


def test_weights_place_the_mean_along_the_geodesic() -> None:
    x, y = network(6), network(7)
    whole = GaussianShapeMetric().distance(x, y)
    found = frechet_mean([x, y], weights=[3.0, 1.0])
    np.testing.assert_allclose(found.distances / whole, [0.25, 0.75], rtol=1e-5)


def test_barycentre_solves_its_equation() -> None:
    """S = sum w (S^1/2 C_k S^1/2)^1/2 at the mean S of the covariances C_k."""
    rng = np.random.default_rng(0)
    factors = [rng.normal(size=(1, 3, 3)) for _ in range(4)]
    w = np.array([0.1, 0.2, 0.3, 0.4])
    A = barycentre(np.eye(3)[None], factors, w, tol=1e-14, max_iter=500)[0]
    S = A @ A.T
    half = np.real(sqrtm(S))
    covariances = [F[0] @ F[0].T for F in factors]
    right = sum(wk * np.real(sqrtm(half @ C @ half)) for wk, C in zip(w, covariances, strict=True))
    np.testing.assert_allclose(S, right, atol=1e-8)


def test_preprocessing_is_applied_once() -> None:
    nets = [turned(network(8), seed) for seed in range(3)]
    metric = GaussianShapeMetric(preprocess=Preprocess(center=True, scale=True))
    found = frechet_mean(nets, metric)
    np.testing.assert_allclose(found.mean.means.mean(axis=0), 0.0, atol=1e-8)
    assert found.distances.max() < 1e-6


def test_kmeans_finds_the_groups_and_names_them_by_first_member() -> None:
    one, two = network(9, n=3), network(10, n=3)
    rng = np.random.default_rng(0)

    def near(net: Gaussians, seed: int) -> Gaussians:
        means = net.means + 0.05 * rng.normal(size=net.means.shape)
        return turned(Gaussians.from_factors(means, net.stored), seed)

    nets = [near(one if k % 2 else two, k) for k in range(6)]
    found = cluster_shapes(nets, 2)
    np.testing.assert_array_equal(found.groups, [0, 1, 0, 1, 0, 1])
    np.testing.assert_allclose(found.inertia, (found.distances.min(axis=1) ** 2).sum())
    assert found.converged
    again = cluster_shapes(nets, 2, workers=1)
    np.testing.assert_array_equal(found.distances, again.distances)
    copies = cluster_shapes([one, one, one], 3)
    assert sorted(copies.groups) == [0, 1, 2]


def test_kmeans_of_networks_with_unequal_neurons() -> None:
    """A cluster of small networks has a small mean, also beside a cluster of large ones."""
    small, large = network(13, n=3), network(14, n=5)
    found = cluster_shapes([turned(one, k) for k, one in enumerate([small, large] * 3)], 2)
    np.testing.assert_array_equal(found.groups, [0, 1, 0, 1, 0, 1])
    assert [one.n_neurons for one in found.centers] == [3, 5]
    apart = GaussianShapeMetric().distance(small, large)
    expected = np.tile([[0.0, apart], [apart, 0.0]], (3, 1))
    np.testing.assert_allclose(found.distances, expected, rtol=1e-5, atol=1e-6 * apart)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation", "identity"])
def test_a_network_of_weight_zero_counts_as_left_out(group: str) -> None:
    nets = [network(15, n=3), network(16, n=2), network(17, n=5)]
    metric = GaussianShapeMetric(group=group)
    found = frechet_mean(nets, metric, weights=[1.0, 1.0, 0.0])
    alone = frechet_mean(nets[:2], metric)
    assert found.mean.n_neurons == alone.mean.n_neurons == 3
    np.testing.assert_allclose(found.distances[:2], alone.distances, rtol=1e-6)
    to_mean = metric.distance(found.mean, nets[2])
    np.testing.assert_allclose(found.distances[2], to_mean, rtol=1e-6)


def test_ceiling_leaves_each_network_out() -> None:
    nets = [network(seed, n=3) for seed in range(3)]
    found = frechet_ceiling(nets, labels=["a", "b", "c"])
    others = frechet_mean(nets[1:])
    expected = GaussianShapeMetric().distance(others.mean, nets[0])
    np.testing.assert_allclose(found.to_others[0], expected, rtol=1e-6)
    assert (found.to_all < found.to_others).all()
    assert list(found.to_frame().index) == ["a", "b", "c"]


def test_means_and_clusters_that_did_not_converge_are_reported() -> None:
    rng = np.random.default_rng(0)
    networks = [rng.normal(size=(4, 10, 3)) + rng.normal(size=(4, 1, 3)) for _ in range(4)]
    with pytest.warns(NotConvergedWarning, match="mean did not converge in 1 iterations") as got:
        found = frechet_mean(networks, max_iter=1)
    assert not found.converged
    assert got[0].filename == __file__


def test_refusals() -> None:
    x = network(0)
    with pytest.raises(InputError, match="at least one network"):
        frechet_mean([])
    with pytest.raises(InputError, match="an entry for each of 1 network"):
        frechet_mean([x], weights=[1.0, 2.0])
    with pytest.raises(InputTypeError, match="whose aligned networks can be averaged: Gauss"):
        frechet_mean([x], "cosine")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="same conditions"):
        frechet_mean([x, network(0, M=5)])
    with pytest.raises(InputError, match="more clusters than networks"):
        cluster_shapes([x], 2)
    with pytest.raises(InputError, match="at least two networks"):
        frechet_ceiling([x])
