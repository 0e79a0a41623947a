"""Windows of NWB files: none by default, and those that do not fit are warned about or refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import repshape as rs
from nwb_support import Session
from repshape.errors import InputError, WindowWarning

Allen = tuple[Path, Session]
DRIFTING = ("drifting_gratings", "orientation")


@pytest.fixture
def edited(allen: Allen, tmp_path: Path) -> Callable[[Callable[[h5py.File], None]], Path]:
    def edit(change: Callable[[h5py.File], None]) -> Path:
        path = Path(shutil.copy(allen[0], tmp_path / "edited.nwb"))
        with h5py.File(path, "a") as file:
            change(file)
        return path

    return edit


def test_without_a_window_the_error_shows_durations_and_the_call(allen: Allen) -> None:
    words = "The 12 presentations last 2 s and begin 3 s apart. For example, call read_nwb("
    call = f"'{allen[0]}', 'drifting_gratings', 'orientation', area='VISp', window=(0, 2))"
    with pytest.raises(InputError, match="(?m)" + re.escape(words + call) + "$"):
        rs.io.read_nwb(allen[0], *DRIFTING, area="VISp")
    with rs.io.open_nwb(allen[0]) as recording, pytest.raises(InputError, match="last 2 s"):
        recording.count_spikes(*DRIFTING)


def test_a_cohort_without_a_window_is_not_made(allen: Allen, tmp_path: Path) -> None:
    options = {"stimulus": DRIFTING[0], "condition": DRIFTING[1]}
    with pytest.raises(InputError, match="The 12 presentations last 2 s"):
        rs.io.import_nwb([allen[0]], tmp_path / "c.zarr", **options)
    assert not (tmp_path / "c.zarr").exists()


def test_the_window_of_the_paper_is_that_of_allen(allen: Allen, tmp_path: Path) -> None:
    assert rs.io.read_allen(allen[0]).window == (0.0, 0.25)
    cohort = rs.io.import_nwb(
        [allen[0]], tmp_path / "c.zarr", stimulus="natural_scenes", allen=True, area="VISp"
    )
    assert cohort.metadata["window"].tolist() == ["0 to 0.25 s"]
    assert "window 0 to 0.25 s" in repr(cohort[0])


def test_the_whole_of_a_presentation_is_silent(allen: Allen) -> None:
    found = rs.io.read_nwb(allen[0], *DRIFTING, window=(0, 2))
    assert repr(found).endswith("window 0 to 2 s)")


@pytest.mark.parametrize(
    ("stimulus", "window", "words"),
    [
        (DRIFTING, (0, 2.5), "ends after 12 of 12 presentations (they last 2 s)"),
        (DRIFTING, (0, 3.5), "into the next one in 11 of 11 cases (the presentations begin 3 s"),
        (
            ("static_gratings", "orientation"),
            (0.05, 0.3),
            "into the next one in 71 of 71 cases (the presentations begin 0.25 s apart) and ends "
            "after 72 of 72 presentations (they last 0.25 s)",
        ),
    ],
)
def test_windows_that_do_not_fit(stimulus: Any, window: Any, words: str, allen: Allen) -> None:
    """A blank that is left out is a presentation into which a window may run."""
    with pytest.warns(WindowWarning, match=re.escape(words)) as caught:
        rs.io.read_nwb(allen[0], *stimulus, window=window)
    assert [Path(one.filename).name for one in caught] == ["test_nwb_windows.py"]


def test_a_window_in_milliseconds(allen: Allen) -> None:
    with pytest.raises(InputError, match="Got 2000 s, but the presentations begin 3 s apart"):
        rs.io.read_nwb(allen[0], *DRIFTING, window=(0, 2000))


def test_spikes_in_milliseconds(edited: Any) -> None:
    def change(file: h5py.File) -> None:
        file["units/spike_times"][:] = 1000 * file["units/spike_times"][:]

    words = r"different units or clocks: 0 of \d+ spikes are at 100 to 138 s"
    with pytest.raises(InputError, match=words):
        rs.io.read_nwb(edited(change), *DRIFTING, window=(0, 2))


def test_a_short_stimulus_of_a_long_recording_is_silent(edited: Any) -> None:
    """Less than 1 % of the spikes are near it, but other stimuli show that the units agree."""

    def change(file: h5py.File) -> None:
        ends = file["units/spike_times_index"][:].astype(int)
        trains = np.split(file["units/spike_times"][:], ends[:-1])
        late = np.linspace(5000, 90000, 20000)
        del file["units/spike_times"]
        file["units/spike_times"] = np.concatenate([np.append(one, late) for one in trains])
        file["units/spike_times_index"][:] = ends + len(late) * np.arange(1, len(ends) + 1)
        table = file["intervals/static_gratings_presentations"]
        table["start_time"][-1], table["stop_time"][-1] = 89000.0, 89000.25

    found = rs.io.read_nwb(edited(change), *DRIFTING, window=(0, 2))
    assert found.pooled.sum() > 0


def test_labels_in_single_precision(edited: Any, allen: Allen) -> None:
    def change(file: h5py.File) -> None:
        table = file["intervals/static_gratings_presentations"]
        frequencies = table["spatial_frequency"][:].astype(np.float32)
        attributes = dict(table["spatial_frequency"].attrs)
        del table["spatial_frequency"]
        table["spatial_frequency"] = frequencies
        table["spatial_frequency"].attrs.update(attributes)

    options = {"window": (0, 0.25), "where": {"spatial_frequency": [0.02, 0.04]}}
    found, wanted = (
        rs.io.read_nwb(path, "static_gratings", "spatial_frequency", **options)
        for path in (edited(change), allen[0])
    )
    assert found.conditions == wanted.conditions == ("0.02", "0.04")
    np.testing.assert_array_equal(found.pooled, wanted.pooled)
