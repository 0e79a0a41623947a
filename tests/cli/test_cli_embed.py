"""embed on a directory of several matrices: one table, with points that can be compared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape.cli import run

NETWORKS = {f"n{k}": np.random.default_rng(k).normal(size=(5, 8, 3)) for k in range(4)}
METRICS = {f"alpha-{a}": rs.GaussianShapeMetric(a, n_starts=1) for a in (0, 1, 2)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, rs.DistanceMatrix]:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"day": [1, 2, 3, 4], "matrix": "mine"})
    cohort = rs.Cohort.from_networks(NETWORKS, metadata=frame)
    return rs.pairwise_many(cohort, METRICS, store="sweep")


def test_all_matrices_in_one_table(
    folder: dict[str, rs.DistanceMatrix], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["embed", "sweep", "-o", "e.csv", "--curve", "c.csv", "--json"]) == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert [one["matrix"] for one in told["matrices"]] == list(folder)
    assert "alpha-1: 4 networks by metric MDS" in captured.err
    table = pd.read_csv("e.csv")
    assert table.columns.tolist() == ["network", "matrix", "day", "x0", "x1"]
    assert table["matrix"].tolist() == [name for name in folder for _ in NETWORKS]
    assert pd.read_csv("c.csv")["matrix"].unique().tolist() == list(folder)
    target = None
    for name, D in folder.items():
        found = rs.embed(D)
        points = found.points
        if target is not None:
            points = rs.analysis.align_embeddings(found, target).points
        written = table.loc[table["matrix"] == name, ["x0", "x1"]].to_numpy()
        np.testing.assert_array_equal(written, points)
        target = points


@pytest.mark.usefixtures("folder")
def test_the_first_matrix_is_rotated_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["embed", "sweep/alpha-0", "-o", "one.csv", "--quiet"]) == 0
    assert run(["embed", "sweep", "-o", "e.npz", "--align-to", "one.csv", "--quiet"]) == 0
    points = pd.read_csv("one.csv")[["x0", "x1"]].to_numpy()
    with np.load("e.npz") as stored:
        found = np.stack([stored["x0"], stored["x1"]], axis=1)[: len(points)]
        assert stored["matrix"][0] == "alpha-0"
    np.testing.assert_allclose(found, points, atol=1e-12)
    assert run(["embed", "sweep", "-o", "f.csv", "--align-to", "e.npz"]) == 1
    assert "not an embedding of the same networks" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_other_directories_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert run(["embed", "empty", "-o", "e.csv"]) == 1
    assert "empty contains no distance store" in capsys.readouterr().err
    metric = rs.GaussianShapeMetric(n_starts=1)
    rs.pairwise(dict(list(NETWORKS.items())[:3]), metric, store=Path("sweep", "few"))
    assert run(["embed", "sweep", "-o", "e.csv"]) == 1
    assert "All matrices must have the same networks" in capsys.readouterr().err
    assert not Path("e.csv").exists()


@pytest.mark.parametrize("command", [["repair", "-o", "r.npz"], ["neighbors"]])
@pytest.mark.usefixtures("folder")
def test_other_commands_ask_for_one_matrix(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command[0], "sweep", *command[1:]]) == 1
    words = capsys.readouterr().err
    assert "sweep holds several matrices: alpha-0, alpha-1, alpha-2. Choose one, as in" in words
