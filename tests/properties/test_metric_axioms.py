"""The axioms of a metric up to transforms: one theorem per test."""

import numpy as np
import pytest
from examples import ALPHAS, GROUPS, element, make_network, moved, scale

from repshape import EnergyShapeMetric, GaussianShapeMetric, WassersteinShapeMetric
from repshape.responses import Gaussians

everywhere = [
    pytest.mark.parametrize("alpha", ALPHAS),
    pytest.mark.parametrize("group", GROUPS),
]
SHAPES = [(1, 1, 1), (1, 4, 4), (5, 2, 2), (6, 3, 1), (4, 6, 2), (40, 5, 5), (9, 12, 12)]


def for_all_groups_and_alphas(test):
    for mark in everywhere:
        test = mark(test)
    return test


@for_all_groups_and_alphas
@pytest.mark.parametrize("shape", SHAPES)
def test_distance_to_a_transformed_copy_is_zero_to_1e_7_of_scale(group, alpha, shape):
    """Identity: d(x, T x) = 0 for T in the group."""
    rng = np.random.default_rng([shape[0], shape[1]])
    for _ in range(3):
        x = make_network(rng, *shape)
        y = moved(x, element(rng, group, shape[1]))
        assert GaussianShapeMetric(alpha, group=group).distance(x, y) < 1e-7 * scale(x)


@for_all_groups_and_alphas
@pytest.mark.parametrize("smallest", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
def test_a_copy_is_at_zero_also_where_a_direction_hardly_responds(group, alpha, smallest):
    """Identity, for covariances of condition number up to 1e24."""
    rng = np.random.default_rng(2)
    n = 4
    axes = np.linalg.qr(rng.normal(size=(9, n, n)))[0]
    x = Gaussians.from_factors(rng.normal(size=(9, n)), axes * [1, 1, 1, smallest])
    y = moved(x, element(rng, group, n))
    metric = GaussianShapeMetric(alpha, group=group)
    assert metric.distance(x, y) < 1e-7 * scale(x)
    assert metric.distance((x.means, x.covariances), (y.means, y.covariances)) < 1e-7 * scale(x)


@pytest.mark.parametrize("group", ["rotation", "permutation", "identity"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_transform_outside_the_group_leaves_a_distance(group, alpha):
    """Definiteness: d(x, y) > 0 where no element of the group maps x to y."""
    rng = np.random.default_rng(3)
    n = 3
    reflection = element(rng, "orthogonal", n)
    if np.linalg.det(reflection) > 0:
        reflection[:, 0] *= -1
    for _ in range(5):
        # Axes of noise that differ between conditions, so that no reflection leaves them alone.
        x = make_network(rng, 6, n)
        far = GaussianShapeMetric(alpha, group=group).distance(x, moved(x, reflection))
        if alpha == 0 and group == "rotation":
            assert far < 1e-7 * scale(x)  # -1 leaves covariances alone, and n is odd
        else:
            assert far > 1e-2 * scale(x)


@for_all_groups_and_alphas
@pytest.mark.parametrize("sizes", [(3, 3), (4, 2), (2, 5), (1, 1)])
def test_distance_is_symmetric_to_the_bit(group, alpha, sizes):
    """Symmetry: d(x, y) = d(y, x), and the transforms are each other's transpose."""
    rng = np.random.default_rng(4)
    metric = GaussianShapeMetric(alpha, group=group)
    for rank in (0, 1, None):
        x, y = make_network(rng, 5, sizes[0], rank), make_network(rng, 5, sizes[1])
        there, back = metric.align(x, y), metric.align(y, x)
        assert there.distance == back.distance
        assert there.lower_bound == back.lower_bound
        assert there.mean_distance == back.mean_distance
        assert there.covariance_distance == back.covariance_distance
        np.testing.assert_allclose(there.transform, back.transform.T, atol=1e-12)


@for_all_groups_and_alphas
def test_symmetry_holds_between_representations(group, alpha):
    """Exact symmetry, however the networks are stored."""
    rng = np.random.default_rng(5)
    metric = GaussianShapeMetric(alpha, group=group)
    full = make_network(rng, 9, 4)
    diagonal = Gaussians(rng.normal(size=(9, 4)), rng.random((9, 4)))
    points = rng.normal(size=(9, 4))
    trials = rng.normal(size=(9, 3, 4))
    networks = [full, diagonal, points, trials, (full.means, full.covariances)]
    for x in networks:
        for y in networks:
            assert metric.distance(x, y) == metric.distance(y, x)


@for_all_groups_and_alphas
def test_distance_is_invariant_under_the_group_on_either_side(group, alpha):
    """Invariance: d(T x, U y) = d(x, y) for T and U in the group."""
    rng = np.random.default_rng(6)
    metric = GaussianShapeMetric(alpha, group=group)
    n = 4
    for M in (2, 12):
        x, y = make_network(rng, M, n), make_network(rng, M, n)
        far = metric.distance(x, y)
        T = element(rng, group, n)
        assert metric.distance(moved(x, T), y) == pytest.approx(far, rel=1e-8)
        assert metric.distance(x, moved(y, T)) == pytest.approx(far, rel=1e-8)
        assert metric.distance(moved(x, T), moved(y, T)) == pytest.approx(far, rel=1e-8)


def triples(rng, M, sizes, count):
    """Random networks, and chains of small steps, along which the inequality is nearly tight."""
    for k in range(count):
        if k % 2 == 0 or len(set(sizes)) > 1:
            yield [make_network(rng, M, n) for n in sizes]
            continue
        x, step = make_network(rng, M, sizes[0]), make_network(rng, M, sizes[0])
        chain = [(x.means + t * step.means, x.factors + t * step.factors) for t in (0, 0.1, 0.2)]
        yield [Gaussians.from_factors(*one) for one in chain]


def check_triangles(metric, networks):
    x, y, z = networks
    xy, yz, xz = metric.distance(x, y), metric.distance(y, z), metric.distance(x, z)
    slack = 1e-9 * (xy + yz + xz)
    assert xz <= xy + yz + slack
    assert xy <= xz + yz + slack
    assert yz <= xy + xz + slack


@for_all_groups_and_alphas
def test_triangle_inequality_for_two_neurons(group, alpha):
    """Prop. 1 where the optimum is known: n = 2, tested equal to exhaustive search elsewhere."""
    rng = np.random.default_rng(7)
    for networks in triples(rng, 4, (2, 2, 2), 20):
        check_triangles(GaussianShapeMetric(alpha, group=group), networks)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("sizes", [(6, 6, 6), (5, 3, 4), (2, 5, 1)])
def test_triangle_inequality_of_means_alone(group, sizes):
    """Prop. 1 where the optimum is known: alpha = 2 is one call of the group's oracle."""
    rng = np.random.default_rng(8)
    for networks in triples(rng, 7, sizes, 20):
        check_triangles(GaussianShapeMetric(2, group=group), networks)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("sizes", [(6, 6, 6), (5, 3, 4), (2, 5, 1)])
def test_triangle_inequality_without_transforms(alpha, sizes):
    """Prop. 1 where the optimum is known: the identity, also with unequal numbers of neurons."""
    rng = np.random.default_rng(9)
    for networks in triples(rng, 7, sizes, 20):
        check_triangles(GaussianShapeMetric(alpha, group="identity"), networks)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 12, 20])
def test_copies_without_means_are_found(group, alpha, n):
    """Identity, to 1e-6 of the norm, where means give no hint of the transform."""
    rng = np.random.default_rng(n)
    for M in (2, 7):
        for rank in (n, max(n // 2, 1)):
            noise = rng.normal(size=(M, n, rank))
            x = Gaussians.from_factors(np.zeros((M, n)), noise)
            y = moved(x, element(rng, group, n))
            assert GaussianShapeMetric(alpha, group=group).distance(x, y) < 1e-6 * scale(x)


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation"])
@pytest.mark.parametrize(
    "make",
    [
        lambda **options: GaussianShapeMetric(0.0, **options),
        GaussianShapeMetric,
        lambda **options: EnergyShapeMetric(estimator="v", **options),
        WassersteinShapeMetric,
    ],
)
def test_one_start_is_enough_for_the_network_itself(group, make):
    """d(x, x) = 0 from the first start alone, also where means do not fix the transform."""
    rng = np.random.default_rng(5)
    for n in (2, 4, 9):
        x = rng.normal(size=(3, 6, n)) @ rng.normal(size=(3, n, n))
        x -= x.mean(axis=1, keepdims=True)
        assert make(group=group, n_starts=1).distance(x, x) < 1e-7 * np.linalg.norm(x)
