"""PositionNetwork: inputs, views, labels, pickling and errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import xarray as xr

import repshape as rs
from repshape.errors import InputError, InputTypeError
from repshape.responses.positions import as_any_network, as_positions

RNG = np.random.default_rng(0)
TRIALS = RNG.normal(size=(3, 5, 4, 2))


def test_positions_as_conditions_have_the_moments_within_positions() -> None:
    """From trials, full covariances, variances and factors alike."""
    network = rs.PositionNetwork(TRIALS)
    flat = TRIALS.reshape(3, 5, 8)
    S = np.stack([np.cov(one.T, bias=True) for one in flat])
    means = flat.mean(axis=1).reshape(3, 4, 2)
    steps = [slice(2 * p, 2 * p + 2) for p in range(4)]
    within = np.stack([one[step, step] for one in S for step in steps])
    factors = np.linalg.cholesky(S + np.eye(8))
    cases = {
        "trials": (network, within),
        "full": (rs.PositionNetwork.from_moments(means, S), within),
        "diagonal": (
            rs.PositionNetwork.from_moments(means, np.diagonal(S, axis1=1, axis2=2)),
            within * np.eye(2),
        ),
        "factors": (rs.PositionNetwork.from_factors(means, factors), within + np.eye(2)),
    }
    for one, expected in cases.values():
        found = one.as_conditions()
        np.testing.assert_allclose(found.means, means.reshape(12, 2), atol=1e-12)
        if isinstance(found, rs.Trials):
            found = rs.estimate_moments(found)
        np.testing.assert_allclose(found.covariances, expected, atol=1e-12)


def test_labels_selection_and_pickling() -> None:
    network = rs.PositionNetwork(TRIALS, conditions=["a", "b", "c"], neurons=["u", "v"])
    part = network.select(["c", "a"])
    np.testing.assert_array_equal(part.means, network.means[[2, 0]])
    again = pickle.loads(pickle.dumps(network))
    assert again.fingerprint == network.fingerprint
    assert (again.conditions, again.neurons) == (("a", "b", "c"), ("u", "v"))
    assert network.n_trials.tolist() == [5, 5, 5]
    with pytest.raises(AttributeError, match="immutable"):
        network.positions = (1,)  # type: ignore[misc]


def test_the_shape_of_positions_is_part_of_the_fingerprint() -> None:
    maps = rs.PositionNetwork(TRIALS.reshape(3, 5, 2, 2, 2))
    assert maps.fingerprint != rs.PositionNetwork(TRIALS).fingerprint


def test_dimensions_of_a_dataarray_are_found_by_name() -> None:
    da = xr.DataArray(TRIALS, dims=["condition", "trial", "time", "neuron"])
    found = as_positions(da.transpose("time", "neuron", "trial", "condition"))
    np.testing.assert_array_equal(found.means, rs.PositionNetwork(TRIALS).means)


def test_networks_with_and_without_positions_are_told_apart() -> None:
    assert isinstance(as_any_network(TRIALS[:, :, 0]), rs.Trials)
    assert isinstance(as_any_network(TRIALS), rs.PositionNetwork)
    assert isinstance(as_any_network(list(TRIALS)), rs.PositionNetwork)
    assert isinstance(as_any_network([[[1.0, 2.0]], [[3.0, 4.0]]]), rs.Trials)
    assert isinstance(as_any_network((np.zeros((2, 3, 1)), np.ones((2, 3)))), rs.PositionNetwork)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: rs.PositionNetwork([TRIALS[0], TRIALS[1, :, :3]]), "same shape"),
        (lambda: rs.PositionNetwork([]), "at least one condition"),
        (lambda: rs.PositionNetwork(TRIALS, neurons=["u"]), "one label per neuron"),
        (lambda: rs.PositionNetwork(np.where(TRIALS > 2, np.inf, TRIALS)), "must be finite"),
        (lambda: rs.PositionNetwork.from_moments(np.zeros((2, 3)), np.ones((2, 3))), "means must"),
        (
            lambda: rs.PositionNetwork.from_moments(np.zeros((2, 3, 2)), np.ones((2, 5))),
            "shape .2, 6, 6.",
        ),
        (lambda: as_positions("x"), "must have positions"),
        (lambda: as_positions(TRIALS[0], "x"), "The x must have positions"),
    ],
)
def test_bad_input_is_refused(make, said) -> None:
    with pytest.raises((InputError, InputTypeError), match=said):
        make()
