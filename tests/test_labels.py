"""Trials from labels and tables, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from input_support import (
    CONDITIONS,
    METRIC,
    NEURONS,
    X,
    frame_of,
)
from repshape._labels import select_rows
from repshape.errors import InputError, InputTypeError
from repshape.moments import OneTrialWarning


def test_labels_of_all_kinds_sort_as_people_expect() -> None:
    y = [10, 9, "blank", 0.5, 90.0, "10"]
    trials = rs.Trials.from_labels(np.arange(6.0)[:, None], y)
    assert trials.conditions == ("0.5", "9", "10", "90", "blank")
    np.testing.assert_array_equal(trials[10], [[0.0], [5.0]])
    np.testing.assert_array_equal(trials["blank"], [[2.0]])
    assert rs.Trials.from_labels(np.eye(3), np.array([2.0, 10.0, 1.0])).conditions == (
        "1",
        "2",
        "10",
    )


def test_dates_and_categories_are_labels() -> None:
    days = np.array(["2020-01-02", "2020-01-01"], dtype="datetime64[D]")
    assert rs.Trials.from_labels(np.eye(2), days).conditions == ("2020-01-01", "2020-01-02")
    groups = pd.Series(["b", "a"], dtype="category")
    assert rs.Trials.from_labels(np.eye(2), groups).conditions == ("a", "b")


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([], "Got 0 labels for 3 trials"),
        (["a", "b"], "Got 2 labels for 3 trials"),
        (["a", "b", ""], "Every trial must have a label. Got '' at trial 2"),
        (["a", None, "b"], "Got None at trial 1. Drop the trials without a label"),
        ([1.0, np.nan, 2.0], "Got nan at trial 1"),
        (pd.Series([1, None, 2], dtype="Int64"), "at trial 1"),
        (np.zeros((3, 1)), r"shape \(trials,\). Got an array of shape \(3, 1\)"),
        ([[1], [2], [3]], "must be text or a number"),
        ("abc", "must be a sequence, one per trial"),
        (3, "must be a sequence, one per trial"),
    ],
)
def test_bad_labels_are_one_sentence(y: Any, sentence: str) -> None:
    with pytest.raises((InputError, InputTypeError), match=sentence):
        rs.Trials.from_labels(np.eye(3), y)


def test_labels_without_trials() -> None:
    with pytest.raises(InputError, match="at least one trial"):
        rs.Trials.from_labels(np.zeros((0, 3)), [])
    with pytest.raises(InputError, match=r"shape \(trials, neurons\)"):
        rs.Trials.from_labels(X, CONDITIONS)


def test_a_label_that_occurs_once_is_warned_of_when_its_noise_is_estimated() -> None:
    trials = rs.Trials.from_labels(np.random.default_rng(0).normal(size=(5, 2)), list("aabcc"))
    with pytest.warns(OneTrialWarning, match=r"1 of 3 conditions .* condition 1 \('b'\)"):
        rs.estimate_moments(trials)
    with pytest.warns(OneTrialWarning, match="They are treated as noiseless"):
        METRIC.distance(trials, trials.select(["a", "b", "c"]))
    rs.GaussianShapeMetric(2.0).distance(trials, trials)  # sees means only
    rs.estimate_moments(trials.select(["a", "c"]))


class TestFrames:
    def test_a_table_of_numbers_is_points(self) -> None:
        frame = pd.DataFrame(X[:, 0], columns=NEURONS, index=CONDITIONS)
        found = rs.as_network(frame)
        assert isinstance(found, rs.Gaussians)
        assert (found.conditions, found.neurons) == (tuple(CONDITIONS), tuple(NEURONS))
        np.testing.assert_array_equal(found.means, X[:, 0])
        assert rs.as_network(frame.reset_index(drop=True)).conditions is None

    def test_nullable_integers_are_numbers(self) -> None:
        frame = pd.DataFrame({"u": pd.array([1, 2, None], dtype="Int64"), "y": ["a", "b", "b"]})
        trials = rs.Trials.from_frame(frame, condition="y", neurons=["u"])
        assert trials.n_dropped.tolist() == [0, 1]

    @pytest.mark.parametrize("column", ["image", "rig"])
    def test_a_column_of_text_is_refused_with_the_call_that_is_right(self, column: str) -> None:
        frame = frame_of(X)[[*NEURONS, column]]
        call = f'Trials.from_frame(frame, condition="{column}", neurons=["u0", "u1", ...])'
        for refuse in (rs.as_network, lambda one: rs.pairwise([one, one], METRIC)):
            with pytest.raises(InputTypeError) as error:
                refuse(frame)
            assert call in str(error.value)

    def test_a_column_of_numbers_that_is_a_label_by_its_name_is_refused(self) -> None:
        frame = pd.DataFrame({"stimulus": [1, 2], "a": [0.0, 1.0]})
        with pytest.raises(InputTypeError, match=r"Trials\.from_frame"):
            rs.as_network(frame)

    def test_rows_that_are_trials_are_refused(self) -> None:
        with pytest.raises(InputError, match=r"Trials.from_labels\(frame, frame.index\)"):
            rs.as_network(pd.DataFrame(np.eye(3), index=["a", "b", "a"]))

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"condition": "imge", "neurons": NEURONS}, "no column named 'imge'. .* 'image'"),
            ({"condition": "image", "neurons": ["u9"]}, "no column named 'u9'"),
            ({"condition": "image", "neurons": "u0"}, "must be a sequence of columns"),
            ({"condition": "image", "neurons": []}, "at least one neuron"),
            ({"condition": "u0", "neurons": ["u0"]}, "a condition and a neuron"),
            ({"condition": "image", "neurons": ["rig"]}, "must be numbers. Column 'rig'"),
        ],
    )
    def test_wrong_columns(self, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises((InputError, InputTypeError), match=sentence):
            rs.Trials.from_frame(frame_of(X), **options)


def test_rows_that_match() -> None:
    table = pd.DataFrame({"area": ["V1", "IT", None], "depth": [1.0, 2.0, np.nan]})
    assert select_rows(table, {"area": "V1"}) == [0]
    assert select_rows(table, {"area": ["V1", "IT"], "depth": 2}) == [1]
    assert select_rows(table, {"depth": lambda d: d > 1}) == [1]
    assert select_rows(table, {"area": None}) == [2]
    assert select_rows(table, {}) == [0, 1, 2]
    for where, sentence in [
        ({"aera": "V1"}, "no column named 'aera'. Did you mean 'area'"),
        ({"area": "V4"}, "No network matches area='V4'. The values of 'area' are 'V1', 'IT', None"),
        ({"area": "V1", "depth": 2}, "No network matches all of 'area', 'depth'"),
    ]:
        with pytest.raises(InputError, match=sentence):
            select_rows(table, where)
