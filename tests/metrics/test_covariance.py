"""CovarianceShapeMetric: other ground metrics keep Prop. 1."""

from __future__ import annotations

import numpy as np
import pytest

import repshape as rs
from process_support import covariances, orthogonal
from repshape.errors import InputError
from repshape.metrics.covariance import AffineProblem
from repshape.reference.ground import GROUND_METRICS, affine_invariant, log_euclidean
from repshape.solvers.descent import turn

GROUNDS = tuple(GROUND_METRICS)
every = pytest.mark.parametrize("ground", GROUNDS)


def network(rng, n=3, M=3):
    return rng.normal(size=(M, n)), covariances(rng, M, n) + 0.1 * np.eye(n)


def turned(x, T):
    return x[0] @ T.T, T @ x[1] @ T.T


@every
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_rotated_copy_is_at_zero(ground, alpha):
    rng = np.random.default_rng(0)
    x = network(rng)
    metric = rs.CovarianceShapeMetric(alpha, ground=ground)
    assert metric.distance(x, turned(x, orthogonal(rng, 3))) < 1e-6


@every
def test_the_ground_metric_is_invariant_to_orthogonal_transforms(ground):
    """The premise of Prop. 1."""
    rng = np.random.default_rng(1)
    (_, S), Q = network(rng, 4), orthogonal(rng, 4)
    D = GROUND_METRICS[ground]
    assert D(Q @ S[0] @ Q.T, Q @ S[1] @ Q.T) == pytest.approx(D(S[0], S[1]), rel=1e-9)


@every
@pytest.mark.parametrize("group", ["orthogonal", "identity"])
def test_triangle_inequality(ground, group):
    """Prop. 1, where the optimum is known: two neurons, or no transform."""
    rng = np.random.default_rng(2)
    metric = rs.CovarianceShapeMetric(ground=ground, group=group, n_starts=8)
    for _ in range(4):
        x, y, z = (network(rng, 2) for _ in range(3))
        sides = [metric.distance(*pair) for pair in ((x, y), (y, z), (x, z))]
        assert max(sides) <= (sum(sides) - max(sides)) * (1 + 1e-9)


@every
@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
def test_distance_is_that_of_the_definition_and_the_least_of_many(ground, group):
    if ground == "affine-invariant" and group == "permutation":
        group = "identity"
    rng = np.random.default_rng(3)
    x, y = network(rng), network(rng)
    metric = rs.CovarianceShapeMetric(0.8, ground=ground, group=group, weights=[0.5, 0.3, 0.2])
    found = metric.align(x, y)
    D, w = GROUND_METRICS[ground], np.array([0.5, 0.3, 0.2])

    def squared(T):
        moved = turned(y, T)
        noise = [D(S, R) ** 2 for S, R in zip(x[1], moved[1], strict=True)]
        return 0.8 * w @ ((x[0] - moved[0]) ** 2).sum(axis=1) + 1.2 * w @ np.array(noise)

    assert found.distance**2 == pytest.approx(squared(found.transform.T), rel=1e-9)
    assert metric.score(found, x, y) == pytest.approx(found.distance, rel=1e-9)
    assert metric.distance(y, x) == found.distance
    assert found.converged
    from repshape.groups import GROUPS

    for _ in range(30):
        other = np.sqrt(squared(GROUPS[group](rng.normal(size=(3, 3)))))
        assert found.lower_bound <= other + 1e-9
        assert found.distance <= other + 1e-9


def test_affine_invariant_is_at_least_log_euclidean():
    """The exponential metric increasing property, at one T and at the best one."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        S, R = network(rng, 4, 2)[1]
        assert log_euclidean(S, R) <= affine_invariant(S, R) + 1e-12
    x, y = network(rng), network(rng)
    log, affine = (
        rs.CovarianceShapeMetric(ground=one).distance(x, y)
        for one in ("log-euclidean", "affine-invariant")
    )
    assert log <= affine + 1e-9


def test_slope_of_the_affine_invariant_cost_is_that_of_finite_differences():
    rng = np.random.default_rng(5)
    metric = rs.CovarianceShapeMetric(ground="affine-invariant")
    x, y = metric.prepare(network(rng)), metric.prepare(network(rng))
    cost = AffineProblem(x, y, 0.6, np.array([0.5, 0.3, 0.2])).at
    T = orthogonal(rng, 3)
    W = rng.normal(size=(3, 3))
    W -= W.T
    ahead, behind = (cost(turn(T, h * W))[0] for h in (1e-5, -1e-5))
    assert np.sum(cost(T)[1] * W) == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


def test_root_frobenius_takes_singular_covariances_and_unequal_sizes():
    rng = np.random.default_rng(6)
    metric = rs.CovarianceShapeMetric()
    x = (np.zeros((2, 3)), covariances(rng, 2, 3, 1))
    larger = np.zeros((2, 5, 5))
    larger[:, :3, :3] = x[1]
    Q = orthogonal(rng, 5)
    assert metric.distance(x, (np.zeros((2, 5)), Q @ larger @ Q.T)) < 1e-6
    # Of covariances with common axes, it is the Bures distance.
    a, b = rng.random((2, 2, 3))
    zero = np.zeros((2, 3))
    assert rs.CovarianceShapeMetric(group="identity").distance((zero, a), (zero, b)) == (
        pytest.approx(rs.GaussianShapeMetric(group="identity").distance((zero, a), (zero, b)))
    )


@pytest.mark.parametrize("ground", ["log-euclidean", "affine-invariant"])
def test_logarithms_need_positive_definite_covariances_of_equal_size(ground):
    rng = np.random.default_rng(7)
    metric = rs.CovarianceShapeMetric(ground=ground)
    few = rng.normal(size=(2, 3, 4))
    with pytest.raises(InputError, match="That of condition 0 is singular"):
        metric.distance(few, few)
    assert metric.with_parameters(covariance="ledoit-wolf").distance(few, few) < 1e-6
    with pytest.raises(InputError, match=r"number of neurons\. Got 3 and 2"):
        metric.distance(network(rng), network(rng, 2))
    with pytest.raises(InputError, match="no search over permutations"):
        rs.CovarianceShapeMetric(ground="affine-invariant", group="permutation").distance(few, few)


def test_pairwise_keeps_bounds():
    rng = np.random.default_rng(8)
    D = rs.pairwise([network(rng) for _ in range(3)], rs.CovarianceShapeMetric(n_starts=2))
    assert (D.lower_bounds <= D.values).all()
