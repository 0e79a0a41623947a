"""The public interface of GaussianShapeMetric: scores, parameters, convergence, bad input."""

import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import clone

import repshape as rs
from repshape.errors import InputError, InputTypeError, RepshapeError
from repshape.metrics import native
from repshape.moments import estimate_moments
from repshape.reference import gaussian as reference

ALPHAS = (0.0, 0.3, 1.0, 1.7, 2.0)
GROUPS = ("orthogonal", "rotation", "permutation", "identity")
SCALED = rs.Preprocess(center=True, scale=True, n_components=2, whitening=0.3)


def some_trials(seed, M=6, L=10, n=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(M, 1, n)) + rng.normal(size=(M, L, n)) @ rng.normal(size=(M, n, n))


def by_hand(x, y, T, alpha, weights=None):
    """The distance of trials under a fixed T (n_x, n_y), from the reference."""
    x, y = estimate_moments(x), estimate_moments(y)
    w = np.full(x.n_conditions, 1 / x.n_conditions) if weights is None else weights / sum(weights)
    mean = reference.mean_gap(x.means, y.means, T, w)
    covariance = reference.covariance_gap(x.factors, y.factors, T, w)
    return np.sqrt(alpha * mean + (2 - alpha) * covariance)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("sizes", [(3, 3), (4, 2), (2, 3)])
@pytest.mark.parametrize("preprocess", [None, SCALED])
def test_score_on_the_same_data_is_the_distance(group, alpha, sizes, preprocess):
    x, y = some_trials(0, n=sizes[0]), some_trials(1, n=sizes[1])
    weights = np.arange(1.0, 7.0)
    metric = rs.GaussianShapeMetric(alpha, group=group, preprocess=preprocess, weights=weights)
    alignment = metric.align(x, y)
    assert metric.score(alignment, x, y) == pytest.approx(alignment.distance, rel=1e-9)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_score_holds_the_transform_on_held_out_trials_and_conditions(group, alpha):
    x, y = some_trials(0, n=2), some_trials(1, n=2)
    metric = rs.GaussianShapeMetric(alpha, group=group)
    alignment = metric.align(x, y)
    for M in (6, 9):
        x_new, y_new = some_trials(2, M, n=2), some_trials(3, M, n=2)
        score = metric.score(alignment, x_new, y_new)
        assert score == pytest.approx(by_hand(x_new, y_new, alignment.transform.T, alpha), rel=1e-9)
        assert score >= metric.distance(x_new, y_new) * (1 - 1e-9)


@pytest.mark.parametrize("sizes", [(5, 3), (3, 5)])
def test_score_of_unequal_sizes_counts_what_cannot_be_matched(sizes):
    x, y = some_trials(0, n=sizes[0]), some_trials(1, n=sizes[1])
    x_new, y_new = some_trials(2, n=sizes[0]), some_trials(3, n=sizes[1])
    metric = rs.GaussianShapeMetric(0.7)
    alignment = metric.align(x, y)
    expected = by_hand(x_new, y_new, alignment.transform.T, 0.7)
    assert metric.score(alignment, x_new, y_new) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sizes", [(30, 30), (40, 30), (30, 40)])
@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
def test_score_is_at_the_transform_beyond_the_dimensions_it_was_fitted_on(sizes, group):
    """Held-out responses are not in the few dimensions that the first ones span."""
    x, y = some_trials(0, M=3, L=2, n=sizes[0]), some_trials(1, M=3, L=2, n=sizes[1])
    x_new, y_new = some_trials(2, n=sizes[0]), some_trials(3, n=sizes[1])
    metric = rs.GaussianShapeMetric(0.7, group=group)
    alignment = metric.align(x, y)
    expected = by_hand(x_new, y_new, alignment.transform.T, 0.7)
    assert metric.score(alignment, x_new, y_new) == pytest.approx(expected, rel=1e-9)


def test_score_preprocesses_as_it_was_fitted():
    x, y = some_trials(0, n=3), some_trials(1, n=4)
    x_new, y_new = 5 + some_trials(2, n=3), 3 * some_trials(3, n=4)
    metric = rs.GaussianShapeMetric(0.7, preprocess=SCALED)
    alignment = metric.align(x, y)
    fitted = [SCALED.fit(one).apply(new) for one, new in ((x, x_new), (y, y_new))]
    expected = by_hand(*fitted, alignment.transform.T, 0.7)
    assert metric.score(alignment, x_new, y_new) == pytest.approx(expected, rel=1e-9)
    refitted = metric.distance(x_new, y_new)
    assert metric.score(alignment, x_new, y_new) != pytest.approx(refitted, rel=1e-3)


def test_score_refuses_other_neurons():
    metric = rs.GaussianShapeMetric()
    alignment = metric.align(some_trials(0, n=3), some_trials(1, n=2))
    with pytest.raises(InputError, match="maps 2 neurons onto 3, but y has 3 and x has 2"):
        metric.score(alignment, some_trials(1, n=2), some_trials(0, n=3))
    with pytest.raises(InputError, match="same conditions in the same order"):
        metric.score(alignment, some_trials(0, n=3), some_trials(1, M=5, n=2))


def test_a_preprocessed_distance_is_the_distance_of_preprocessed_networks():
    x, y = some_trials(0), some_trials(1)
    whole = rs.GaussianShapeMetric(preprocess=SCALED).distance(x, y)
    parts = rs.GaussianShapeMetric().distance(SCALED.fit(x).apply(x), SCALED.fit(y).apply(y))
    assert whole == parts


def test_zero_weights_drop_conditions_before_preprocessing_too():
    """The grand mean, PCA and scale depend only on conditions with positive weight."""
    x, y = some_trials(0, M=8), some_trials(1, M=8)
    keep = np.arange(8) < 6
    weighted = rs.GaussianShapeMetric(preprocess=SCALED, weights=1.0 * keep).distance(x, y)
    dropped = rs.GaussianShapeMetric(preprocess=SCALED).distance(x[keep], y[keep])
    assert weighted == pytest.approx(dropped, rel=1e-9)


def test_parameters_follow_scikit_learn():
    metric = rs.GaussianShapeMetric(0.5, group="rotation", weights=np.ones(6), preprocess=SCALED)
    copy = clone(metric)
    assert copy is not metric
    assert copy.get_params(deep=False).keys() == {
        *("alpha", "group", "covariance", "preprocess", "weights", "n_starts"),
        *("tol", "max_iter", "random_state", "pad_to"),
    }
    x, y = some_trials(0), some_trials(1)
    assert copy.distance(x, y) == metric.distance(x, y)
    assert copy.set_params(alpha=2.0).alpha == 2.0
    assert metric.alpha == 0.5
    assert metric(x, y) == metric.distance(x, y)


def test_constructors_only_store():
    metric = rs.GaussianShapeMetric(alpha=3, group="oblique", weights="none")
    assert (metric.alpha, metric.group, metric.weights) == (3, "oblique", "none")


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("n_starts", [1, 5, "auto"])
@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_the_same_seed_gives_the_same_bits(group, n_starts):
    x, y = some_trials(0, M=40, n=5), some_trials(1, M=40, n=4)

    def solve():
        metric = rs.GaussianShapeMetric(0.3, group=group, n_starts=n_starts, random_state=3)
        alignment = metric.align(x, y)
        metric.distance(some_trials(2, n=9), some_trials(3, n=7))  # other sizes in between
        return alignment.distance, alignment.transform.tobytes(), alignment.n_iterations

    assert solve() == solve()


def test_n_starts_counts_the_starts():
    x, y = some_trials(0), some_trials(1)
    for group in ("orthogonal", "rotation", "permutation"):
        for n_starts in (1, 2, 7):
            metric = rs.GaussianShapeMetric(group=group, n_starts=n_starts)
            assert metric.align(x, y).n_starts == n_starts
        auto = rs.GaussianShapeMetric(group=group).align(x, y)
        exact = group == "permutation"  # of so few neurons, all permutations are compared
        assert auto.n_starts == 1 if exact else 8 <= auto.n_starts <= 64
        assert 1 <= auto.n_agreeing <= auto.n_starts


@pytest.mark.parametrize("group", ["orthogonal", "rotation"])
@pytest.mark.parametrize("n_starts", [1, 4, "auto"])
@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_one_iteration_is_not_convergence(group, n_starts):
    """max_iter limits the gradient evaluations per start, and converged tells if it was reached."""
    x, y = some_trials(0, M=40, n=6), some_trials(1, M=40, n=6)
    metric = rs.GaussianShapeMetric(group=group, n_starts=n_starts, max_iter=1)
    alignment = metric.align(x, y)
    assert not alignment.converged
    assert alignment.n_iterations <= 1


@pytest.mark.parametrize("n_starts", [1, "auto"])
@pytest.mark.parametrize("max_iter", [5, 10, 20])
@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_max_iter_bounds_the_gradients(n_starts, max_iter):
    x, y = some_trials(0, M=40, n=6), some_trials(1, M=40, n=6)
    metric = rs.GaussianShapeMetric(0.0, n_starts=n_starts, max_iter=max_iter)
    assert metric.align(x, y).n_iterations <= max_iter


def test_an_alignment_cannot_be_changed():
    alignment = rs.GaussianShapeMetric().align(some_trials(0), some_trials(1))
    with pytest.raises(FrozenInstanceError):
        alignment.distance = 0.0
    with pytest.raises(ValueError, match="read-only"):
        alignment.transform[0, 0] = 0.0


GOOD = some_trials(0, M=2, L=4, n=2)
MEANS, EYES = np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1))


def changed(array, index, value, dtype=float):
    out = np.array(array, dtype=dtype)
    out[index] = value
    return out


SKEW = changed(EYES, (1, 0, 1), 0.5)
NEGATIVE = changed(EYES, (1, 1, 1), -1e-7)
BAD_NETWORKS = {
    "asymmetric": ((MEANS, SKEW), InputError, "covariance of condition 1 must be symmetric"),
    "negative": ((MEANS, NEGATIVE), InputError, "condition 1 must be positive semi-definite"),
    "negative variance": ((MEANS, -np.ones((2, 2))), InputError, "variances must not be negative"),
    "nan mean": ((changed(MEANS, (1, 0), np.nan), EYES), InputError, "means must be finite"),
    "nan covariance": ((MEANS, changed(EYES, 0, np.nan)), InputError, "covariances must be finite"),
    "nan neuron": (changed(GOOD, (1, 2, 0), np.nan), InputError, "NaN at condition 1, trial 2"),
    "infinity": (changed(GOOD, (1, 2, 0), np.inf), InputError, "trials must be finite"),
    "infinite points": (changed(MEANS, (0, 0), -np.inf), InputError, "means must be finite"),
    "conditions": (some_trials(0, M=3, n=2), InputError, "same conditions in the same order"),
    "no conditions": (np.zeros((0, 4, 2)), InputError, "at least one condition. Got none"),
    "no points": (np.zeros((0, 2)), InputError, "at least one condition. Got none"),
    "no neurons": (np.zeros((2, 4, 0)), InputError, "at least one neuron. Got none"),
    "no trials": (np.zeros((2, 0, 2)), InputError, "at least one trial"),
    "object": (np.array([[["a", 1]]], dtype=object), InputTypeError, "dtype object"),
    "complex": (GOOD.astype(complex), InputTypeError, "dtype complex128"),
    "empty list": ([], InputError, "Got a list of length 0 instead"),
    "text": ("network", InputTypeError, "Got str instead"),
    "none": (None, InputTypeError, "Got NoneType instead"),
    "one number": (3.0, InputTypeError, "Got float instead"),
    "vector": (np.zeros(4), InputError, r"Got an array of shape \(4,\) instead"),
}
BAD_PARAMETERS = {
    "alpha 3": ({"alpha": 3}, InputError, r"must be a float in \[0, 2\]. Got 3 instead"),
    "alpha -1": ({"alpha": -1e-9}, InputError, r"must be a float in \[0, 2\]"),
    "alpha nan": ({"alpha": np.nan}, InputError, "Got nan instead"),
    "alpha text": ({"alpha": "1"}, InputTypeError, "Got '1' instead"),
    "group": ({"group": "oblique"}, InputError, "one of 'orthogonal', 'rotation', 'permutation'"),
    "covariance": ({"covariance": "best"}, InputError, "one of 'mle', 'unbiased'"),
    "weights": ({"weights": [1, -1]}, InputError, "not be negative. Got -1 at condition 1"),
    "short weights": ({"weights": [1.0]}, InputError, r"shape \(2,\). Got shape \(1,\)"),
    "zero weights": ({"weights": [0, 0]}, InputError, "must be positive. Got only zeros"),
    "nan weights": ({"weights": [1, np.nan]}, InputError, "weights must be finite"),
    "complex weights": ({"weights": [1, 1j]}, InputTypeError, "weights must be real numbers"),
    "n_starts": ({"n_starts": 0}, InputError, "an integer of at least 1. Got 0 instead"),
    "n_starts text": ({"n_starts": "many"}, InputTypeError, "Got 'many' instead"),
    "tol": ({"tol": 0}, InputError, r"a float in \(0, 1\). Got 0 instead"),
    "max_iter": ({"max_iter": 0}, InputError, "an integer of at least 1. Got 0 instead"),
    "random_state": ({"random_state": -1}, InputError, "an integer of at least 0"),
    "preprocess": ({"preprocess": "pca"}, InputTypeError, "must be a Preprocess or None"),
}


@pytest.fixture
def no_work(monkeypatch):
    """Raise as soon as a network is processed."""

    def refuse(*args, **kwargs):
        pytest.fail("work began before the input was checked")

    monkeypatch.setattr(native, "coordinates_for", refuse)
    monkeypatch.setattr(native, "estimate_moments", refuse)


def check_one_sentence(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert isinstance(caught.value, RepshapeError)
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("case", BAD_NETWORKS)
@pytest.mark.parametrize("method", ["distance", "align"])
def test_a_bad_network_is_one_sentence(case, method):
    network, error, words = BAD_NETWORKS[case]
    call = getattr(rs.GaussianShapeMetric(), method)
    check_one_sentence(lambda: call(network, GOOD), error, words)
    check_one_sentence(lambda: call(GOOD, network), error, words)


@pytest.mark.parametrize("case", ["negative", "infinity", "conditions", "complex", "empty list"])
def test_a_bad_network_is_refused_before_any_work_on_the_other(case, no_work):
    network, error, words = BAD_NETWORKS[case]
    metric = rs.GaussianShapeMetric()
    check_one_sentence(lambda: metric.distance(network, GOOD), error, words)
    check_one_sentence(lambda: metric.distance(GOOD, network), error, words)


@pytest.mark.parametrize("case", BAD_PARAMETERS)
@pytest.mark.parametrize("preprocess", [None, SCALED])
def test_a_bad_parameter_is_one_sentence_before_any_work(case, preprocess, no_work):
    options, error, words = BAD_PARAMETERS[case]
    metric = rs.GaussianShapeMetric(**{"preprocess": preprocess, **options})
    check_one_sentence(lambda: metric.distance(GOOD, GOOD), error, words)
    check_one_sentence(lambda: rs.pairwise([GOOD, GOOD], metric), error, words)


@pytest.mark.parametrize("covariance", ["unbiased", "ledoit-wolf", "oas", "shrinkage-cv"])
def test_one_trial_is_refused_where_two_are_needed(covariance):
    metric = rs.GaussianShapeMetric(covariance=covariance)
    words = re.escape(f"The '{covariance}' covariance needs at least two trials in every")
    check_one_sentence(lambda: metric.distance(GOOD[:, :1], GOOD), InputError, words)
    check_one_sentence(lambda: metric.distance(GOOD, GOOD[:, :1]), InputError, words)


def test_labels_of_conditions_must_agree():
    """Networks whose labels of conditions differ are not compared."""
    x = rs.Trials(GOOD, conditions=["left", "right"])
    y = rs.Trials(GOOD, conditions=["right", "left"])
    metric = rs.GaussianShapeMetric()
    assert metric.distance(x, rs.Trials(GOOD)) < 1e-7  # without labels there is nothing to compare
    for call in (metric.distance, lambda x, y: rs.pairwise([x, y], metric)):
        with pytest.raises(InputError, match="same conditions in the same order"):
            call(x, y)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.float16, bool])
def test_any_real_dtype_gives_the_distance_of_its_numbers(dtype):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 2, size=(5, 6, 3)).astype(dtype) for _ in range(2))
    metric = rs.GaussianShapeMetric()
    assert metric.distance(x, y) == metric.distance(x.astype(float), y.astype(float))


def many_neurons():
    rng = np.random.default_rng(3)
    decay = np.exp(-np.arange(60) / 15)
    return [
        rs.Gaussians(rng.normal(size=(9, 60)) * decay, [A @ A.T for A in factors])
        for factors in rng.normal(size=(2, 9, 60, 60)) * decay[:, None] / 8
    ]


def test_searches_of_many_neurons_end_where_the_distance_hardly_changes():
    """They save gradients compared with a search that waits for a small gradient."""
    usual, exact = (
        rs.GaussianShapeMetric(n_starts=1, tol=tol).align(*many_neurons()) for tol in (1e-6, 1e-8)
    )
    assert usual.converged
    assert usual.n_iterations < exact.n_iterations
    assert usual.distance == pytest.approx(exact.distance, rel=5e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_alignments_of_many_neurons_do_not_get_worse_from_themselves(alpha):
    metric = rs.GaussianShapeMetric(alpha, n_starts=1)
    prepared = [metric.prepare(one) for one in many_neurons()]
    first = metric.solve_pairs(prepared, [[0, 1]], keep=True)
    again = metric.solve_pairs(prepared, [[0, 1]], starts=[first.transforms[0][None]])
    assert again.converged.all()
    assert again.distance[0] <= first.distance[0] * (1 + 1e-12)
