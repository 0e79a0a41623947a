"""Data that are probably not what was meant: refused, or a warning that names the network."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape.errors import (
    CopyWarning,
    DataWarning,
    InputError,
    InputTypeError,
    SilentNetworkWarning,
    TransposedWarning,
    WrappedIntegersWarning,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 12, 7))  # 12 trials, 7 neurons
Y = RNG.normal(size=(4, 12, 9))
METRIC = rs.ProcrustesShapeMetric()


def random(*shape: int) -> Any:
    return RNG.normal(size=shape)


class TestNamesOfConditions:
    named = rs.Trials(X, conditions=list("abcd"))

    @pytest.mark.parametrize("disk", [False, True])
    def test_a_network_without_names_is_refused_by_a_cohort_that_has_them(
        self, disk: bool, tmp_path: Path
    ) -> None:
        cohort = rs.Cohort.create(tmp_path / "c") if disk else rs.Cohort()
        cohort.add("x", self.named)
        with pytest.raises(InputError, match=r"'x' have names .*'y' have none.*conditions=\["):
            cohort.add("y", Y)
        assert cohort.labels == ("x",)
        cohort.add("y", rs.Trials(Y, conditions=list("abcd")))
        with pytest.raises(InputError, match=r"'x' have names .*'y' have none"):
            cohort.replace("y", Y)

    def test_names_are_compared_although_the_first_network_has_none(self) -> None:
        cohort = rs.Cohort.from_networks({"w": 2 * Y, "x": self.named})
        with pytest.raises(InputError, match="Condition 0 is 'a' in 'x' and 'b' in 'y'"):
            cohort.add("y", rs.Trials(Y, conditions=list("bacd")))


class TestTransposedAxes:
    wrong = Y.transpose(0, 2, 1)  # 9 "trials" of 12 "neurons"

    def test_it_is_noticed_in_cohorts_pairwise_and_pairs(self, tmp_path: Path) -> None:
        words = r"'y' has 12 neurons and 9 trials .*'x' has 7 neurons and 12 trials"
        with pytest.warns(TransposedWarning, match=words.replace("'y'", "Network 'y'")):
            rs.Cohort.from_networks({"x": X, "y": self.wrong})
        cohort = rs.Cohort.from_networks({"x": X}).save(tmp_path / "c")
        with pytest.warns(TransposedWarning, match=words):
            cohort.add("y", self.wrong)
        with pytest.warns(TransposedWarning, match=words):
            rs.pairwise({"x": X, "y": self.wrong}, METRIC, progress=False)
        with pytest.warns(TransposedWarning, match="The other has 12 neurons"):
            METRIC.distance(X, self.wrong)
        with pytest.warns(TransposedWarning) as caught:
            METRIC.distance(self.wrong, X)
        assert caught[0].filename == __file__  # the line of the user

    @pytest.mark.parametrize(
        ("x", "y"),
        [
            (X, Y),  # the same number of trials
            (X, random(4, 30, 7)),  # the same number of neurons
            (random(4, 12, 12), random(4, 30, 12)),
            (random(4, 3, 2), random(4, 6, 3)),  # small numbers are often equal
            (rs.Trials(X, conditions=list("abcd")), random(4, 9, 12)),
            (rs.Trials(X, neurons=list("abcdefg")), random(4, 9, 12)),
            (rs.Trials([*X[:3], X[3, :5]]), random(4, 9, 12)),  # numbers of trials differ
            (random(4, 9), random(4, 12)),  # points have no trials
        ],
    )
    def test_other_networks_are_not(self, x: Any, y: Any) -> None:
        METRIC.distance(x, y)
        rs.pairwise([x, y], METRIC, progress=False)


class TestTables:
    frame = pd.DataFrame(random(6, 3), columns=["n1", "n2", "n3"])

    @pytest.mark.parametrize(
        "name",
        [
            *("odor", "Odour", "stimulus", "stim_id", "label", "labels", "trial", "Trial ID"),
            *("condition", "condition_index", "orientation", "class", "Unnamed: 0", "time"),
            *("session", "repeat"),
        ],
    )
    def test_numbers_in_a_column_named_like_a_condition_are_refused(self, name: str) -> None:
        table = self.frame.assign(**{name: [1, 1, 2, 2, 3, 3]})
        for read in (rs.as_network, rs.Gaussians.points):
            with pytest.raises(InputTypeError, match=rf"column '{name}' is not a neuron") as error:
                read(table)  # type: ignore[arg-type]
            call = f'Trials.from_frame(frame, condition="{name}", neurons=["n1", "n2", ...])'
            assert call in str(error.value)

    def test_the_call_names_the_condition_and_not_the_trial(self) -> None:
        table = self.frame.assign(trial=range(6), odor=[1, 1, 2, 2, 3, 3])
        with pytest.raises(InputTypeError, match='condition="odor"'):
            rs.as_network(table)

    def test_neurons_keep_their_names(self) -> None:
        table = self.frame.set_axis(["unit 1", "images1", "trialist"], axis=1)
        assert rs.as_network(table).neurons == ("unit 1", "images1", "trialist")


class TestCopies:
    def test_a_copy_under_another_name_is_named(self, tmp_path: Path) -> None:
        words = "'y' is an exact copy of 'x'"
        with pytest.warns(CopyWarning, match=words):
            rs.Cohort.from_networks({"x": X, "y": X.copy()})
        cohort = rs.Cohort.from_networks({"x": X}).save(tmp_path / "c")
        with pytest.warns(CopyWarning, match=words):
            cohort.add("y", X)
        for networks in ({"x": X, "y": X.copy()}, {"x": rs.Trials(X), "y": rs.Trials(X)}):
            with pytest.warns(CopyWarning, match=words):
                rs.pairwise(networks, METRIC, progress=False)
        with pytest.warns(CopyWarning, match="'b' is an exact copy of 'a'"):
            rs.pairwise([X, X], METRIC, labels=["a", "b"], progress=False)

    def test_repeated_networks_without_names_and_other_conditions_are_no_copies(self) -> None:
        rs.pairwise([X, X], METRIC, progress=False)
        cohort = rs.Cohort.from_networks({"x": X})
        cohort.replace("x", X)
        x, y = (rs.Trials(X, conditions=names) for names in (list("abcd"), list("abdc")))
        with pytest.raises(InputError, match="Condition 2 is 'c' in 'x' and 'd' in 'y'"):
            rs.pairwise({"x": x, "y": y}, METRIC, progress=False)


def test_a_silent_network_is_named() -> None:
    words = "All responses of network 'y' are zero"
    with pytest.warns(SilentNetworkWarning, match=words):
        rs.Cohort.from_networks({"x": X, "y": 0 * X})
    with pytest.warns(SilentNetworkWarning, match=words):
        rs.pairwise({"x": X, "y": rs.Trials(0 * X)}, METRIC, progress=False)
    rs.pairwise({"x": X[:, 0], "origin": np.zeros((4, 7))}, METRIC, progress=False)


class TestIntegers:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
    def test_differences_that_wrapped_around_are_noticed(self, dtype: Any) -> None:
        counts = RNG.poisson(3.0, size=(4, 12, 7)).astype(dtype)
        wrapped = counts - dtype(5)
        low = np.iinfo(dtype).max - 4
        with pytest.warns(WrappedIntegersWarning, match=f"The trials hold values from {low} to"):
            rs.Trials(wrapped)
        words = f"The responses of network 'x' hold values from {low} .* may stand for -5"
        for given in (wrapped, list(wrapped)):
            with pytest.warns(WrappedIntegersWarning, match=words) as caught:
                rs.Cohort.from_networks({"x": given})
            assert len(caught) == 1
        with pytest.warns(WrappedIntegersWarning, match="from 250 to 255"):
            rs.Trials(np.array([[[250, 255], [251, 252]]], dtype=np.uint8))

    @pytest.mark.parametrize(
        "values",
        [
            RNG.integers(0, 256, size=(4, 12, 7)).astype(np.uint8),  # an image fills its range
            np.where(X > 0, 255, 0).astype(np.uint8),  # a mask
            RNG.poisson(3.0, size=(4, 12, 7)).astype(np.uint8),
            RNG.integers(0, 2, size=(4, 12, 7)).astype(bool),
            RNG.integers(-5, 5, size=(4, 12, 7)).astype(np.int8),
            RNG.integers(120, 240, size=(4, 12, 7)).astype(np.uint8),
        ],
    )
    def test_images_masks_counts_and_signed_integers_are_quiet(self, values: Any) -> None:
        rs.Trials(values)
        rs.as_network(values)


def test_all_of_them_can_be_silenced_at_once() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        rs.Cohort.from_networks({"x": 0 * X, "y": 0 * X})


def test_a_neuron_that_was_never_recorded_is_named() -> None:
    responses = X.copy()
    responses[:, :, 2] = np.nan
    responses[0, 0] = np.nan  # a missing trial
    with pytest.raises(InputError, match="Neuron 2 is NaN in every trial"):
        rs.Trials(responses)
    responses[1, 1, 2] = 0.0
    with pytest.raises(InputError, match="must not be NaN in some trials only"):
        rs.Trials(responses)
