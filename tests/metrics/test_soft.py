"""Soft matching: metric axioms, duplication, permutations, bounds and the partial diagnostic."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import repshape as rs
from repshape.analysis import match_neurons
from repshape.errors import InputError
from repshape.solvers.plans import best_plan


def gaussians(rng, n, M=3):
    return rs.Gaussians.from_factors(rng.normal(size=(M, n)), rng.normal(size=(M, n, n)))


def trials(rng, n, M=3, L=6):
    return rng.normal(size=(M, L, n)) * rng.random(n) + rng.normal(size=(M, 1, n))


METRICS = {
    "gaussian": (rs.GaussianShapeMetric(group="soft"), gaussians),
    "covariances": (rs.GaussianShapeMetric(0.0, group="soft"), gaussians),
    "weights": (rs.GaussianShapeMetric(1.4, group="soft", weights=[0.2, 0.5, 0.3]), gaussians),
    "energy": (rs.EnergyShapeMetric(group="soft", estimator="v"), trials),
    "procrustes": (rs.ProcrustesShapeMetric(group="soft"), trials),
    "angular": (rs.ProcrustesShapeMetric(group="soft", distance="angular"), trials),
}
every = pytest.mark.parametrize(("metric", "make"), METRICS.values(), ids=METRICS)


def repeated(network, times):
    if isinstance(network, rs.Gaussians):
        return rs.Gaussians.from_factors(
            np.repeat(network.means, times, axis=1), np.repeat(network.factors, times, axis=1)
        )
    return np.repeat(network, times, axis=2)


@every
def test_duplicating_every_neuron_costs_nothing(metric, make):
    rng = np.random.default_rng(0)
    x, y = make(rng, 3), make(rng, 4)
    assert metric.distance(x, repeated(x, 2)) < 1e-6
    assert metric.distance(repeated(x, 3), repeated(x, 2)) < 1e-6
    assert metric.distance(repeated(x, 2), y) <= metric.distance(x, y) * (1 + 1e-9)


@every
def test_triangle_inequality_with_two_three_and_four_neurons(metric, make):
    """Gluing two plans at the network in the middle."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        x, y, z = (make(rng, n) for n in rng.permutation([2, 3, 4]))
        sides = [metric.distance(*pair) for pair in ((x, y), (y, z), (x, z))]
        assert max(sides) <= (sum(sides) - max(sides)) * (1 + 1e-9)


@every
def test_distance_is_symmetric_to_the_bit(metric, make):
    rng = np.random.default_rng(2)
    for sizes in ((3, 3), (2, 5)):
        x, y = (make(rng, n) for n in sizes)
        there, back = metric.align(x, y), metric.align(y, x)
        assert there.distance == back.distance
        assert metric.score(there, x, y) == pytest.approx(there.distance, rel=1e-9)
        assert metric.score(back, y, x) == pytest.approx(there.distance, rel=1e-9)
        # Both describe one plan: rows of x sum to 1 / n_x, those of y to 1 / n_y.
        np.testing.assert_allclose(there.transform.sum(axis=0), 1, atol=1e-9)
        np.testing.assert_allclose(
            there.transform / sizes[0], back.transform.T / sizes[1], atol=1e-12
        )


@pytest.mark.parametrize("n", [2, 4])
def test_equal_sizes_give_the_permutation_distance_over_the_root_of_n(n):
    """The optimum over permutations is known: all of them are tried."""
    rng = np.random.default_rng(3)
    x, y = gaussians(rng, n), gaussians(rng, n)
    fixed = rs.GaussianShapeMetric(group="identity")
    least = min(
        fixed.distance(x, (y.means[:, order], y.covariances[:, order][:, :, order]))
        for order in (list(one) for one in itertools.permutations(range(n)))
    )
    found = rs.GaussianShapeMetric(group="soft").distance(x, y)
    assert found == pytest.approx(least / np.sqrt(n), rel=1e-9)
    a, b = trials(rng, n), trials(rng, n)
    for q in (0.5, 1.0, 2.0):
        energy = rs.EnergyShapeMetric(q, group="permutation").distance(a, b)
        soft = rs.EnergyShapeMetric(q, group="soft").distance(a, b)
        assert soft == pytest.approx(energy * n ** (-q / 4), rel=1e-9)
    for score, scale in (("euclidean", np.sqrt(n)), ("angular", 1.0)):
        hard = rs.ProcrustesShapeMetric(group="permutation", distance=score).distance(a, b)
        soft = rs.ProcrustesShapeMetric(group="soft", distance=score).distance(a, b)
        assert soft == pytest.approx(hard / scale, rel=1e-9)


def test_unequal_sizes_find_the_optimum_over_all_vertices():
    """2 and 4 neurons: y with each neuron doubled has the same plans as permutations of 4."""
    rng = np.random.default_rng(4)
    for _ in range(2):
        x, y = gaussians(rng, 4), gaussians(rng, 2)
        exact = rs.GaussianShapeMetric(group="permutation").distance(x, repeated(y, 2)) / 2
        found = rs.GaussianShapeMetric(group="soft").align(x, y)
        assert found.distance == pytest.approx(exact, rel=1e-9)
        assert found.lower_bound <= exact
        a, b = trials(rng, 4), trials(rng, 2)
        exact = rs.EnergyShapeMetric(group="permutation").distance(a, repeated(b, 2)) / np.sqrt(2)
        assert rs.EnergyShapeMetric(group="soft").distance(a, b) == pytest.approx(exact, rel=1e-9)


def test_parts_add_up_and_the_bound_holds_for_random_plans():
    rng = np.random.default_rng(5)
    x, y = gaussians(rng, 3), gaussians(rng, 5)
    metric = rs.GaussianShapeMetric(0.7, group="soft")
    found = metric.align(x, y)
    parts = 0.7 * found.mean_distance**2 + 1.3 * found.covariance_distance**2
    assert found.distance**2 == pytest.approx(parts, rel=1e-12)
    problem = metric._soft_problem(metric.prepare(x), metric.prepare(y))
    for _ in range(50):
        P = best_plan(rng.normal(size=(3, 5)))
        squared = problem.at(P)[0]
        assert found.lower_bound**2 <= squared
        assert found.distance**2 <= squared + 1e-12
        # The residuals are the usual formula of traces and nuclear norms.
        traces = sum(
            np.trace(one.covariances, axis1=1, axis2=2).mean() / one.n_neurons for one in (x, y)
        )
        cross = np.linalg.norm(np.swapaxes(x.factors, 1, 2) @ P @ y.factors, "nuc", (1, 2))
        assert problem.parts(P)[1] == pytest.approx(traces - 2 * cross.mean(), rel=1e-9)


def test_pairwise_polishes_plans_without_violating_a_triangle():
    rng = np.random.default_rng(6)
    networks = [gaussians(rng, n) for n in (2, 3, 3, 4, 5)]
    D = rs.pairwise(networks, rs.GaussianShapeMetric(group="soft", n_starts=1))
    assert rs.triangle_violations(D).count == 0


def test_soft_matching_is_refused_where_a_transform_must_be_invertible():
    rng = np.random.default_rng(7)
    x, y = gaussians(rng, 2), gaussians(rng, 3)
    metric = rs.GaussianShapeMetric(group="soft")
    with pytest.raises(InputError, match="orthogonal transforms"):
        rs.analysis.geodesic(x, y, 0.5, metric)
    with pytest.raises(InputError, match="orthogonal transforms"):
        rs.analysis.frechet_mean([x, y], metric)
    with pytest.raises(InputError, match="orthogonal transforms"):
        rs.analysis.interpolate([x, y], metric=metric)
    with pytest.raises(InputError, match="'group' parameter of ProcessShapeMetric"):
        rs.ProcessShapeMetric(group="soft").distance(np.zeros((1, 3, 2, 2)), np.zeros((1, 3, 2, 2)))


def test_partial_matching_leaves_out_what_has_no_counterpart():
    rng = np.random.default_rng(8)
    shared = rng.normal(size=(4, 6))
    x = np.column_stack([shared, 10 + rng.normal(size=(4, 2))])
    y = np.column_stack([shared[:, ::-1], -10 + rng.normal(size=(4, 2))])
    found = match_neurons(x, y, mass=0.75)
    np.testing.assert_allclose(found.matched_x, [1] * 6 + [0] * 2, atol=1e-9)
    np.testing.assert_allclose(found.matched_y, [1] * 6 + [0] * 2, atol=1e-9)
    assert found.cost < 1e-12
    whole = match_neurons(x, y, mass=1.0, alpha=2.0)
    expected = rs.GaussianShapeMetric(2.0, group="soft").distance(x, y) ** 2
    assert whole.cost == pytest.approx(expected, rel=1e-9)
    with pytest.raises(InputError, match="'mass' parameter must be a float in"):
        match_neurons(x, y, mass=0.0)
