"""Responses: accepted input, stored arrays, and immutability."""

import copy
import pickle

import numpy as np
import pytest

from repshape.responses import Gaussians, Trials, as_network

DTYPES = ["float16", "float32", "float64", "longdouble", ">f8", "int8", "int64", "uint16", "bool"]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_real_dtype_is_stored_as_float64(dtype):
    array = np.arange(24).reshape(2, 4, 3).astype(dtype)
    trials = Trials(array)
    assert trials.pooled.dtype == np.float64
    np.testing.assert_array_equal(trials.stacked, array.astype(np.float64))


def test_list_and_array_of_trials_are_the_same_network(rng):
    array = rng.normal(size=(5, 4, 3))
    from_array, from_list = Trials(array), Trials(list(array))
    assert from_array.fingerprint == from_list.fingerprint
    for m in range(5):
        np.testing.assert_array_equal(from_list.responses[m], array[m])
    np.testing.assert_array_equal(from_array.means, array.mean(axis=1))


def test_ragged_trials_keep_their_lengths(rng):
    parts = [rng.normal(size=(length, 3)) for length in (4, 1, 7)]
    trials = Trials(parts, conditions=["a", "b", "c"])
    assert trials.n_trials.tolist() == [4, 1, 7]
    assert trials.stacked is None
    assert trials.conditions == ("a", "b", "c")
    for got, part in zip(trials.responses, parts, strict=True):
        np.testing.assert_array_equal(got, part)
    np.testing.assert_allclose(trials.means, [part.mean(axis=0) for part in parts], rtol=1e-15)


@pytest.mark.parametrize("kind", ["array", "list", "masked"])
def test_missing_trials_are_dropped_and_counted(rng, kind):
    array = rng.normal(size=(3, 4, 2))
    missing = np.zeros((3, 4), dtype=bool)
    missing[0, 2] = missing[2, 0] = missing[2, 3] = True
    given = np.where(missing[:, :, None], np.nan, array)
    if kind == "masked":
        given = np.ma.MaskedArray(array, np.repeat(missing[:, :, None], 2, axis=2))
    trials = Trials(list(given) if kind == "list" else given)
    assert trials.n_dropped.tolist() == [1, 0, 2]
    assert trials.n_trials.tolist() == [3, 4, 2]
    np.testing.assert_array_equal(trials.responses[2], array[2, 1:3])


def test_dropping_as_many_trials_everywhere_leaves_a_rectangular_network():
    array = np.ones((3, 4, 2))
    array[:, 1] = np.nan
    assert Trials(array).stacked.shape == (3, 3, 2)


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (Trials(np.zeros((119, 50, 19))), "Trials(119 conditions, 50 trials each, 19 neurons)"),
        (Trials(np.zeros((1, 1, 1))), "Trials(1 condition, 1 trial each, 1 neuron)"),
        (
            Trials([np.zeros((4, 2)), [[np.nan, np.nan], [1, 2]]]),
            "Trials(2 conditions, 1-4 trials each, 2 neurons, 1 missing trial dropped)",
        ),
        (
            Gaussians(np.zeros((2, 3)), np.stack([np.eye(3)] * 2)),
            "Gaussians(2 conditions, 3 neurons, full covariances)",
        ),
        (
            Gaussians.from_factors(np.zeros((2, 3)), np.ones((2, 3, 2))),
            "Gaussians(2 conditions, 3 neurons, factors of width 2)",
        ),
        (Gaussians.points(np.eye(3)), "Gaussians(3 conditions, 3 neurons, no covariance)"),
    ],
)
def test_repr_tells_the_sizes(network, words):
    assert repr(network) == words


def test_nothing_can_be_changed(rng):
    array = rng.normal(size=(3, 4, 2))
    before = array.copy()
    trials, points = Trials(array), Gaussians.points(array[:, 0])
    array[:] = 0.0
    np.testing.assert_array_equal(trials.stacked, before)
    np.testing.assert_array_equal(points.means, before[:, 0])
    read_only = [trials.pooled, trials.means, trials.n_trials, trials.n_dropped]
    read_only += [*trials.responses, trials.stacked, points.means, points.stored]
    read_only += [points.covariances, points.variances, points.total_variance]
    for one in read_only:
        assert not one.flags.writeable
    for network in (trials, points):
        with pytest.raises(AttributeError, match="is immutable: make a new one instead"):
            network.means = 1
        with pytest.raises(AttributeError, match="is immutable: make a new one instead"):
            del network.means


def test_read_only_memory_is_not_copied_and_a_read_only_view_is(rng):
    array = rng.normal(size=(3, 4, 2))
    view = array.view()
    view.flags.writeable = False
    assert not np.shares_memory(Trials(view).pooled, array)
    array.flags.writeable = False
    assert np.shares_memory(Trials(array).pooled, array)


@pytest.mark.parametrize(
    "remake", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("kind", ["trials", "full", "diagonal", "factors", "points"])
def test_copies_and_pickles_are_equal_and_immutable(rng, kind, remake):
    network = _network(kind, rng)
    again = remake(network)
    assert type(again) is type(network)
    assert again.fingerprint == network.fingerprint
    assert again.conditions == network.conditions
    assert not again.means.flags.writeable


def _network(kind, rng, M=4, n=3):
    means, A = rng.normal(size=(M, n)), rng.normal(size=(M, n, n))
    labels = [f"image {m}" for m in range(M)]
    if kind == "trials":
        return Trials(rng.normal(size=(M, 5, n)), conditions=labels)
    if kind == "full":
        return Gaussians(means, A @ A.transpose(0, 2, 1), conditions=labels)
    if kind == "diagonal":
        return Gaussians(means, A[:, 0] ** 2, conditions=labels)
    if kind == "factors":
        return Gaussians.from_factors(means, A[:, :, :2], conditions=labels)
    return Gaussians.points(means, conditions=labels)


@pytest.mark.parametrize("kind", ["full", "diagonal", "factors", "points"])
def test_variances_and_traces_are_those_of_the_dense_covariances(rng, kind):
    network = _network(kind, rng)
    dense = network.covariances
    assert dense.shape == (4, 3, 3)
    np.testing.assert_allclose(network.variances, np.diagonal(dense, axis1=1, axis2=2))
    np.testing.assert_allclose(network.total_variance, np.trace(dense, axis1=1, axis2=2))
    np.testing.assert_array_equal(dense, dense.transpose(0, 2, 1))


def test_ragged_factors_are_padded_with_zeros(rng):
    parts = [rng.normal(size=(3, width)) for width in (2, 0, 4)]
    network = Gaussians.from_factors(np.zeros((3, 3)), parts)
    assert network.factors.shape == (3, 3, 4)
    for S, part in zip(network.covariances, parts, strict=True):
        np.testing.assert_allclose(S, part @ part.T, atol=1e-15)


def test_a_square_2d_array_is_variances():
    assert Gaussians(np.zeros((3, 3)), np.eye(3)).kind == "diagonal"


def test_asymmetry_of_rounding_is_symmetrised(rng):
    S = np.stack([np.eye(3)] * 2)
    S[1, 0, 1] = 1e-9
    stored = Gaussians(np.zeros((2, 3)), S).stored
    np.testing.assert_array_equal(stored, stored.transpose(0, 2, 1))
    assert stored[1, 1, 0] == 5e-10


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_eigenvalues_are_judged_relative_to_their_scale(scale):
    """Singular and slightly indefinite covariances are valid; -1e-7 of the scale is not."""
    means = np.zeros((1, 2))
    for smallest in (0.0, -5e-9):
        assert Gaussians(means, [scale * np.diag([1.0, smallest])]).kind == "full"
        assert Gaussians(means, [[scale, scale * smallest]]).variances.min() >= 0
    with pytest.raises(ValueError, match="positive semi-definite"):
        Gaussians(means, [scale * np.diag([1.0, -1e-7])])
    with pytest.raises(ValueError, match="must not be negative"):
        Gaussians(means, [[scale, scale * -1e-7]])


def test_a_condition_without_noise_may_hold_the_rounding_of_others():
    S = np.stack([np.eye(2), -1e-16 * np.eye(2)])
    assert Gaussians(np.zeros((2, 2)), S).kind == "full"


def test_low_rank_and_zero_covariances_pass(rng):
    A = rng.normal(size=(20, 30, 4))
    S = A @ A.transpose(0, 2, 1)
    S[3] = 0.0
    assert Gaussians(np.zeros((20, 30)), S).n_neurons == 30
    assert Gaussians(np.zeros((20, 30)), np.zeros_like(S)).total_variance.max() == 0


def test_fingerprints_tell_networks_apart_and_ignore_labels(rng):
    array = rng.normal(size=(4, 6, 3))
    prints = [
        Trials(array).fingerprint,
        Trials(array + 1e-15).fingerprint,
        Trials(array.reshape(6, 4, 3)).fingerprint,
        Trials(array.reshape(4, 3, 6)).fingerprint,
        Gaussians.points(array[:, 0]).fingerprint,
        Gaussians(array[:, 0], array[:, 1] ** 2).fingerprint,
        Gaussians.from_factors(array[:, 0], array[:, 1, :, None]).fingerprint,
    ]
    assert len(set(prints)) == len(prints)
    assert Trials(array, conditions=list("abcd")).fingerprint == prints[0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.zeros((5, 3, 2)), "Trials(5 conditions, 3 trials each, 2 neurons)"),
        (np.zeros((5, 3, 2)).tolist(), "Trials(5 conditions, 3 trials each, 2 neurons)"),
        ([np.zeros((3, 2)), np.ones((1, 2))], "Trials(2 conditions, 1-3 trials each, 2 neurons)"),
        ([[[1, 2]], [[1, 2], [3, 4]]], "Trials(2 conditions, 1-2 trials each, 2 neurons)"),
        (np.zeros((5, 2), dtype=int), "Gaussians(5 conditions, 2 neurons, no covariance)"),
        ([[1, 2], [3, 4], [5, 6]], "Gaussians(3 conditions, 2 neurons, no covariance)"),
        (
            (np.zeros((2, 2)), [np.eye(2), np.eye(2)]),
            "Gaussians(2 conditions, 2 neurons, full covariances)",
        ),
    ],
)
def test_as_network_reads_every_description(given, expected):
    assert repr(as_network(given)) == expected


def test_as_network_returns_networks_as_they_are(rng):
    for kind in ("trials", "full"):
        network = _network(kind, rng)
        assert as_network(network) is network


def test_as_network_respects_masks():
    masked = np.ma.MaskedArray(np.ones((2, 3, 2)), np.zeros((2, 3, 2), dtype=bool))
    masked[0, 1] = np.ma.masked
    assert as_network(masked).n_dropped.tolist() == [1, 0]


def test_integer_labels_become_strings():
    assert Trials(np.zeros((2, 1, 1)), conditions=np.array([0, 90])).conditions == ("0", "90")
