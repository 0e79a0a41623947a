"""Preprocessing: each step by its definition, and the same map for means and covariances."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA

from repshape import (
    Cohort,
    EnergyShapeMetric,
    GaussianShapeMetric,
    ProcrustesShapeMetric,
    WassersteinShapeMetric,
    pairwise,
)
from repshape.analysis import frechet_mean
from repshape.errors import InputError, InputTypeError, StorageError
from repshape.inference import distance, floor
from repshape.metrics.identity import describe, restore
from repshape.moments import estimate_moments
from repshape.preprocess import Preprocess
from repshape.responses import Gaussians, Trials

M, L, N = 7, 12, 5
STEPS = [
    Preprocess(center=False),
    Preprocess(),
    Preprocess(scale=True),
    Preprocess(n_components=3),
    Preprocess(n_components=5, scale=True),
    Preprocess(whitening=0.4),
    Preprocess(whitening=1.0, scale=True),
    Preprocess(n_components=2, whitening=1.0),
    Preprocess(center=False, n_components=3, whitening=0.5, scale=True),
]
KINDS = ["trials", "ragged", "full", "diagonal", "factors", "wide factors", "points"]


def network(kind, seed=0, m=M, n=N):
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(99).normal(size=(n, n))
    means = 3.0 + rng.normal(size=(m, n)) @ mix
    trials = means[:, None] + rng.normal(size=(m, L, n)) @ mix
    if kind == "trials":
        return Trials(trials, conditions=range(m))
    if kind == "ragged":
        return Trials([one[: 2 + i] for i, one in enumerate(trials)])
    if kind == "points":
        return Gaussians.points(means)
    if kind == "diagonal":
        return Gaussians(means, rng.uniform(0.1, 2.0, size=(m, n)))
    factors = rng.normal(size=(m, n, {"factors": 2, "wide factors": 9}.get(kind, n)))
    if kind == "full":
        return Gaussians(means, factors @ factors.transpose(0, 2, 1))
    return Gaussians.from_factors(means, factors)


def as_gaussians(x):
    return estimate_moments(x, "mle") if isinstance(x, Trials) else x


def total_covariance(x, weights=None):
    """C by its definition, from dense covariances."""
    x = as_gaussians(x)
    w = np.full(x.n_conditions, 1 / x.n_conditions) if weights is None else weights
    deviations = x.means - w @ x.means
    return np.einsum("m,mij->ij", w, x.covariances) + (deviations.T * w) @ deviations


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", STEPS)
def test_means_and_covariances_go_through_one_affine_map(kind, steps):
    x = network(kind)
    phi = steps.fit(x)
    before, after = as_gaussians(x), as_gaussians(phi.apply(x))
    linear = phi.gain * (np.eye(N) if phi.linear is None else phi.linear)
    np.testing.assert_allclose(after.means, (before.means - phi.offset) @ linear, atol=1e-12)
    expected = linear.T @ before.covariances @ linear
    np.testing.assert_allclose(after.covariances, expected, atol=1e-12 * np.abs(expected).max())
    assert after.n_neurons == phi.n_outputs == (steps.n_components or N)


@pytest.mark.parametrize("kind", ["trials", "ragged"])
@pytest.mark.parametrize("steps", STEPS)
def test_moments_and_preprocessing_commute(kind, steps):
    """Preprocessing trials, or their plug-in moments, gives the same result."""
    x = network(kind)
    first = estimate_moments(steps.fit(x).apply(x))
    moments = estimate_moments(x)
    second = steps.fit(moments).apply(moments)
    np.testing.assert_allclose(first.means, second.means, atol=1e-10)
    np.testing.assert_allclose(first.covariances, second.covariances, atol=1e-10)


@pytest.mark.parametrize("steps", STEPS)
def test_storage_does_not_change_the_map(steps):
    full = network("full")
    roots = np.linalg.cholesky(full.covariances)
    factored = Gaussians.from_factors(full.means, roots)
    one, other = steps.fit(full).apply(full), steps.fit(factored).apply(factored)
    np.testing.assert_allclose(one.means, other.means, atol=1e-9)
    np.testing.assert_allclose(one.covariances, other.covariances, atol=1e-9)
    assert (one.kind, other.kind) == ("full", "factors")


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_kept_and_factors_stay_thin(kind):
    x = network(kind)
    plain = Preprocess(scale=True).fit(x).apply(x)
    mixed = Preprocess(n_components=3, whitening=1.0).fit(x).apply(x)
    assert type(plain) is type(mixed) is type(x)
    if isinstance(x, Trials):
        assert plain.n_trials is x.n_trials
        assert plain.conditions == x.conditions
        return
    assert plain.kind == x.kind
    assert mixed.kind == ("full" if kind == "diagonal" else x.kind)
    if x.kind == "factors":
        assert mixed.stored.shape[2] == min(x.stored.shape[2], 3)
    for one in (plain, mixed):
        assert not one.stored.flags.writeable
        assert one.stored.flags.c_contiguous
        if one.kind == "full":
            np.testing.assert_array_equal(one.stored, one.stored.transpose(0, 2, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_centring_removes_the_grand_mean(kind):
    x = network(kind)
    phi = Preprocess().fit(x)
    np.testing.assert_allclose(phi.apply(x).means.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(phi.offset, x.means.mean(axis=0))
    assert not Preprocess(center=False).fit(x).offset.any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [s for s in STEPS if s.scale])
def test_scaling_gives_unit_total_variance(kind, steps):
    x = network(kind)
    assert np.trace(total_covariance(steps.fit(x).apply(x))) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_components", [None, 1, 3])
def test_full_whitening_gives_the_identity(kind, n_components):
    x = network(kind)
    phi = Preprocess(whitening=1.0, n_components=n_components).fit(x)
    C = total_covariance(phi.apply(x))
    np.testing.assert_allclose(C, np.eye(len(C)), atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_partial_whitening_takes_powers_of_the_variances(kind):
    x = network(kind)
    before = np.linalg.eigvalsh(total_covariance(x))
    after = np.linalg.eigvalsh(total_covariance(Preprocess(whitening=0.3).fit(x).apply(x)))
    np.testing.assert_allclose(after, before**0.7, rtol=1e-10)


def test_whitening_keeps_the_coordinates_of_the_neurons():
    """Without PCA the map is the symmetric root, the whitening closest to the identity."""
    phi = Preprocess(whitening=0.5).fit(network("full"))
    np.testing.assert_allclose(phi.linear, phi.linear.T, atol=1e-14)


@pytest.mark.parametrize("kind", ["trials", "full", "points"])
@pytest.mark.parametrize("whitening", [0.5, 1.0])
def test_directions_without_variance_are_mapped_to_zero(kind, whitening):
    x = network(kind)
    embed = np.random.default_rng(4).normal(size=(N, 9))
    if kind == "trials":
        wide = Trials(x.stacked @ embed)
    elif kind == "full":
        wide = Gaussians(x.means @ embed, embed.T @ x.covariances @ embed)
    else:
        wide = Gaussians.points(x.means @ embed)
    phi = Preprocess(whitening=whitening).fit(wide)
    C = total_covariance(phi.apply(wide))
    assert np.linalg.matrix_rank(C, tol=1e-6) == N
    null = np.linalg.svd(embed)[2][N:]
    np.testing.assert_allclose(null @ phi.linear, 0, atol=1e-6)
    if whitening == 1.0:
        np.testing.assert_allclose(np.linalg.eigvalsh(C)[-N:], 1.0, atol=1e-6)


def test_more_neurons_than_responses():
    points = np.random.default_rng(0).normal(size=(4, 30))
    reduced = Preprocess(n_components=10).fit(points)
    np.testing.assert_allclose(reduced.linear.T @ reduced.linear, np.eye(10), atol=1e-12)
    assert reduced.explained_variance == pytest.approx(1.0)
    centred = points - points.mean(axis=0)
    mapped = reduced.apply(points).means
    np.testing.assert_allclose(mapped @ mapped.T, centred @ centred.T, atol=1e-12)
    white = Preprocess(whitening=1.0).fit(points).apply(points)
    np.testing.assert_allclose(np.linalg.eigvalsh(total_covariance(white))[-3:], 1.0)
    np.testing.assert_allclose(np.linalg.eigvalsh(total_covariance(white))[:-3], 0, atol=1e-12)


@pytest.mark.parametrize("n_components", [1, 3, 5])
def test_pca_is_that_of_scikit_learn_on_the_pooled_trials(n_components):
    x = network("trials")
    peer = PCA(n_components).fit(x.pooled)
    phi = Preprocess(n_components=n_components).fit(x)
    assert phi.explained_variance == pytest.approx(peer.explained_variance_ratio_.sum())
    mapped, expected = phi.apply(x).pooled, peer.transform(x.pooled)
    signs = np.sign(np.sum(mapped * expected, axis=0))
    np.testing.assert_allclose(mapped * signs, expected, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_explained_variance_is_that_of_the_total_covariance(kind):
    x = network(kind)
    eigenvalues = np.linalg.eigvalsh(total_covariance(x))[::-1]
    phi = Preprocess(n_components=2).fit(x)
    assert phi.explained_variance == pytest.approx(eigenvalues[:2].sum() / eigenvalues.sum())
    assert Preprocess().fit(x).explained_variance == 1.0


def test_conditions_count_the_same_however_many_trials_they_have():
    x = network("trials")
    doubled = Trials([np.concatenate([one] * (1 + i)) for i, one in enumerate(x.responses)])
    steps = Preprocess(n_components=3, whitening=0.5, scale=True)
    one, other = steps.fit(x), steps.fit(doubled)
    np.testing.assert_allclose(one.linear, other.linear, atol=1e-10)
    np.testing.assert_allclose(one.offset, other.offset)
    assert one.gain == pytest.approx(other.gain)


@pytest.mark.parametrize("kind", ["trials", "full", "diagonal", "factors"])
def test_weights_of_conditions(kind):
    """Weights apply to the total covariance, and a weight of zero drops the condition."""
    x = network(kind)
    w = np.arange(M) / np.arange(M).sum()
    phi = Preprocess(whitening=1.0).fit(x, weights=10 * w)
    np.testing.assert_allclose(total_covariance(phi.apply(x), w), np.eye(N), atol=1e-10)
    np.testing.assert_allclose(phi.offset, w @ x.means)


@pytest.mark.parametrize("steps", STEPS)
def test_held_out_trials_go_through_the_fitted_map(steps):
    x, held_out = network("trials"), network("trials", seed=1, m=3)
    phi = steps.fit(x)
    together = Trials(np.concatenate([x.stacked, held_out.stacked]))
    np.testing.assert_allclose(
        phi.apply(held_out).stacked, phi.apply(together).stacked[M:], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("whitening", [0.0, 1.0])
def test_units_do_not_matter_once_scaled(whitening):
    x = network("trials")
    steps = Preprocess(n_components=3, whitening=whitening, scale=True)
    larger = Trials(1e6 * x.stacked)
    one, other = steps.fit(x).apply(x), steps.fit(larger).apply(larger)
    np.testing.assert_allclose(one.pooled, other.pooled, atol=1e-10)


def test_a_constant_network_whitens_to_zero():
    phi = Preprocess(whitening=1.0).fit(np.ones((4, 3)))
    assert not phi.apply(np.ones((4, 3))).means.any()
    assert phi.explained_variance == 1.0


def test_estimator_and_shrinkage_are_kept():
    x = estimate_moments(network("trials"), "oas")
    mapped = Preprocess(n_components=2).fit(x).apply(x)
    assert mapped.estimator == "oas"
    assert mapped.shrinkage is x.shrinkage


COUNTS = np.random.default_rng(3).poisson(6.0, size=(M, L, N)).astype(float)
TRANSFORMED = {
    "sqrt": np.sqrt(COUNTS),
    "anscombe": 2 * np.sqrt(COUNTS + 3 / 8),
    "log1p": np.log(1 + COUNTS),
}


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("steps", STEPS)
def test_a_transform_comes_before_all_other_steps(name, steps):
    """Transforming the trials by hand gives the same numbers, up to the rounding of logarithms."""
    transformed = replace(steps, transform=name)
    phi = transformed.fit(Trials(COUNTS))
    by_hand = steps.fit(Trials(TRANSFORMED[name])).apply(Trials(TRANSFORMED[name]))
    mapped = phi.apply(Trials(COUNTS)).pooled
    np.testing.assert_allclose(mapped, by_hand.pooled, rtol=1e-13, atol=1e-13)
    assert f"after {name})" in repr(phi)


METRICS = [
    GaussianShapeMetric(),
    EnergyShapeMetric(n_starts=1),
    WassersteinShapeMetric(n_starts=1),
    ProcrustesShapeMetric(),
    ProcrustesShapeMetric(whitening=0.5, distance="angular"),
]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: type(metric).__name__)
@pytest.mark.parametrize("steps", [Preprocess(), Preprocess(scale=True, n_components=3)])
def test_every_metric_transforms_trials_and_not_their_means(metric, steps):
    """The mean of square roots is not the root of the mean."""
    x, y = COUNTS, np.random.default_rng(4).poisson(3.0, size=(M, L, N)).astype(float)
    rooted = metric.with_parameters(preprocess=replace(steps, transform="sqrt"))
    plain = metric.with_parameters(preprocess=steps)
    assert rooted.distance(x, y) == pytest.approx(plain.distance(np.sqrt(x), np.sqrt(y)), rel=1e-9)
    assert rooted.distance(x, y) != pytest.approx(plain.distance(x, y), rel=1e-5)
    held_out = COUNTS[:, ::-1] + 1.0
    found, expected = rooted.align(x, y), plain.align(np.sqrt(x), np.sqrt(y))
    assert rooted.score(found, held_out, y) == pytest.approx(
        plain.score(expected, np.sqrt(held_out), np.sqrt(y)), rel=1e-7
    )


def test_a_function_of_ones_own():
    x = Trials(COUNTS, conditions=range(M), neurons=list("abcde"))
    phi = Preprocess(center=False, transform=np.cbrt).fit(x)
    np.testing.assert_array_equal(phi.apply(x).pooled, np.cbrt(x.pooled))
    assert phi.apply(x).conditions == x.conditions
    assert phi.apply(x).neurons == x.neurons


def test_points_are_transformed_and_noise_is_not():
    points = Gaussians.points(COUNTS[:, 0])
    phi = Preprocess(center=False, transform="sqrt").fit(points)
    np.testing.assert_array_equal(phi.apply(points).means, np.sqrt(COUNTS[:, 0]))
    with pytest.raises(InputTypeError, match="needs trials: a transformed Gaussian"):
        Preprocess(transform="sqrt").fit(network("diagonal"))


@pytest.mark.parametrize(
    ("transform", "sentence"),
    [
        ("root", "must be one of 'sqrt', 'anscombe', 'log1p'. Got 'root' instead"),
        ({"numpy.sqrt": {}}, "must be one of 'sqrt'"),
        ("sqrt", r"'sqrt' needs responses of at least 0. Got -1 at neuron 2"),
        (lambda x: x[:, :1], r"after <lambda> must have the same shape. Got \(84, 1\)"),
        (lambda x: x + np.inf, "after <lambda> must be finite. Got inf at row 0, neuron 0"),
    ],
)
def test_transforms_that_cannot_be_used(transform, sentence):
    negative = COUNTS.copy()
    negative[3, 2, 2] = -1.0
    with pytest.raises(InputError, match=sentence):
        Preprocess(transform=transform).fit(negative)


def test_the_transform_is_part_of_the_identity_of_a_metric(tmp_path):
    cohort = Cohort.from_networks([COUNTS, COUNTS + 1.0])

    def metric(transform):
        return GaussianShapeMetric(preprocess=Preprocess(transform=transform))

    D = pairwise(cohort, metric("sqrt"), store=tmp_path / "d")
    assert D["0", "1"] > 0
    assert restore(D.description).preprocess == Preprocess(transform="sqrt")
    with pytest.raises(StorageError):
        pairwise(cohort, metric(None), store=tmp_path / "d")
    pairwise(cohort, metric(np.cbrt), store=tmp_path / "e")
    with pytest.raises(StorageError):
        pairwise(cohort, metric(np.arcsinh), store=tmp_path / "e")
    with pytest.raises(InputError, match="has no name to recognise it by"):
        pairwise(cohort, metric(lambda x: x), store=tmp_path / "f")
    # A file must not make us import what it names.
    assert restore(describe(metric(np.cbrt))) is None


def test_settings_are_checked_before_any_network_is_read(tmp_path):
    cohort = Cohort.from_networks({"large": COUNTS, "small": COUNTS[:, :, :3]})
    metric = GaussianShapeMetric(preprocess=Preprocess(n_components=4))
    with pytest.raises(InputError, match=r"In network 'small': .* 4 for a network of 3 neurons"):
        pairwise(cohort.save(tmp_path / "cohort"), metric, store=tmp_path / "d")
    assert not (tmp_path / "d").exists()
    with pytest.raises(InputError, match=r"^The 'whitening' parameter of Preprocess"):
        GaussianShapeMetric(preprocess=Preprocess(whitening=2.0)).distance(COUNTS, COUNTS)


def test_resamples_and_means_transform_single_trials():
    rooted = GaussianShapeMetric(preprocess=Preprocess(scale=True, transform="sqrt"))
    plain = GaussianShapeMetric(preprocess=Preprocess(scale=True))
    other = COUNTS[:, :, ::-1] + 2.0
    for found, expected in (
        (floor(COUNTS, rooted, n_splits=2), floor(np.sqrt(COUNTS), plain, n_splits=2)),
        (distance(COUNTS, other, rooted), distance(np.sqrt(COUNTS), np.sqrt(other), plain)),
    ):
        assert found.estimate == pytest.approx(expected.estimate, rel=1e-6)
        assert found.interval == pytest.approx(expected.interval, rel=1e-6)
    means = [
        frechet_mean(pair, metric).mean.means
        for pair, metric in (
            ([COUNTS, other], rooted),
            ([np.sqrt(COUNTS), np.sqrt(other)], plain),
        )
    ]
    np.testing.assert_allclose(*means, atol=1e-6)
