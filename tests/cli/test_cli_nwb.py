"""`repshape import` of NWB files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import repshape as rs
from nwb_support import write_session
from repshape.cli import run


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("sessions")
    write_session(folder / "a.nwb")
    shutil.copy(folder / "a.nwb", folder / "b.nwb")
    return [str(folder / "a.nwb"), str(folder / "b.nwb")]


@pytest.mark.filterwarnings("ignore::repshape.errors.CopyWarning")
def test_sessions_of_the_allen_institute(
    sessions: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "c.zarr")
    options = ["--stimulus", "static_gratings", "--area", "VISp", "--window", "0", "0.2"]
    rules = ["--where", "phase=0.25", "--units", "snr>=3", "--blanks", "--json"]
    assert run(["import", "--allen", *sessions, *options, *rules, "-o", out]) == 0
    assert json.loads(capsys.readouterr().out)["networks"]
    cohort = rs.Cohort.open(out)
    wanted = rs.io.read_allen(
        sessions[0],
        "static_gratings",
        window=(0, 0.2),
        where={"phase": 0.25},
        filters={**rs.io.ALLEN_FILTERS, "snr": (3, None)},
        keep_blanks=True,
    )
    assert cohort.labels == ("a", "b")
    found = cohort["a"]
    assert isinstance(found, rs.Trials)
    np.testing.assert_array_equal(found.pooled, wanted.pooled)
    assert found.conditions == ("0", "30", "60", "90", "120", "150", "blank")
    assert found.neurons == wanted.neurons
    assert cohort.metadata["genotype"].tolist() == ["wt/wt", "wt/wt"]


def test_conditions_by_columns_and_a_manifest(sessions: list[str], tmp_path: Path) -> None:
    manifest, out = tmp_path / "m.csv", str(tmp_path / "c.zarr")
    manifest.write_text(f"name,file,sex,depth\nx,{sessions[0]},F,3\n")
    options = [
        "--stimulus",
        "static_gratings",
        "--condition",
        "orientation",
        "--condition",
        "phase",
        "--window",
        "0",
        "0.25",
    ]
    assert run(["import", "--nwb", str(manifest), *options, "-o", out]) == 0
    cohort = rs.Cohort.open(out)
    columns = ["orientation", "phase"]
    wanted = rs.io.read_nwb(sessions[0], "static_gratings", columns, window=(0, 0.25))
    found = cohort["x"]
    assert isinstance(found, rs.Trials)
    np.testing.assert_array_equal(found.pooled, wanted.pooled)
    row = cohort.metadata.loc["x", ["sex", "session", "window"]]
    assert row.tolist() == ["F", "715093703", "0 to 0.25 s"]


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--area", "VISp"], 2, "--area needs --nwb or --allen"),
        (["--nwb", "--stimulus", "natural_scenes"], 2, "--nwb needs --condition"),
        (["--nwb"], 2, "--nwb needs --stimulus and --condition"),
        (
            ["--nwb", "--stimulus", "drifting_gratings", "--condition", "orientation"],
            1,
            "The 12 presentations last 2 s and begin 3 s apart. For example, pass --window 0 2",
        ),
        (["--allen", "--units", "snr"], 2, "must be COLUMN=VALUE"),
        (["--allen", "--area", "VISq"], 1, "The areas are"),
        (["--allen", "--stimulus", "gabors"], 1, "Its stimuli are"),
        ([], 1, "repshape import --nwb"),
    ],
)
def test_bad_usage_and_failures(
    options: list[str],
    code: int,
    sentence: str,
    sessions: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "c.zarr"
    assert run(["import", *sessions, *options, "-o", str(out)]) == code
    shown = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert sentence in shown
    assert not out.exists()
