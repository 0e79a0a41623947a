"""Bad input: each kind raises an error of ours, with one clear sentence."""

import numpy as np
import pytest

from repshape.errors import (
    InputError,
    InputTypeError,
    RepshapeError,
    check_boolean,
    check_choice,
    check_integer,
    check_real,
)
from repshape.moments import CovarianceEstimator, estimate_moments
from repshape.preprocess import Preprocess
from repshape.responses import Gaussians, Trials, as_network

ZEROS = np.zeros((2, 3, 2))
MEANS = np.zeros((2, 2))
ACCEPTED = (
    "The network must be Trials, Gaussians, a 3-D array (conditions, trials, neurons), a list of "
    "2-D arrays (trials, neurons), a tuple (means, covariances), or a 2-D array of points "
    "(conditions, neurons). Got {} instead."
)
NAMES = "'mle', 'unbiased', 'ledoit-wolf', 'oas', 'shrinkage-cv', 'ridge'"


def with_entry(array, index, value):
    changed = np.array(array, dtype=float)
    changed[index] = value
    return changed


def estimator(name="shrinkage-cv", **options):
    return lambda: estimate_moments(ZEROS, CovarianceEstimator(name, **options))


def fit(**options):
    return lambda: Preprocess(**options).fit(ZEROS)


PARAMETERS = [
    (
        lambda: check_real("alpha", 3, 0, 2, owner="GaussianShapeMetric"),
        InputError,
        "The 'alpha' parameter of GaussianShapeMetric must be a float in [0, 2]. Got 3 instead.",
    ),
    (
        lambda: check_real("q", 0, 0, 2, closed="right"),
        InputError,
        "The 'q' parameter must be a float in (0, 2]. Got 0 instead.",
    ),
    (
        lambda: check_real("q", float("nan"), 0, 2),
        InputError,
        "The 'q' parameter must be a float in [0, 2]. Got nan instead.",
    ),
    (
        lambda: check_real("q", True, 0, 2),
        InputTypeError,
        "The 'q' parameter must be a float in [0, 2]. Got True instead.",
    ),
    (
        lambda: check_integer("n_starts", 0, 1),
        InputError,
        "The 'n_starts' parameter must be an integer of at least 1. Got 0 instead.",
    ),
    (
        lambda: check_integer("n_starts", 1.5, 1),
        InputTypeError,
        "The 'n_starts' parameter must be an integer of at least 1. Got 1.5 instead.",
    ),
    (
        lambda: check_boolean("center", "no"),
        InputTypeError,
        "The 'center' parameter must be True or False. Got 'no' instead.",
    ),
    (
        lambda: check_choice("group", "cyclic", ("orthogonal", "identity")),
        InputError,
        "The 'group' parameter must be one of 'orthogonal', 'identity'. Got 'cyclic' instead.",
    ),
]

TRIALS = [
    (
        lambda: Trials(ZEROS.astype(complex)),
        InputTypeError,
        "The trials must be real numbers. Got an array of dtype complex128 instead.",
    ),
    (
        lambda: Trials(ZEROS.astype(object)),
        InputTypeError,
        "The trials must be real numbers. Got an array of dtype object instead. "
        "Pass ragged data as a list of arrays.",
    ),
    (
        lambda: Trials([ZEROS[0], ZEROS[1].astype(object)]),
        InputTypeError,
        "The trials of condition 1 must be real numbers. Got an array of dtype object instead. "
        "Pass ragged data as a list of arrays.",
    ),
    (
        lambda: Trials([[[1, 2], [3]]]),
        InputTypeError,
        "The trials of condition 0 must form one rectangular array of numbers.",
    ),
    (
        lambda: Trials(with_entry(ZEROS, (1, 2, 0), np.inf)),
        InputError,
        "The trials must be finite. Got inf at condition 1, trial 2, neuron 0.",
    ),
    (
        lambda: Trials(np.full((1, 1, 1), np.longdouble("1e400"))),
        InputError,
        "The trials must be finite. Got inf at condition 0, trial 0, neuron 0.",
    ),
    (
        lambda: Trials(with_entry(ZEROS, (1, 2, 0), np.nan), conditions=["a", "b"]),
        InputError,
        "A neuron must not be NaN in some trials only. Got NaN at condition 1 ('b'), trial 2, "
        "neuron 0. Set the whole trial to NaN to drop the trial, or remove the neuron from every "
        "condition.",
    ),
    (
        lambda: Trials(with_entry(with_entry(ZEROS, (0, 1), np.nan), (1, 2, 0), np.nan)),
        InputError,
        "A neuron must not be NaN in some trials only. Got NaN at condition 1, trial 2, "
        "neuron 0. Set the whole trial to NaN to drop the trial, or remove the neuron from every "
        "condition.",
    ),
    (
        lambda: Trials(with_entry(ZEROS, 1, np.nan)),
        InputError,
        "Every condition must have at least one trial. Got none at condition 1.",
    ),
    (
        lambda: Trials(np.zeros((2, 0, 3))),
        InputError,
        "Every condition must have at least one trial. Got none at condition 0.",
    ),
    (
        lambda: Trials([ZEROS[0], np.zeros((0, 2))], conditions=["a", "b"]),
        InputError,
        "Every condition must have at least one trial. Got none at condition 1 ('b').",
    ),
    (
        lambda: Trials([]),
        InputError,
        "A network must have at least one condition. Got none.",
    ),
    (
        lambda: Trials(np.zeros((0, 3, 2))),
        InputError,
        "A network must have at least one condition. Got none.",
    ),
    (
        lambda: Trials(np.zeros((2, 3, 0))),
        InputError,
        "A network must have at least one neuron. Got none.",
    ),
    (
        lambda: Trials(MEANS),
        InputError,
        "The trials must be an array of shape (conditions, trials, neurons), or a list of arrays "
        "of shape (trials, neurons). Got an array of shape (2, 2) instead.",
    ),
    (
        lambda: Trials([np.zeros(3)]),
        InputError,
        "The trials of condition 0 must have shape (trials, neurons). Got shape (3,) instead.",
    ),
    (
        lambda: Trials([np.zeros((4, 2)), np.zeros((4, 3))]),
        InputError,
        "Every condition must have the same neurons. Condition 0 has 2 and condition 1 has 3.",
    ),
    (
        lambda: Trials(ZEROS, conditions=["a"]),
        InputError,
        "There must be one label per condition. Got 1 label for 2 conditions.",
    ),
    (
        lambda: Trials(ZEROS, conditions=["a", "a"]),
        InputError,
        "The condition labels must be distinct. Got 'a' more than once.",
    ),
    (
        lambda: Trials(ZEROS, conditions="ab"),
        InputTypeError,
        "The 'conditions' parameter must be a sequence of labels. Got 'ab' instead.",
    ),
]

EYES = np.stack([np.eye(2)] * 2)
GAUSSIANS = [
    (
        lambda: Gaussians(MEANS, with_entry(EYES, (1, 0, 1), 0.5)),
        InputError,
        "The covariance of condition 1 must be symmetric. It differs from its transpose by 0.5.",
    ),
    (
        lambda: Gaussians(MEANS, with_entry(EYES, (1, 0, 0), -0.25), conditions=["a", "b"]),
        InputError,
        "The covariance of condition 1 ('b') must be positive semi-definite. "
        "Its smallest eigenvalue is -0.25.",
    ),
    (
        lambda: Gaussians(MEANS, [[1, 1], [1, -2]]),
        InputError,
        "The variances must not be negative. Got -2 at condition 1, neuron 1.",
    ),
    (
        lambda: Gaussians(MEANS, with_entry(EYES, (1, 0, 1), np.nan)),
        InputError,
        "The covariances must be finite. Got nan at condition 1, row 0, column 1.",
    ),
    (
        lambda: Gaussians(MEANS, [[1, 1], [np.inf, 1]]),
        InputError,
        "The variances must be finite. Got inf at condition 1, neuron 0.",
    ),
    (
        lambda: Gaussians(with_entry(MEANS, (0, 1), np.nan), EYES),
        InputError,
        "The means must be finite. Got nan at condition 0, neuron 1.",
    ),
    (
        lambda: Gaussians.from_factors(MEANS, with_entry(EYES, (1, 0, 1), -np.inf)),
        InputError,
        "The factors must be finite. Got -inf at condition 1, neuron 0, column 1.",
    ),
    (
        lambda: Gaussians(MEANS, EYES * 1j),
        InputTypeError,
        "The covariances must be real numbers. Got an array of dtype complex128 instead.",
    ),
    (
        lambda: Gaussians([["a", "b"]], EYES),
        InputTypeError,
        "The means must be real numbers. Got an array of dtype <U1 instead.",
    ),
    (
        lambda: Gaussians(np.zeros((0, 2)), np.zeros((0, 2, 2))),
        InputError,
        "A network must have at least one condition. Got none.",
    ),
    (
        lambda: Gaussians.points(np.zeros((2, 0))),
        InputError,
        "A network must have at least one neuron. Got none.",
    ),
    (
        lambda: Gaussians(np.zeros(3), np.eye(3)),
        InputError,
        "The means must have shape (conditions, neurons). Got shape (3,) instead.",
    ),
    (
        lambda: Gaussians(np.zeros((1, 2)), np.eye(2)),
        InputError,
        "The covariances must have shape (1, 2, 2), or (1, 2) for variances, to match the means. "
        "Got shape (2, 2) instead.",
    ),
    (
        lambda: Gaussians.from_factors(MEANS, np.zeros((2, 3, 1))),
        InputError,
        "The factors must have shape (2, 2, r), to match the means. Got shape (2, 3, 1) instead.",
    ),
    (
        lambda: Gaussians.from_factors(MEANS, [np.eye(2)]),
        InputError,
        "There must be one factor per condition. Got 1 factor for 2 conditions.",
    ),
    (
        lambda: Gaussians.from_factors(MEANS, [np.eye(2), np.eye(3)]),
        InputError,
        "The factor of condition 1 must have shape (2, r). Got shape (3, 3) instead.",
    ),
    (
        lambda: Gaussians(MEANS, EYES).factors,
        InputError,
        "The covariances are stored as 'full', not as factors.",
    ),
]

NETWORKS = [
    (lambda: as_network([]), InputError, ACCEPTED.format("a list of length 0")),
    (lambda: as_network(()), InputError, ACCEPTED.format("a tuple of length 0")),
    (lambda: as_network((MEANS,) * 3), InputError, ACCEPTED.format("a tuple of length 3")),
    (lambda: as_network(None), InputTypeError, ACCEPTED.format("NoneType")),
    (lambda: as_network("trials.npy"), InputTypeError, ACCEPTED.format("str")),
    (lambda: as_network({"means": MEANS}), InputTypeError, ACCEPTED.format("dict")),
    (lambda: as_network(3.0), InputTypeError, ACCEPTED.format("float")),
    (lambda: as_network(np.zeros(3)), InputError, ACCEPTED.format("an array of shape (3,)")),
    (lambda: as_network([1, 2]), InputError, ACCEPTED.format("an array of shape (2,)")),
    (
        lambda: as_network(np.zeros((1, 2, 3, 4))),
        InputError,
        ACCEPTED.format("an array of shape (1, 2, 3, 4)"),
    ),
    (
        lambda: as_network(None, "network 3"),
        InputTypeError,
        ACCEPTED.format("NoneType").replace("network", "network 3", 1),
    ),
    (
        lambda: as_network(with_entry(MEANS, (0, 1), np.nan), "network 3"),
        InputError,
        "In network 3: The means must be finite. Got nan at condition 0, neuron 1.",
    ),
    (
        lambda: as_network([[1, 2], [3]]),
        InputTypeError,
        "The network must form one rectangular array of numbers.",
    ),
    (
        lambda: as_network(["a", "b"]),
        InputTypeError,
        "The network must be real numbers. Got an array of dtype <U1 instead.",
    ),
]

ONE_TRIAL = [
    (
        lambda name=name: estimate_moments([ZEROS[0], ZEROS[1][:1]], name),
        InputError,
        f"The '{name}' covariance needs at least two trials in every condition. "
        "Got one at condition 1.",
    )
    for name in ("unbiased", "ledoit-wolf", "oas", "shrinkage-cv")
]

MOMENTS = [
    *ONE_TRIAL,
    (
        lambda: estimate_moments(ZEROS, "glasso"),
        InputError,
        f"The 'covariance' parameter must be one of {NAMES}. Got 'glasso' instead.",
    ),
    (
        lambda: estimate_moments(ZEROS, None),
        InputError,
        f"The 'covariance' parameter must be one of {NAMES}. Got None instead.",
    ),
    (
        estimator("glasso"),
        InputError,
        f"The 'name' parameter of CovarianceEstimator must be one of {NAMES}. "
        "Got 'glasso' instead.",
    ),
    (
        estimator(target="zero"),
        InputError,
        "The 'target' parameter of CovarianceEstimator must be one of 'identity', 'scaled'. "
        "Got 'zero' instead.",
    ),
    (
        estimator(n_splits=0),
        InputError,
        "The 'n_splits' parameter of CovarianceEstimator must be an integer of at least 1. "
        "Got 0 instead.",
    ),
    (
        estimator(ridge=-1.0),
        InputError,
        "The 'ridge' parameter of CovarianceEstimator must be a float in [0, inf). "
        "Got -1.0 instead.",
    ),
    (
        estimator(target="scaled"),
        InputError,
        "The 'scaled' target of 'shrinkage-cv' needs a condition with at least three trials that "
        "are not all equal. Got none.",
    ),
    (
        lambda: estimate_moments(MEANS),
        InputTypeError,
        "Moments are estimated from trials, an array of shape (conditions, trials, neurons). "
        "Got Gaussians(2 conditions, 2 neurons, no covariance) instead.",
    ),
]

PREPROCESS = [
    (
        fit(n_components=3),
        InputError,
        "The 'n_components' parameter of Preprocess must not exceed the number of neurons. "
        "Got 3 for a network of 2 neurons.",
    ),
    (
        fit(n_components=0),
        InputError,
        "The 'n_components' parameter of Preprocess must be an integer of at least 1. "
        "Got 0 instead.",
    ),
    (
        fit(whitening=1.5),
        InputError,
        "The 'whitening' parameter of Preprocess must be a float in [0, 1]. Got 1.5 instead.",
    ),
    (
        fit(center=1),
        InputTypeError,
        "The 'center' parameter of Preprocess must be True or False. Got 1 instead.",
    ),
    (
        fit(scale="yes"),
        InputTypeError,
        "The 'scale' parameter of Preprocess must be True or False. Got 'yes' instead.",
    ),
    (
        fit(scale=True),
        InputError,
        "A network whose responses do not vary cannot be scaled to unit total variance.",
    ),
    (
        lambda: Preprocess().fit(ZEROS).apply(np.zeros((2, 3))),
        InputError,
        "The preprocessing was fitted to 2 neurons. Got a network of 3 neurons.",
    ),
    (
        lambda: Preprocess().fit(ZEROS, weights=[1, -1]),
        InputError,
        "The weights must not be negative. Got -1 at condition 1.",
    ),
    (
        lambda: Preprocess().fit(ZEROS, weights=[1, 1, 1]),
        InputError,
        "The weights must have one entry per condition, shape (2,). Got shape (3,) instead.",
    ),
    (
        lambda: Preprocess().fit(ZEROS, weights=[0, 0]),
        InputError,
        "At least one of the weights must be positive. Got only zeros.",
    ),
    (
        lambda: Preprocess().fit(ZEROS, weights=[1, np.nan]),
        InputError,
        "The weights must be finite. Got nan at condition 1.",
    ),
]


@pytest.mark.parametrize(
    ("call", "family", "sentence"),
    PARAMETERS + TRIALS + GAUSSIANS + NETWORKS + MOMENTS + PREPROCESS,
)
def test_bad_input_gives_one_clear_sentence(call, family, sentence):
    with pytest.raises(RepshapeError) as caught:
        call()
    assert type(caught.value) is family
    assert str(caught.value) == sentence
    assert isinstance(caught.value, ValueError if family is InputError else TypeError)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_good_parameters_come_back_unchanged():
    assert check_real("alpha", np.float32(0.5), 0, 2) == 0.5
    assert check_integer("n_starts", np.int64(3), 1) == 3
    assert check_boolean("center", False) is False
    assert check_choice("group", "identity", ["identity"]) == "identity"
