"""Repair, compared with solvers that use all triangle inequalities at once."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import nnls
from scipy.sparse import csc_matrix, diags, identity, vstack
from scipy.spatial.distance import squareform

from repshape.matrix.repair import repair

FloatArray = npt.NDArray[np.float64]


def all_triangles(count: int) -> csc_matrix:
    """All 3 C(K, 3) rows x_ik + x_kj - x_ij of the paper's program."""
    pair = squareform(np.arange(count * (count - 1) // 2))
    rows = [
        (pair[i, j], pair[i, k], pair[k, j])
        for i, j in itertools.combinations(range(count), 2)
        for k in set(range(count)) - {i, j}
    ]
    columns = np.array(rows)
    values = np.tile([-1.0, 1.0, 1.0], len(rows))
    shape = (len(rows), count * (count - 1) // 2)
    return csc_matrix((values, (np.repeat(np.arange(len(rows)), 3), columns.ravel())), shape=shape)


def by_osqp(given: FloatArray, weights: FloatArray, count: int) -> FloatArray:
    """The program of Appendix F.3, by the solver named there."""
    osqp = pytest.importorskip("osqp")
    constraints = vstack([identity(len(given)), all_triangles(count)], format="csc")
    solver = osqp.OSQP()
    solver.setup(
        diags(weights, format="csc"),
        -weights * given,
        constraints,
        np.zeros(constraints.shape[0]),
        np.full(constraints.shape[0], np.inf),
        eps_abs=1e-8,
        eps_rel=0.0,
        max_iter=100_000,
        verbose=False,
    )
    found = solver.solve(raise_error=True)
    solution: FloatArray = found.x
    return solution


def by_nnls(given: FloatArray, weights: FloatArray, count: int) -> FloatArray:
    """The dual problem, by the active-set method of SciPy, which is exact but slow."""
    root = np.sqrt(weights)
    rows = np.vstack([np.eye(len(given)), all_triangles(count).toarray()]) / root
    multipliers, _ = nnls(rows.T, -root * given, maxiter=100_000)
    solution: FloatArray = given + (rows.T @ multipliers) / root
    return solution


def random_matrix(kind: str, count: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    size = count * (count - 1) // 2
    return rng.uniform(size=size) if kind == "uniform" else rng.normal(0.5, 0.5, size=size)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("count", [3, 10, 20, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_repair_equals_osqp_on_all_triangles(kind: str, count: int, weighted: bool) -> None:
    given = random_matrix(kind, count, count)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.2, 5.0, len(given)) if weighted else np.ones(len(given))
    ours = repair(squareform(given), weights=squareform(weights))
    np.testing.assert_allclose(squareform(ours.values), by_osqp(given, weights, count), atol=1e-5)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("count", [4, 8, 12])
def test_repair_equals_nnls_on_the_dual(kind: str, count: int) -> None:
    given = random_matrix(kind, count, count)
    weights = np.random.default_rng(2).uniform(0.2, 5.0, len(given))
    ours = repair(squareform(given), weights=squareform(weights))
    exact = by_nnls(given, weights, count)
    np.testing.assert_allclose(squareform(ours.values), exact, atol=1e-9)
    assert np.linalg.norm(np.sqrt(weights) * (squareform(ours.values) - exact)) <= (
        ours.error_bound + 1e-9
    )
