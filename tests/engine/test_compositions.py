"""Compositions as starts: how they are rated, chosen and counted, and what they lead to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from test_agreement import relatives
from test_polish import noisy_copies, violated

from repshape import EnergyShapeMetric, GaussianShapeMetric, pairwise
from repshape.engine.compositions import COMPARED, solve_composed
from repshape.engine.effort import BRIEF_STARTS
from repshape.engine.polish import SOLVED
from repshape.engine.tiles import Compositions
from repshape.groups import Transform

FloatArray = npt.NDArray[np.float64]


def turns(count: int, n: int, rng: np.random.Generator) -> FloatArray:
    return np.stack([np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(count)])


@pytest.mark.parametrize("alpha", [0.0, 0.7, 2.0])
def test_gaussian_ratings_are_an_affine_function_of_the_squared_distance(alpha: float) -> None:
    """Two distances at fixed transforms determine all others."""
    rng = np.random.default_rng(0)
    metric = GaussianShapeMetric(alpha)
    S = rng.normal(size=(2, 9, 4, 6))
    x, y = ((rng.normal(size=(9, 4)), one @ one.transpose(0, 2, 1)) for one in S)
    prepared, starts = [metric.prepare(x), metric.prepare(y)], turns(6, 4, rng)
    (values,) = metric.rate_starts(prepared, [(0, 1)], [starts])
    (backwards,) = metric.rate_starts(prepared, [(1, 0)], [starts.transpose(0, 2, 1)])
    np.testing.assert_allclose(backwards, values, rtol=1e-5)
    squares = []
    for start in starts:
        full = Transform(start, prepared[1].basis, prepared[0].basis)
        squares.append(score(metric, x, y, full) ** 2)
    slope, offset = np.polyfit(values[:2], squares[:2], 1)
    assert slope < 0
    np.testing.assert_allclose(slope * values + offset, squares, rtol=1e-4)


def score(metric: Any, x: Any, y: Any, fixed: Transform) -> float:
    from repshape.responses import as_network

    return float(metric._evaluate(as_network(x), as_network(y), fixed))


def test_energy_ratings_differ_from_minus_the_squared_distance_by_a_constant() -> None:
    rng = np.random.default_rng(1)
    metric = EnergyShapeMetric(q=1.3, estimator="v")
    x, y = rng.normal(size=(2, 5, 7, 3)) * np.array([1.0, 2.0, 3.0])
    prepared, starts = [metric.prepare(x), metric.prepare(y)], turns(5, 3, rng)
    (values,) = metric.rate_starts(prepared, [(0, 1)], [starts])
    bases = prepared[1].basis, prepared[0].basis
    squares = [score(metric, x, y, Transform(one, *bases)) ** 2 for one in starts]
    np.testing.assert_allclose(np.diff(squares), -np.diff(values), rtol=1e-9)


def test_the_best_compositions_that_are_far_from_the_present_one_are_solved() -> None:
    """Compositions through copies of one network, of which some are close to the present one."""
    rng = np.random.default_rng(2)
    networks = relatives(2, 0.5)
    metric = GaussianShapeMetric(0.0)
    prepared = [metric.prepare(one) for one in networks]
    present = metric.solve_pairs(prepared, [(0, 1)], keep=True)
    assert present.transforms is not None
    best, n = present.transforms[0], 6
    hubs = {k: np.eye(n) for k in range(2, 5)} | dict(enumerate(turns(9, n, rng), 5))
    known = {(0, 1): best} | {(0, k): best for k in hubs} | {(k, 1): Q for k, Q in hubs.items()}
    given = Compositions([np.arange(2, 14)], known, np.array([SOLVED]))
    pair = np.array([[0, 1]])
    found = solve_composed(metric, prepared, pair, pair, given)
    assert found.n_composed is not None
    assert found.n_composed.tolist() == [3]  # as good as the best: rated first
    assert found.n_starts.tolist() == [SOLVED]
    ratings = metric.rate_starts(prepared, [(0, 1)], [np.stack([Q @ best for Q in hubs.values()])])
    order = np.argsort(-ratings[0])[:COMPARED]
    starts = np.stack([hubs[2 + int(k)] @ best for k in order[3 : 3 + SOLVED]])
    expected = metric.solve_pairs(prepared, [(0, 1)], starts=[starts])
    assert found.distance == expected.distance


def test_a_pair_without_another_composition_is_not_solved() -> None:
    networks = relatives(2, 0.5)
    metric = GaussianShapeMetric(0.0)
    prepared = [metric.prepare(one) for one in networks]
    T, eye = np.eye(6), np.eye(6)
    given = Compositions([np.array([2])], {(0, 1): T, (0, 2): T, (2, 1): eye}, np.array([2]))
    found = solve_composed(metric, prepared, np.array([[0, 1]]), np.array([[0, 1]]), given)
    assert found.distance.tolist() == [np.inf]
    assert found.n_composed is not None
    assert found.n_composed.tolist() == [1]


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_a_brief_search_and_compositions_reach_many_restarts_for_relatives() -> None:
    networks = relatives(10, 0.5)
    D = pairwise(networks, GaussianShapeMetric(0.0), effort="brief")
    many = pairwise(networks, GaussianShapeMetric(0.0, n_starts=20, random_state=5), polish=False)
    assert D.n_starts is not None
    assert (D.n_starts[np.triu_indices(10, 1)] == BRIEF_STARTS).all()
    assert D.description["effort"] == "brief"
    assert (D.condensed() / many.condensed()).mean() < 1 + 1e-4


@pytest.mark.parametrize("sizes", [(3,), (2, 4)])
@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_energy_distances_are_polished(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    networks = []
    for means, S in noisy_copies(9, sizes, seed=3):
        L = np.linalg.cholesky(S + 0.1 * np.eye(S.shape[1]))
        networks.append(means[:, None] + rng.normal(size=(5, 8, S.shape[1])) @ L.transpose(0, 2, 1))
    metric = EnergyShapeMetric(estimator="v")
    D, raw = (pairwise(networks, metric, polish=polish) for polish in (True, False))
    assert violated(D.values) == 0
    assert D.condensed().sum() < (1 + 1e-3) * raw.condensed().sum()
