"""Bad networks: each kind raises an error of ours, with one clear sentence."""

import numpy as np
import pytest

from error_support import check_refusal
from repshape.errors import InputError, InputTypeError
from repshape.responses import Gaussians, Trials, as_network

ZEROS = np.zeros((2, 3, 2))
MEANS = np.zeros((2, 2))
ACCEPTED = (
    "The network must be Trials, Gaussians, a 3-D array (conditions, trials, neurons), a list of "
    "2-D arrays (trials, neurons), a tuple (means, covariances), or a 2-D array of points "
    "(conditions, neurons). Got {} instead."
)


def with_entry(array, index, value):
    changed = np.array(array, dtype=float)
    changed[index] = value
    return changed


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


@pytest.mark.parametrize(("call", "family", "sentence"), TRIALS + GAUSSIANS + NETWORKS)
def test_bad_networks_give_one_clear_sentence(call, family, sentence):
    check_refusal(call, family, sentence)
