"""Networks with known neighbours, and checks that are shared by tests of neighbour searches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.analysis import pair_solver
from repshape.analysis.neighbor_result import NeighborGraph
from repshape.engine import threads
from repshape.errors import SearchWarning

FloatArray = npt.NDArray[np.float64]


def families(number: int = 4, size: int = 6, M: int = 5, n: int = 3, seed: int = 0) -> list[Any]:
    """Families of perturbed copies of a network, each with a rotation of its own."""
    rng = np.random.default_rng(seed)
    networks = []
    for _ in range(number):
        mu, A = rng.normal(size=(M, n)), rng.normal(size=(M, n, n))
        for _ in range(size):
            Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
            nu, B = mu + 0.2 * rng.normal(size=mu.shape), A + 0.2 * rng.normal(size=A.shape)
            networks.append(rs.Gaussians.from_factors(nu @ Q, Q.T @ B))
    return networks


def whole_matrix(networks: Any, metric: Any) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        values = rs.pairwise(networks, metric, polish=False).values.copy()
    np.fill_diagonal(values, np.inf)
    return values


def check_equal(found: NeighborGraph, values: FloatArray, k: int) -> None:
    """Bits of distances, and networks with ties in the order of the cohort."""
    order = np.argsort(values, axis=1, kind="stable")[:, :k]
    assert np.array_equal(found.indices, order)
    assert np.array_equal(found.distances, np.take_along_axis(values, order, axis=1))


def count_solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record how many pairs each chunk solves."""
    solved: list[int] = []

    def counting(*arguments: Any, **options: Any) -> Any:
        solved.append(len(arguments[2]))
        return threads.solve_chunk(*arguments, **options)

    monkeypatch.setattr(pair_solver, "solve_chunk", counting)
    return solved
