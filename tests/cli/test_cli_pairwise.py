"""pairwise on the command line: what its options mean, and which of them are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from repshape.cli import run
from repshape.engine.run import pairwise
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.preprocess import Preprocess


@pytest.fixture
def cohort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    monkeypatch.chdir(tmp_path)
    made = Cohort()
    for k in range(4):
        made.add(f"n{k}", np.random.default_rng(k).normal(size=(5, 8, 3)), day=k)
    return made.save("c.zarr")


def test_options_reach_the_metric(cohort: Cohort) -> None:
    options = ["--alpha", "0.5", "--group", "rotation", "--components", "2", "--scale"]
    options += ["--whitening", "0.5", "--starts", "3", "--seed", "7", "--no-polish"]
    assert run(["pairwise", "c.zarr", "-o", "d.npz", "--quiet", *options]) == 0
    preprocess = Preprocess(scale=True, n_components=2, whitening=0.5)
    metric = GaussianShapeMetric(
        0.5, group="rotation", preprocess=preprocess, n_starts=3, random_state=7
    )
    expected = pairwise(cohort, metric, polish=False)
    found = DistanceMatrix.load("d.npz")
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.description == expected.description


@pytest.mark.parametrize(
    ("options", "preprocess"),
    [
        ([], None),
        (["--no-center"], None),
        (["--center"], Preprocess()),
        (["--transform", "sqrt"], Preprocess(transform="sqrt")),
        (["--transform", "log1p", "--no-center"], Preprocess(center=False, transform="log1p")),
        (["--scale", "--no-center"], Preprocess(center=False, scale=True)),
        (["--components", "2", "--center"], Preprocess(n_components=2)),
    ],
)
@pytest.mark.usefixtures("cohort")
def test_options_of_preprocessing(options: list[str], preprocess: Preprocess | None) -> None:
    counts = Cohort()
    for k in range(3):
        counts.add(f"n{k}", np.random.default_rng(k).poisson(4.0, size=(5, 8, 3)))
    saved = counts.save("counts.zarr")
    assert run(["pairwise", "counts.zarr", "-o", "d.npz", "--quiet", *options]) == 0
    found = DistanceMatrix.load("d.npz")
    expected = pairwise(saved, GaussianShapeMetric(preprocess=preprocess))
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.description == expected.description


@pytest.mark.usefixtures("cohort")
def test_alphas_that_are_close_have_matrices_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    alphas = ["--alpha", "1", "--alpha", "1.0000000001", "--alpha", "0.1", "--alpha", "1e-9"]
    assert run(["pairwise", "c.zarr", "-o", "sweep", *alphas, "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)["matrices"]
    names = ["alpha-1", "alpha-1.0000000001", "alpha-0.1", "alpha-1e-09"]
    assert [Path(one["path"]).name for one in told] == names
    for name, alpha in zip(names, [1.0, 1.0000000001, 0.1, 1e-9], strict=True):
        D = DistanceMatrix.load(Path("sweep", name))
        assert D.description["parameters"]["alpha"] == alpha


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--alpha", "1", "--alpha", "1.0"], "Each --alpha must be given once. Got 1 more than"),
        (["--alpha", "0", "--alpha", "-0.0"], "Each --alpha must be given once. Got 0 more than"),
        (["--components", "0"], "--components"),
        (["--components", "x"], "--components"),
        (["--whitening", "1.5"], "--whitening"),
        (["--whitening", "nan"], "--whitening"),
        (["--transform", "root"], "'transform' parameter of Preprocess must be one of 'sqrt'"),
        (["--workers", "0"], "--workers"),
        (["--starts", "²"], "'n_starts' parameter of GaussianShapeMetric must be"),
        (["--starts", "٣"], "'n_starts' parameter of GaussianShapeMetric must be"),
        (["--starts", "0"], "'n_starts' parameter of GaussianShapeMetric must be"),
        (["--starts", "many"], "'n_starts' parameter of GaussianShapeMetric must be"),
        (["--tile", "0"], "--tile"),
        (["--memory", "lots"], "Memory must be a size such as 512M or 4G"),
        (["--memory", "0"], "Memory must be a size such as 512M or 4G"),
        (["--memory", "²G"], "Memory must be a size such as 512M or 4G"),
        (["--memory", "9" * 400 + "G"], "Memory must be a size such as 512M or 4G"),
        (["--shard", "3/2"], "A shard must be i/N"),
        (["--seed", "-1"], "'random_state' parameter of GaussianShapeMetric must be"),
        (["--max-iter", "0"], "'max_iter' parameter of GaussianShapeMetric must be"),
        (["--tol", "2"], "'tol' parameter of GaussianShapeMetric must be"),
        (["--shard", "1/2", "-o", "d.npz"], "Shards and Dask need a store"),
    ],
)
@pytest.mark.usefixtures("cohort")
def test_bad_options_exit_2_with_a_sentence(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pairwise", "c.zarr", "-o", "d.zarr", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    words = " ".join(captured.err.split())
    assert "Error: Invalid value" in words
    assert sentence in words
    assert sorted(one.name for one in Path().iterdir()) == ["c.zarr"]


@pytest.mark.usefixtures("cohort")
@pytest.mark.parametrize("tile", ["4", "999999"])
def test_a_tile_may_hold_all_networks(tile: str) -> None:
    assert run(["pairwise", "c.zarr", "-o", "d.zarr", "--tile", tile, "--quiet"]) == 0
    assert DistanceMatrix.load("d.zarr").complete


@pytest.mark.usefixtures("cohort")
def test_what_is_wrong_with_the_data_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pairwise", "c.zarr", "-o", "d.zarr", "--components", "9", "--quiet"]) == 1
    words = capsys.readouterr().err
    assert "In network 'n0': " in words
    assert "must not exceed the number of neurons. Got 9 for a network of 3 neurons" in words
    assert not Path("d.zarr").exists()
    assert run(["pairwise", "c.zarr", "-o", "d.zarr", "--transform", "sqrt", "--quiet"]) == 1
    assert "In network 'n0': The transform 'sqrt' needs responses" in capsys.readouterr().err


def test_estimate_writes_nothing(cohort: Cohort, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))
    command = ["pairwise", "c.zarr", "-o", "d.zarr", "--workers", "2", "--estimate"]
    assert run(command) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "6 pairs"
    assert [line.partition(":")[0] for line in told[1:5]] == [
        "time",
        "processor time",
        "memory",
        "disk",
    ]
    assert run([*command, "--alpha", "0", "--alpha", "1", "--json", "--quiet"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["n_pairs"], data["n_known"], data["n_sampled_pairs"]) == (12, 0, 12)
    assert data["seconds"] == data["cpu_seconds"] / 2 > 0
    assert data["disk"] > 0
    assert sorted(Path().rglob("*")) == before


def test_networks_are_added_replaced_and_removed(
    cohort: Cohort, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["pairwise", "c.zarr", "-o", "d.zarr"]
    assert run(command) == 0
    assert "known already" not in capsys.readouterr().err
    cohort.add("n4", np.random.default_rng(4).normal(size=(5, 8, 3)), day=4)
    assert run(command) == 0
    assert "6 of 10 pairs are known already; 4 are left to solve." in capsys.readouterr().err
    cohort.replace("n1", np.random.default_rng(9).normal(size=(5, 8, 3)))
    cohort.remove("n2")
    assert run(command) == 1
    assert "the responses of network 'n1' have changed" in capsys.readouterr().err
    assert run([*command, "--replace", "n1"]) == 1
    assert "it has a network 'n2', which the cohort lacks" in capsys.readouterr().err
    assert run([*command, "--replace", "n1", "--remove", "n2", "--json"]) == 0
    captured = capsys.readouterr()
    assert "3 of 6 pairs are known already; 3 are left to solve." in captured.err
    assert json.loads(captured.out)["known_pairs"] == 3
    D = DistanceMatrix.load("d.zarr")
    assert D.labels == ("n0", "n1", "n3", "n4")
    expected = pairwise(Cohort.open("c.zarr"), GaussianShapeMetric())
    np.testing.assert_allclose(D.values, expected.values, rtol=1e-6)
    assert run(["pairwise", "c.zarr", "-o", "d.npz", "--replace", "n1"]) == 1
    assert "need a store" in capsys.readouterr().err
