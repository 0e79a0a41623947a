"""models: messages, JSON, tables and exit codes."""

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
    means, other = rng.normal(size=(2, 6, 2))
    brains = [means[:, None] + 0.3 * rng.normal(size=(6, 16, 2)) for _ in range(3)]
    names = [f"mouse {k}" for k in range(3)]
    rs.Cohort.from_networks(brains, names).save("brains.zarr")
    rs.Cohort.from_networks([means, other], ["right", "wrong"]).save("models.zarr")
    return tmp_path


def test_models_prints_words_json_and_a_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["models", "brains.zarr", "models.zarr", "--alpha", "2", "--store", "parts"]
    assert run([*given, "--json", "-o", "table.csv"]) == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert summary["best"] == "right"
    assert summary["files"] == ["table.csv"]
    assert "Distances from the brains: right" in captured.err
    table = pd.read_csv("table.csv")
    assert table["kind"].tolist() == ["model", "model", "ceiling", "ceiling"]
    expected = rs.inference.models(
        rs.Cohort.open("brains.zarr"), rs.Cohort.open("models.zarr"), rs.GaussianShapeMetric(2.0)
    )
    np.testing.assert_array_equal(
        [one["squared_distance"] for one in summary["models"]],
        expected.scores["squared_distance"],
    )


def test_everything_is_kept_in_json_and_reported(folder: Path) -> None:
    given = ["models", "brains.zarr", "models.zarr", "--alpha", "2", "--quiet"]
    assert run([*given, "-o", "models.json"]) == 0
    assert run(["report", "models.json", "-o", "models.html", "--quiet"]) == 0
    words = rs.inference.ModelComparison.load("models.json").words()
    assert words[0] in Path("models.html").read_text()


def test_models_refuses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["models", "brains.zarr", "models.zarr"]
    assert run([*given, "--over", "trials"]) == 2
    assert run([*given, "--alpha", "1", "--alpha", "2"]) == 2
    assert run([*given, "--metric", "cka"]) == 2
    assert run([*given, "--blocks", "animal"]) == 1
    assert "no column 'animal'" in capsys.readouterr().err
