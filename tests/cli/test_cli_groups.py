"""groups: messages, JSON, tables and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape.cli import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    area = np.tile([0, 1, 2], 6)
    points = rng.normal(size=(18, 2)) + 3.0 * area[:, None]
    frame = pd.DataFrame({"area": np.array(["V1", "V2", "V4"])[area], "mouse": np.arange(18) // 3})
    D = np.linalg.norm(points[:, None] - points, axis=2)
    rs.DistanceMatrix(D, [f"n{k}" for k in range(18)], frame).save("d.npz")
    frame.assign(name=[f"n{k}" for k in range(18)]).set_index("name").to_csv("meta.csv")
    return tmp_path


def test_groups_prints_words_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["groups", "d.npz", "--labels", "area", "--blocks", "mouse"]
    assert run([*arguments, "--permutations", "199", "--json", "-o", "pairs.csv"]) == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    expected = rs.inference.groups(
        rs.DistanceMatrix.load("d.npz"), "area", "mouse", n_permutations=199
    )
    assert summary["p_value"] == expected.p_value == 0.005
    assert summary["permuted"] == "networks permuted within blocks"
    assert summary["files"] == ["pairs.csv"]
    assert "the smallest possible p-value is 0.005" in captured.err
    assert "V1 and V2: distance" in captured.err
    assert pd.read_csv("pairs.csv")["second"].tolist() == ["V2", "V4", "V4"]


def test_groups_reads_metadata_and_refuses(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["groups", "d.npz", "--labels", "area", "--metadata", "meta.csv"]) == 0
    assert run(["groups", "d.npz", "--labels", "region"]) == 1
    assert "no column 'region'" in capsys.readouterr().err
    assert run(["groups", "d.npz"]) == 2


def test_groups_of_a_cohort_are_tested_on_angles_and_norms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second area responds twice as strongly and has no other difference."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    means = rng.normal(size=(5, 1, 2))
    cohort = rs.Cohort.create("mice.zarr")
    for k in range(10):
        gain = 1.0 + (k >= 5)
        trials = gain * (means + 0.5 * rng.normal(size=(5, 12, 2)))
        cohort.add(f"n{k}", trials, area=["V1", "V4"][k >= 5])
    D = rs.pairwise(cohort, rs.GaussianShapeMetric(n_starts=2), progress=False)
    D.save("d.npz")
    assert run(["groups", "d.npz", "--labels", "area", "--cohort", "mice.zarr", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)["p_values"]
    expected = rs.inference.confounds(cohort, rs.GaussianShapeMetric(n_starts=2), labels="area")
    assert found == {name: test.p_value for name, test in expected.tests.items()}
    assert found["norms"] < 0.05 < found["angles"]
    assert "In angle, which ignores gain? No evidence" in captured.err
    rs.DistanceMatrix(D.values, D.labels, D.metadata).save("other.npz")
    assert run(["groups", "other.npz", "--labels", "area", "--cohort", "mice.zarr"]) == 1
    assert "need distances of a GaussianShapeMetric" in capsys.readouterr().err


def test_groups_says_that_numbers_of_neurons_differ_with_and_without_a_cohort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    cohort = rs.Cohort.create("mice.zarr")
    for k in range(10):
        trials = rng.normal(size=(5, 24, 2 if k < 5 else 4))
        cohort.add(f"n{k}", trials, area=["V1", "V4"][k >= 5])
    rs.pairwise(cohort, rs.GaussianShapeMetric(n_starts=2), progress=False).save("d.npz")
    assert run(["groups", "d.npz", "--labels", "area", "--json"]) == 0
    captured = capsys.readouterr()
    assert "their number of neurons (median V1 2, V4 4)" in captured.err
    assert "confounds(cohort, metric, labels='area', match='neurons')" in captured.err
    assert json.loads(captured.out)["factors"][0]["name"] == "neurons"
    assert run(["groups", "d.npz", "--labels", "area", "--cohort", "mice.zarr", "--json"]) == 0
    captured = capsys.readouterr()
    assert "With 2 neurons drawn from each (10 draws), p = " in captured.err
    assert captured.err.count("their number of neurons") == 1
    found = json.loads(captured.out)
    assert found["factors"][0]["repeated_p_value"] == found["p_values"]["matched"]
