"""The report without a browser: what is checked, said, drawn and escaped."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from report_support import line, read_data, unpack
from repshape import write_report
from repshape._colours import SHAPES
from repshape.analysis import embedding
from repshape.cli import run
from repshape.cli.report import ReportOptions
from repshape.errors import InputError, StorageError
from repshape.metrics import identity
from repshape.plots import EmbeddingPicture
from repshape.report import sources
from repshape.report.data import aligned_points, near_pairs, page_data
from repshape.report.info import search_words
from repshape.report.page import ESCAPES, SCRIPTS, STYLE, inert_json, read_static
from repshape.report.quality import FULL, assess, check_matrix
from repshape.report.sources import Source, read_inputs
from repshape.report.study import Plan, study


class TestQuality:
    def test_a_metric_needs_no_repair(self) -> None:
        found = check_matrix(Source("a", line([0, 1, 3])), 0)
        checks = {topic: verdict for topic, verdict, _ in found.checks}
        assert checks["Triangles"] == checks["Repair"] == checks["Complete"] == "good"

    def test_broken_triangles_are_reported_and_repaired_for_the_plane(self) -> None:
        broken = rs.DistanceMatrix([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
        found = check_matrix(Source("a", broken), 0)
        checks = {topic: (verdict, words) for topic, verdict, words in found.checks}
        assert checks["Triangles"] == (
            "bad",
            "1 of 3 triangle inequalities is violated, by up to 40 % of the largest distance.",
        )
        assert checks["Repair"][0] == "note"
        assert found.embedding is not None
        assert found.embedding.stress < 1e-6  # the repaired triangle is flat

    def test_a_matrix_in_the_making_has_no_plane(self) -> None:
        D = rs.DistanceMatrix([[0, np.nan], [np.nan, 0]], missing=True)
        found = check_matrix(Source("a", D), 0)
        assert found.embedding is None
        assert found.checks[0] == ("Complete", "bad", "1 of 1 pair is not computed yet.")

    def test_clusters_lie_beside_each_other(self) -> None:
        order = check_matrix(Source("a", line([0, 10, 1, 11, 2, 12])), 0).order.tolist()
        assert sorted(order[:3]) in ([0, 2, 4], [1, 3, 5])

    def test_every_column_is_predicted_from_every_matrix(self) -> None:
        places = [0.0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]
        near = line(places, place=places, group=list("aaaabbbbcccc"), same=["x"] * 12)
        inputs = read_inputs({"near": near, "far": line(places[::-1])})
        found = [quality.predictions for quality in assess(inputs, 0, False)]
        assert [[one.source for one in row] for row in found] == [["near"] * 3, ["far"] * 3]
        assert [one.column for one in found[0]] == ["place", "group", "same"]
        for row in found:
            place, group, same = row
            assert place.found is not None
            assert place.found.score == "R2"
            assert group.found is not None
            assert group.found.score == "accuracy"
            assert (same.found, same.reason) == (None, "All networks have the same value.")

    def test_integers_are_numbers_and_truth_values_are_classes(self) -> None:
        places = [0.0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]
        D = line(places, age=list(range(12)), left=[True, False] * 6)
        age, left = assess(read_inputs(D), 0, False)[0].predictions
        assert age.found is not None
        assert age.found.estimate == rs.analysis.knn_regress(D, np.arange(12)).estimate
        assert left.found is not None
        assert left.found.score == "accuracy"


class TestData:
    def test_distances_keep_every_bit(self, cohort: rs.Cohort, tmp_path: Path) -> None:
        D = rs.pairwise(cohort, rs.GaussianShapeMetric())
        report = rs.write_report(D, tmp_path / "a.html")
        (matrix,) = read_data(report.path.read_text(encoding="utf-8"))["matrices"]
        np.testing.assert_array_equal(unpack(matrix["distances"]), D.condensed())
        assert D.lower_bounds is not None
        shares = unpack(matrix["bounds"]).astype(float)
        bounds = D.lower_bounds[np.triu_indices(5, 1)]
        np.testing.assert_allclose(shares * D.condensed(), bounds, rtol=2e-7)
        assert (shares <= bounds / D.condensed()).all()
        assert unpack(matrix["converged"]).all()

    def test_planes_are_turned_onto_each_other(self) -> None:
        rng = np.random.default_rng(0)
        points = rng.normal(size=(12, 2))
        turned = points @ np.linalg.qr(rng.normal(size=(2, 2)))[0]
        planes = [
            check_matrix(Source("a", rs.DistanceMatrix(_distances(one))), 0).embedding
            for one in (points, np.zeros((12, 2)), turned)
        ]
        first, _, last = aligned_points(planes)
        assert first is not None
        np.testing.assert_allclose(last, first, atol=1e-6)

    def test_columns_are_numbers_or_levels(self) -> None:
        frame = pd.DataFrame({"depth": [1.0, np.nan, 3.0], "area": ["b", None, "a"], "on": True})
        inputs = replace(read_inputs(line([0, 1, 3])), metadata=frame)
        data = page_data(inputs, study(inputs, Plan()))
        depth, area, on = data["columns"]
        np.testing.assert_array_equal(unpack(depth["values"]), [1.0, np.nan, 3.0])
        assert (area["levels"], unpack(area["codes"]).tolist()) == (["a", "b"], [1, -1, 0])
        assert on["levels"] == ["True"]

    def test_the_picture_is_that_of_the_figure(self) -> None:
        """The same points, order of groups, colours and markers, also beyond one of each."""
        points = np.random.default_rng(3).normal(size=(24, 3))
        frame = pd.DataFrame({"layer": [f"layer {k // 2}" for k in range(24)]})
        D = rs.DistanceMatrix(_distances(points), metadata=frame)
        figure = EmbeddingPicture.of(rs.embed(D), D, colour="layer")
        inputs = read_inputs(D)
        data = page_data(inputs, study(inputs, Plan()))
        drawn = unpack(data["matrices"][0]["points"]).reshape(-1, 2)
        np.testing.assert_allclose(drawn, figure.points, atol=1e-12)
        (layer,) = data["columns"]
        assert tuple(layer["levels"]) == figure.colouring.levels
        assert layer["levels"][-1] == "layer 11"
        codes = unpack(layer["codes"])
        np.testing.assert_array_equal(codes, figure.colouring.codes)
        colours, shapes = data["colours"]["levels"], data["shapes"]
        seen = [(colours[k % len(colours)], shapes[k % len(shapes)]) for k in range(12)]
        key = zip(figure.colouring.level_colours, figure.colouring.level_markers, strict=True)
        assert seen == [(colour, SHAPES[marker]) for colour, marker in key]

    def test_angles_have_a_period(self) -> None:
        frame = pd.DataFrame({"orientation": [0.0, 60.0, 120.0], "depth": [0.0, 60.0, 120.0]})
        inputs = replace(read_inputs(line([0, 1, 3])), metadata=frame)
        angle, depth = page_data(inputs, study(inputs, Plan()))["columns"]
        assert (angle["period"], angle["limits"]) == (180.0, (0.0, 180.0))
        assert (depth["period"], depth["limits"]) == (None, (0.0, 120.0))

    def test_a_collapsed_embedding_is_called_so(self) -> None:
        inputs = read_inputs(line([0, 1, 3]))
        (matrix,) = page_data(inputs, study(inputs, Plan()))["matrices"]
        assert matrix["collapse"].startswith("The networks lie on a line")

    @pytest.mark.parametrize(
        ("starts", "neurons", "exact"), [("auto", 2, True), ("auto", 200, False), (1, 2, False)]
    )
    def test_only_few_neurons_are_solved_exactly(
        self, starts: int | str, neurons: int, exact: bool
    ) -> None:
        D = rs.DistanceMatrix(
            line([0, 1, 3]).values,
            description={"parameters": {"n_starts": starts}},
            sizes={"neurons": [neurons] * 3, "trials": [9] * 3},
            n_starts=np.ones((3, 3)),
            n_agreeing=np.ones((3, 3)),
        )
        inputs = read_inputs(D)
        (matrix,) = page_data(inputs, study(inputs, Plan()))["matrices"]
        assert matrix["exact"] is exact
        words = {True: "solved exactly"}.get(exact, "from one start")
        assert search_words(D).endswith(words)

    def test_near_pairs_are_those_of_a_sort(self) -> None:
        D = line(np.random.default_rng(1).normal(size=40).tolist())
        rows, columns = (index[near_pairs(D.values)] for index in np.triu_indices(40, 1))
        expected = set()
        for i in range(40):
            order = [j for j in np.argsort(D.values[i], kind="stable") if j != i][:10]
            expected |= {(min(i, int(j)), max(i, int(j))) for j in order}
        assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == expected

    def test_many_networks_are_simplified_and_said(self, tmp_path: Path) -> None:
        D = line(np.arange(FULL + 1.0).tolist())
        report = rs.write_report(D, tmp_path / "a.html")
        assert "10 nearest neighbours of each network" in report.left_out[0]
        page = report.path.read_text(encoding="utf-8")
        assert "10 nearest neighbours of each network" in page
        data = read_data(page)
        assert data["full"] is False
        levels = unpack(data["matrices"][0]["levels"])
        gap = np.abs(levels / 254 * FULL - D.condensed() + (1 - levels / 254))
        assert gap.max() <= 0.5 * FULL / 254 + 1


def _distances(points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


class TestPage:
    HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\u2028\u202e"

    def test_hostile_text_is_inert(self, tmp_path: Path) -> None:
        names = [self.HOSTILE, "b" * 10_000, "c"]
        D = rs.DistanceMatrix(
            line([0, 1, 3]).values,
            names,
            pd.DataFrame({self.HOSTILE: [self.HOSTILE, "x", "y"]}),
            description={"metric": self.HOSTILE, "parameters": {self.HOSTILE: self.HOSTILE}},
        )
        report = rs.write_report(D, tmp_path / "a.html", title=self.HOSTILE)
        page = report.path.read_text(encoding="utf-8")
        assert page.count("<script") == page.count("</script>") == 2
        assert "<img" not in page
        assert read_data(page)["labels"] == names

    def test_half_a_character_and_infinity_are_no_trouble(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"half \ud800": [1.0, np.inf, -np.inf]})
        D = rs.DistanceMatrix(line([0, 1, 3]).values, ["a\ud800", "b", "c"], frame)
        page = rs.write_report(D, tmp_path / "a.html").path.read_text(encoding="utf-8")
        data = read_data(page)
        np.testing.assert_array_equal(unpack(data["columns"][0]["values"]), [1.0, np.nan, np.nan])

    def test_json_holds_no_character_that_html_reads(self) -> None:
        text = inert_json({self.HOSTILE: [self.HOSTILE]})
        assert not set(ESCAPES) & set(text)
        assert json.loads(text) == {self.HOSTILE: [self.HOSTILE]}

    def test_the_policy_allows_our_code_alone(self, tmp_path: Path) -> None:
        page = rs.write_report(line([0, 1]), tmp_path / "a.html").path.read_text(encoding="utf-8")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy is not None
        assert policy[1].startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
        assert "unsafe" not in policy[1]
        assert not re.search(r"(src|href)=[\"'](https?:)?//", page)

    def test_our_code_writes_text_and_never_markup(self) -> None:
        for script in SCRIPTS:
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", read_static(script)
            )
        assert "@import" not in read_static(STYLE)
        assert "url(" not in read_static(STYLE)

    def test_the_same_input_gives_the_same_bytes(self, tmp_path: Path) -> None:
        D = line([0, 1, 3, 4, 9, 11], depth=[0.0, 1, 2, 3, 4, 5])
        pages = [rs.write_report(D, tmp_path / f"{k}.html").path.read_bytes() for k in range(2)]
        assert pages[0] == pages[1]

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_few_networks_are_no_special_case(self, count: int, tmp_path: Path) -> None:
        report = rs.write_report(line([float(k) for k in range(count)]), tmp_path / "a.html")
        assert report.n_networks == count

    def test_a_name_must_end_in_html(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"must end in \.html"):
            rs.write_report(line([0, 1]), tmp_path / "a.pdf")

    def test_a_folder_that_is_missing_is_one_sentence(self, tmp_path: Path) -> None:
        """It is raised before any work: not even the matrix, which is missing too, is read."""
        with pytest.raises(StorageError, match=r"Cannot write to .*none.a\.html"):
            rs.write_report(tmp_path / "d.npz", tmp_path / "none" / "a.html")


class TestCommand:
    def test_words_json_and_file(
        self, stored: Path, cohort: rs.Cohort, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        saved = cohort.save(tmp_path / "cohort.zarr").path
        out = tmp_path / "report.html"
        command = ["report", str(stored), "--cohort", str(saved), "-o", str(out), "--json"]
        assert run([*command, "--max-intervals", "0", "--labels", "area"]) == 0
        captured = capsys.readouterr()
        summary = json.loads(captured.out)
        assert summary["networks"] == 5
        assert summary["matrices"] == ["Gaussian, α = 1"]
        assert summary["bytes"] == out.stat().st_size
        assert f"Wrote {out}" in captured.err
        assert summary["sentences"][0].startswith("Groups by 'area' ")
        assert summary["sentences"][1] in captured.err

    def test_metadata_of_a_file(self, tmp_path: Path) -> None:
        line([0, 1, 3]).save(tmp_path / "d.csv")
        (tmp_path / "m.csv").write_text("network,age\n2,9\n0,7\n1,8\n")
        out = tmp_path / "r.html"
        command = ["report", str(tmp_path / "d.csv"), "-o", str(out), "-q"]
        assert run([*command, "--metadata", str(tmp_path / "m.csv")]) == 0
        (column,) = read_data(out.read_text(encoding="utf-8"))["columns"]
        assert (column["name"], column["kind"]) == ("age", "number")
        assert unpack(column["values"]).tolist() == [7.0, 8.0, 9.0]

    def test_failure_is_one_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["report", str(tmp_path / "a.npz"), "-o", str(tmp_path / "r.html")]) == 1
        assert re.fullmatch(r"repshape: There is nothing at .*\n", capsys.readouterr().err)
        assert list(tmp_path.iterdir()) == []

    def test_defaults_are_those_of_the_function(self) -> None:
        ours, theirs = (inspect.signature(one).parameters for one in (write_report, ReportOptions))
        for name in ("max_pairs", "max_intervals", "labels", "blocks"):
            assert ours[name].default == theirs[name].default

    def test_quiet_says_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        line([0, 1]).save(tmp_path / "d.csv")
        assert run(["report", str(tmp_path / "d.csv"), "-o", str(tmp_path / "r.html"), "-q"]) == 0
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == ("", "")


def test_the_metric_of_a_matrix_is_restored_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every embedding of the page restored it again."""
    restored = []
    original = identity.restore

    def counted(given: Any) -> Any:
        restored.append(given["metric"])
        return original(given)

    for module in (sources, embedding):
        monkeypatch.setattr(module, "restore", counted)
    cohort = rs.Cohort.from_networks(rs.datasets.toy_networks(3, 2))
    rs.write_report(rs.pairwise(cohort, rs.GaussianShapeMetric(2.0)), tmp_path / "page.html")
    assert restored == ["GaussianShapeMetric"]
