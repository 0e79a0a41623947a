"""ProcrustesShapeMetric: second formulas, metric axioms, invariances, scoring, bad input."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import fractional_matrix_power, subspace_angles
from scipy.spatial import procrustes as scipy_procrustes
from scipy.stats import ortho_group, special_ortho_group
from sklearn.base import clone

import repshape as rs
from repshape.errors import InputError, InputTypeError

FloatArray = npt.NDArray[np.float64]
GROUPS = ("orthogonal", "rotation", "permutation", "identity")
DISTANCES = ("euclidean", "angular")
SIZES = ((4, 4), (3, 5), (5, 3), (12, 12), (12, 4), (15, 12))  # M = 10: both sides of n = M


def means(n: int, seed: int = 0, M: int = 10) -> FloatArray:
    rng = np.random.default_rng([seed, n, M])
    return rng.normal(size=(M, n)) * np.linspace(2.0, 0.5, n) + rng.normal(size=n)


def centred(X: FloatArray) -> FloatArray:
    return np.asarray(X - X.mean(axis=0))


def padded(X: FloatArray, n: int) -> FloatArray:
    return np.pad(X, ((0, 0), (0, n - X.shape[1])))


def member(group: str, n: int, seed: int = 3) -> FloatArray:
    """Return a random element of a group."""
    rng = np.random.default_rng(seed)
    if n == 1:  # which SciPy's groups did not always accept
        return np.eye(1) * (-1 if group == "orthogonal" else 1)
    if group == "orthogonal":
        Q = ortho_group.rvs(n, random_state=rng)
        return Q if np.linalg.det(Q) < 0 else Q * np.r_[-1.0, np.ones(n - 1)]
    if group == "rotation":
        return special_ortho_group.rvs(n, random_state=rng)
    return np.eye(n)[rng.permutation(n)] if group == "permutation" else np.eye(n)


# Two formulas


@pytest.mark.parametrize(("n_x", "n_y"), SIZES)
def test_orthogonal_distance_is_norms_less_nuclear_norm(n_x: int, n_y: int) -> None:
    x, y = means(n_x), means(n_y, 1)
    X, Y = centred(x), centred(y)
    nuclear = np.linalg.norm(X.T @ Y, "nuc")
    squared = np.sum(X**2) + np.sum(Y**2) - 2 * nuclear
    found = rs.ProcrustesShapeMetric().align(x, y)
    assert found.distance == pytest.approx(np.sqrt(squared), rel=1e-12)
    assert found.mean_distance == pytest.approx(found.distance / np.sqrt(10), rel=1e-12)
    angle = rs.ProcrustesShapeMetric(distance="angular").distance(x, y)
    cosine = nuclear / (np.linalg.norm(X) * np.linalg.norm(Y))
    assert angle == pytest.approx(np.arccos(cosine), rel=1e-12)


def test_sine_of_the_angle_is_the_root_of_scipys_disparity() -> None:
    x, y = means(4), means(4, 1)
    angle = rs.ProcrustesShapeMetric(distance="angular").distance(x, y)
    assert np.sin(angle) ** 2 == pytest.approx(scipy_procrustes(x, y)[2], rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_rotation_gives_up_the_smallest_singular_value_of_a_reflection(seed: int) -> None:
    x, y = means(3, seed), means(3, seed + 50)
    X, Y = centred(x), centred(y)
    s = np.linalg.svd(X.T @ Y, compute_uv=False) * [1, 1, np.sign(np.linalg.det(X.T @ Y))]
    squared = np.sum(X**2) + np.sum(Y**2) - 2 * s.sum()
    found = rs.ProcrustesShapeMetric(group="rotation").distance(x, y)
    assert found == pytest.approx(np.sqrt(squared), rel=1e-12)


@pytest.mark.parametrize(("n_x", "n_y"), [(4, 4), (3, 5), (5, 3)])
@pytest.mark.parametrize("distance", DISTANCES)
def test_permutation_is_the_best_of_all(n_x: int, n_y: int, distance: str) -> None:
    x, y = means(n_x), means(n_y, 1)
    X, Y = (padded(centred(z), max(n_x, n_y)) for z in (x, y))
    orders = list(permutations(range(max(n_x, n_y))))
    if distance == "euclidean":
        best = min(np.linalg.norm(X - Y[:, order]) for order in orders)
    else:
        cosine = max(np.sum(X * Y[:, order]) for order in orders)
        best = np.arccos(cosine / (np.linalg.norm(X) * np.linalg.norm(Y)))
    metric = rs.ProcrustesShapeMetric(group="permutation", distance=distance)
    assert metric.distance(x, y) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize(("n_x", "n_y"), [(4, 4), (3, 5)])
def test_full_whitening_is_canonical_correlation(n_x: int, n_y: int) -> None:
    """For whitened X'X = Y'Y = M I the nuclear norm of X'Y is M times the sum of correlations."""
    x, y = means(n_x), means(n_y, 1)
    rho = np.cos(subspace_angles(centred(x), centred(y)))
    angle = rs.ProcrustesShapeMetric(whitening=1.0, distance="angular").distance(x, y)
    assert angle == pytest.approx(np.arccos(rho.sum() / np.sqrt(n_x * n_y)), rel=1e-10)
    euclidean = rs.ProcrustesShapeMetric(whitening=1.0).distance(x, y)
    assert euclidean**2 == pytest.approx(10 * (n_x + n_y - 2 * rho.sum()), rel=1e-10)


@pytest.mark.parametrize("whitening", [0.3, 0.8])
@pytest.mark.parametrize("group", GROUPS)
def test_partial_whitening_is_a_power_of_the_covariance(whitening: float, group: str) -> None:
    x, y = means(4), means(4, 1)
    X, Y = (
        centred(z) @ fractional_matrix_power(np.cov(z.T, bias=True), -whitening / 2) for z in (x, y)
    )
    expected = rs.ProcrustesShapeMetric(group=group).distance(X, Y)
    found = rs.ProcrustesShapeMetric(group=group, whitening=whitening).distance(x, y)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("group", ["orthogonal", "permutation", "identity"])
@pytest.mark.parametrize(("n_x", "n_y"), SIZES)
def test_agrees_with_the_gaussian_metric_of_means(group: str, n_x: int, n_y: int) -> None:
    x, y = means(n_x), means(n_y, 1)
    w = np.arange(1.0, 11.0)
    ours = rs.ProcrustesShapeMetric(group=group, center=False, weights=w)
    native = rs.GaussianShapeMetric(alpha=2.0, group=group, weights=w)
    expected = np.sqrt(10 / 2) * native.distance(x, y)
    assert ours.distance(x, y) == pytest.approx(expected, rel=1e-9)


def test_a_dead_neuron_hides_no_reflection() -> None:
    """Its column of zeros must not change the determinant in the solver."""
    x, y = means(3), means(3, 1)
    x[:, 0] = 0.0
    y[:, 2] = 0.0
    found = rs.ProcrustesShapeMetric(group="rotation", center=False).align(x, y)
    assert np.linalg.det(found.transform) == pytest.approx(1.0)
    orthogonal = rs.ProcrustesShapeMetric(center=False).distance(x, y)
    assert found.distance == pytest.approx(orthogonal, rel=1e-12)


# It is a metric


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("whitening", [0.0, 0.5, 1.0])
def test_metric_axioms(group: str, distance: str, whitening: float) -> None:
    sizes = (4, 4, 3, 5, 2)
    metric = rs.ProcrustesShapeMetric(group=group, distance=distance, whitening=whitening)
    metric = metric.for_sizes(sizes)
    assert metric.is_metric
    xs = [means(n, seed) for seed, n in enumerate(sizes)]
    D = rs.pairwise(xs, metric).values
    for i, j in combinations(range(5), 2):
        assert D[i, j] > 0.01
        assert metric.distance(xs[j], xs[i]) == D[i, j]  # exactly
        for k in range(5):
            assert D[i, j] <= D[i, k] + D[k, j] + 1e-12
    assert [metric.distance(x, x) for x in xs] == pytest.approx([0.0] * 5, abs=1e-12)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("n", [1, 4, 25])
def test_members_of_the_group_and_shifts_do_not_count(group: str, distance: str, n: int) -> None:
    metric = rs.ProcrustesShapeMetric(group=group, distance=distance, whitening=0.3)
    x, y = means(n), means(n, 1)
    moved = x @ member(group, n) + np.arange(n)
    assert metric.distance(x, moved) < 1e-7
    assert metric.distance(moved, y) == pytest.approx(metric.distance(x, y), rel=1e-7)


def test_reflections_count_for_rotations() -> None:
    x = means(3)
    mirrored = x * [-1.0, 1.0, 1.0]
    assert rs.ProcrustesShapeMetric(group="rotation").distance(x, mirrored) > 0.1
    # with a neuron that never responds, a rotation can undo the reflection
    flat, turned = padded(x, 4), padded(mirrored, 4)
    assert rs.ProcrustesShapeMetric(group="rotation").distance(flat, turned) < 1e-7


def test_scale_does_not_count_for_the_angle_and_linear_maps_not_for_full_whitening() -> None:
    x, y = means(4), means(3, 1)
    angular = rs.ProcrustesShapeMetric(distance="angular", whitening=0.4)
    assert angular.distance(7 * x, y) == pytest.approx(angular.distance(x, y), rel=1e-12)
    full = rs.ProcrustesShapeMetric(whitening=1.0)
    A = np.random.default_rng(0).normal(size=(4, 4))
    assert full.distance(x @ A, y) == pytest.approx(full.distance(x, y), rel=1e-9)


def test_angles_stay_in_their_range() -> None:
    x = np.array([[0.0], [1.0]])
    opposite = {
        group: rs.ProcrustesShapeMetric(group=group, distance="angular").distance(x, -x)
        for group in GROUPS
    }
    expected = {"orthogonal": 0.0, "rotation": np.pi, "permutation": np.pi, "identity": np.pi}
    assert opposite == pytest.approx(expected, abs=1e-15)


# Alignments


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("n_x", "n_y"), SIZES)
def test_transform_is_of_the_group_and_attains_the_distance(group: str, n_x: int, n_y: int) -> None:
    x, y = means(n_x), means(n_y, 1)
    found = rs.ProcrustesShapeMetric(group=group).align(x, y)
    T = found.transform
    assert T.shape == (n_y, n_x)
    product = T @ T.T if n_y <= n_x else T.T @ T
    np.testing.assert_allclose(product, np.eye(min(n_x, n_y)), atol=1e-10)
    X, Y = centred(x), centred(y)
    residual = X - Y @ T if n_y <= n_x else X @ T.T - Y
    assert np.linalg.norm(residual) == pytest.approx(found.distance, rel=1e-10)
    if group == "rotation" and n_x == n_y:
        assert np.linalg.det(T) == pytest.approx(1.0)
    if group in ("permutation", "identity"):
        assert set(np.unique(T)) <= {0.0, 1.0}
    np.testing.assert_allclose(found.apply(Y), Y @ T, atol=1e-10)


def test_certificate_is_exact() -> None:
    found = rs.ProcrustesShapeMetric().align(means(3), means(4, 1))
    assert found.lower_bound == found.distance
    assert found.converged
    assert np.isnan(found.covariance_distance)
    D = rs.pairwise([means(3), means(4, 1), means(5)], rs.ProcrustesShapeMetric())
    np.testing.assert_array_equal(D.lower_bounds, D.values)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("preprocess", [None, rs.Preprocess(n_components=2, scale=True)])
@pytest.mark.parametrize("center", [True, False])
def test_score_on_the_fitted_responses_is_the_distance(
    group: str, distance: str, preprocess: rs.Preprocess | None, center: bool
) -> None:
    metric = rs.ProcrustesShapeMetric(
        group=group, distance=distance, whitening=0.4, center=center, preprocess=preprocess
    )
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 5, 3)) + 1, rng.normal(size=(8, 6, 4)) - 2
    found = metric.align(x, y)
    assert metric.score(found, x, y) == pytest.approx(found.distance, rel=1e-9)


def test_held_out_score_uses_the_fitted_map_and_transform() -> None:
    x, y = means(4, M=20), means(3, 1, M=20)
    metric = rs.ProcrustesShapeMetric(whitening=1.0)
    found = metric.align(x[:15], y[:15])
    X, Y = (
        (z[15:] - z[:15].mean(axis=0)) @ fractional_matrix_power(np.cov(z[:15].T, bias=True), -0.5)
        for z in (x, y)
    )
    expected = np.linalg.norm(X - Y @ found.transform)
    assert metric.score(found, x[15:], y[15:]) == pytest.approx(expected, rel=1e-10)


def test_preprocess_comes_first() -> None:
    x, y = means(5), means(4, 1)
    first = rs.Preprocess(n_components=3, scale=True)
    metric = rs.ProcrustesShapeMetric(whitening=0.5, preprocess=first)
    plain = rs.ProcrustesShapeMetric(whitening=0.5)
    expected = plain.distance(first.fit(x).apply(x), first.fit(y).apply(y))
    assert metric.distance(x, y) == pytest.approx(expected, rel=1e-12)


def test_trials_and_gaussians_count_by_their_means() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 6, 7, 3))
    metric = rs.ProcrustesShapeMetric()
    expected = metric.distance(x.mean(axis=1), y.mean(axis=1))
    assert metric.distance(x, y) == pytest.approx(expected, rel=1e-12)
    assert metric.distance((x.mean(axis=1), np.ones((6, 3))), y) == pytest.approx(expected)


def test_weights_count_conditions() -> None:
    """Weights (2, 1, 1, ...) are one condition given twice, up to the constant M."""
    x, y = means(3), means(4, 1)
    w = np.r_[2.0, np.ones(9)]
    twice = [np.vstack([z[:1], z]) for z in (x, y)]
    for whitening in (0.0, 0.5):
        plain = rs.ProcrustesShapeMetric(whitening=whitening)
        weighted = rs.ProcrustesShapeMetric(whitening=whitening, weights=w)
        expected = plain.distance(*twice) * np.sqrt(10 / 11)
        assert weighted.distance(x, y) == pytest.approx(expected, rel=1e-12)
    equal = rs.ProcrustesShapeMetric(weights=np.full(10, 3.0))
    plain = rs.ProcrustesShapeMetric()
    assert equal.distance(x, y) == pytest.approx(plain.distance(x, y), rel=1e-14)


# Parameters and bad input


def test_parameters_follow_scikit_learn() -> None:
    metric = rs.ProcrustesShapeMetric(distance="angular", whitening=0.5)
    assert metric.get_params()["distance"] == "angular"
    copy = clone(metric).set_params(distance="euclidean", whitening=0.0)
    x, y = means(3), means(3, 1)
    assert copy.distance(x, y) == rs.ProcrustesShapeMetric().distance(x, y)
    assert repr(metric) == "ProcrustesShapeMetric(distance='angular', whitening=0.5)"
    with pytest.raises(InputError, match="has no parameter 'alpha'"):
        metric.set_params(alpha=1)
    assert rs.pairwise([x, y], metric).description["parameters"]["distance"] == "angular"


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"group": "affine"}, "The 'group' parameter"),
        ({"whitening": 1.5}, r"must be a float in \[0, 1\]. Got 1.5"),
        ({"distance": "cosine"}, "must be one of 'euclidean', 'angular'. Got 'cosine'"),
        ({"weights": [1.0]}, "weights"),
    ],
)
def test_bad_parameters_get_one_sentence(parameters: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        rs.ProcrustesShapeMetric(**parameters).distance(means(3), means(3, 1))


def test_bad_types_get_one_sentence() -> None:
    with pytest.raises(InputTypeError, match="'preprocess' parameter"):
        rs.ProcrustesShapeMetric(preprocess=3).distance(means(3), means(3))
    with pytest.raises(InputTypeError, match="'center' parameter"):
        rs.ProcrustesShapeMetric(center="yes").distance(means(3), means(3))


def test_constant_responses_are_refused_where_they_mean_nothing() -> None:
    constant = np.tile([0.1, 0.7, 1e3], (10, 1))
    assert rs.ProcrustesShapeMetric().distance(constant, constant + 1) < 1e-10
    for metric in (
        rs.ProcrustesShapeMetric(whitening=0.5),
        rs.ProcrustesShapeMetric(distance="angular"),
    ):
        with pytest.raises(InputError, match="same mean response to every condition"):
            metric.distance(means(3), constant)
    zero = np.zeros((10, 3))
    with pytest.raises(InputError, match="not all zero"):
        rs.ProcrustesShapeMetric(distance="angular", center=False).distance(means(3), zero)


def test_other_conditions_are_refused() -> None:
    with pytest.raises(InputError, match="same conditions"):
        rs.ProcrustesShapeMetric().distance(means(3), means(3, M=9))
