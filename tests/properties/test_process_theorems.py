"""Theorems about the distances between Gaussian processes, one per test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

import repshape as rs
from process_support import covariances, moments, orthogonal, same_marginals, turned, var1
from repshape.coordinates.positions import causal_columns, make_blocks
from repshape.reference import process as reference
from repshape.reference.alternation import alternate
from repshape.reference.gaussian import bures_squared

MODES = ("marginal", "joint", "causal")
BLOCKS = {
    "marginal": reference.marginal_blocks,
    "joint": reference.joint_blocks,
    "causal": reference.causal_blocks,
}


def gap(mode, S, R, T, n):
    """The squared distance between covariances at a fixed T, from roots by definition."""
    A, C = BLOCKS[mode](S, n), BLOCKS[mode](R, n)
    return reference.covariance_gap(A, C, T, np.full(len(A), 1 / len(S)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 4, 1), (3, 5, 3), (1, 3, 6)])
def test_a_rotated_copy_is_at_zero(mode, alpha, shape):
    """Identity: d(x, T x) = 0, from moments, also where they are singular, and from trials."""
    M, P, n = shape
    rng = np.random.default_rng(shape)
    metric = rs.ProcessShapeMetric(alpha, mode=mode)
    T = orthogonal(rng, n)
    for rank in (None, 1):
        x = moments(rng, *shape, rank)
        assert metric.distance(x, turned(x, T)) < 1e-6 * np.sqrt(P * n)
    trials = rng.normal(size=(M, P * n + 5, P, n)).cumsum(axis=2)
    assert metric.distance(trials, trials @ T) < 1e-6 * np.sqrt(P * n)


def test_squared_distances_are_ordered_marginal_joint_causal():
    """At one T: marginal <= joint <= causal, in 500 random cases."""
    rng = np.random.default_rng(1)
    for _ in range(500):
        n, P = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        S, R = covariances(rng, 2, n * P)[:, None]
        T = orthogonal(rng, n)
        found = [gap(mode, S, R, T, n) for mode in MODES]
        assert found[0] <= found[1] + 1e-10
        assert found[1] <= found[2] + 1e-10


def test_joint_is_the_bures_distance_of_whole_sequences():
    """Joint mode at fixed T: B(S, (I x T) R (I x T)')^2 by the usual formula."""
    rng = np.random.default_rng(2)
    S, R = covariances(rng, 2, 12)[:, None]
    T = orthogonal(rng, 3)
    whole = np.kron(np.eye(4), T)
    expected = bures_squared(S[0], whole @ R[0] @ whole.T)
    assert gap("joint", S, R, T, 3) == pytest.approx(expected, rel=1e-10)


def test_conditions_are_independent_parts_of_one_sequence():
    """Joint mode: M conditions one after the other, with a block diagonal covariance, are one
    sequence at sqrt(M) times the distance. So metrics of one condition compare several."""
    rng = np.random.default_rng(12)
    x, y = moments(rng, 3, 2, 2), moments(rng, 3, 2, 2)
    whole = [(mu.reshape(1, 6, 2), block_diag(*S)[None]) for mu, S in (x, y)]
    metric = rs.ProcessShapeMetric(0.8)
    assert metric.distance(*whole) == pytest.approx(np.sqrt(3) * metric.distance(x, y), rel=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_triangle_inequality(mode):
    """Prop. 1 of each mode, where the optimum is found by exhaustive search: n = 2."""
    rng = np.random.default_rng(3)
    metric = rs.ProcessShapeMetric(mode=mode)
    for _ in range(10):
        x, y, z = (moments(rng, 2, 3, 2) for _ in range(3))
        sides = [metric.distance(*pair) for pair in ((x, y), (y, z), (x, z))]
        assert max(sides) <= sum(sides) - max(sides) + 1e-9


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [1, 2])
def test_the_optimum_is_that_of_exhaustive_search(mode, n):
    """Small groups: all signs of one neuron, all angles of two."""
    rng = np.random.default_rng(4)
    for _ in range(2):
        (mu, S), (nu, R) = moments(rng, 2, 3, n), moments(rng, 2, 3, n)
        angles = np.linspace(0, 2 * np.pi, 181)
        turns = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angles]
        group = [Q[:n, :n] for Q in turns] if n == 2 else [np.eye(1), -np.eye(1)]
        group += [Q @ np.diag([1.0, -1.0])[:n, :n] for Q in group] if n == 2 else []
        every = [((mu - nu @ T.T) ** 2).sum() / 2 + gap(mode, S, R, T, n) for T in group]
        found = rs.ProcessShapeMetric(mode=mode).distance((mu, S), (nu, R))
        assert found <= np.sqrt(min(every)) + 1e-9
        assert found == pytest.approx(np.sqrt(min(every)), rel=5e-3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation", "identity"])
def test_one_step_is_the_gaussian_metric(mode, group):
    """With P = 1 every mode is GaussianShapeMetric."""
    rng = np.random.default_rng(5)
    for alpha in (0.0, 0.7, 2.0):
        x, y = moments(rng, 4, 1, 3), moments(rng, 4, 1, 3)
        found = rs.ProcessShapeMetric(alpha, mode=mode, group=group).distance(x, y)
        expected = rs.GaussianShapeMetric(alpha, group=group).distance(
            (x[0][:, 0], x[1]), (y[0][:, 0], y[1])
        )
        assert found == pytest.approx(expected, rel=1e-8)


def test_one_dimensional_causal_is_the_scalar_formula():
    """Gunasingam and Wong: tr S + tr R - 2 |diag(L' M)|_1 for scalar steps."""
    rng = np.random.default_rng(6)
    zero = np.zeros((1, 4, 1))
    metric = rs.ProcessShapeMetric(0.0, mode="causal")
    for _ in range(20):
        S, R = covariances(rng, 2, 4)
        expected = reference.scalar_adapted_squared(S, R)
        found = metric.distance((zero, S[None]), (zero, R[None])) ** 2 / 2
        assert found == pytest.approx(expected, rel=1e-8)


def test_random_bicausal_couplings_never_beat_the_causal_distance():
    """The causal cost is the least over bicausal couplings, and its polar factors attain it."""
    rng = np.random.default_rng(7)
    n, P = 2, 3
    S, R = covariances(rng, 2, n * P)
    L, M = np.linalg.cholesky(S), np.linalg.cholesky(R)
    best = gap("causal", S[None], R[None], np.eye(n), n)
    found = []
    for _ in range(1000):
        U, _, V = np.linalg.svd(rng.normal(size=(P, n, n)))
        found.append(reference.bicausal_cost(L, M, (U * rng.random((P, 1, n)) ** 0.1) @ V))
    assert best <= min(found)
    A, C = (BLOCKS["causal"](one[None], n) for one in (S, R))
    U, _, V = np.linalg.svd(reference.cross_products(A, C, np.eye(n)))
    assert reference.bicausal_cost(L, M, U @ V) == pytest.approx(best, rel=1e-10)


def test_dynamics_with_equal_marginals_are_seen_by_joint_and_causal_only():
    """Same noise at every step, other autocorrelation."""
    x, y = same_marginals(0.1), same_marginals(0.9)
    found = {mode: rs.ProcessShapeMetric(mode=mode).distance(x, y) for mode in MODES}
    assert found["marginal"] < 1e-7
    assert 1 < found["joint"] < found["causal"]


def test_only_the_causal_distance_sees_what_is_known_when():
    """A faint first step announces the second (y), or says nothing about it (x).

    A coupling that looks ahead costs little. A causal one must match independent second steps,
    which costs 1 + 1.
    """
    says_nothing = np.array([[0.01, 0.0], [0.0, 1.0]])
    announces = np.array([[0.01, 0.0], [1.0, 0.0]])
    zero = np.zeros((1, 2, 1))
    x, y = ((zero, (L @ L.T)[None]) for L in (says_nothing, announces))
    joint, causal = (rs.ProcessShapeMetric(mode=m).distance(x, y) for m in ("joint", "causal"))
    assert joint < 0.02
    assert causal == pytest.approx(np.sqrt(2), abs=0.02)


@pytest.mark.parametrize("mode", MODES)
def test_alternation_never_decreases_the_objective(mode):
    """Convexity: T <- argmax <T, gradient> is monotone."""
    rng = np.random.default_rng(8)
    for _ in range(10):
        S, R = covariances(rng, 2, 12)[:, None]
        A, C = BLOCKS[mode](S, 3), BLOCKS[mode](R, 3)
        w = np.ones(len(A))
        climb = alternate(lambda T, A=A, C=C, w=w: reference.objective(A, C, T, w), np.eye(3))
        assert np.diff(climb.values).min() > -1e-10 * climb.values[-1]


@pytest.mark.parametrize("mode", MODES)
def test_the_gradient_is_that_of_finite_differences(mode):
    rng = np.random.default_rng(9)
    S, R = covariances(rng, 2, 9)[:, None]
    A, C = BLOCKS[mode](S, 3), BLOCKS[mode](R, 3)
    T, w, h = rng.normal(size=(3, 3)), rng.random(len(A)), 1e-6
    found = reference.objective(A, C, T, w)[1]
    for i, j in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[i, j] = h
        ahead, behind = (reference.objective(A, C, T + s * step, w)[0] for s in (1, -1))
        assert found[i, j] == pytest.approx((ahead - behind) / (2 * h), abs=1e-6)


def test_causal_columns_are_a_factor_by_innovations():
    """sum_t L[:, t] L[:, t]' = S, block lower triangular, for any rank; L[t, t] spans D_t."""
    rng = np.random.default_rng(10)
    for rank in (1, 3, 7, 12):
        F = rng.normal(size=(4, 3, rank))
        L = causal_columns(F)
        whole = L.transpose(1, 2, 0, 3).reshape(12, -1)
        S = F.reshape(12, rank) @ F.reshape(12, rank).T
        np.testing.assert_allclose(whole @ whole.T, S, atol=1e-12)
        for t in range(4):
            assert not L[t, :t].any()
            past = S[: 3 * t, : 3 * t]
            cross = S[3 * t : 3 * t + 3, : 3 * t]
            innovation = (
                S[3 * t : 3 * t + 3, 3 * t : 3 * t + 3]
                - cross @ np.linalg.pinv(past, rcond=1e-10) @ cross.T
            )
            np.testing.assert_allclose(L[t, t] @ L[t, t].T, innovation, atol=1e-9)
            # Directions that the step itself does not vary in carry nothing to later steps.
            assert np.linalg.matrix_rank(L[t, t:].reshape(-1, L.shape[3]), tol=1e-8) == (
                np.linalg.matrix_rank(L[t, t], tol=1e-8)
            )


def test_a_markov_model_of_the_true_order_is_exact():
    """order=1 recovers the covariance of a VAR(1), and not that of a VAR(2)."""
    rng = np.random.default_rng(11)
    A = 0.5 * orthogonal(rng, 2)
    S = var1(A, covariances(rng, 1, 2)[0], 5, covariances(rng, 1, 2)[0])
    F = np.linalg.cholesky(S).reshape(5, 2, 10)
    L = causal_columns(F, 1).transpose(1, 2, 0, 3).reshape(10, -1)
    np.testing.assert_allclose(L @ L.T, S, atol=1e-10)
    other = covariances(rng, 1, 10)[0]
    L = causal_columns(np.linalg.cholesky(other).reshape(5, 2, 10), 1)
    L = L.transpose(1, 2, 0, 3).reshape(10, -1)
    assert np.abs(L @ L.T - other).max() > 0.1
    full = make_blocks(rs.PositionNetwork.from_moments(np.zeros((1, 5, 2)), S[None]), "causal")
    np.testing.assert_allclose(np.abs(full.factors), np.abs(causal_columns(F, 4)), atol=1e-9)
