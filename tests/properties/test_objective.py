"""One objective: the reported distance is the one that was minimised, at the returned transform."""

import numpy as np
import pytest
from examples import (
    ALPHAS,
    GROUPS,
    distance_at,
    element,
    equal,
    make_network,
    moved,
    padded,
    scale,
)

from repshape import GaussianShapeMetric
from repshape.reference import gaussian as reference
from repshape.reference.alternation import alternate
from repshape.responses import Gaussians

SIZES = [(3, 3), (5, 3), (2, 4), (1, 3), (1, 1)]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("rank", [0, 1, None])
def test_reported_distance_is_the_objective_at_the_returned_transform(group, alpha, sizes, rank):
    """d^2 = a |means|^2 + (2 - a) |covariances|^2, both at transform', in neurons."""
    rng = np.random.default_rng(0)
    x, y = make_network(rng, 6, sizes[0], rank), make_network(rng, 6, sizes[1])
    found = GaussianShapeMetric(alpha, group=group).align(x, y)
    T = found.transform.T
    w = equal(6)
    assert found.distance == pytest.approx(distance_at(x, y, T, alpha), rel=1e-10)
    mean = reference.mean_gap(x.means, y.means, T, w)
    covariance = reference.covariance_gap(x.factors, y.factors, T, w)
    assert found.mean_distance == pytest.approx(np.sqrt(mean), rel=1e-9)
    assert found.covariance_distance == pytest.approx(np.sqrt(covariance), rel=1e-9)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_reported_distance_is_a_constant_minus_twice_the_fitted_objective(group, alpha):
    """d^2 = sum w [a (|mu_x|^2 + |mu_y|^2) + (2 - a)(tr S_x + tr S_y)] - 2 g(T)."""
    rng = np.random.default_rng(1)
    x, y, w = make_network(rng, 6, 4), make_network(rng, 6, 3), equal(6)
    found = GaussianShapeMetric(alpha, group=group).align(x, y)
    value, _ = reference.objective(
        x.means, x.factors, y.means, y.factors, found.transform.T, alpha, w
    )
    power = alpha * ((x.means**2).sum() + (y.means**2).sum())
    power += (2 - alpha) * ((x.factors**2).sum() + (y.factors**2).sum())
    assert found.distance**2 == pytest.approx(power / 6 - 2 * value, rel=1e-10)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_no_step_of_alternation_improves_the_optimum(group, alpha):
    """The returned transform is a fixed point: its objective cannot be raised by the oracle."""
    rng = np.random.default_rng(2)
    for sizes in [(4, 4), (5, 3)]:
        x, y, w = make_network(rng, 9, sizes[0]), make_network(rng, 9, sizes[1]), equal(9)
        found = GaussianShapeMetric(alpha, group=group, tol=1e-9).align(x, y)
        assert found.converged

        def objective(T, x=x, y=y, w=w):
            return reference.objective(x.means, x.factors, y.means, y.factors, T, alpha, w)

        climb = alternate(objective, found.transform.T, group, max_iter=20)
        assert climb.values[-1] <= climb.values[0] * (1 + 1e-12)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_alternation_never_descends(group, alpha):
    """Prop. 2: g is convex, so a step of the linear oracle never decreases it, for any group."""
    rng = np.random.default_rng(3)
    for sizes in [(4, 4), (5, 2), (2, 5)]:
        x, y, w = make_network(rng, 6, sizes[0]), make_network(rng, 6, sizes[1]), equal(6)

        def objective(T, x=x, y=y, w=w):
            return reference.objective(x.means, x.factors, y.means, y.factors, T, alpha, w)

        for _ in range(5):
            start = element(rng, group, max(sizes))[: sizes[0], : sizes[1]]
            values = np.array(alternate(objective, start, group).values)
            assert np.all(np.diff(values) >= -1e-13 * abs(values[-1]))


def is_in_group(T, group, square):
    """Whether T (n_y, n_x) is an element, or the part of one that meets the smaller network."""
    n_y, n_x = T.shape
    gram = T @ T.T if n_y <= n_x else T.T @ T
    inside = np.allclose(gram, np.eye(len(gram)), atol=1e-12)
    if group == "rotation" and square:
        inside &= np.linalg.det(T) > 0
    if group in ("permutation", "identity"):
        inside &= bool(np.isin(T, (0.0, 1.0)).all())
    if group == "identity":
        inside &= np.array_equal(T, np.eye(n_y, n_x))
    return inside


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("sizes", [*SIZES, (12, 12), (12, 9)])
@pytest.mark.parametrize("M", [1, 2, 20])
def test_transform_is_in_the_group(group, alpha, sizes, M):
    """Orthonormal, determinant +1, or one 1 per row, also if responses span few dimensions."""
    rng = np.random.default_rng(4)
    for rank in (0, 1, None):
        x, y = make_network(rng, M, sizes[0], rank), make_network(rng, M, sizes[1], rank)
        T = GaussianShapeMetric(alpha, group=group).align(x, y).transform
        assert T.shape == (sizes[1], sizes[0])
        assert is_in_group(T, group, sizes[0] == sizes[1])


@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_transform_of_diagonal_networks_is_in_the_group(group, alpha):
    rng = np.random.default_rng(5)
    for _ in range(5):
        x, y = (Gaussians(rng.normal(size=(4, 3)), rng.random((4, 3))) for _ in range(2))
        T = GaussianShapeMetric(alpha, group=group).align(x, y).transform
        assert is_in_group(T, group, True)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.7, 2.0])
@pytest.mark.parametrize("sizes", [(4, 4), (6, 4), (4, 6), (40, 40), (30, 40)])
def test_y_times_transform_lies_on_x(group, alpha, sizes):
    """For a copy y of x in other coordinates, with silent neurons where sizes differ."""
    rng = np.random.default_rng(6)
    small = make_network(rng, 7, min(sizes), 2)
    big = max(sizes)
    T = np.eye(big) if group == "identity" else element(rng, group, big)
    x, y = (
        small if n < big else moved(padded(small, big), T if k else np.eye(big))
        for k, n in enumerate(sizes)
    )
    if sizes[0] == big and sizes[1] < big:
        x = moved(x, T)
    alignment = GaussianShapeMetric(alpha, group=group).align(x, y)
    tolerance = 1e-7 * scale(x)
    np.testing.assert_allclose(y.means @ alignment.transform, x.means, atol=tolerance)
    np.testing.assert_allclose(alignment.apply(y.means), x.means, atol=tolerance)
    if alpha == 2:
        return  # only the means are aligned, and some directions of noise remain free
    carried = alignment.transform.T @ y.factors
    S = carried @ np.swapaxes(carried, 1, 2)
    np.testing.assert_allclose(S, x.covariances, atol=tolerance * scale(x))
