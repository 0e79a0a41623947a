"""The compiled core: the same results for pairs in any order and any thread, and bad shapes."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

import repshape as rs
from repshape import _native
from repshape.groups import GROUPS

ALPHAS = (0.0, 0.3, 1.0, 1.7, 2.0)


def some_networks(seed=0, M=9, sizes=(3, 3, 2, 5)):
    rng = np.random.default_rng(seed)
    made = [rng.normal(size=(M, 6, n)) for n in sizes]
    made.append((rng.normal(size=(M, 3)), rng.random((M, 3))))
    made.append(rng.normal(size=(M, 4)))
    return made


def native(means, factors, diagonal=False):
    spectrum = factors if diagonal else np.linalg.svd(factors, compute_uv=False)
    if diagonal:
        spectrum = -np.sort(-factors, axis=1)
    return _native.make_network(means, factors, spectrum, diagonal=diagonal)


def options(M, n, **parameters):
    """Options of the native solver, as the metric builds them."""
    return rs.GaussianShapeMetric(**parameters).search_options(M, n)


def test_the_instruction_set_is_one_of_those_that_run():
    assert _native.instruction_set() in _native.instruction_sets()
    assert "generic" in _native.instruction_sets()


def test_one_module_imports_the_compiled_core():
    package = Path(rs.__file__).parent
    imports = re.compile(r"import _core|from repshape\._core|repshape\._core import")
    found = [p.name for p in package.rglob("*.py") if imports.search(p.read_text("utf-8"))]
    assert found == ["_native.py"]


def test_results_are_named_and_frozen():
    rng = np.random.default_rng(0)
    x, y = (native(rng.normal(size=(9, 3)), rng.normal(size=(9, 3, 3))) for _ in range(2))
    found = _native.align(x, y, options(9, 3))
    both = _native.align_pairs([x, y], np.array([[0, 1]]), {3: options(9, 3)}, keep=True)
    assert both.distance.tolist() == [found.distance]
    assert both.lower_bound.tolist() == [found.lower_bound]
    assert both.converged.tolist() == [found.converged]
    np.testing.assert_array_equal(both.transforms[0], found.transform)
    for one in (found, both):
        with pytest.raises(FrozenInstanceError):
            one.distance = 0.0
    energy = rs.EnergyShapeMetric(estimator="v")
    first, second = (energy.prepare(rng.normal(size=(4, 5, 3))) for _ in range(2))
    solved = _native.align(first.native, second.native, energy.search_options(4, 3))
    assert solved.distance == energy.align_prepared(first, second).distance
    assert np.isnan([solved.mean_distance, solved.covariance_distance]).all()


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_many_pairs_at_once_have_the_bits_of_each_alone(group, alpha):
    metric = rs.GaussianShapeMetric(alpha, group=group)
    prepared = [metric.prepare(network) for network in some_networks()]
    pairs = np.array([(i, j) for i in range(6) for j in range(6)])
    found = metric.solve_pairs(prepared, pairs)
    for row, (i, j) in enumerate(pairs):
        alone = metric.align_prepared(prepared[i], prepared[j])
        assert found.distance[row] == alone.distance
        assert found.lower_bound[row] == alone.lower_bound
        assert found.converged[row] == alone.converged


def test_threads_do_not_change_the_bits():
    metric = rs.GaussianShapeMetric(0.3)
    prepared = [metric.prepare(network) for network in some_networks()]
    pairs = [(i, j) for i in range(6) for j in range(i)]
    alone = [metric.align_prepared(prepared[i], prepared[j]).distance for i, j in pairs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            found = pool.map(
                lambda p: metric.align_prepared(prepared[p[0]], prepared[p[1]]).distance, pairs
            )
            assert list(found) == alone


def test_networks_are_in_a_total_order_by_content():
    metric = rs.GaussianShapeMetric()
    made = [metric.prepare(network).native for network in some_networks()]
    copies = [metric.prepare(network).native for network in some_networks()]
    for i, x in enumerate(made):
        assert not x < copies[i]
        assert not copies[i] < x
        for j, y in enumerate(made):
            if i != j:
                assert (x < y) != (y < x)


def test_more_iterations_never_end_lower():
    rng = np.random.default_rng(1)
    for _ in range(5):
        x, y = (native(rng.normal(size=(9, 5)), rng.normal(size=(9, 5, 5))) for _ in range(2))
        ends = []
        for limit in (1, 3, 10, 100):
            chosen = options(9, 5, n_starts=1, max_iter=limit)
            ends.append(_native.align(x, y, chosen).distance)
        assert np.all(np.diff(ends) <= 1e-12)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
def test_a_given_start_is_where_the_search_begins(group):
    """A search that starts from the best transform ends there."""
    metric = rs.GaussianShapeMetric(0.3, group=group)
    prepared = [metric.prepare(network) for network in some_networks()]
    pairs = np.array([(i, j) for i in range(6) for j in range(6)])
    best = metric.solve_pairs(prepared, pairs, keep=True)
    starts = [T[None] for T in best.transforms]
    again = metric.solve_pairs(prepared, pairs, starts=starts, keep=True)
    np.testing.assert_allclose(again.distance, best.distance, rtol=1e-9, atol=1e-9)
    sizes = [(prepared[j].native.neurons, prepared[i].native.neurons) for i, j in pairs]
    assert [T.shape for T in again.transforms] == sizes


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_a_search_of_many_neurons_never_ends_above_its_given_start(tol):
    """It works in single precision mostly, and must not give away what it was given."""
    n, M = 48, 8
    rng = np.random.default_rng(4)
    fine = rs.GaussianShapeMetric(1.0, n_starts=1, tol=1e-9, max_iter=300)
    decay = np.exp(-np.arange(n) / 12)
    networks = [
        fine.prepare(
            rs.Gaussians.from_factors(rng.normal(size=(M, n)), decay * rng.normal(size=(M, n, n)))
        )
        for _ in range(4)
    ]
    pairs = np.array([(0, 1), (1, 2), (2, 3)])
    best = fine.solve_pairs(networks, pairs, keep=True)
    coarse = rs.GaussianShapeMetric(1.0, n_starts=1, tol=tol)
    found = coarse.solve_pairs(networks, pairs, starts=[T[None] for T in best.transforms])
    assert (found.distance <= best.distance * (1 + 1e-12)).all()


@pytest.mark.parametrize("group", ["orthogonal", "permutation"])
@pytest.mark.parametrize(
    "sizes", [(3, 6, 3), (3, 6, 4), (4, 2, 4), (2, 3, 2), (2, 5, 1), (14, 20, 13)]
)
def test_a_composition_is_never_longer_than_the_detour(sizes, group):
    """d_ij started from T_kj T_ik is at most d_ik + d_kj, whichever network is the largest."""
    metric = rs.GaussianShapeMetric(0.5, group=group, n_starts=1, max_iter=1)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        networks = [
            metric.prepare(
                rs.Gaussians.from_factors(rng.normal(size=(4, n)), rng.normal(size=(4, n, n)))
            )
            for n in sizes
        ]
        legs = metric.solve_pairs(networks, [(0, 1), (1, 2)], keep=True)
        start = legs.transforms[1] @ legs.transforms[0]
        found = metric.solve_pairs(networks, [(0, 2)], starts=[start[None]])
        assert found.distance[0] <= legs.distance.sum() * (1 + 1e-9)


def test_a_given_start_of_the_wrong_shape_is_refused():
    metric = rs.GaussianShapeMetric()
    prepared = [metric.prepare(network) for network in some_networks()]
    with pytest.raises(ValueError, match="does not map the neurons of y onto those of x"):
        metric.solve_pairs(prepared, [(0, 2)], starts=[np.zeros((1, 3, 2))])
    with pytest.raises(ValueError, match="one entry for each pair"):
        metric.solve_pairs(prepared, [(0, 2), (0, 1)], starts=[np.zeros((1, 2, 3))])


@pytest.mark.parametrize("sizes", [(3, 3), (5, 2), (2, 5)])
@pytest.mark.parametrize("group", GROUPS)
def test_evaluate_is_the_distance_at_the_transform_that_align_found(sizes, group):
    rng = np.random.default_rng(3)
    x, y = (native(rng.normal(size=(9, n)), rng.normal(size=(9, n, n))) for n in sizes)
    w = np.full(9, 1 / 9)
    found = _native.align(x, y, options(9, max(sizes), group=group))
    parts = _native.evaluate(x, y, found.transform, w)
    assert found.transform.shape == (sizes[1], sizes[0])
    assert np.sqrt(parts.means + parts.covariances) == pytest.approx(found.distance, rel=1e-12)
    assert found.mean_distance == pytest.approx(np.sqrt(parts.means), rel=1e-12)
    assert found.covariance_distance == pytest.approx(np.sqrt(parts.covariances), rel=1e-12)


def test_shapes_that_disagree_are_refused():
    rng = np.random.default_rng(4)
    means, factors = rng.normal(size=(3, 2)), rng.normal(size=(3, 2, 2))
    x = native(means, factors)
    with pytest.raises(ValueError, match="means, factors and spectrum disagree"):
        _native.make_network(means, factors[:2], np.ones((3, 2)))
    with pytest.raises(ValueError, match="means, factors and spectrum disagree"):
        _native.make_network(means, factors, np.ones((2, 2)))
    with pytest.raises(ValueError, match="number of conditions"):
        _native.align(x, x, options(4, 2))
    with pytest.raises(ValueError, match="too few numbers for the starts"):
        _native.align(x, x, options(3, 1, n_starts=3))
    with pytest.raises(ValueError, match="disagree in shape"):
        _native.evaluate(x, x, np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match="disagree in shape"):
        _native.gradient(x, x, np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match="instruction set"):
        _native.gradient(x, x, np.eye(2), np.ones(3), isa="sse42")


def test_a_gradient_of_unequal_conditions_is_refused():
    rng = np.random.default_rng(5)
    x, y = (native(rng.normal(size=(M, 2)), rng.normal(size=(M, 2, 2))) for M in (9, 3))
    with pytest.raises(ValueError, match="disagree"):
        _native.gradient(x, y, np.eye(2), np.ones(9))
