"""Samples of networks, and networks of some of the conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import repshape as rs
from input_support import (
    CONDITIONS,
    NEURONS,
    L,
    X,
)
from repshape.errors import InputError, InputTypeError


class TestSamples:
    A = np.random.default_rng(3).normal(size=(2, 3, 2))
    MEANS = np.random.default_rng(4).normal(size=(2, 3))
    KINDS: ClassVar[dict[str, rs.Gaussians]] = {
        "full": rs.Gaussians(MEANS, A @ A.transpose(0, 2, 1), conditions=["a", "b"]),
        "diagonal": rs.Gaussians(MEANS, A[:, :, 0] ** 2),
        "factors": rs.Gaussians.from_factors(MEANS, A),
        "points": rs.Gaussians.points(MEANS),
    }

    @pytest.mark.parametrize("kind", KINDS)
    def test_moments_of_samples_are_those_of_the_network(self, kind: str) -> None:
        network, count = self.KINDS[kind], 40_000
        trials = network.sample(count)
        assert trials.conditions == network.conditions
        found = rs.estimate_moments(trials)
        # Standard errors of a mean and of a covariance are at most s / sqrt(L) and s^2 sqrt(2 / L).
        deviation = np.sqrt(network.variances.max())
        np.testing.assert_allclose(
            found.means, network.means, atol=5 * deviation / np.sqrt(count) + 1e-12
        )
        np.testing.assert_allclose(
            found.covariances,
            network.covariances,
            atol=5 * deviation**2 * np.sqrt(2 / count) + 1e-12,
        )

    @pytest.mark.parametrize("kind", ["full", "factors"])
    def test_samples_stay_in_the_span_of_a_singular_covariance(self, kind: str) -> None:
        trials = self.KINDS[kind].sample(50)
        for m in range(2):
            normal = np.cross(self.A[m, :, 0], self.A[m, :, 1])
            noise = trials.responses[m] - self.MEANS[m]
            assert np.abs(noise @ normal).max() < 1e-6 * np.abs(noise).max()

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_seed_gives_the_same_bits(self, kind: str) -> None:
        network = self.KINDS[kind]
        assert network.sample(5, 1).fingerprint == network.sample(5, 1).fingerprint
        if kind != "points":
            assert network.sample(5, 1).fingerprint != network.sample(5, 2).fingerprint

    def test_the_number_of_trials_is_checked(self) -> None:
        with pytest.raises(InputError, match="'n_trials' parameter must be an integer"):
            self.KINDS["full"].sample(0)


class TestSelection:
    TRIALS = rs.Trials(X, conditions=CONDITIONS, neurons=NEURONS)

    def test_trials_of_one_condition(self) -> None:
        np.testing.assert_array_equal(self.TRIALS["dog"], X[2])
        np.testing.assert_array_equal(rs.Trials(X)[3], X[3])

    def test_networks_of_some_conditions(self) -> None:
        chosen = self.TRIALS[["fox", "cat"]]
        assert (chosen.conditions, chosen.neurons) == (("fox", "cat"), tuple(NEURONS))
        assert chosen.fingerprint == rs.Trials(X[[4, 1]]).fingerprint
        assert chosen.n_trials.tolist() == [L, L]
        for kind in TestSamples.KINDS.values():
            part = kind.select([kind.conditions[1] if kind.conditions else 1])
            np.testing.assert_array_equal(part.means, kind.means[1:])
            np.testing.assert_array_equal(part.covariances, kind.covariances[1:])

    def test_gaussians_of_one_condition_are_a_network(self) -> None:
        found = rs.estimate_moments(self.TRIALS, "oas")["cat"]
        assert (found.conditions, found.neurons) == (("cat",), tuple(NEURONS))
        assert found.shrinkage.shape == (1,)
        np.testing.assert_array_equal(found.means, X[1:2].mean(axis=1))

    @pytest.mark.parametrize(
        ("key", "sentence"),
        [
            ("dgo", "no condition named 'dgo'. Did you mean 'dog'"),
            ("zebra", "The conditions are 'blank', 'cat', 'dog', 'elk', 'fox'."),
            (["cat", "cat"], "Got 'cat' more than once"),
            ([], "At least one condition"),
            (0, "no condition named '0'"),
        ],
    )
    def test_wrong_labels(self, key: Any, sentence: str) -> None:
        with pytest.raises(InputError, match=sentence):
            self.TRIALS[key]

    def test_one_label_is_no_selection_and_networks_are_not_iterable(self) -> None:
        with pytest.raises(InputTypeError, match=r"sequence of labels\. Got 'cat'"):
            self.TRIALS.select("cat")
        with pytest.raises(TypeError, match="not iterable"):
            list(self.TRIALS)

    def test_neuron_labels_are_checked_and_kept(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"one label per neuron\. Got 1 label for 4 neurons"):
            rs.Trials(X, neurons=["a"])
        with pytest.raises(InputError, match="neuron labels must be distinct"):
            rs.Gaussians.points(X[:, 0], neurons=list("aabc"))
        moments = rs.estimate_moments(self.TRIALS)
        cohort = rs.Cohort.from_networks([self.TRIALS, moments]).save(tmp_path / "c")
        assert [one.neurons for one in cohort] == [tuple(NEURONS)] * 2
        assert rs.Preprocess().fit(moments).apply(moments).neurons == tuple(NEURONS)
        mixed = rs.Preprocess(n_components=2).fit(moments).apply(moments)
        assert mixed.neurons is None
