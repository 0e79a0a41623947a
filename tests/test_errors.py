"""Bad parameters: each kind raises an error of ours, with one clear sentence."""

import numpy as np
import pytest

from error_support import check_refusal
from repshape.errors import (
    InputError,
    InputTypeError,
    check_boolean,
    check_choice,
    check_integer,
    check_real,
)
from repshape.moments import CovarianceEstimator, estimate_moments
from repshape.preprocess import Preprocess

ZEROS = np.zeros((2, 3, 2))
MEANS = np.zeros((2, 2))
NAMES = "'mle', 'unbiased', 'ledoit-wolf', 'oas', 'shrinkage-cv', 'ridge'"


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


@pytest.mark.parametrize(("call", "family", "sentence"), PARAMETERS + MOMENTS + PREPROCESS)
def test_bad_parameters_give_one_clear_sentence(call, family, sentence):
    check_refusal(call, family, sentence)


def test_good_parameters_come_back_unchanged():
    assert check_real("alpha", np.float32(0.5), 0, 2) == 0.5
    assert check_integer("n_starts", np.int64(3), 1) == 3
    assert check_boolean("center", False) is False
    assert check_choice("group", "identity", ["identity"]) == "identity"
