"""Geodesics, tangent vectors, tangent PCA and trajectories."""

from __future__ import annotations

import numpy as np
import pytest

import repshape as rs
from process_support import moments, orthogonal
from repshape.analysis import exp_map, frechet_mean, geodesic, log_map, tangent_pca, trajectory
from repshape.errors import InputError, InputTypeError


def gaussians(rng, M=4, n=3, rank=None):
    A = rng.normal(size=(M, n, rank or n))
    return rs.Gaussians.from_factors(rng.normal(size=(M, n)), A)


def cases():
    """Metrics with pairs of networks: ranks, sizes, groups, weights and modes."""
    rng = np.random.default_rng(0)
    full = gaussians(rng), gaussians(rng)
    return {
        "gaussian": (rs.GaussianShapeMetric(), *full),
        "weights": (rs.GaussianShapeMetric(0.6, weights=[0.5, 0.1, 0.4, 0.0]), *full),
        "means": (rs.GaussianShapeMetric(2.0), *full),
        "covariances": (rs.GaussianShapeMetric(0.0), *full),
        "permutation": (rs.GaussianShapeMetric(group="permutation"), *full),
        "ranks": (rs.GaussianShapeMetric(), gaussians(rng, rank=1), gaussians(rng, rank=2)),
        "sizes": (rs.GaussianShapeMetric(), gaussians(rng, n=2), gaussians(rng, n=4)),
        "points": (rs.GaussianShapeMetric(), full[0], rng.normal(size=(4, 3))),
        "preprocess": (
            rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=2)),
            *full,
        ),
        **{
            mode: (rs.ProcessShapeMetric(mode=mode), *(moments(rng, 2, 3, 2) for _ in "xy"))
            for mode in ("marginal", "joint", "causal")
        },
        "order": (
            rs.ProcessShapeMetric(mode="causal", order=1),
            *(moments(rng, 2, 4, 2) for _ in "xy"),
        ),
        "conv": (rs.ProcessShapeMetric(0.5), *rng.normal(size=(2, 2, 6, 2, 2, 3))),
    }


CASES = cases()


def plain(metric):
    """The metric in which the networks of a geodesic are compared."""
    changes = {"order": None} if isinstance(metric, rs.ProcessShapeMetric) else {}
    return metric.with_parameters(preprocess=None, **changes)


@pytest.mark.parametrize("name", CASES)
def test_a_geodesic_has_constant_speed(name):
    """d(path(s), path(t)) = |s - t| d(x, y); the midpoint is at half."""
    metric, x, y = CASES[name]
    d = metric.distance(x, y)
    times = [0.0, 0.25, 0.5, 1.0]
    path = geodesic(x, y, times, metric)
    exact = plain(metric)
    for s, one in zip(times, path, strict=True):
        for t, other in zip(times, path, strict=True):
            assert exact.distance(one, other) == pytest.approx(abs(s - t) * d, abs=1e-7 * d)


@pytest.mark.parametrize("name", CASES)
def test_log_has_the_length_of_the_distance_and_exp_inverts_it(name):
    metric, x, y = CASES[name]
    d = metric.distance(x, y)
    v = log_map(x, y, metric)
    assert v.norm == pytest.approx(d, rel=1e-10)
    end = exp_map(x, v, metric)
    start, target = geodesic(x, y, [0.0, 1.0], metric)
    assert plain(metric).distance(end, target) < 1e-9 * d
    if metric.preprocess is None and name != "order" and metric.alpha not in (0, 2):
        assert metric.with_parameters(tol=1e-9).distance(end, y) < 1e-7 * d
    half = (
        exp_map(start, 0.5 * log_map(start, y, plain(metric)), plain(metric))
        if (metric.preprocess is None and name != "order")
        else None
    )
    if half is not None:
        back = log_map(start, half, plain(metric))
        assert back.norm == pytest.approx(d / 2, rel=1e-7)


def test_log_of_exp_is_the_vector():
    """log(exp(v)) = v to 1e-10, for a short horizontal v."""
    rng = np.random.default_rng(1)
    x, y = gaussians(rng), gaussians(rng)
    v = 0.2 * log_map(x, y)
    again = log_map(x, exp_map(x, v))
    np.testing.assert_allclose(again.vector, v.vector, atol=1e-10 * v.norm)


def test_tangent_vectors_of_factors_are_horizontal():
    """V' A is symmetric: no part of the vector only rotates the factors."""
    rng = np.random.default_rng(2)
    x = gaussians(rng)
    v = log_map(x, gaussians(rng))
    from repshape.coordinates.factors import factorise

    A = factorise(x).dense
    product = np.swapaxes(v.factors[:, 0], 1, 2) @ A
    np.testing.assert_allclose(product, np.swapaxes(product, 1, 2), atol=1e-9)


@pytest.mark.parametrize("mode", ["marginal", "joint", "causal"])
def test_the_mean_of_two_processes_is_the_midpoint(mode):
    rng = np.random.default_rng(3)
    metric = rs.ProcessShapeMetric(mode=mode)
    x, y = moments(rng, 2, 3, 2), moments(rng, 2, 3, 2)
    found = frechet_mean([x, y], metric)
    d = metric.distance(x, y)
    assert found.converged
    np.testing.assert_allclose(found.distances, d / 2, rtol=1e-4)
    assert found.variance == pytest.approx(d**2 / 4, rel=1e-6)


def test_the_mean_of_processes_minimises_the_variance():
    rng = np.random.default_rng(4)
    metric = rs.ProcessShapeMetric(mode="causal")
    networks = [moments(rng, 1, 3, 2) for _ in range(4)]
    found = frechet_mean(networks, metric)
    variance = np.mean([metric.distance(found.mean, one) ** 2 for one in networks])
    assert variance == pytest.approx(found.variance, rel=1e-6)
    for one in networks:
        near = geodesic(found.mean, one, 0.05, metric)
        assert np.mean([metric.distance(near, other) ** 2 for other in networks]) > variance


def test_tangent_pca_of_the_toy_cohort_recovers_correlation_and_scale():
    """Two components explain both columns of the metadata: R^2 above 0.9."""
    toy = rs.datasets.toy_networks()
    found = tangent_pca(toy, n_components=2)
    assert found.explained_variance_ratio.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(
        found.distances,
        [rs.GaussianShapeMetric().distance(found.mean, one) for one in toy],
        rtol=1e-6,
    )
    z = np.column_stack([np.ones(len(toy)), found.scores])
    for column in ("correlation", "scale"):
        truth = toy.metadata[column].to_numpy()
        gap = truth - z @ np.linalg.lstsq(z, truth, rcond=None)[0]
        assert 1 - gap.var() / truth.var() > 0.9


def test_tangent_distances_are_at_least_the_distances():
    """Shape space has no negative curvature."""
    toy = rs.datasets.toy_networks(3, 3)
    found = tangent_pca(toy, n_components=9)
    D = rs.pairwise(toy, rs.GaussianShapeMetric())
    assert (found.tangent_distances >= D.values - 1e-6).all()
    assert 1 <= found.stretch(D) < 1.2
    np.testing.assert_allclose(
        found.tangent_distances,
        np.linalg.norm(found.scores[:, None] - found.scores[None], axis=2),
        atol=1e-6,
    )


def test_a_trajectory_follows_the_number():
    rng = np.random.default_rng(5)
    x, y = gaussians(rng), gaussians(rng)
    times = np.array([0.0, 0.1, 0.3, 0.6, 0.8, 1.0])
    networks = []
    for one in geodesic(x, y, times.tolist()):
        Q = orthogonal(rng, 3)
        networks.append(rs.Gaussians(one.means @ Q, Q.T @ one.covariances @ Q))
    d = rs.GaussianShapeMetric().distance(x, y)
    found = trajectory(networks, times)
    assert found.r_squared > 0.99
    assert found.p_value <= 0.01
    assert found.speed == pytest.approx(d, rel=0.05)
    assert rs.GaussianShapeMetric().distance(found.network_at(0.5), geodesic(x, y, 0.5)) < 0.1 * d
    shuffled = trajectory(networks, times[[3, 0, 5, 1, 4, 2]])
    assert shuffled.r_squared < 0.8
    assert shuffled.p_value > 0.05
    expected = found.speed * (times - times.mean())
    np.testing.assert_allclose(found.scores, expected, atol=0.05 * d)


def test_a_trajectory_exchanges_values_within_blocks_only():
    """Three blocks of two networks have eight assignments, of which the observed one is best."""
    scales = [1.0, 1.2, 2.0, 2.2, 3.0, 3.2]
    networks = [rs.Gaussians([[1.0, 0.0]], [[s**2, s**2]]) for s in scales]
    found = trajectory(networks, scales, blocks=list("aabbcc"), n_permutations=1999)
    assert found.p_value == pytest.approx(1 / 8, abs=4 * np.sqrt(1 / 8 * 7 / 8 / 1999))
    assert trajectory(networks, scales, n_permutations=1999).p_value < 0.02
    assert found.speed == pytest.approx(np.sqrt(2))


def test_a_trajectory_reads_a_column():
    toy = rs.datasets.toy_networks(3, 5)
    by_scale = trajectory(toy, "scale", n_permutations=0)
    curved = trajectory(toy, "correlation", degree=2, n_permutations=99)
    assert curved.p_value == 0.01
    straight = trajectory(toy, toy.metadata["correlation"], n_permutations=0)
    assert curved.r_squared >= straight.r_squared
    assert np.isnan(by_scale.p_value)
    low, high = by_scale.network_at(0.5), by_scale.network_at(2.0)
    assert low.total_variance.mean() < high.total_variance.mean()


@pytest.mark.parametrize(
    ("call", "said", "error"),
    [
        (lambda x: geodesic(x, x, np.nan), "'t' parameter must be finite", InputError),
        (
            lambda x: geodesic(x, x, 0.5, rs.EnergyShapeMetric()),
            "GaussianShapeMetric or a Process",
            InputTypeError,
        ),
        (
            lambda x: exp_map(x, log_map([[1.0], [2.0]], [[3.0], [1.0]])),
            "must belong to this",
            InputError,
        ),
        (lambda x: tangent_pca([x]), "at least two networks. Got 1", InputError),
        (lambda x: tangent_pca([x, x], n_components=0), "'n_components'", InputError),
        (lambda x: tangent_pca([x, x]).network_at([1, 2, 3]), "at most 2 finite", InputError),
        (lambda x: tangent_pca([x, x]).stretch(np.eye(3)), "must have shape", InputError),
        (lambda x: trajectory([x, x], [1.0, 1.0]), "at least 2 different values", InputError),
        (lambda x: trajectory([x, x], [1.0]), "an entry for each of 2 networks", InputError),
        (lambda x: trajectory([x, x], "scale"), "which is not a column", InputError),
        (
            lambda x: trajectory([x, x], [1, 2], blocks=[0]),
            "an entry for each of 2 networks",
            InputError,
        ),
        (lambda x: trajectory([x, x], [1, 2], blocks=[0, 1]), "something to permute", InputError),
        (
            lambda x: trajectory([x, x], [1.0, 2.0]).network_at(np.inf),
            "a finite number",
            InputError,
        ),
        (lambda x: geodesic(x, x[:3], 0.5), "same conditions", InputError),
    ],
)
def test_bad_input_is_refused(call, said, error):
    x = np.random.default_rng(6).normal(size=(4, 5, 2))
    with pytest.raises(error, match=said):
        call(x)
