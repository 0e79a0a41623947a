"""Lower bounds of neighbour searches: below every distance, and below it by as little as proven."""

import numpy as np
import pytest
from tests.properties.examples import ALPHAS, GROUPS, distance_at, element, make_network

import repshape as rs
from repshape.analysis.lower_bounds import NoBounds, best_assignments, lower_bounds

K = 8
PAIRS = np.stack(np.triu_indices(K, 1), axis=1)


def networks(seed=0, n=3):
    """Random networks, relatives, a network without noise and one without means."""
    rng = np.random.default_rng(seed)
    some = [make_network(rng, n=n) for _ in range(K - 4)]
    near = rs.Gaussians.from_factors(some[0].means + 0.01, some[0].factors)
    silent = rs.Gaussians.from_factors(some[1].means, 0 * some[1].factors)
    centred = rs.Gaussians.from_factors(0 * some[2].means, some[2].factors)
    return [*some, near, silent, centred, make_network(rng, n=n, rank=1)]


def both(metric, given):
    found = lower_bounds(metric, given, [str(k) for k in range(len(given))])
    return found.rough(range(len(given)), len(given)), found.tight(PAIRS)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_no_transform_is_closer_than_the_bound(alpha, group):
    given, rng = networks(), np.random.default_rng(5)
    metric = rs.GaussianShapeMetric(alpha, group=group)
    rough, tight = both(metric, given)
    for (i, j), bound in zip(PAIRS, tight, strict=True):
        assert rough[i, j] <= metric.distance(given[i], given[j])
        assert bound <= metric.distance(given[i], given[j])
        for _ in range(5):
            T = element(rng, group, 3)
            assert bound <= distance_at(given[i], given[j], T, alpha)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_bounds_equal_the_certificates_of_the_search(alpha):
    given, metric = networks(1), rs.GaussianShapeMetric(alpha)
    certified = rs.pairwise(given, metric, polish=False).lower_bounds
    rough, tight = both(metric, given)
    i, j = PAIRS.T
    assert np.allclose(tight, certified[i, j], rtol=1e-6, atol=1e-6)
    assert (rough[i, j] <= tight + 1e-6).all()


@pytest.mark.parametrize("group", GROUPS)
def test_tight_bounds_are_exact_where_only_means_count(group):
    given, i, j = networks(2), *PAIRS.T
    for metric in (
        rs.GaussianShapeMetric(2.0, group=group),
        rs.ProcrustesShapeMetric(group=group),
        rs.ProcrustesShapeMetric(group=group, distance="angular", center=False),
    ):
        used = given
        if not isinstance(metric, rs.GaussianShapeMetric):
            used = [one for one in given if one.means.any()] * 2
            used = used[:K]
        exact = rs.pairwise(used, metric, polish=False).values[i, j]
        bounds = both(metric, used)[1]
        if group == "rotation":  # the bound allows reflections
            assert (bounds <= exact + 1e-9).all()
        else:
            assert np.allclose(bounds, exact, atol=2e-6)


def test_bounds_obey_the_triangle_inequality_so_that_pivots_with_them_add_nothing():
    given = networks(3)
    tight = np.zeros((K, K))
    tight[tuple(PAIRS.T)] = both(rs.GaussianShapeMetric(1.0), given)[1]
    tight += tight.T
    assert (tight[:, None, :] <= tight[:, :, None] + tight[None] + 1e-6).all()


@pytest.mark.parametrize("ground", ["root-frobenius", "log-euclidean", "affine-invariant"])
def test_bounds_of_other_ground_metrics(ground):
    rng = np.random.default_rng(4)
    given = [make_network(rng) for _ in range(K)]
    metric = rs.CovarianceShapeMetric(1.0, ground=ground, n_starts=2, tol=1e-4)
    rough, tight = both(metric, given)
    for (i, j), bound in zip(PAIRS[:10], tight[:10], strict=True):
        found = metric.align(given[i], given[j])
        assert rough[i, j] <= bound + 1e-9
        assert bound == pytest.approx(found.lower_bound, rel=1e-9)


def test_bounds_do_not_exceed_distances_of_nearly_equal_networks():
    rng = np.random.default_rng(6)
    one = make_network(rng, M=40, n=6)
    rotations = [np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(K)]
    given = [
        rs.Gaussians.from_factors(1e3 * one.means @ Q, 1e3 * Q.T @ one.factors) for Q in rotations
    ]
    for alpha in (0.0, 1.0, 2.0):
        metric = rs.GaussianShapeMetric(alpha)
        exact = rs.pairwise(given, metric, polish=False).values
        rough, tight = both(metric, given)
        assert (rough <= exact).all()
        assert (tight <= exact[tuple(PAIRS.T)]).all()


def test_best_assignments_are_those_of_all_permutations():
    from itertools import permutations

    products = np.random.default_rng(7).normal(size=(5, 4, 4))
    for size in (None, 6):
        n = size or 4
        padded = np.pad(products, ((0, 0), (0, n - 4), (0, n - 4)))
        every = [padded[:, range(n), order].sum(axis=1) for order in permutations(range(n))]
        assert np.allclose(best_assignments(products, size), np.max(every, axis=0))


def test_bounds_in_temporary_files_are_the_same():
    given, metric = networks(8), rs.GaussianShapeMetric(1.0)
    names = [str(k) for k in range(K)]
    plain, mapped = lower_bounds(metric, given, names), lower_bounds(metric, given, names, 1000)
    assert isinstance(mapped._means, np.memmap)
    assert np.array_equal(plain.rough(range(2, 5), 7), mapped.rough(range(2, 5), 7))
    assert np.array_equal(plain.tight(PAIRS), mapped.tight(PAIRS))


def test_other_metrics_have_no_bounds():
    for metric in (rs.EnergyShapeMetric(), rs.GaussianShapeMetric(group="soft"), max):
        assert isinstance(lower_bounds(metric, [], []), NoBounds)
