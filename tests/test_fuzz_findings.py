"""What the fuzzer found, one test for each: the same answer in all units, or one sentence."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import repshape as rs
from repshape import baselines, inference
from repshape.errors import InputError
from repshape.groups import BlockOrthogonal, SignedPermutations
from repshape.moments import OneTrialWarning

# Powers of two, which scale numbers exactly.
UNITS = [2.0**-498, 2.0**498]  # 1e-150 and 1e150
GROUPS = ["orthogonal", "rotation", "permutation", "identity"]
rng = np.random.default_rng(20)
X, Y = rng.normal(size=(4, 6, 3)) + rng.normal(size=(4, 1, 3)), rng.normal(size=(4, 6, 2))
Z = rng.normal(size=(4, 5, 3))

METRICS = [
    *((rs.GaussianShapeMetric(group=one, n_starts=2), 1.0) for one in (*GROUPS, "soft")),
    *((rs.ProcrustesShapeMetric(group=one), 1.0) for one in (*GROUPS, "soft")),
    *((rs.EnergyShapeMetric(group=one, n_starts=2), 0.5) for one in (*GROUPS, "soft")),
    (rs.EnergyShapeMetric(1.5, estimator="v", n_starts=2), 0.75),
    *((rs.WassersteinShapeMetric(group=one, n_starts=1), 1.0) for one in GROUPS),
    *((rs.WassersteinShapeMetric(p, n_starts=1), 1.0) for p in (1.0, 3.0, 9.0)),
    (rs.WassersteinShapeMetric(regularization=0.1, n_starts=1), 1.0),
    (rs.ProcrustesShapeMetric(distance="angular"), 0.0),
    (rs.ProcrustesShapeMetric(whitening=0.5), 0.5),
    (rs.CovarianceShapeMetric(n_starts=2), 1.0),
]


@pytest.mark.parametrize(("metric", "degree"), METRICS, ids=lambda one: str(one)[:60])
@pytest.mark.parametrize("unit", UNITS)
def test_distances_in_other_units_are_the_same(metric, degree: float, unit: float) -> None:
    """d(cx, cy) = c^degree d(x, y), for networks of unequal and of equal size."""
    for other in (Y, Z):
        here, there = metric.align(X, other), metric.align(X * unit, other * unit)
        assert there.distance / unit**degree == pytest.approx(here.distance, rel=1e-9)
        bounds = np.array([there.lower_bound / unit**degree, here.lower_bound])
        assert np.ptp(bounds) <= 1e-7 * abs(here.distance)
        held_out = metric.score(there, X * unit, other * unit)
        assert held_out == pytest.approx(there.distance, rel=1e-6)


@pytest.mark.parametrize("unit", UNITS)
def test_many_tiny_networks_get_the_distances_of_single_pairs(unit: float) -> None:
    """Tiny trials are solved in another unit also among others, with ordinary ones and zeros."""
    metric = rs.EnergyShapeMetric(estimator="v", n_starts=2)
    nets = [X * unit, Z * unit, X, np.zeros((4, 2, 3))]
    found = metric.solve_pairs([metric.prepare(one) for one in nets], [[0, 1], [1, 2], [0, 3]])
    expected = [metric.distance(nets[i], nets[j]) for i, j in ((0, 1), (1, 2), (0, 3))]
    assert found.distance.tolist() == expected
    assert expected[2] / unit**0.5 == pytest.approx(metric.distance(X, nets[3]), rel=1e-9)
    D = rs.pairwise(nets[:2], metric, progress=False)
    assert D.values[0, 1] == expected[0]


@pytest.mark.parametrize("group", ["orthogonal", "permutation"])
@pytest.mark.parametrize("ratio", [1e40, 1e77, 1e140])
def test_one_huge_condition_neither_hangs_nor_fails(group: str, ratio: float) -> None:
    """In single precision the other conditions vanish, and must not become NaN."""
    x, y = rng.normal(size=(6, 3, 5)), rng.normal(size=(6, 6, 5))
    x[2] *= ratio
    for n_starts in (2, "auto"):
        pad_to = 7 if group == "permutation" else None
        metric = rs.GaussianShapeMetric(group=group, pad_to=pad_to, n_starts=n_starts)
        found = metric.align(x, y)
        alone = np.sqrt((np.mean(x[2] ** 2, axis=0).sum()) / 6)
        assert found.distance == pytest.approx(alone, rel=1e-9)
        assert np.isfinite(found.transform).all()


def test_maps_that_span_fewer_channels_than_their_trials_have_columns() -> None:
    """One huge response makes the others rounding: the network is reduced to one channel."""
    x, y = rng.normal(size=(2, 5, 2, 2, 3)), rng.normal(size=(2, 5, 2, 2, 3))
    x[0, 0, 0, 0, 0] = 1e30
    found = rs.ConvShapeMetric(n_starts=1).align(x, y)
    # The mean and the standard deviation of one pixel: 1e30 (1/5 and 2/5), of two conditions.
    assert found.distance == pytest.approx(1e30 * np.sqrt((1 / 25 + 4 / 25) / 2), rel=1e-9)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "measure",
    [
        partial(baselines.rsa, squared=True),
        partial(baselines.rsa, dissimilarity="mahalanobis"),
        partial(baselines.rsa, dissimilarity="correlation"),
        partial(baselines.cka, debiased=True),
        baselines.nbs,
    ],
)
def test_baselines_ignore_units(measure, unit: float) -> None:
    assert measure(X * unit, Z) == pytest.approx(measure(X, Z), abs=1e-9)


def test_the_riemannian_distance_of_networks_in_different_units() -> None:
    """The distance between x and c x is 2 sqrt(M) |log c|, also where c^2 is no number."""
    tiny, huge = UNITS[0], UNITS[-1]
    expected = 2 * np.sqrt(4) * np.log(2) * 996
    assert baselines.riemannian(X * tiny, X * huge) == pytest.approx(expected, rel=1e-12)


def test_correlations_of_denormal_responses_are_numbers() -> None:
    x = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 1.0], [5.0, 2.0, 3.0]])
    value = baselines.rsa(x * 5e-324, x, dissimilarity="correlation")
    assert value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["ledoit-wolf", "oas"])
@pytest.mark.parametrize("unit", UNITS)
def test_shrinkage_does_not_depend_on_units(name: str, unit: float) -> None:
    here, there = rs.estimate_moments(X, name), rs.estimate_moments(X * unit, name)
    np.testing.assert_array_equal(there.shrinkage, here.shrinkage)
    np.testing.assert_array_equal(there.covariances / unit / unit, here.covariances)


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30, 1e100])
def test_the_log_euclidean_search_does_not_depend_on_units(unit: float) -> None:
    """Logarithms of large variances have a large common part, which stopped the search."""
    own = np.random.default_rng(3)
    roots = own.normal(size=(2, 5, 3, 3))
    S, R = roots @ np.swapaxes(roots, 2, 3)
    zeros = np.zeros((5, 3))
    metric = rs.CovarianceShapeMetric(0.0, ground="log-euclidean", n_starts=8)
    expected = metric.distance((zeros, S), (zeros, R))
    assert metric.distance((zeros, S * unit**2), (zeros, R * unit**2)) == pytest.approx(
        expected, rel=1e-4
    )


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_inference_refuses_extreme_units_in_one_sentence(size: float) -> None:
    for call in (
        partial(inference.distance, X * size, Z),
        partial(inference.equality, X * size, Z),
        partial(inference.floor, X * size),
        partial(inference.matrix, [Z, X * size]),
    ):
        with pytest.raises(InputError, match=r"need responses between 1e-38 and 1e38"):
            call()


def test_the_affine_invariant_distance_refuses_ratios_that_overflow() -> None:
    metric = rs.CovarianceShapeMetric(0.0, ground="affine-invariant", n_starts=1)
    x = np.zeros((2, 2)), np.ones((2, 2))
    with pytest.raises(InputError, match=r"within a factor of 1e200\. Those of condition 0"):
        metric.distance((x[0], x[1] * 1e-250), x)
    # Two log ratios in each condition, times 2 - alpha.
    expected = 2 * np.log(1e150)
    assert metric.distance((x[0], x[1] * 1e-150), x) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e157])
def test_scores_and_few_columns_of_responses_whose_squares_are_no_numbers(size: float) -> None:
    """One condition and two trials span fewer dimensions than there are neurons."""
    x, y = rng.normal(size=(2, 1, 2, 4))
    metric = rs.GaussianShapeMetric(n_starts=1)
    found = metric.align(x * size, y * size)
    assert found.distance == pytest.approx(size * metric.distance(x, y), rel=1e-9)
    assert metric.score(found, x * size, y * size) == pytest.approx(found.distance, rel=1e-9)


@pytest.mark.parametrize("metric", [rs.EnergyShapeMetric(2.0), rs.WassersteinShapeMetric()])
def test_energies_that_overflow_are_refused_instead_of_nan(metric) -> None:
    """The sample Wasserstein metric takes its starts from the energy metric."""
    for call in (metric.distance, lambda x, y: rs.pairwise([x, y], metric, progress=False)):
        with pytest.raises(InputError, match=r"must be below 1e\+152. The largest is"):
            call(X * 1e160, Z * 1e160)


@pytest.mark.parametrize("whitening", [0.0, 0.5, 1.0])
def test_rounding_of_constant_responses_is_not_scaled_to_unit_variance(whitening: float) -> None:
    """The mean of equal numbers may differ from them in the last digit."""
    x = np.full((5, 5, 1), 5257462860.123456)
    x[0] = np.nextafter(x[0], np.inf)
    with pytest.raises(InputError, match="whose responses do not vary cannot be scaled"):
        rs.Preprocess(center=False, scale=True, whitening=whitening).fit(x)
    moved = rs.Preprocess(whitening=1.0).fit(x).apply(x)
    np.testing.assert_array_equal(moved.means, np.zeros((5, 1)))


def test_moments_of_few_stimuli_in_other_units() -> None:
    x, y = np.random.default_rng(4).normal(size=(2, 9, 3))
    here = baselines.procrustes_moments(x, y, n_moments=2)
    for unit in (2.0**-120, 2.0**100):
        there = baselines.procrustes_moments(x * unit, y * unit, n_moments=2)
        assert there.squared == pytest.approx(here.squared * unit**2, rel=1e-9)
        assert there.plug_in == pytest.approx(here.plug_in * unit**2, rel=1e-9)
    with pytest.raises(InputError, match="to the power 8, which overflows"):
        baselines.procrustes_moments(x * 1e80, y * 1e80, n_moments=2)
    with pytest.raises(InputError, match="Got the same response to every condition in y"):
        baselines.procrustes_moments(x, np.ones((9, 3)), n_moments=2)


def test_cross_validated_shrinkage_of_huge_responses_does_not_warn() -> None:
    found = rs.estimate_moments(X[:, :5] * 1e149, "shrinkage-cv")
    assert np.isfinite(found.covariances).all()
    assert 0 <= found.shrinkage <= 1


@pytest.mark.parametrize("unit", [2.0**-500, 2.0**515])
def test_groups_of_distances_in_other_units(unit: float) -> None:
    """Squares of 1e-150 lose digits, and those of 1e155 overflow."""
    points = np.random.default_rng(0).normal(size=(7, 2))
    points[4:] = points[0]
    D = np.linalg.norm(points[:, None] - points, axis=2)
    labels = [0, 0, 0, 1, 1, 1, 0]
    here, there = inference.groups(D, labels), inference.groups(D * unit, labels)
    assert (there.statistic, there.p_value) == (here.statistic, here.p_value)
    assert there.dispersion_p_value == here.dispersion_p_value > 0
    np.testing.assert_array_equal(there.groups["spread"], here.groups["spread"] * unit)
    np.testing.assert_array_equal(there.pairs["distance"], here.pairs["distance"] * unit)


def test_trials_in_lists_of_fortran_arrays_are_stored_like_others() -> None:
    """The order of a sum, and so its last digit, depends on the order in memory."""
    fortran = rs.Trials([np.asfortranarray(one) for one in X])
    assert fortran.pooled.flags.c_contiguous
    np.testing.assert_array_equal(fortran.means, rs.Trials(list(X)).means)


def test_a_rotation_to_denormal_responses_is_a_rotation() -> None:
    tiny = rng.normal(size=(4, 1, 2)) * 1e-319
    for metric in (rs.EnergyShapeMetric(2.0, estimator="v"), rs.GaussianShapeMetric(2.0)):
        T = metric.align(Y, tiny).transform
        np.testing.assert_allclose(T @ T.T, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("neurons", [2, 3, 8])
def test_noise_beside_one_huge_mean_is_not_lost(neurons: int) -> None:
    """Such a mean made a network seem to have one dimension, and its noise to have too many."""
    noise = rng.normal(size=(5, 9, neurons))
    x = noise.copy()
    x[4] += 1e15  # the noise is exact to an eighth
    small = 1e-150 * noise
    small[4] += 1e-51
    y = rng.normal(size=(5, 3, 2))
    for given, size in ((x, 1.0), (small, 1e-150)):
        found = rs.GaussianShapeMetric(0.0).align(given, 1e-10 * size * y)
        expected = np.sqrt(2 * np.var(noise[0], axis=0).sum())
        each = rs.GaussianShapeMetric(0.0).distance(given[:1], 1e-10 * size * y[:1])
        assert each == pytest.approx(size * expected, rel=1e-6)
        assert found.distance > 0.5 * each


def test_the_affine_invariant_search_moves_at_huge_responses() -> None:
    """The squared slope overflowed, so that steps had the length zero."""
    metric = rs.CovarianceShapeMetric(ground="affine-invariant", group="rotation", n_starts=4)
    x, y = rng.normal(size=(2, 4, 9, 2)) * 1e121
    assert metric.align(x, y).n_agreeing == 4  # of which the means suggested one


def test_one_time_step_has_one_distance_where_neurons_differ_by_thirteen_digits() -> None:
    """A direction that was taken for rounding carried the variance of another away."""
    generator = np.random.default_rng(0)
    x = [generator.normal(size=(5, 1, 3)) * [1e2, 1e-6, 1e7] for _ in range(3)]
    y = [generator.normal(size=(3, 1, 2)) for _ in range(3)]
    modes = ("marginal", "joint", "causal")
    found = [rs.ProcessShapeMetric(group="identity", mode=mode).distance(x, y) for mode in modes]
    assert found == pytest.approx([found[0]] * 3, rel=1e-12)


def test_maps_of_which_one_has_no_noise() -> None:
    """The curvature of means alone was asked for singular values of an empty matrix."""
    x, y = rng.normal(size=(3, 1, 2, 1, 3)), 1e-7 * rng.normal(size=(3, 2, 2, 1, 2))
    y[2] = [[[0.0, 0.0]], [[1.0, 0.0]]]
    with pytest.warns(OneTrialWarning):
        found = rs.ConvShapeMetric(n_starts=2).align(x, y)
    assert found.lower_bound <= found.distance < np.inf


def test_moments_of_few_stimuli_that_overflow_beside_zeros_are_refused() -> None:
    """A moment that is zero, in units that are infinite, was no number."""
    y = 1e180 * np.random.default_rng(4).normal(size=(9, 3))
    x = np.zeros((9, 3))
    x[0] = 1.0
    with pytest.raises(InputError, match="which overflows"):
        baselines.procrustes_moments(x, y, n_moments=2)


def test_affine_invariant_distances_of_ill_conditioned_covariances() -> None:
    """All entries are exact, and S^-1 R has the eigenvalues 2^-30, 2^33 and 2^10."""
    A = np.array([[1.0, 2.0, 1.0], [0.0, 1.0, 3.0], [1.0, 1.0, 1.0]])
    S = A * [1.0, 2.0**-33, 2.0**-20] @ A.T
    R = A * [2.0**-30, 1.0, 2.0**-10] @ A.T
    expected = np.log(2) * np.sqrt(2 * (30**2 + 33**2 + 10**2))
    x, y = (np.zeros((1, 3)), S[None]), (np.zeros((1, 3)), R[None])
    metric = rs.CovarianceShapeMetric(0.0, ground="affine-invariant", group="identity")
    assert metric.distance(x, y) == pytest.approx(expected, rel=1e-6)
    found = metric.set_params(group="rotation", n_starts=4).align(x, y)
    assert found.lower_bound <= found.distance < expected
    assert metric.score(found, x, y) == pytest.approx(found.distance, rel=1e-6)


def test_whitening_of_responses_whose_squares_are_denormal_does_not_warn() -> None:
    """The inverse of such a variance overflows."""
    points = np.random.default_rng(0).normal(size=(6, 2)) * 1e-158
    white = rs.Preprocess(whitening=1.0, scale=True).fit(points).apply(points).means
    np.testing.assert_allclose(white.T @ white / 6, np.eye(2) / 2, atol=1e-5)


@pytest.mark.parametrize(
    "metric",
    [
        rs.GaussianShapeMetric(group=SignedPermutations()),
        rs.EnergyShapeMetric(group=SignedPermutations()),
        rs.WassersteinShapeMetric(1.5, group=BlockOrthogonal([1, 2]), n_starts=2),
    ],
)
def test_groups_that_are_objects_refuse_extreme_responses_and_take_others(metric) -> None:
    """Squares overflowed in the search, which failed in NumPy and SciPy."""
    x, y = np.random.default_rng(0).normal(size=(2, 4, 5, 3))
    for factor in (1e105, 1e-105):
        with pytest.raises(InputError, match="need responses between 1e-38 and 1e38"):
            metric.distance(x, factor * y)
    c = 2.0**100
    expected = metric.distance(x, y) * (c**0.5 if hasattr(metric, "q") else c)
    assert metric.distance(c * x, c * y) == pytest.approx(expected, rel=1e-6)
