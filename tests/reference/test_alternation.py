"""The alternation: it is monotone, exact if one step is enough, and reports convergence."""

import numpy as np
import pytest

from repshape.groups import GROUPS, oracle
from repshape.reference import gaussian as reference
from repshape.reference.alternation import alternate
from repshape.solvers.starts import make_starts, random_orthogonal


def problem(seed, n_x=4, n_y=4, M=6, alpha=0.5):
    rng = np.random.default_rng(seed)
    mu, nu = rng.normal(size=(M, n_x)), rng.normal(size=(M, n_y))
    A, C = rng.normal(size=(M, n_x, n_x)), rng.normal(size=(M, n_y, n_y))
    w = np.full(M, 1 / M)
    start = np.linalg.qr(rng.normal(size=(max(n_x, n_y),) * 2))[0][:n_x, :n_y]
    return lambda T: reference.objective(mu, A, nu, C, T, alpha, w), start


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("sizes", [(4, 4), (5, 2), (2, 5)])
def test_the_objective_never_decreases(group, sizes):
    for seed in range(5):
        objective, start = problem(seed, *sizes)
        climb = alternate(objective, oracle(group)(start), group)
        assert np.all(np.diff(climb.values) >= -1e-13 * climb.values[-1])
        assert climb.converged
        assert climb.values[-1] == pytest.approx(objective(climb.transform)[0], rel=1e-14)


@pytest.mark.parametrize("group", GROUPS)
def test_means_alone_need_one_step(group):
    objective, start = problem(0, alpha=2.0)
    climb = alternate(objective, start, group)
    np.testing.assert_array_equal(climb.transform, oracle(group)(objective(start)[1]))


@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
def test_the_end_is_a_stationary_point(group):
    """T' grad is symmetric where no rotation of T gains to first order."""
    objective, start = problem(1)
    climb = alternate(objective, oracle(group)(start), group, tol=1e-15, max_iter=5000)
    inner = climb.transform.T @ objective(climb.transform)[1]
    np.testing.assert_allclose(inner, inner.T, atol=1e-6 * np.abs(inner).max())


def test_a_limit_that_is_hit_is_told():
    objective, start = problem(2)
    climb = alternate(objective, start, max_iter=2)
    assert not climb.converged
    assert len(climb.values) == 3


def test_starts_are_orthogonal_reproducible_and_differ():
    starts = make_starts(4, 8, 0)
    grams = starts @ np.swapaxes(starts, 1, 2)
    np.testing.assert_allclose(grams, np.tile(np.eye(4), (8, 1, 1)), atol=1e-13)
    np.testing.assert_array_equal(starts[0], np.eye(4))
    again = make_starts.__wrapped__(4, 8, 0)
    np.testing.assert_array_equal(starts, again)
    assert not np.allclose(starts, make_starts(4, 8, 1))
    with pytest.raises(ValueError, match="read-only"):
        starts[0, 0, 0] = 2.0
    np.testing.assert_array_equal(make_starts(4, 3, 0), starts[:3])  # more starts keep the first


def test_random_orthogonal_matrices_have_both_determinants_and_no_preferred_sign():
    rng = np.random.default_rng(0)
    many = np.array([random_orthogonal(3, rng) for _ in range(2000)])
    assert abs(np.linalg.det(many).mean()) < 0.1  # five standard errors
    assert np.abs(many.mean(0)).max() < 5 / np.sqrt(3 * 2000)
