"""The command line as a whole, and the demo: exit codes, messages and files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import repshape.demo
from repshape.cli import run
from repshape.cli.app import COMMANDS
from repshape.datasets import load_vae_distances, vaes
from repshape.demo import Demo, VaeDemo, run_demo, run_vae_demo, save_demo
from repshape.matrix.distances import DistanceMatrix
from repshape.plots import grid_colours


@pytest.fixture(scope="module")
def small() -> Demo:
    """A grid small enough to be quick, and large enough to determine a quadratic map."""
    return run_demo(5, 3, n_trials=12)


@pytest.fixture(scope="module")
def trained() -> VaeDemo:
    """The part about trained networks, of one seed."""
    every = {alpha: load_vae_distances(alpha) for alpha in (0.0, 1.0, 2.0)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("repshape.demo.vaes.LIVE_SEEDS", 1)
        patch.setattr(vaes, "load_vae_distances", lambda alpha: every[alpha].select(seed=0))
        return run_vae_demo(progress=False)


@pytest.fixture
def _quick(small: Demo, trained: VaeDemo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repshape.demo, "run_demo", lambda **_: small)
    monkeypatch.setattr(repshape.demo, "run_vae_demo", lambda **_: trained)
    monkeypatch.setattr("repshape.demo.vaes.MAX_PAIRS", 5)  # to draw; each is aligned again


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert re.fullmatch(r"repshape \S+\n", capsys.readouterr().out)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    listed = re.findall(r"^  (\w+)  ", shown.partition("Commands:")[2], re.MULTILINE)
    assert listed == list(COMMANDS)
    assert "..." not in shown.partition("Commands:")[2]  # every summary fits its line


@pytest.mark.parametrize("arguments", [["demo", "--unknown"], ["nothing"], ["demo", "--out"]])
def test_bad_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Error" in captured.err


def test_failure_exits_1_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(tmp_path / "nothing")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"repshape: There is nothing at .*nothing\.\n", captured.err)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_same_shape(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--json" in shown
    assert "-q, --quiet" in shown


@pytest.mark.usefixtures("_quick")
def test_words_go_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "15 networks of two neurons: 5 noise correlations x 3 noise scales" in captured.err
    for panel in "CDE":
        assert f"Figure 2 {panel} holds: " in captured.err
    page = (tmp_path / "report.html").resolve().as_uri()
    assert f"Open in a browser: {page} and " in captured.err


@pytest.mark.usefixtures("_quick")
def test_json_is_one_object_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--out", str(tmp_path), "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    summary = json.loads(captured.out)
    assert summary["networks"] == 15
    assert [panel["alpha"] for panel in summary["panels"]] == [1.0, 2.0, 0.0]
    assert [finding["holds"] for finding in summary["findings"]] == [True, True, True]
    assert all(Path(file).stat().st_size for file in summary["files"])


def test_demo_files_hold_what_was_computed(small: Demo, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    files = {file.name: file for file in save_demo(small, folder)}
    assert sorted(files.values()) == sorted(folder.iterdir())
    assert files["toy_networks.png"].read_bytes().startswith(b"\x89PNG")
    assert json.loads(files["summary.json"].read_text()) == small.summary()
    for name, distances in small.matrices.items():
        for suffix in (".npz", ".csv"):
            D = DistanceMatrix.load(files[f"distances_{name}{suffix}"])
            np.testing.assert_array_equal(D.values, distances.values)
    for panel in small.panels:
        stem = f"alpha_{panel.alpha:g}"
        table = pd.read_csv(files[f"embedding_{stem}.csv"], index_col="network")
        assert table.columns.tolist() == ["correlation", "scale", "x0", "x1"]
        np.testing.assert_allclose(table[["x0", "x1"]], panel.embedding.points, rtol=1e-12)


def test_demo_sees_what_the_paper_saw(small: Demo) -> None:
    assert [panel.alpha for panel in small.panels] == [1.0, 2.0, 0.0]
    full, means, covariances = (panel.recovery for panel in small.panels)
    assert full.r2_correlation > 0.95
    assert full.r2_scale > 0.95
    assert full.smallest_opposite > 0.1
    assert means.largest_distance < 1e-6
    assert covariances.largest_opposite < 1e-6
    assert covariances.r2_correlation < 0.05
    assert all(finding.holds for finding in small.findings)


def test_demo_says_which_r2_it_prints(small: Demo) -> None:
    """A fit to all networks; the page has predictions of held-out networks, which are lower."""
    panel = small.panels[0]
    x, y = panel.embedding.points.T
    terms = np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y])
    scale = small.toy.metadata["scale"].to_numpy()
    left = scale - terms @ np.linalg.lstsq(terms, scale)[0]
    fitted = 1.0 - left.var() / scale.var()
    before, printed, after = small.words().partition("R2 of scale ")
    assert printed
    assert float(after.split()[0]) == pytest.approx(fitted, abs=5e-4)
    assert "how well a quadratic function of the embedded points fits a parameter" in before
    assert "The R2 of the page is that of predictions from nearest neighbours" in before


def test_demo_ends_with_a_page_of_all_matrices(small: Demo, tmp_path: Path) -> None:
    first = save_demo(small, tmp_path)[0]
    page = first.read_text(encoding="utf-8")
    for name in ("Gaussian, α = 0", "Gaussian, α = 1", "Gaussian, α = 2", "Energy, q = 1"):
        assert page.count(f">{name}<") > 1
    assert "The toy networks of Duong et al. (2023)" in page


def test_colours_are_those_of_the_corners() -> None:
    colours = grid_colours([-0.9, 0.9, -0.9, 0.9], [0.5, 0.5, 2.0, 2.0])
    assert len(np.unique(colours, axis=0)) == 4
    assert ((colours >= 0) & (colours <= 1)).all()
