"""Permutations: exact for few neurons, and a search above."""

from itertools import permutations

import numpy as np
import pytest

import repshape as rs
from repshape.reference import gaussian as reference


def pair(rng, n, k, M=3, rank=None):
    rank = n if rank is None else rank
    x = rs.Gaussians.from_factors(rng.normal(size=(M, n)), rng.normal(size=(M, n, rank)))
    y = rs.Gaussians.from_factors(rng.normal(size=(M, k)), rng.normal(size=(M, k, min(k, rank))))
    return x, y


def all_injections(n, k):
    for rows in permutations(range(n), k):
        T = np.zeros((n, k))
        T[rows, range(k)] = 1.0
        yield T


def exhaustive(x, y, alpha):
    """The smallest distance over all permutations, by the reference."""
    w = np.full(x.n_conditions, 1 / x.n_conditions)
    return min(
        np.sqrt(
            alpha * reference.mean_gap(x.means, y.means, T, w)
            + (2 - alpha) * reference.covariance_gap(x.factors, y.factors, T, w)
        )
        for T in all_injections(x.n_neurons, y.n_neurons)
    )


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 1), (4, 4), (5, 3), (5, 5)])
@pytest.mark.parametrize("rank", [1, None])
def test_few_neurons_are_permuted_exactly(alpha, sizes, rank):
    rng = np.random.default_rng(sizes[0])
    for _ in range(2):
        x, y = pair(rng, *sizes, rank=rank)
        found = rs.GaussianShapeMetric(alpha, group="permutation").align(x, y)
        assert found.distance == pytest.approx(exhaustive(x, y, alpha), rel=1e-9)
        assert (found.n_starts, found.n_agreeing, found.converged) == (1, 1, True)


def test_the_search_ends_where_signs_do_not_matter():
    """One condition of rank one: signs that gain nothing but rounding were taken for ever."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, y = pair(rng, 5, 3, M=1, rank=1)
        found = rs.GaussianShapeMetric(0.0, group="permutation").align(x, y)
        assert found.distance == pytest.approx(exhaustive(x, y, 0.0), rel=1e-9)


@pytest.mark.parametrize("n", [7, 8])
def test_the_bound_never_cuts_off_the_best_permutation(n):
    """Branch and bound against many runs of the search, which cuts nothing off."""
    rng = np.random.default_rng(n)
    for alpha in (0.0, 0.7):
        x, y = pair(rng, n, n)
        exact = rs.GaussianShapeMetric(alpha, group="permutation").align(x, y)
        many = rs.GaussianShapeMetric(alpha, group="permutation", n_starts=300).align(x, y)
        assert (exact.n_starts, many.n_starts) == (1, 300)
        assert exact.distance <= many.distance * (1 + 1e-12)
        assert many.distance == pytest.approx(exact.distance, rel=0.01)  # or it would be no check


@pytest.mark.filterwarnings("ignore::repshape.errors.TransposedWarning")  # small sizes coincide
@pytest.mark.parametrize("q", [0.5, 0.7, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (3, 5)])
def test_energy_distances_of_few_neurons_are_exact(q, sizes):
    rng = np.random.default_rng(3)
    x, y = (rng.normal(size=(3, 4 + k, n)) for k, n in enumerate(sizes))
    metric = rs.EnergyShapeMetric(q, group="permutation", estimator="v")
    fixed = rs.EnergyShapeMetric(q, group="identity", estimator="v")
    large, small = (x, y) if sizes[0] >= sizes[1] else (y, x)
    every = (
        fixed.distance(large[:, :, [*rows, *(set(range(large.shape[2])) - set(rows))]], small)
        for rows in permutations(range(large.shape[2]), small.shape[2])
    )
    found = metric.align(x, y)
    assert found.distance == pytest.approx(min(every), rel=1e-9)
    assert (found.n_starts, found.n_agreeing) == (1, 1)


@pytest.mark.parametrize("metric", [rs.GaussianShapeMetric(0.5), rs.EnergyShapeMetric()])
def test_more_neurons_are_searched_until_starts_agree(metric):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(8, 20, 12)) @ rng.normal(size=(8, 12, 12))
    order = rng.permutation(12)
    y = (x + 0.3 * rng.normal(size=x.shape))[:, :, order]
    found = metric.with_parameters(group="permutation").align(x, y)
    assert 4 <= found.n_agreeing <= found.n_starts
    assert 8 <= found.n_starts <= 64
    assert found.converged
    assert np.array_equal(found.transform, np.eye(12)[order])


def test_a_pair_too_large_to_be_exact_says_so():
    """All permutations of eight neurons in 4000 conditions would take more than a minute."""
    rng = np.random.default_rng(5)
    x = rs.Gaussians.from_factors(rng.normal(size=(4000, 8)), rng.normal(size=(4000, 8, 8)))
    y = rs.Gaussians.from_factors(x.means[:, ::-1], x.factors[:, ::-1])
    found = rs.GaussianShapeMetric(0.5, group="permutation").align(x, y)
    assert found.distance < 1e-6
    assert found.n_starts >= 4
    assert found.n_agreeing >= 2
