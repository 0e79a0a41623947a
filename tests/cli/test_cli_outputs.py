"""Outputs that cannot be written, or would replace an input, are refused before any work.

The inputs of most commands here do not exist: reading them would fail with exit code 1, and not 2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import repshape.demo
from repshape.cli import run
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix

FILES = [
    ["pairwise", "none.zarr", "-o", "OUT.npz"],
    ["pairwise", "none.zarr", "-o", "OUT.csv"],
    ["repair", "none.npz", "-o", "OUT.npz"],
    ["repair", "none.npz", "-o", "OUT.json"],
    ["embed", "none.npz", "-o", "OUT.csv"],
    ["embed", "none.npz", "-o", "e.csv", "--curve", "OUT.csv"],
    ["neighbors", "none.npz", "-o", "OUT.csv"],
    ["report", "none.npz", "-o", "OUT.html"],
]
FOLDERS = [
    ["pairwise", "none.zarr", "-o", "OUT"],
    ["import", "none.npy", "-o", "OUT"],
    ["demo", "--out", "OUT"],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return " ".join(captured.err.split())


@pytest.mark.parametrize("arguments", FILES, ids=" ".join)
def test_a_missing_directory(
    arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [one.replace("OUT", "missing/d") for one in arguments]
    assert "there is no directory missing." in refused(given, capsys)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("arguments", FILES, ids=" ".join)
def test_a_directory_in_the_place_of_a_file(
    arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for suffix in ("npz", "csv", "json", "html"):
        (folder / f"d.{suffix}").mkdir()
    given = [one.replace("OUT", "d") for one in arguments]
    assert "it is a directory." in refused(given, capsys)


@pytest.mark.parametrize("arguments", FOLDERS, ids=" ".join)
@pytest.mark.parametrize("out", ["taken", "taken/deep"])
def test_a_file_in_the_place_of_a_directory(
    out: str,
    arguments: list[str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_early(**_: object) -> None:
        raise AssertionError("the work began")

    monkeypatch.setattr(repshape.demo, "run_demo", too_early)
    (folder / "taken").write_text("")
    given = [one.replace("OUT", out) for one in arguments]
    assert "taken is a file, not a directory." in refused(given, capsys)


@pytest.fixture
def inputs(folder: Path) -> Path:
    """Some of each kind of input."""
    cohort = Cohort()
    for k in range(3):
        cohort.add(f"n{k}", np.random.default_rng(k).normal(size=(4, 6, 2)))
    cohort.save(folder / "c.zarr")
    D = DistanceMatrix([[0, 1, 2], [1, 0, 1], [2, 1, 0]], ["n0", "n1", "n2"])
    D.save(folder / "d.npz")
    D.save(folder / "d.csv")
    (folder / "m.csv").write_text("name,x\nn0,1\nn1,2\nn2,3\n")
    (folder / "p.html").symlink_to("d.csv")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["pairwise", "c.zarr", "-o", "c.zarr"],
        ["pairwise", "c.zarr", "-o", "../%s/c.zarr"],
        ["import", "m.csv", "c.zarr", "-o", "c.zarr"],
        ["repair", "d.npz", "-o", "d.npz"],
        ["repair", "d.csv", "-o", "./d.csv"],
        ["embed", "d.csv", "-o", "d.csv"],
        ["embed", "d.npz", "-o", "e.csv", "--curve", "d.npz"],
        ["embed", "d.npz", "-o", "m.csv", "--align-to", "m.csv"],
        ["neighbors", "d.npz", "--metadata", "m.csv", "-o", "m.csv"],
        ["neighbors", "d.npz", "-o", "d.npz"],
        ["report", "d.npz", "d.csv", "-o", "p.html"],
        ["report", "d.npz", "--metadata", "p.html", "-o", "p.html"],
    ],
    ids=" ".join,
)
def test_an_output_that_is_an_input(
    arguments: list[str], inputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {file: file.read_bytes() for file in inputs.iterdir() if file.is_file()}
    given = [one.replace("%s", inputs.name) for one in arguments]
    assert "is also an input, and would replace it." in refused(given, capsys)
    assert {file: file.read_bytes() for file in inputs.iterdir() if file.is_file()} == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["pairwise", "c.zarr", "-o", "c.zarr/d.npz"],
        ["pairwise", "c.zarr", "-o", "c.zarr/d"],
        ["report", "d.npz", "--cohort", "c.zarr", "-o", "c.zarr/p.html"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("inputs")
def test_an_output_inside_a_cohort(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "lies inside the input c.zarr." in refused(arguments, capsys)


@pytest.mark.usefixtures("inputs")
def test_two_outputs_of_one_name(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["embed", "d.npz", "-o", "e.csv", "--curve", "e.csv"]
    assert "Two outputs have the same name, e.csv." in refused(arguments, capsys)


@pytest.mark.usefixtures("inputs")
def test_an_output_may_be_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert run(["pairwise", "c.zarr", "-o", "e.npz", "--quiet"]) == 0
        assert run(["repair", "e.npz", "-o", "r.npz", "--quiet"]) == 0
