"""The command `repshape cross`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import repshape as rs
from repshape.cli import run


@pytest.fixture
def cohorts(tmp_path: Path) -> tuple[str, str]:
    rng = np.random.default_rng(0)
    for name, count in (("a", 3), ("b", 4)):
        networks = {f"layer{k}": rng.normal(size=(6, 20, 3)) for k in range(count)}
        rs.Cohort.from_networks(networks).save(tmp_path / name)
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_a_file_and_a_store_hold_the_numbers_of_the_library(
    cohorts: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metric = rs.GaussianShapeMetric(0.5, preprocess=rs.Preprocess(n_components=2))
    expected = rs.cross(*map(rs.Cohort.open, cohorts), metric)
    options = ["--alpha", "0.5", "--components", "2", "--json"]
    for out in (tmp_path / "c.npz", tmp_path / "c.zarr"):
        assert run(["cross", *cohorts, "-o", str(out), *options]) == 0
        captured = capsys.readouterr()
        told = json.loads(captured.out)
        assert (told["rows"], told["columns"], told["complete"]) == (3, 4, True)
        C = rs.CrossDistances.load(out)
        np.testing.assert_array_equal(C.values, expected.values)
        assert told["smallest"] == C.values.min()
        assert "CrossDistances(3 x 4 networks" in captured.err
        assert run(["info", str(out), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["kind"] == "cross"


def test_shards_resume_and_an_estimate(
    cohorts: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "c.zarr")
    assert run(["cross", *cohorts, "-o", out, "--tile", "2", "--estimate"]) == 0
    assert "12 pairs" in capsys.readouterr().err
    assert not Path(out).exists()
    assert run(["cross", *cohorts, "-o", out, "--tile", "2", "--shard", "1/2"]) == 0
    capsys.readouterr()
    assert run(["cross", *cohorts, "-o", out]) == 0
    assert "of 12 pairs are known already" in capsys.readouterr().err
    C = rs.CrossDistances.load(out)
    assert C.complete
    assert run(["cross", *cohorts, "-o", out, "--effort", "brief"]) == 1
    assert "asks for 'brief'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--shard", "1/2"], "Shards and Dask need a store"),
        (["--effort", "short"], "'effort' parameter must be"),
        (["--components", "2", "--metric", "nothing"], "nothing"),
    ],
)
def test_bad_usage_exits_with_two(
    cohorts: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    words: str,
) -> None:
    assert run(["cross", *cohorts, "-o", str(tmp_path / "c.npz"), *options]) == 2
    assert words in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not (tmp_path / "c.npz").exists()
