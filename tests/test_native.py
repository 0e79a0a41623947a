"""The native module: whole pairs, in any order and any thread, the same bits."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import repshape as rs
from repshape import _core
from repshape.groups import GROUPS
from repshape.solvers.starts import make_starts

ALPHAS = (0.0, 0.3, 1.0, 1.7, 2.0)


def some_networks(seed=0, M=9, sizes=(3, 3, 2, 5, 40)):
    rng = np.random.default_rng(seed)
    made = [rng.normal(size=(M, 6, n)) for n in sizes]
    made.append((rng.normal(size=(M, 3)), rng.random((M, 3))))
    made.append(rng.normal(size=(M, 4)))
    return made


def native(means, factors, diagonal=False):
    spectrum = factors if diagonal else np.linalg.svd(factors, compute_uv=False)
    if diagonal:
        spectrum = -np.sort(-factors, axis=1)
    return _core.Network(means, factors, np.ascontiguousarray(spectrum), diagonal)


def options(M, n, **changed):
    chosen = {
        **{"group": 0, "alpha": 1.0, "weights": np.full(M, 1 / M), "tolerance": 1e-9},
        **{"max_iterations": 500, "starts": make_starts(n, 4, 0), "n_starts": 4},
        **{"use_means": True, "screen": True, "screen_conditions": 32, "screen_iterations": 6},
        **{"finalists": 3, "single": True, "memory": 30, **changed},
    }
    return _core.Options(**chosen)


def test_the_instruction_set_is_one_of_those_that_run():
    assert _core.instruction_set() in _core.instruction_sets()
    assert "generic" in _core.instruction_sets()


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_many_pairs_at_once_have_the_bits_of_each_alone(group, alpha):
    metric = rs.GaussianShapeMetric(alpha, group=group)
    prepared = [metric.prepare(network) for network in some_networks()]
    pairs = np.array([(i, j) for i in range(7) for j in range(7)])
    found = metric.solve_pairs(prepared, pairs)
    for row, (i, j) in enumerate(pairs):
        alone = metric.align_prepared(prepared[i], prepared[j])
        assert found.distance[row] == alone.distance
        assert found.lower_bound[row] == alone.lower_bound
        assert found.converged[row] == alone.converged


def test_threads_do_not_change_the_bits():
    metric = rs.GaussianShapeMetric(0.3)
    prepared = [metric.prepare(network) for network in some_networks()]
    pairs = [(i, j) for i in range(7) for j in range(i)]
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
            chosen = options(9, 5, starts=np.zeros((0, 5, 5)), n_starts=0, max_iterations=limit)
            ends.append(_core.align(x, y, chosen)[0])
        assert np.all(np.diff(ends) <= 1e-12)


def test_a_caller_given_start_is_used():
    """The best transform as the only start: nothing is left to do, and nothing is lost."""
    rng = np.random.default_rng(2)
    x, y = (native(rng.normal(size=(9, 4)), rng.normal(size=(9, 4, 4))) for _ in range(2))
    best = _core.align(x, y, options(9, 4))
    first, second = (x, y) if x < y else (y, x)
    T = _core.align(first, second, options(9, 4))[-1].T
    only = options(9, 4, starts=np.ascontiguousarray(T[None]), n_starts=1, use_means=False)
    again = _core.align(x, y, only)
    assert again[0] == pytest.approx(best[0], rel=1e-12)
    assert again[5] <= 8
    assert again[6] == 1


@pytest.mark.parametrize("sizes", [(3, 3), (5, 2), (2, 5)])
@pytest.mark.parametrize("group", range(4))
def test_evaluate_is_the_distance_at_the_transform_that_align_found(sizes, group):
    rng = np.random.default_rng(3)
    x, y = (native(rng.normal(size=(9, n)), rng.normal(size=(9, n, n))) for n in sizes)
    w = np.full(9, 1 / 9)
    found = _core.align(x, y, options(9, max(sizes), group=group))
    mean, covariance = _core.evaluate(x, y, np.ascontiguousarray(found[-1]), w)
    assert found[-1].shape == (sizes[1], sizes[0])
    assert np.sqrt(mean + covariance) == pytest.approx(found[0], rel=1e-12)


def test_shapes_that_disagree_are_refused():
    rng = np.random.default_rng(4)
    means, factors = rng.normal(size=(3, 2)), rng.normal(size=(3, 2, 2))
    x = native(means, factors)
    with pytest.raises(ValueError, match="means, factors and spectrum disagree"):
        _core.Network(means, factors[:2], np.ones((3, 2)), False)
    with pytest.raises(ValueError, match="means, factors and spectrum disagree"):
        _core.Network(means, factors, np.ones((2, 2)), False)
    with pytest.raises(ValueError, match="number of conditions"):
        _core.align(x, x, options(4, 2))
    with pytest.raises(ValueError, match="too few numbers for the starts"):
        _core.align(x, x, options(3, 2, starts=np.zeros((1, 2, 2))))
    with pytest.raises(ValueError, match="disagree in shape"):
        _core.evaluate(x, x, np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match="disagree in shape"):
        _core.gradient(x, x, np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match="instruction set"):
        _core.gradient(x, x, np.eye(2), np.ones(3), isa="sse42")


def test_a_gradient_of_unequal_conditions_is_refused():
    rng = np.random.default_rng(5)
    x, y = (native(rng.normal(size=(M, 2)), rng.normal(size=(M, 2, 2))) for M in (9, 3))
    with pytest.raises(ValueError, match="disagree"):
        _core.gradient(x, y, np.eye(2), np.ones(9))
