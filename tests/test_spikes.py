"""Counts of spikes in windows."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape.errors import InputError, InputTypeError, WindowWarning
from repshape.report.info import describe_cohort

N_TRIALS = 200
ONSETS = np.arange(N_TRIALS) * 1.0
LABELS = np.arange(N_TRIALS) % 4


def spikes(n_neurons: int = 2, seconds: float = N_TRIALS) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [np.sort(rng.uniform(0, seconds, 2000)) for _ in range(n_neurons)]


def intervals(duration: float = 0.5, names: tuple[str, str] = ("start", "end")) -> pd.DataFrame:
    table = pd.DataFrame({names[0]: ONSETS, names[1]: ONSETS + duration})
    return table.assign(image=[f"image {k}" for k in LABELS])


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
        found = rs.Trials.from_spikes(edges, [1.0, 1.25], ["x", "y"], (0, 0.25))
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
            ({"onsets": pd.DataFrame({"time": [0, 1]})}, "'start' and 'end' or .* Got 'time'"),
        ],
    )
    def test_bad_spikes(self, changes: dict[str, Any], sentence: str) -> None:
        good = {"spike_times": [[0.1], [1.1]], "onsets": [0.0, 1.0], "labels": ["a", "b"]}
        good |= {"window": (0, 0.25)}
        with pytest.raises((InputError, InputTypeError), match=sentence):
            rs.Trials.from_spikes(**(good | changes))


class TestNoDefaultWindow:
    @pytest.mark.parametrize(
        ("onsets", "facts", "window"),
        [
            (ONSETS, "The 200 trials begin 1 s apart.", "(0, 1)"),
            (np.cumsum([4, 2, 1, 8]), "The 4 trials begin 1 to 8 s (median 2 s) apart.", "(0, 1)"),
            (intervals(), "The 200 trials last 0.5 s and begin 1 s apart.", "(0, 0.5)"),
            (
                intervals(0.3, ("start_time", "stop_time")),
                "The 200 trials last 0.3 s and begin 1 s apart.",
                "(0, 0.3)",
            ),
        ],
    )
    def test_the_error_shows_the_times_and_the_call(
        self, onsets: Any, facts: str, window: str
    ) -> None:
        call = f"call Trials.from_spikes(spike_times, onsets, labels, window={window})"
        with pytest.raises(
            InputError, match="(?m)" + re.escape(f"{facts} For example, {call}") + "$"
        ):
            rs.Trials.from_spikes(spikes(), onsets, LABELS)

    def test_a_single_trial_has_no_times_to_show(self) -> None:
        with pytest.raises(InputError, match=r"(?m)window=\(start, stop\)\)$"):
            rs.Trials.from_spikes(spikes(), [0.0], ["a"])


class TestWindowsThatDoNotFit:
    @pytest.mark.parametrize(
        ("onsets", "window", "words"),
        [
            (
                ONSETS,
                (0, 1.5),
                "into the next one in 199 of 199 cases (the trials begin 1 s apart)",
            ),
            (ONSETS, (0.2, 1.2), "into the next one in 199 of 199 cases"),
            (ONSETS, (-1.2, 0), "into the window of the next one in 199 of 199 cases"),
            (np.r_[ONSETS, 50.1], (0, 0.5), "into the next one in 1 of 200 cases"),
            (intervals(), (0, 0.6), "ends after 200 of 200 trials (they last 0.5 s)"),
            (intervals(), (0.5, 1.0), "ends after 200 of 200 trials (they last 0.5 s)"),
        ],
    )
    def test_warned_with_the_numbers(self, onsets: Any, window: Any, words: str) -> None:
        labels = np.arange(len(onsets)) % 4
        with pytest.warns(WindowWarning, match=re.escape(words)) as caught:
            rs.Trials.from_spikes(spikes(), onsets, labels, window)
        assert [Path(one.filename).name for one in caught] == ["test_spikes.py"]

    @pytest.mark.parametrize(
        ("onsets", "window"),
        [
            (ONSETS, (0, 1)),
            (ONSETS, (-0.5, 0.5)),
            (intervals(), (0, 0.5)),
            (intervals(), (0, 0.502)),  # durations jitter
            (intervals(), (-0.1, 0.2)),
            (ONSETS[::-1], (0, 1)),
            (np.repeat(ONSETS, 2)[:N_TRIALS], (0, 1)),  # two conditions at the same time
        ],
    )
    def test_windows_that_fit_are_silent(self, onsets: Any, window: Any) -> None:
        assert rs.Trials.from_spikes(spikes(), onsets, LABELS, window).window == window

    def test_a_window_in_milliseconds_is_refused(self) -> None:
        with pytest.raises(InputError, match="Got 250 s, but the trials begin 1 s apart"):
            rs.Trials.from_spikes(spikes(), ONSETS, LABELS, (0, 250))


class TestUnits:
    def test_spikes_in_milliseconds(self) -> None:
        trains = [1000 * one for one in spikes()]
        inside = sum(int((one < ONSETS[-1] + 0.5).sum()) for one in trains)
        assert 0 < inside < 40
        words = f"different units or clocks: {inside} of 4000 spikes are at 0 to 199.5 s"
        with pytest.warns(WindowWarning, match=re.escape(words)):
            rs.Trials.from_spikes(trains, ONSETS, LABELS, (0, 0.5))

    def test_onsets_in_milliseconds(self) -> None:
        words = r"4000 of 4000 spikes are at 0 to 199000 s.* and 0 of 200 onsets at 0.0"
        with pytest.warns(WindowWarning, match=words):
            rs.Trials.from_spikes(spikes(), 1000 * ONSETS, LABELS, (0, 0.5))

    def test_another_clock_is_refused(self) -> None:
        with pytest.raises(InputError, match=r"0 of 4000 spikes are at 0 to 199.5 s"):
            rs.Trials.from_spikes([s + 1e6 for s in spikes()], ONSETS, LABELS, (0, 0.5))

    def test_a_twentieth_of_a_recording_is_silent(self) -> None:
        found = rs.Trials.from_spikes(
            spikes(seconds=20 * N_TRIALS), ONSETS + 7 * N_TRIALS, LABELS, (0, 0.5)
        )
        assert found.pooled.sum() > 0


class TestTables:
    """Intervals and spikes as pandas, pynwb and pynapple hold them."""

    def test_a_table_of_intervals(self) -> None:
        wanted = rs.Trials.from_spikes(spikes(), ONSETS, intervals()["image"], (0, 0.5))
        for names in (("start", "end"), ("start_time", "stop_time")):
            table = intervals(names=names)
            found = rs.Trials.from_spikes(spikes(), table, "image", (0, 0.5))
            assert found.fingerprint == wanted.fingerprint
            assert found.conditions == ("image 0", "image 1", "image 2", "image 3")
        with pytest.raises(InputError, match=r"no column named 'imge'. Did you mean 'image'"):
            rs.Trials.from_spikes(spikes(), intervals(), "imge", (0, 0.5))

    def test_a_column_of_spike_times(self) -> None:
        column = pd.Series(spikes(3), index=[7, 9, 11])
        found = rs.Trials.from_spikes(column, ONSETS, LABELS, (0, 0.5))
        assert found.neurons == ("7", "9", "11")
        wanted = rs.Trials.from_spikes(spikes(3), ONSETS, LABELS, (0, 0.5))
        assert found.fingerprint == wanted.fingerprint


class TestTheWindowIsKept:
    """A reader of the numbers must see in which window they were counted."""

    WORDS = "window 0 to 0.5 s"

    @pytest.fixture
    def trials(self) -> rs.Trials:
        return rs.Trials.from_spikes(spikes(), ONSETS, LABELS, (0, 0.5))

    def test_in_the_repr_and_in_parts(self, trials: rs.Trials) -> None:
        assert repr(trials) == f"Trials(4 conditions, 50 trials each, 2 neurons, {self.WORDS})"
        for one in (trials[["1", "2"]], pickle.loads(pickle.dumps(trials)), trials.in_unit(2.0)):
            assert one.window == (0.0, 0.5)
        assert rs.Trials(np.zeros((2, 3, 4))).window is None

    def test_in_cohorts_and_matrices(self, trials: rs.Trials, tmp_path: Path) -> None:
        cohort = rs.Cohort()
        cohort.add("a", trials, area="V1")
        assert trials.stacked is not None
        cohort.add("b", rs.Trials(2 * trials.stacked, conditions=trials.conditions))
        for one in (cohort, cohort.save(tmp_path / "c.zarr"), rs.Cohort.from_networks(cohort)):
            assert one.metadata["window"].tolist() == ["0 to 0.5 s", None]
            assert self.WORDS in repr(one["a"])
            assert "window" not in repr(one["b"])
        D = rs.pairwise(cohort, rs.GaussianShapeMetric())
        assert D.metadata.loc["a", "window"] == "0 to 0.5 s"

    def test_a_column_of_ones_own_stays(self, trials: rs.Trials) -> None:
        cohort = rs.Cohort()
        cohort.add("a", trials, window="early")
        assert cohort.metadata["window"].tolist() == ["early"]
        assert describe_cohort(cohort).data["windows"] == {"0 to 0.5 s": 1}

    def test_a_replaced_network_has_its_own_window(self, trials: rs.Trials, tmp_path: Path) -> None:
        cohort = rs.Cohort.create(tmp_path / "c.zarr")
        cohort.add("a", trials, area="V1", window="0 to 0.5 s")  # as the metadata of NWB have it
        cohort.replace("a", rs.Trials.from_spikes(spikes(), ONSETS, LABELS, (0, 0.25)))
        assert rs.Cohort.open(cohort.path).metadata.loc["a", "window"] == "0 to 0.25 s"

    def test_in_info(self, trials: rs.Trials) -> None:
        other = rs.Trials.from_spikes(spikes(3), ONSETS, LABELS, (0, 0.5))
        cohort = rs.Cohort.from_networks({"a": trials, "b": other})
        found = describe_cohort(cohort)
        assert "spikes counted after the onset: 0 to 0.5 s (2 networks)" in found.lines
        assert found.data["windows"] == {"0 to 0.5 s": 2}

    @pytest.mark.parametrize(
        ("stop", "words"),
        [
            (0.5, "Spikes were counted 0 to 0.5 s after the onset."),
            (0.25, "different windows after the onset: 0 to 0.5 s (1 network), 0 to 0.25 s (1 net"),
        ],
    )
    def test_in_the_report(
        self, stop: float, words: str, trials: rs.Trials, tmp_path: Path
    ) -> None:
        other = rs.Trials.from_spikes(spikes(3), ONSETS, LABELS, (0, stop))
        cohort = rs.Cohort.from_networks({"a": trials, "b": other})
        D = rs.pairwise(cohort, rs.GaussianShapeMetric())
        rs.write_report(D, tmp_path / "r.html", cohort=cohort)
        assert words in (tmp_path / "r.html").read_text()
