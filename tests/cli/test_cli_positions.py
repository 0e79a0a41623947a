"""Time series and maps on the command line: import, info and pairwise with their metrics."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import repshape as rs
from repshape.cli import run
from repshape.metrics.identity import restore

SERIES = {k: np.random.default_rng(k).normal(size=(2, 12, 4, 3)).cumsum(axis=2) for k in range(3)}
MAPS = {k: np.random.default_rng(k).normal(size=(2, 6, 3, 3, 2)) for k in range(3)}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for k in SERIES:
        np.save(f"s{k}.npy", SERIES[k])
        np.savez(f"m{k}.npz", trials=MAPS[k], conditions=["a", "b"], neurons=["u", "v"])


def test_files_of_time_series_and_maps_are_imported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "s0.npy", "s1.npy", "-o", "s.zarr", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["neurons"] == [3, 3]
    cohort = rs.Cohort.open("s.zarr")
    assert cohort["s1"].positions == (4,)
    assert cohort["s1"].fingerprint == rs.PositionNetwork(SERIES[1]).fingerprint
    assert run(["import", "m0.npz", "m1.npz", "-o", "m.zarr"]) == 0
    maps = rs.Cohort.open("m.zarr")["m1"]
    assert (maps.positions, maps.conditions, maps.neurons) == ((3, 3), ("a", "b"), ("u", "v"))
    assert run(["info", "m.zarr"]) == 0
    capsys.readouterr()
    assert run(["info", "m0.npz", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert (described["positions"], described["trials"], described["neurons"]) == (
        [3, 3],
        [6, 6],
        2,
    )


def test_all_layouts_of_a_file_are_the_same_network() -> None:
    x = SERIES[0]
    flat = x.reshape(2, 12, -1)
    covariances = np.stack([np.cov(one.T, bias=True) for one in flat])
    factors = np.stack([(one - one.mean(axis=0)).T / np.sqrt(12) for one in flat])
    np.savez("pooled.npz", trials=x.reshape(24, 4, 3), n_trials=[12, 12])
    np.savez("full.npz", means=x.mean(axis=1), covariances=covariances)
    np.savez("thin.npz", means=x.mean(axis=1), factors=factors, neurons=["u", "v", "w"])
    np.savez("points.npz", means=MAPS[0].mean(axis=1))
    assert rs.io.read_network("pooled.npz").fingerprint == rs.PositionNetwork(x).fingerprint
    metric = rs.ProcessShapeMetric()
    for name in ("full.npz", "thin.npz"):
        assert metric.distance(rs.io.read_network(name), x) < 1e-6
    assert rs.io.read_network("thin.npz").neurons == ("u", "v", "w")
    points = rs.io.read_network("points.npz")
    assert points.positions == (3, 3)
    assert points.fingerprint == rs.PositionNetwork.points(MAPS[0].mean(axis=1)).fingerprint
    np.savez("old.npz", trials=x[:, :, 0], n_trials=[12, 12])  # rows of all conditions
    assert rs.io.read_network("old.npz").fingerprint == rs.Trials(x[:, :, 0]).fingerprint


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("s", ["--metric", "process"], rs.ProcessShapeMetric()),
        (
            "s",
            ["--metric", "process", "--mode", "causal", "--order", "1", "--alpha", "0.5"],
            rs.ProcessShapeMetric(0.5, mode="causal", order=1),
        ),
        ("m", ["--metric", "conv", "--shifts"], rs.ConvShapeMetric(shifts=True)),
        ("m", ["--metric", "conv", "--mode", "joint"], rs.ConvShapeMetric(mode="joint")),
    ],
)
def test_pairwise_uses_the_metric_that_the_options_ask_for(
    kind: str, options: list[str], expected: rs.ProcessShapeMetric
) -> None:
    ending = "npy" if kind == "s" else "npz"
    files = [f"{kind}{k}.{ending}" for k in range(3)]
    assert run(["import", *files, "-o", "c.zarr"]) == 0
    assert run(["pairwise", "c.zarr", "-o", "d.npz", *options]) == 0
    D = rs.DistanceMatrix.load("d.npz")
    assert repr(restore(D.description)) == repr(expected)
    networks = SERIES if kind == "s" else MAPS
    np.testing.assert_array_equal(
        D.values, rs.pairwise(list(networks.values()), expected, progress=False).values
    )


def test_the_ground_metric_is_an_option() -> None:
    for k in SERIES:
        np.save(f"x{k}.npy", SERIES[k][:, :, 0])
    assert run(["import", *(f"x{k}.npy" for k in range(3)), "-o", "c.zarr"]) == 0
    options = ["--metric", "covariance", "--ground", "log-euclidean"]
    assert run(["pairwise", "c.zarr", "-o", "d.npz", *options]) == 0
    found = rs.DistanceMatrix.load("d.npz").values[0, 1]
    metric = rs.CovarianceShapeMetric(ground="log-euclidean")
    assert found == metric.distance(SERIES[0][:, :, 0], SERIES[1][:, :, 0])


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--mode", "joint"], 2, "The gaussian metric has no parameter 'mode'"),
        (["--metric", "process", "--order", "2"], 2, "belongs to mode='causal'"),
        (["--metric", "process", "--shifts"], 2, "The process metric has no parameter 'shifts'"),
        (["--metric", "conv", "--mode", "causal"], 2, "must be one of 'marginal', 'joint'"),
        ([], 1, "Got PositionNetwork"),
        (["--metric", "conv"], 1, "must be maps"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", "s0.npy", "s1.npy", "-o", "s.zarr"]) == 0
    capsys.readouterr()
    assert run(["pairwise", "s.zarr", "-o", "d.npz", *options]) == code
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not Path("d.npz").exists()
