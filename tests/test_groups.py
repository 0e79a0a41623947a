"""Groups: oracles maximise linear functions, and transforms are completed to the group."""

from itertools import permutations

import numpy as np
import pytest

from repshape.errors import InputError
from repshape.groups import GROUPS, Transform, oracle

SHAPES = [(1, 1), (3, 3), (4, 2), (2, 4), (5, 5)]


def random_element(rng, group, shape):
    """The part of a random square element that applies to the smaller network."""
    n = max(shape)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    if group == "rotation" and np.linalg.det(Q) < 0:
        Q[:, 0] *= -1
    if group == "permutation":
        Q = np.eye(n)[rng.permutation(n)]
    if group == "identity":
        Q = np.eye(n)
    return Q[: shape[0], : shape[1]]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_element_beats_the_oracle(group, shape):
    rng = np.random.default_rng(0)
    for _ in range(10):
        G = rng.normal(size=shape)
        best = np.sum(oracle(group)(G) * G)
        rivals = [np.sum(random_element(rng, group, shape) * G) for _ in range(50)]
        assert best >= max(rivals) - 1e-12


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["generic", "zero", "rank one"])
def test_the_oracle_stays_in_the_group(group, shape, kind):
    rng = np.random.default_rng(1)
    G = rng.normal(size=shape)
    G = {"generic": G, "zero": 0 * G, "rank one": np.outer(G[:, 0], G[0])}[kind]
    T = oracle(group)(G)
    gram = T @ T.T if shape[0] <= shape[1] else T.T @ T
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-14)
    if group == "rotation" and shape[0] == shape[1]:
        assert np.linalg.det(T) == pytest.approx(1)
    if group in ("permutation", "identity"):
        assert np.isin(T, (0, 1)).all()


@pytest.mark.parametrize("shape", [(4, 4), (4, 2), (2, 4)])
def test_the_permutation_oracle_is_brute_force(shape):
    rng = np.random.default_rng(2)
    elements = [np.eye(4)[list(p)][: shape[0], : shape[1]] for p in permutations(range(4))]
    for _ in range(10):
        G = rng.normal(size=shape)
        best = max(np.sum(P * G) for P in elements)
        assert np.sum(oracle("permutation")(G) * G) == pytest.approx(best)


def test_the_orthogonal_oracle_reaches_the_nuclear_norm():
    rng = np.random.default_rng(3)
    for shape in SHAPES:
        G = rng.normal(size=shape)
        assert np.sum(oracle("orthogonal")(G) * G) == pytest.approx(np.linalg.norm(G, "nuc"))


def test_the_rotation_oracle_pays_the_smallest_singular_value_twice():
    """max over det +1 is s_1 + ... + s_n if det G > 0, else the last counts as -s_n."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        G = rng.normal(size=(4, 4))
        s = np.linalg.svd(G, compute_uv=False)
        s[-1] *= np.sign(np.linalg.det(G))
        assert np.sum(oracle("rotation")(G) * G) == pytest.approx(s.sum())


def test_an_unknown_group_lists_the_choices():
    words = "one of 'orthogonal', 'rotation', 'permutation', 'identity'. Got 'affine' instead"
    with pytest.raises(InputError, match=words):
        oracle("affine")


def basis(rng, n, s):
    return np.linalg.qr(rng.normal(size=(n, s)))[0]


@pytest.mark.parametrize("rotation", [False, True])
@pytest.mark.parametrize(
    "sizes", [(6, 2, 6, 2), (6, 3, 6, 2), (7, 2, 5, 2), (5, 2, 7, 3), (6, 3, 6, 3), (4, 3, 4, 3)]
)
def test_a_transform_between_spans_completes_to_the_group(sizes, rotation):
    """(n_y, s_y, n_x, s_x): orthonormal, equal to the core on the spans, determinant +1."""
    rng = np.random.default_rng(5)
    n_y, s_y, n_x, s_x = sizes
    if rotation and n_y != n_x:
        return
    for _ in range(5):
        core = basis(rng, max(s_y, s_x), max(s_y, s_x))[:s_y, :s_x]
        Q_y, Q_x = basis(rng, n_y, s_y), basis(rng, n_x, s_x)
        transform = Transform(core, Q_y, Q_x, rotation)
        T = transform.matrix
        assert T.shape == transform.shape == (n_y, n_x)
        gram = T @ T.T if n_y <= n_x else T.T @ T
        np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-12)
        np.testing.assert_allclose(Q_y.T @ T @ Q_x, core, atol=1e-12)
        if rotation:
            assert np.linalg.det(T) == pytest.approx(1)
        rows = rng.normal(size=(3, 4, n_y))
        np.testing.assert_allclose(transform.apply(rows), rows @ T, atol=1e-12)


def some_transform(rng, n_y, s_y, n_x, s_x):
    core = basis(rng, 3, 3)[:s_y, :s_x]
    return Transform(core, basis(rng, n_y, s_y), basis(rng, n_x, s_x))


@pytest.mark.parametrize("sizes", [(6, 2, 6, 2), (6, 3, 6, 2), (7, 2, 5, 2), (3, 3, 3, 3)])
def test_the_reversed_transform_is_the_transpose(sizes):
    """Also outside the spans, where the completion is arbitrary but must be the same."""
    transform = some_transform(np.random.default_rng(8), *sizes)
    np.testing.assert_allclose(transform.reversed().matrix, transform.matrix.T, atol=1e-12)


@pytest.mark.parametrize("sizes", [(6, 2, 6, 2), (7, 2, 5, 2), (5, 3, 7, 2), (3, 3, 3, 3)])
def test_a_transform_in_other_coordinates_is_projected_from_both_sides(sizes):
    """Whether the coordinates are bases or the neurons, of one network or of both."""
    rng = np.random.default_rng(9)
    transform, (n_y, _, n_x, _) = some_transform(rng, *sizes), sizes
    for Q_y in (basis(rng, n_y, 2), None):
        for Q_x in (basis(rng, n_x, 3), None):
            left = np.eye(n_y) if Q_y is None else Q_y
            right = np.eye(n_x) if Q_x is None else Q_x
            expected = left.T @ transform.matrix @ right
            np.testing.assert_allclose(transform.between(Q_y, Q_x), expected, atol=1e-12)


@pytest.mark.parametrize("rotation", [False, True])
def test_spans_that_nearly_coincide_complete_to_the_group(rotation):
    rng = np.random.default_rng(6)
    for gap in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-4):
        Q_y = basis(rng, 6, 3)
        Q_x = np.linalg.qr(Q_y + gap * rng.normal(size=(6, 3)))[0]
        core = basis(rng, 3, 3)
        T = Transform(core, Q_y, Q_x, rotation).matrix
        np.testing.assert_allclose(T @ T.T, np.eye(6), atol=1e-12)
        np.testing.assert_allclose(Q_y.T @ T @ Q_x, core, atol=1e-7)
        if rotation:
            assert np.linalg.det(T) == pytest.approx(1)


def test_a_huge_transform_is_applied_but_not_formed():
    rng = np.random.default_rng(7)
    n = 20_000
    Q_y, Q_x, core = basis(rng, n, 3), basis(rng, n, 3), basis(rng, 3, 3)
    transform = Transform(core, Q_y, Q_x)
    np.testing.assert_allclose(transform.apply(Q_y.T), core @ Q_x.T, atol=1e-12)
    np.testing.assert_allclose(transform.between(Q_y, Q_x), core, atol=1e-12)
    with pytest.raises(InputError, match=r"shape \(20000, 20000\). Use Alignment.apply"):
        _ = transform.matrix
