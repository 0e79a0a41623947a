"""Objects of pynapple, and stand-ins that have what its objects have."""

from __future__ import annotations

from collections import UserDict
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape.errors import InputError, InputTypeError

ONSETS = np.arange(0, 100, 2.0)
IMAGES = ["dog", "cat"] * 25
WINDOW = (0, 0.5)


class Ts:
    """Times without values; `numpy.asarray` of them fails, and they can be iterated over."""

    def __init__(self, t: np.ndarray) -> None:
        self.t, self.time_support = t, (t.min(), t.max())

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, key: Any) -> Ts:
        return Ts(np.atleast_1d(self.t[key]))


class TsGroup(UserDict):  # type: ignore[type-arg]
    time_support = (0.0, 100.0)


class IntervalSet:
    """Columns `start` and `end`; those of the metadata are listed apart."""

    columns = np.array(["start", "end"])
    metadata_columns = ("image",)

    def __init__(self, start: np.ndarray, end: np.ndarray, metadata: dict[str, Any]) -> None:
        self.start, self.end, self.metadata = start, end, pd.DataFrame(metadata)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key) if key in ("start", "end") else self.metadata[key]


class TsdFrame:
    """Values by time and column, where `frame[k]` is a row."""

    def __init__(self, t: np.ndarray, d: np.ndarray, columns: list[int]) -> None:
        self.t, self.values, self.columns, self.time_support = t, d, columns, None

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]


@pytest.fixture(params=["stand-ins", "pynapple"])
def nap(request: pytest.FixtureRequest) -> Any:
    if request.param == "pynapple":
        return pytest.importorskip("pynapple")

    class StandIns:
        pass

    for one in (Ts, TsGroup, IntervalSet, TsdFrame):
        setattr(StandIns, one.__name__, one)
    return StandIns


def spikes() -> dict[int, np.ndarray]:
    rng = np.random.default_rng(0)
    return {k: np.sort(rng.uniform(0, 100, 500)) for k in (3, 7)}


def epochs(nap: Any) -> Any:
    return nap.IntervalSet(ONSETS, ONSETS + 0.5, metadata={"image": IMAGES})


def test_a_group_with_epochs(nap: Any) -> None:
    group = nap.TsGroup({k: nap.Ts(times) for k, times in spikes().items()})
    wanted = rs.Trials.from_spikes(spikes(), ONSETS, IMAGES, WINDOW)
    shown = epochs(nap)
    for found in (
        rs.Trials.from_spikes(group, shown, "image", WINDOW),
        rs.Trials.from_spikes(group, shown, shown["image"], WINDOW),
        rs.Trials.from_spikes(group, nap.Ts(ONSETS), IMAGES, WINDOW),
    ):
        assert found.fingerprint == wanted.fingerprint
        assert (found.neurons, found.conditions) == (("3", "7"), ("cat", "dog"))


def test_epochs_show_their_durations(nap: Any) -> None:
    group = nap.TsGroup({k: nap.Ts(times) for k, times in spikes().items()})
    with pytest.raises(InputError, match=r"(?m)50 trials last 0.5 s .*window=\(0, 0.5\)\)$"):
        rs.Trials.from_spikes(group, epochs(nap), "image")
    with pytest.raises(InputError, match=r"no column named 'imge'. Did you mean 'image'"):
        rs.Trials.from_spikes(group, epochs(nap), "imge", WINDOW)


def test_one_neuron_needs_a_name(nap: Any) -> None:
    with pytest.raises(InputTypeError, match=r"dict of such arrays by name. Got Ts"):
        rs.Trials.from_spikes(nap.Ts(spikes()[3]), epochs(nap), "image", WINDOW)


def test_counts_in_epochs(nap: Any) -> None:
    counts = np.arange(100.0).reshape(50, 2)
    frame = nap.TsdFrame(t=ONSETS + 0.25, d=counts, columns=[3, 7])
    found = rs.Trials.from_labels(frame, IMAGES)
    assert found.neurons == ("3", "7")
    np.testing.assert_array_equal(found["dog"], counts[::2])


def test_an_event_triggered_tensor() -> None:
    """(neurons, trials, time), as `build_tensor` returns it."""
    wanted = rs.Trials.from_spikes(spikes(), ONSETS, IMAGES, WINDOW)
    bins = ONSETS[:, None] + np.linspace(0, 0.5, 6)
    tensor = np.array([[np.histogram(s, one)[0] for one in bins] for s in spikes().values()])
    assert tensor.shape == (2, 50, 5)
    found = rs.Trials.from_labels(tensor.sum(axis=2).T, IMAGES)
    assert found.fingerprint == wanted.fingerprint
    with pytest.raises(InputError, match=r"(?m)call Trials.from_labels\(X.sum\(axis=2\).T, y\)$"):
        rs.Trials.from_labels(tensor, IMAGES)


def test_pynapple_builds_such_a_tensor() -> None:
    nap = pytest.importorskip("pynapple")
    group = nap.TsGroup({k: nap.Ts(times) for k, times in spikes().items()})
    shown = epochs(nap)
    tensor = nap.build_tensor(group, shown, bin_size=0.1)
    found = rs.Trials.from_labels(tensor.sum(axis=2).T, shown["image"])
    assert found.fingerprint == rs.Trials.from_spikes(group, shown, "image", WINDOW).fingerprint
