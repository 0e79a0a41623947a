"""NWB files and arguments that cannot be used are one sentence each."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import repshape as rs
from nwb_support import FIRST_UNIT, Session
from repshape.errors import InputError, InputTypeError, RepshapeError, StorageError
from repshape.io.nwb_rules import parse_rules
from repshape.moments import OneTrialWarning

Allen = tuple[Path, Session]
Edit = Callable[[h5py.File], None]


@pytest.fixture
def edited(allen: Allen, tmp_path: Path) -> Callable[[Edit], Path]:
    def edit(change: Edit) -> Path:
        path = Path(shutil.copy(allen[0], tmp_path / "edited.nwb"))
        with h5py.File(path, "a") as file:
            change(file)
        return path

    return edit


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"area": "VISq"}, r"area 'VISq'. The areas are 'LGd' \(1 unit\), .*'VISp' \(18 units\)"),
        ({"area": 3}, "'area' parameter must be a name"),
        ({"stimulus": "gabors"}, "'gabors'. Its stimuli are 'drifting_gratings', 'natural_scenes'"),
        ({"stimulus": None}, "'stimulus' parameter must be a name. Got None"),
        ({"condition": "image"}, "no column 'image' in 'natural_scenes.*The columns are .*'frame'"),
        ({"condition": []}, "'condition' parameter must be a column"),
        ({"condition": ["frame", "frame"]}, "list of different columns"),
        ({"condition": "tags"}, "several values per row"),
        ({"where": {"contrast": 1}}, "no column 'contrast'"),
        ({"where": {"frame": 99}}, "no presentation that matches {'frame': 99}"),
        ({"where": "frame"}, "'where' parameter must be a dict"),
        ({"filters": {"depth": (0, 1)}}, "no column 'depth' in 'units'. The columns are"),
        ({"filters": {"snr": (1, 2, 3)}}, "range of 'snr' must be .low, high."),
        ({"filters": {"quality": (0, 1)}}, "'quality' has no range: it holds text"),
        ({"filters": "best"}, "'filters' parameter must be 'default', a dict"),
        ({"filters": {"snr": (99, None)}}, "area 'VISp' .* of 18 units, filters drop 18 by 'snr'"),
        ({"window": (0.25, 0)}, "start < stop"),
        ({"closed": "right"}, "'closed' parameter must be one of 'left', 'both'"),
        ({"keep_blanks": 1}, "'keep_blanks' parameter must be True or False"),
    ],
)
def test_bad_arguments(options: dict[str, Any], sentence: str, allen: Allen) -> None:
    with pytest.raises((InputError, InputTypeError), match=sentence):
        rs.io.read_allen(allen[0], **options)


def test_a_stimulus_without_default_conditions(allen: Allen, edited: Any) -> None:
    path = edited(lambda file: file.move("intervals/static_gratings_presentations", "intervals/x"))
    with pytest.raises(InputError, match=r"'x' has no default conditions.*'orientation', 'phase'"):
        rs.io.read_allen(path, "x")
    found = rs.io.read_allen(path, "x", condition="orientation")
    wanted = rs.io.read_allen(allen[0], "static_gratings")
    np.testing.assert_array_equal(found.pooled, wanted.pooled)


def test_nan_spikes_name_the_unit(edited: Any) -> None:
    def spoil(file: h5py.File) -> None:
        file["units/spike_times"][7] = np.nan

    with pytest.raises(
        InputError, match=f"unit {FIRST_UNIT} must be finite. Got nan at position 7"
    ):
        rs.io.read_allen(edited(spoil))


def test_nan_spikes_of_units_that_are_not_chosen_do_no_harm(allen: Allen, edited: Any) -> None:
    def spoil(file: h5py.File) -> None:
        file["units/spike_times"][int(file["units/spike_times_index"][1])] = np.nan  # quality noise

    np.testing.assert_array_equal(
        rs.io.read_allen(edited(spoil)).pooled, rs.io.read_allen(allen[0]).pooled
    )


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("units", "has no units"),
        ("units/spike_times", "no column 'spike_times' in 'units'"),
        ("units/quality", "no column 'quality' in 'units'"),
        ("intervals/natural_scenes_presentations/frame", "no column 'frame'"),
        ("intervals/natural_scenes_presentations/start_time", "no column 'start_time'"),
        ("intervals", "no stimulus 'natural_scenes'. Its stimuli are none"),
        ("general/extracellular_ephys/electrodes/location", "no locations of electrodes"),
        ("general/extracellular_ephys/electrodes/valid_data", "no column 'valid_data'"),
    ],
)
def test_missing_parts(place: str, sentence: str, edited: Any) -> None:
    def remove(file: h5py.File) -> None:
        del file[place]

    with pytest.raises(InputError, match=sentence):
        rs.io.read_allen(edited(remove))


def test_an_index_that_does_not_fit(edited: Any) -> None:
    def spoil(file: h5py.File) -> None:
        file["units/spike_times_index"][3] = 0

    with pytest.raises(InputError, match="'spike_times_index' of 'units' must increase up to"):
        rs.io.read_allen(edited(spoil))


def test_a_presentation_without_a_start(edited: Any) -> None:
    def spoil(file: h5py.File) -> None:
        file["intervals/natural_scenes_presentations/start_time"][5] = np.nan

    with pytest.raises(InputError, match=r"Presentation 5 of .* has no start time"):
        rs.io.read_allen(edited(spoil))


def test_a_presentation_with_half_of_its_condition(edited: Any) -> None:
    def spoil(file: h5py.File) -> None:
        file["intervals/static_gratings_presentations/phase"][0] = ""

    columns = ["orientation", "phase"]
    with pytest.raises(InputError, match=r"Presentation 0 .* has no 'phase', but it is not blank"):
        rs.io.read_allen(edited(spoil), "static_gratings", condition=columns)


def test_a_stimulus_with_one_repeat_is_a_warning(allen: Allen) -> None:
    with pytest.warns(OneTrialWarning, match="47 of 47 conditions in .* have a single trial"):
        found = rs.io.read_allen(
            allen[0], condition="start_time", keep_blanks=False, drop_invalid=False
        )
    assert set(found.n_trials) == {1}


def test_a_condition_in_invalid_times_only(edited: Any) -> None:
    def spoil(file: h5py.File) -> None:
        times = file["intervals/invalid_times"]
        times["start_time"][0], times["stop_time"][0] = 0.0, 1000.0

    with pytest.raises(InputError, match=r"Every presentation of condition '0' .* invalid times"):
        rs.io.read_allen(edited(spoil))


def test_files_that_are_not_nwb(tmp_path: Path, allen: Allen) -> None:
    with pytest.raises(StorageError, match="There is no file"):
        rs.io.read_allen(tmp_path / "a.nwb")
    (tmp_path / "a.nwb").write_text("words")
    with pytest.raises(InputError, match=r"a\.nwb cannot be read as an NWB file"):
        rs.io.read_allen(tmp_path / "a.nwb")
    with h5py.File(tmp_path / "b.nwb", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match="not an NWB file: it has no 'nwb_version'"):
        rs.io.read_allen(tmp_path / "b.nwb")
    with pytest.raises(InputError, match="NWB files are read by read_nwb"):
        rs.io.read_network(allen[0])


def test_a_truncated_file_is_one_sentence(tmp_path: Path, allen: Allen) -> None:
    content = allen[0].read_bytes()
    for end in range(0, len(content), len(content) // 7):
        (tmp_path / "a.nwb").write_bytes(content[:end])
        with pytest.raises(RepshapeError, match=r"a\.nwb cannot be read as an NWB file"):
            rs.io.read_allen(tmp_path / "a.nwb")


def test_without_the_extra() -> None:
    """One sentence says what to install, and importing repshape needs neither package."""
    code = (
        "import sys\n"
        "sys.modules['h5py'] = sys.modules['pynwb'] = None\n"
        "import repshape as rs\n"
        "try: rs.io.read_allen(__file__)\n"
        "except rs.errors.MissingDependencyError as error: print(error)\n"
    )
    script = Path(__file__)  # any file that exists serves as the path
    found = subprocess.run(
        [sys.executable, "-c", code.replace("__file__", repr(str(script)))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "NWB files need h5py and pynwb: pip install 'repshape[nwb]'.\n"


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["snr"], "must be COLUMN=VALUE"),
        (["snr>=high"], "'high'"),
        (["snr>=1", "snr=2"], "values or limits, not both"),
        (["snr=2", "snr<=1"], "values or limits, not both"),
    ],
)
def test_bad_rules(texts: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse_rules(texts)


def test_good_files_give_no_warning(allen: Allen) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rs.io.read_allen(allen[0])


def replaced(place: str, values: Any) -> Edit:
    def change(file: h5py.File) -> None:
        del file[place]
        file[place] = values

    return change


STIMULUS = "intervals/natural_scenes_presentations"


@pytest.mark.parametrize(
    ("place", "values", "words"),
    [
        (f"{STIMULUS}/start_time", np.zeros(3), "'start_time' .* have a value for each row"),
        (f"{STIMULUS}/frame", 1.0, "'frame' .* does not have a value for each row"),
        (f"{STIMULUS}/frame", np.zeros((55, 2)), "must have one value per row"),
        ("units/id", np.zeros((24, 2)), "'id' .* does not have a value for each row"),
        ("units/spike_times_index", np.arange(24) + 1j, "complex numbers"),
        ("units/spike_times", h5py.SoftLink("/nowhere"), "cannot be read as an NWB file"),
        (STIMULUS, h5py.SoftLink("/nowhere"), "'natural_scenes_presentations' is missing"),
    ],
)
def test_damaged_tables_that_the_fuzzer_found(
    place: str, values: Any, words: str, edited: Callable[[Edit], Path]
) -> None:
    path = edited(replaced(place, values))
    with pytest.raises(InputError, match=words):
        rs.io.read_allen(path)
