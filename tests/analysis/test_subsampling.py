"""Subsampling: whole data, subsamples, repetition, weights, seeds and errors."""

from __future__ import annotations

import numpy as np
import pytest

from repshape import Gaussians, GaussianShapeMetric, Trials
from repshape.analysis import subsample
from repshape.errors import InputError, InputTypeError
from repshape.inference.resampling import take_conditions

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 5, 30, 6)) * np.linspace(0.5, 2.0, 6) + RNG.normal(size=(2, 5, 1, 6))


@pytest.mark.parametrize(("over", "size"), [("neurons", 6), ("trials", 30), ("conditions", 5)])
def test_drawing_everything_is_the_distance_itself(over: str, size: int) -> None:
    curves = subsample([X, Y], over, [size], n_draws=2)
    for k, alpha in enumerate(curves.alphas):
        expected = GaussianShapeMetric(alpha).distance(X, Y)
        np.testing.assert_allclose(curves.distances[0, :, k, 0], expected, rtol=1e-6)
    np.testing.assert_allclose(
        curves.distances[:, :, 0] / curves.distances[:, :, -1], curves.ratios
    )


def test_distances_grow_with_neurons_and_shrink_with_trials() -> None:
    """Supp. Fig. 6, and the bias of the plug-in."""
    alike = np.random.default_rng(1).normal(size=(2, 20, 30, 6))  # all neurons are alike
    neurons = subsample(alike, "neurons", [2, 4, 6]).distances.mean(axis=(1, 3))
    assert (np.diff(neurons, axis=0) > 0).all()
    trials = subsample([X, Y], "trials", [4, 10, 30]).distances.mean(axis=(1, 3))
    assert (np.diff(trials, axis=0) < 0).all()


@pytest.mark.parametrize("over", ["neurons", "trials", "conditions"])
def test_with_replacement_more_can_be_drawn_than_there_are(over: str) -> None:
    curves = subsample([X, Y], over, [40], n_draws=3, replace=True)
    assert curves.distances.shape == (1, 3, 3, 1)
    assert np.isfinite(curves.distances).all()
    assert curves.distances[0, :, 0, 0].std() > 0


def test_weights_follow_their_conditions() -> None:
    """All weight on one condition that is in every draw: nothing varies."""
    metric = GaussianShapeMetric(weights=[0, 1, 0, 0, 0], group="identity")
    alone = GaussianShapeMetric(group="identity").distance(X[1:2], Y[1:2])
    curves = subsample([X, Y], "conditions", [5], metric, alphas=[1.0], n_draws=2)
    np.testing.assert_allclose(curves.distances[0, :, 1, 0], alone, rtol=1e-6)


def test_same_seed_same_bits_and_frame() -> None:
    one, two = (subsample([X, Y], "trials", [5, 9], n_draws=4, workers=w) for w in (1, 2))
    np.testing.assert_array_equal(one.distances, two.distances)
    other = subsample([X, Y], "trials", [5, 9], n_draws=4, random_state=1)
    assert (one.distances != other.distances).all()
    frame = one.to_frame()
    row = frame[(frame["size"] == 9) & (frame["curve"] == "ratio")].iloc[0]
    assert row["mean"] == pytest.approx(one.ratios[1, :, 0].mean())
    assert row["std"] == pytest.approx(one.ratios[1, :, 0].std(ddof=1))


def test_parts_of_networks() -> None:
    full = Gaussians(np.arange(4.0).reshape(2, 2), [[[2, 1], [1, 3]], [[5, 0], [0, 6]]])
    np.testing.assert_array_equal(
        full._take_neurons(np.array([1, 1])).covariances, [[[3, 3], [3, 3]], [[6, 6], [6, 6]]]
    )
    variances = Gaussians([[1.0, 2.0]], [[3.0, 4.0]])
    np.testing.assert_array_equal(
        variances._take_neurons(np.array([0, 0])).covariances, [[[3, 3], [3, 3]]]
    )
    thin = Gaussians.from_factors([[1.0, 2.0]], [[[3.0], [4.0]]])
    np.testing.assert_array_equal(thin._take_neurons(np.array([1])).factors, [[[4.0]]])
    named = Trials(X[:2], conditions=["a", "b"])
    assert take_conditions(named, np.array([1])).conditions == ("b",)
    assert take_conditions(named, np.array([1, 1])).conditions is None
    assert take_conditions(full, np.array([1])).means.tolist() == [[2.0, 3.0]]
    some = named._take_trials([np.array([0, 0]), np.array([3])])
    np.testing.assert_array_equal(some.pooled, X[[0, 0, 1], [0, 0, 3]])


def test_refusals() -> None:
    with pytest.raises(InputError, match="at most 6 neurons"):
        subsample([X, Y], "neurons", [7])
    with pytest.raises(InputError, match="must be one of"):
        subsample([X, Y], "animals", [7])
    with pytest.raises(InputTypeError, match="must have trials"):
        subsample([Gaussians(X[:, 0], Y[:, 0] ** 2), Y], "trials", [3])
    with pytest.raises(InputError, match="at least one size"):
        subsample([X, Y], "trials", [])
