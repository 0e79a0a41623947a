"""repair is the projection onto a closed convex cone, and has the properties of one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.distance import pdist, squareform

from repshape.matrix.repair import repair

FloatArray = npt.NDArray[np.float64]

CASES = {
    "uniform": lambda rng: rng.uniform(0.0, 1.0, 300),
    "heavy tails": lambda rng: np.exp(1.5 * rng.normal(size=300)),
    "negative": lambda rng: rng.normal(size=300),
    "line with noise": lambda rng: pdist(rng.normal(size=(25, 1))) + 0.1 * rng.normal(size=300),
}


@pytest.fixture(params=CASES)
def D(request: pytest.FixtureRequest) -> FloatArray:
    matrix: FloatArray = squareform(CASES[request.param](np.random.default_rng(0)))
    return matrix


def inner(x: FloatArray, y: FloatArray) -> float:
    return float((x * y).sum() / 2.0)


def test_the_result_is_in_the_cone(D: FloatArray) -> None:
    result = repair(D)
    assert result.values.min() >= 0.0
    assert result.after.count == 0
    assert result.after.relative < 1e-14
    assert result.converged


def test_projecting_twice_is_projecting_once(D: FloatArray) -> None:
    once = repair(D).values
    np.testing.assert_array_equal(repair(once).values, once)


def test_moreau_the_residual_is_orthogonal_to_the_projection(D: FloatArray) -> None:
    """Projection onto a cone: <D - X, X> = 0, so |D|^2 = |X|^2 + |D - X|^2."""
    result = repair(D)
    assert abs(inner(D - result.values, result.values)) < 1e-6 * inner(D, D)
    total = inner(result.values, result.values) + result.moved**2
    assert total == pytest.approx(inner(D, D), rel=1e-6)


def test_kolmogorov_no_metric_lies_beyond(D: FloatArray) -> None:
    """<D - X, Y - X> <= 0 for every metric Y."""
    X = repair(D).values
    rng = np.random.default_rng(1)
    for dimension in (1, 2, 10):
        Y = squareform(pdist(rng.normal(size=(25, dimension))))
        assert inner(D - X, Y - X) <= 1e-6 * inner(D, D)


def test_projection_does_not_expand(D: FloatArray) -> None:
    other = D + squareform(np.random.default_rng(2).normal(size=300))
    X, Y = repair(D).values, repair(other).values
    assert inner(X - Y, X - Y) <= inner(D - other, D - other) * (1 + 1e-9)


def test_projection_is_positively_homogeneous(D: FloatArray) -> None:
    np.testing.assert_allclose(
        repair(7.0 * D).values, 7.0 * repair(D).values, atol=1e-7 * np.abs(D).max()
    )


def test_projection_commutes_with_relabelling(D: FloatArray) -> None:
    order = np.random.default_rng(3).permutation(25)
    shuffled = repair(D[np.ix_(order, order)]).values
    np.testing.assert_allclose(
        shuffled, repair(D).values[np.ix_(order, order)], atol=1e-7 * np.abs(D).max()
    )
