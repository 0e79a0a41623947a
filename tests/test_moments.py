"""Estimators of moments, compared with their definitions or other implementations."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf, oas

from repshape.moments import (
    ESTIMATORS,
    CovarianceEstimator,
    OneTrialWarning,
    contrasts,
    estimate_moments,
)
from repshape.responses import Trials

SHAPES = [(6, 40, 5), (6, 6, 5), (6, 5, 5), (6, 4, 5), (3, 2, 5), (4, 9, 1)]


def draw(shape, seed=0, offset=100.0):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(shape[0], shape[2], shape[2]))
    return offset + rng.normal(size=shape) @ mix


def ragged(seed=0, lengths=(3, 8, 2, 8, 12), n=5):
    array = draw((len(lengths), max(lengths), n), seed)
    return Trials([one[:length] for one, length in zip(array, lengths, strict=True)])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "ddof"), [("mle", 0), ("unbiased", 1)])
def test_plain_covariances_are_those_of_numpy(shape, name, ddof):
    array = draw(shape)
    found = estimate_moments(array, name)
    assert found.kind == "factors"
    assert found.stored.shape == (shape[0], shape[2], min(shape[2], shape[1] - 1))
    assert found.estimator == name
    assert found.shrinkage is None
    np.testing.assert_allclose(found.means, array.mean(axis=1))
    for S, trials in zip(found.covariances, array, strict=True):
        expected = np.cov(trials.T, ddof=ddof).reshape(S.shape)
        np.testing.assert_allclose(S, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize(("L", "n"), [(2, 5), (5, 5), (6, 5), (30, 5)])
def test_contrasts_keep_directions_far_below_the_root_of_rounding(L, n):
    """A singular value near 1e-11 survives, which it would not if X' X were ever formed."""
    X = draw((1, L, n), offset=0.0)[0]
    X[:, 0] *= 1e-11
    X -= X.mean(axis=0)
    expected = np.linalg.svd(X, compute_uv=False)[: min(n, L - 1)]
    found = np.linalg.svd(contrasts(X), compute_uv=False)
    np.testing.assert_allclose(found, expected, rtol=1e-2)


def test_factors_are_not_hurt_by_a_large_mean():
    array = draw((3, 4, 5), offset=0.0)
    near, far = estimate_moments(array), estimate_moments(array + 1e6)
    np.testing.assert_allclose(near.covariances, far.covariances, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "peer"), [("ledoit-wolf", ledoit_wolf), ("oas", oas)])
def test_shrunk_covariances_are_those_of_scikit_learn(shape, name, peer):
    array = draw(shape)
    found = estimate_moments(array, name)
    assert found.kind == "full"
    for S, g, trials in zip(found.covariances, found.shrinkage, array, strict=True):
        expected, shrinkage = peer(trials)
        np.testing.assert_allclose(S, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        np.testing.assert_allclose(g, shrinkage, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["ledoit-wolf", "oas"])
def test_a_condition_without_variance_stays_without(name):
    array = draw((3, 6, 4))
    array[1] = 7.0
    found = estimate_moments(array, name)
    assert not found.covariances[1].any()
    assert np.isfinite(found.shrinkage).all()


def test_ridge_adds_to_the_diagonal():
    array = draw((3, 4, 5))
    plain = estimate_moments(array).covariances
    default = estimate_moments(array, "ridge")
    np.testing.assert_allclose(default.covariances, plain + 1e-4 * np.eye(5), atol=1e-12)
    large = estimate_moments(array, CovarianceEstimator("ridge", ridge=2.0))
    np.testing.assert_allclose(large.covariances, plain + 2.0 * np.eye(5), atol=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_ragged_conditions_are_estimated_one_by_one(name):
    trials = ragged()
    together = estimate_moments(trials, name)
    for m, responses in enumerate(trials.responses):
        alone = estimate_moments([responses], name)
        S, expected = together.covariances[m], alone.covariances[0]
        if name == "shrinkage-cv":  # one g for all: undo it
            g, g_alone = together.shrinkage, alone.shrinkage
            S = (S - g * np.eye(5)) * (1 - g_alone)
            expected = (expected - g_alone * np.eye(5)) * (1 - g)
        np.testing.assert_allclose(S, expected, atol=1e-10)


@pytest.mark.parametrize("name", ["mle", "ridge"])
def test_one_trial_has_no_plain_covariance(name):
    single = [[[1.0, 2.0]], [[3.0, 4.0]]]
    with pytest.warns(OneTrialWarning, match="2 of 2 conditions have a single trial"):
        found = estimate_moments(single, CovarianceEstimator(name, ridge=0.0))
    assert not found.covariances.any()
    np.testing.assert_array_equal(found.means, [[1.0, 2.0], [3.0, 4.0]])


def test_labels_are_kept():
    trials = Trials(draw((2, 3, 2)), conditions=["a", "b"])
    assert estimate_moments(trials).conditions == ("a", "b")


def slow_loss(trials, g, target, n_splits, seed):
    """Held-out minus log-likelihood, from dense covariances and SciPy's density."""
    rng = np.random.default_rng(seed)
    total = 0.0
    for _ in range(n_splits):
        for length in np.unique(trials.n_trials):
            batch = [one for one in trials.responses if len(one) == length]
            order = rng.permuted(np.tile(np.arange(length), (len(batch), 1)), axis=1)
            for one, permutation in zip(batch, order, strict=True):
                train, test = np.split(one[permutation], [(length + 1) // 2])
                S = np.cov(train.T, ddof=0)
                level = np.trace(S) / len(S) if target == "scaled" else 1.0
                shrunk = (1 - g) * S + g * level * np.eye(len(S))
                density = multivariate_normal(train.mean(axis=0), shrunk)
                total -= np.sum(density.logpdf(test))
    return total


@pytest.mark.parametrize("target", ["identity", "scaled"])
@pytest.mark.parametrize("lengths", [(8, 8, 8, 8), (20, 20), (6, 9, 6, 15)])
def test_cross_validated_shrinkage_agrees_with_a_slow_twin(target, lengths):
    trials = ragged(lengths=lengths)
    options = CovarianceEstimator("shrinkage-cv", target=target, n_splits=3)
    found = estimate_moments(trials, options, random_state=5)
    g = found.shrinkage
    assert isinstance(g, float)
    best = slow_loss(trials, g, target, 3, 5)
    others = [0.01, 0.1, 0.3, 0.5, 0.8, 0.99, g * 0.9, g * 1.1]
    assert all(best <= slow_loss(trials, other, target, 3, 5) for other in others if other < 1)
    S = estimate_moments(trials).covariances
    level = np.trace(S, axis1=1, axis2=2)[:, None, None] / 5 if target == "scaled" else 1.0
    np.testing.assert_allclose(found.covariances, (1 - g) * S + g * level * np.eye(5))


@pytest.mark.parametrize("target", ["identity", "scaled"])
@pytest.mark.parametrize("L", [12, 24, 96])
def test_cross_validated_shrinkage_is_near_the_best_of_the_truth(target, L):
    """Held-out likelihood in expectation: g loses at most 2 % of what the best g gains.

    The truth is known, so the expectation is exact; g is chosen on halves, so it is judged on
    fresh halves.
    """
    rng = np.random.default_rng(1)
    M, n = 60, 10
    truth = np.diag(np.linspace(0.2, 3.0, n)) + 0.5
    array, fresh = (rng.multivariate_normal(np.zeros(n), truth, (M, k)) for k in (L, L // 2))
    half = estimate_moments(fresh)
    level = half.total_variance[:, None, None] / n if target == "scaled" else 1.0
    spread = truth + half.means[:, :, None] * half.means[:, None, :]

    def risk(g):
        shrunk = (1 - g) * half.covariances + g * level * np.eye(n)
        misfit = np.trace(np.linalg.solve(shrunk, spread), axis1=1, axis2=2)
        return np.mean(np.linalg.slogdet(shrunk)[1] + misfit)

    g = estimate_moments(array, CovarianceEstimator("shrinkage-cv", target=target)).shrinkage
    best = min(risk(other) for other in np.linspace(0.01, 0.99, 99))
    assert risk(g) - best < 0.02 * (risk(1e-3) - best)
    assert risk(g) - best < 0.02 * (risk(1.0) - best)


def test_cross_validated_shrinkage_goes_to_its_limits():
    rng = np.random.default_rng(2)
    spherical = rng.normal(size=(100, 10, 8))
    assert estimate_moments(spherical, "shrinkage-cv").shrinkage > 0.97
    plenty = rng.normal(size=(3, 4000, 3)) @ np.diag([0.01, 1.0, 10.0])
    assert estimate_moments(plenty, "shrinkage-cv").shrinkage < 1e-3


def test_chance_is_the_callers():
    array = draw((4, 9, 3))
    first, again, other = (
        estimate_moments(array, "shrinkage-cv", random_state=seed).shrinkage for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    generator = np.random.default_rng(0)
    assert estimate_moments(array, "shrinkage-cv", random_state=generator).shrinkage == first


@pytest.mark.parametrize("target", ["identity", "scaled"])
def test_silent_conditions_do_not_break_cross_validation(target):
    array = draw((4, 9, 3))
    array[2] = 0.0
    options = CovarianceEstimator("shrinkage-cv", target=target)
    found = estimate_moments(array, options)
    assert 0 < found.shrinkage < 1
    assert np.isfinite(found.covariances).all()


def test_two_trials_are_enough_for_the_identity_target():
    assert 0 < estimate_moments(draw((5, 2, 3)), "shrinkage-cv").shrinkage <= 1


@pytest.mark.parametrize("name", ESTIMATORS)
def test_results_are_valid_networks(name):
    """Networks that are built without validation are valid."""
    found = estimate_moments(draw((3, 4, 6)), name)
    dense = found.covariances
    np.testing.assert_array_equal(dense, dense.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(dense).min() > -1e-12 * np.abs(dense).max()
    assert not found.stored.flags.writeable
    assert found.stored.flags.c_contiguous
