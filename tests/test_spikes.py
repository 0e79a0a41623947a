"""Counts of spikes in windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import repshape as rs
from repshape.errors import InputError, InputTypeError


class TestSpikes:
    def test_planted_counts_come_back(self) -> None:
        rng = np.random.default_rng(0)
        counts = rng.poisson(4.0, size=(20, 3))
        onsets, labels = np.arange(20) * 2.0, [str(k % 4) for k in range(20)]
        spikes = [
            np.concatenate([t + rng.uniform(0.1, 0.4, c) for t, c in zip(onsets, one, strict=True)])
            for one in counts.T
        ]
        found = rs.Trials.from_spikes(
            [rng.permutation(s) for s in spikes], onsets, labels, (0.1, 0.4)
        )
        for k in range(4):
            np.testing.assert_array_equal(found[k], counts[k::4])

    def test_the_window_contains_its_start_and_not_its_end(self) -> None:
        edges = {"a": [1.0, 1.25], "b": [0.9999, 1.2499], "none": []}
        found = rs.Trials.from_spikes(edges, [1.0, 1.25], ["x", "y"])
        assert found.neurons == ("a", "b", "none")
        np.testing.assert_array_equal(found.pooled, [[1, 1, 0], [1, 0, 0]])

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"spike_times": [[0.1], [np.nan]]}, "spike times of neuron 1 must be finite. Got nan"),
            ({"spike_times": {"u": [np.inf]}}, "spike times of neuron 'u' must be finite"),
            ({"spike_times": []}, "at least one neuron"),
            ({"spike_times": 3.0}, "list with an array of times for each neuron"),
            ({"spike_times": [0.1, 0.2]}, "must form one list of times"),
            ({"onsets": [0.0, np.nan]}, "onsets must be finite. Got nan at position 1"),
            ({"onsets": [0.0]}, "Got 2 labels for 1 trial"),
            ({"labels": ["a"]}, "Got 1 label for 2 trials"),
            ({"labels": ["a", ""]}, "Every trial must have a label"),
            ({"window": (0.25, 0)}, "start < stop"),
            ({"window": 0.25}, "start < stop"),
        ],
    )
    def test_bad_spikes(self, changes: dict[str, Any], sentence: str) -> None:
        good = {"spike_times": [[0.1], [1.1]], "onsets": [0.0, 1.0], "labels": ["a", "b"]}
        with pytest.raises((InputError, InputTypeError), match=sentence):
            rs.Trials.from_spikes(**(good | changes))
