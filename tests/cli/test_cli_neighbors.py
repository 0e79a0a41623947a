"""neighbors --search: neighbours of a cohort on disk without its matrix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape.cli import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("search")
    rng = np.random.default_rng(0)
    networks = []
    for _ in range(3):
        mu, A = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3))
        for _ in range(5):
            nu, B = mu + 0.2 * rng.normal(size=mu.shape), A + 0.2 * rng.normal(size=A.shape)
            networks.append(rs.Gaussians.from_factors(nu, B))
    frame = pd.DataFrame({"family": [f"f{k // 5}" for k in range(15)], "age": np.arange(15.0)})
    labels = [f"n{k}" for k in range(15)]
    cohort = rs.Cohort.from_networks(networks, labels, frame)
    cohort.save(place / "c.zarr")
    cohort[labels[1:]].save(place / "old.zarr")
    cohort[labels[:1]].save(place / "new.zarr")
    rs.pairwise(cohort, rs.GaussianShapeMetric(0.5), polish=False).save(place / "half.npz")
    return place


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def summary_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["neighbors", *arguments, "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    summary: dict[str, Any] = json.loads(captured.out)
    return summary


def test_search_equals_the_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    of_matrix = summary_of(["half.npz", "-k", "3"], capsys)["neighbors"]
    found = summary_of(["--search", "c.zarr", "-k", "3", "--alpha", "0.5", "-o", "n.csv"], capsys)
    assert found["neighbors"] == of_matrix
    assert found["solved"] < found["pairs"] == 105
    assert found["files"] == ["n.csv"]
    table = pd.read_csv("n.csv")
    assert table["neighbor"].tolist() == [row["neighbor"] for row in of_matrix]
    like = summary_of(["--search", "c.zarr", "-k", "3", "--like", "half.npz"], capsys)
    assert like["neighbors"] == of_matrix
    one = summary_of(["--search", "c.zarr", "-k", "3", "--alpha", "0.5", "--of", "n4"], capsys)
    assert one["neighbors"] == [row for row in of_matrix if row["network"] == "n4"]


def test_radius(capsys: pytest.CaptureFixture[str]) -> None:
    D = rs.DistanceMatrix.load("half.npz").values
    arguments = ["--search", "c.zarr", "--alpha", "0.5", "--radius", "1.0"]
    assert len(summary_of(arguments, capsys)["neighbors"]) == (D <= 1.0).sum() - 15


def test_prediction_for_new_networks(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--search", "old.zarr", "--query", "new.zarr", "-k", "4"]
    found = summary_of([*arguments, "--target", "family", "-o", "p.json"], capsys)
    assert found["predictions"] == [{"network": "n0", "prediction": "f0"}]
    assert found["cohort"] == 14
    aged = summary_of([*arguments, "--target", "age"], capsys)
    assert aged["predictions"][0]["prediction"] == pytest.approx(2.5)


def test_store_shards_and_words(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["neighbors", "--search", "c.zarr", "-k", "2", "--store", "pairs"]
    for shard in ("1/2", "2/2"):
        assert run([*arguments, "--shard", shard]) == 0
    capsys.readouterr()
    assert run(arguments) == 0
    words = capsys.readouterr().err
    assert words.startswith("2 nearest neighbours of 15 networks: ")
    assert "n0: " in words
    assert Path("pairs", "pairs").is_dir()


def test_a_grown_cohort_reuses_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["-k", "2", "--store", "grown"]
    old = summary_of(["--search", "old.zarr", *arguments], capsys)
    assert old["reused_pairs"] == 0
    assert run(["neighbors", "--search", "c.zarr", *arguments]) == 0
    words = capsys.readouterr().err.splitlines()[0]
    assert words.endswith(f"of which {old['solved']} were known already.")
    changed = rs.Cohort.open("c.zarr").save("changed.zarr")
    changed.replace("n0", np.random.default_rng(1).normal(size=(4, 5, 3)))
    assert run(["neighbors", "--search", "changed.zarr", *arguments]) == 1
    assert "the responses of network 'n0' have changed" in capsys.readouterr().err
    found = summary_of(["--search", "changed.zarr", *arguments, "--replace", "n0"], capsys)
    fresh = summary_of(["--search", "changed.zarr", "-k", "2"], capsys)
    assert found["neighbors"] == fresh["neighbors"]
    assert found["reused_pairs"] > 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["half.npz", "--search", "c.zarr"],
        ["half.npz", "--query", "new.zarr"],
        ["half.npz", "--alpha", "1"],
        ["half.npz", "--replace", "n0"],
        ["--search", "c.zarr", "--groups", "family"],
        ["--search", "c.zarr", "--alpha", "3"],
        ["--search", "c.zarr", "--metric", "x"],
        ["--search", "c.zarr", "--like", "half.npz", "--alpha", "1"],
        ["--search", "c.zarr", "--query", "new.zarr", "--of", "n0"],
        ["--search", "c.zarr", "--query", "new.zarr", "--store", "s"],
    ],
)
def test_bad_usage_exits_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["neighbors", *arguments]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--search", "none.zarr"], "none.zarr"),
        (["--search", "c.zarr", "-k", "15"], "at most the number of other networks, 14"),
        (["--search", "c.zarr", "--shard", "1/2"], "Shards need a store"),
        (["--search", "c.zarr", "--replace", "n0"], "'replace' parameter needs a store"),
        (["--search", "c.zarr", "--of", "x"], "no network named 'x'"),
        (["--search", "c.zarr", "--target", "x"], "no column named 'x'"),
    ],
)
def test_failures_are_one_line(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["neighbors", *arguments]) == 1
    words = capsys.readouterr().err
    assert reason in words
    assert words.count("\n") == 1
