"""The page about two sets of networks: what it says, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from report_support import read_data
from repshape.cli import run
from repshape.errors import InputError
from repshape.report.page import read_static


@pytest.fixture(scope="module")
def compared() -> rs.inference.ModelComparison:
    rng = np.random.default_rng(0)
    population, other = rng.normal(size=(2, 8, 2))
    brains = {
        f"mouse {k}": (population + 0.3 * rng.normal(size=(8, 2)))[:, None]
        + 0.2 * rng.normal(size=(8, 16, 2))
        for k in range(7)
    }
    metric = rs.GaussianShapeMetric(2.0)
    models = {"right": population, "<wrong>": other}
    return rs.inference.models(brains, models, metric, n_chance=19, progress=False)


@pytest.fixture
def block() -> rs.CrossDistances:
    values = [[1.0, 3.0, 2.0], [4.0, np.nan, 0.5]]
    return rs.CrossDistances(values, ["a", "b"], ["a", "c", "<d>"], missing=True)


class TestCross:
    """Distances between two sets."""

    def test_rows_and_columns_keep_their_order(
        self, block: rs.CrossDistances, tmp_path: Path
    ) -> None:
        page = rs.write_report(block, tmp_path / "c.html").path
        data = read_data(page.read_text())
        assert data["rows"] == ["a", "b"]
        assert data["columns"] == ["a", "c", "<d>"]
        assert data["nearest"] == [0, 2]
        assert (data["low"], data["high"], data["missing"]) == (0.5, 4.0, 1)
        assert "<d>" not in page.read_text()  # names are escaped everywhere

    def test_a_file_and_a_store_give_the_page_of_the_object(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        rng = np.random.default_rng(0)
        sets = [{f"{name}{k}": rng.normal(size=(5, 8, 2)) for k in range(2)} for name in "ab"]
        C = rs.cross(*sets, rs.GaussianShapeMetric(2.0), store="c.zarr")
        C.save("c.npz")
        pages = [rs.write_report(given, "c.html").path for given in (C, "c.npz", ["c.zarr"])]
        assert len(pages) == 3
        assert run(["report", "c.npz", "-o", "d.html", "--quiet"]) == 0
        assert read_data(Path("d.html").read_text()) == read_data(pages[0].read_text())

    def test_layers_of_the_same_name_are_counted(self, tmp_path: Path) -> None:
        names = ["conv1", "conv2"]
        found = rs.write_report(
            rs.CrossDistances([[1.0, 2.0], [1.0, 2.0]], names, names), tmp_path / "c.html"
        )
        assert "1 of 2 rows are nearest to the column of the same name." in found.sentences

    def test_options_of_one_set_are_refused(self, block: rs.CrossDistances, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="'labels' parameter is about one set"):
            rs.write_report(block, tmp_path / "c.html", labels="area")
        large = rs.CrossDistances(np.zeros((501, 500)))
        with pytest.raises(InputError, match="at most 250000 pairs"):
            rs.write_report(large, tmp_path / "c.html")


class TestModels:
    """Models compared with brains."""

    def test_the_page_says_what_the_result_says(
        self, compared: rs.inference.ModelComparison, tmp_path: Path
    ) -> None:
        found = rs.write_report(compared, tmp_path / "m.html")
        text = found.path.read_text()
        assert list(found.sentences) == compared.words()
        for sentence in compared.words():
            escaped = sentence.replace("<", "&lt;").replace(">", "&gt;")
            assert escaped in text
        models = read_data(found.path.read_text())["models"]
        assert models["names"] == ["right", "<wrong>"]  # the nearest first
        assert models["nearer"] == [[0, 1], [-1, 0]]
        expected = compared.scores.loc["right", ["distance", "low", "high"]].tolist()
        assert models["values"][0] == expected
        assert [row[0] for row in models["ceilings"]] == compared.ceilings["distance"].tolist()

    def test_verdicts_follow_the_tests(
        self, compared: rs.inference.ModelComparison, tmp_path: Path
    ) -> None:
        text = rs.write_report(compared, tmp_path / "m.html").path.read_text()
        verdicts = re.findall(r'class="verdict (\w+)">([^<]+)<', text)
        assert verdicts == [("good", "Differences"), ("good", "Close enough"), ("good", "Ceilings")]

    def test_a_saved_comparison_is_the_same(
        self, compared: rs.inference.ModelComparison, tmp_path: Path
    ) -> None:
        compared.save(tmp_path / "m.json")
        loaded = rs.inference.ModelComparison.load(tmp_path / "m.json")
        assert str(loaded) == str(compared)
        for name in ("scores", "ceilings", "differences"):
            pd.testing.assert_frame_equal(getattr(loaded, name), getattr(compared, name))
        np.testing.assert_array_equal(loaded.distances, compared.distances)
        np.testing.assert_array_equal(loaded.between_brains, compared.between_brains)
        assert loaded.chance == compared.chance
        assert loaded.summary().keys() == compared.summary().keys()
        page = rs.write_report(tmp_path / "m.json", tmp_path / "m.html").path
        direct = rs.write_report(compared, tmp_path / "d.html").path
        assert read_data(page.read_text()) == read_data(direct.read_text())

    def test_one_model_alone(self, compared: rs.inference.ModelComparison, tmp_path: Path) -> None:
        rng = np.random.default_rng(1)
        brains = [rng.normal(size=(5, 16, 2)) for _ in range(3)]
        alone = rs.inference.models(
            brains, {"m": np.zeros((5, 2))}, rs.GaussianShapeMetric(2.0), n_chance=9
        )
        alone.save(tmp_path / "m.json")
        loaded = rs.inference.ModelComparison.load(tmp_path / "m.json")
        assert list(loaded.differences.columns) == list(compared.differences.columns)
        assert loaded.words() == alone.words()
        rs.write_report(loaded, tmp_path / "m.html")

    def test_other_json_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "m.json").write_text('{"format": "another"}')
        with pytest.raises(InputError, match="does not hold a comparison of models"):
            rs.write_report(tmp_path / "m.json", tmp_path / "m.html")


def test_scripts_execute_no_text() -> None:
    for script in ("helpers.js", "maps.js", "saving.js", "cross.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", read_static(script)
        )
