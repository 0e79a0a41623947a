"""The report without a browser: what is checked, said, drawn and escaped."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape.cli import run
from repshape.datasets import toy_networks
from repshape.errors import InputError, InputTypeError, StorageError
from repshape.pairwise.describe import describe
from repshape.report.data import _near, aligned_points, page_data
from repshape.report.pairs import choose_pairs, no_views, view_pairs
from repshape.report.quality import FULL, assess
from repshape.report.render import ESCAPES, SCRIPTS, STYLE, _static, inert_json
from repshape.report.sources import Source, joint_metadata, read_sources
from repshape.report.words import metric_of, settings_table, short_name, what_was_measured

ARRAYS = {"Float64Array": "<f8", "Int32Array": "<i4", "Int16Array": "<i2", "Uint8Array": "u1"}


def unpack(packed: dict[str, str]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(packed["data"]), ARRAYS[packed["type"]])


def read_data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def line(points: list[float], **metadata: list[Any]) -> rs.DistanceMatrix:
    values = np.abs(np.subtract.outer(points, points))
    return rs.DistanceMatrix(values, metadata=pd.DataFrame(metadata) if metadata else None)


@pytest.fixture(scope="module")
def cohort() -> rs.Cohort:
    """Networks of unequal numbers of neurons, with few trials of six conditions."""
    rng = np.random.default_rng(0)
    found = rs.Cohort()
    for k, n in enumerate([2, 3, 4, 3, 5]):
        found.add(f"net {k}", rng.normal(size=(6, 8, n)), area="V1" if k < 3 else "LM")
    return found


@pytest.fixture(scope="module")
def stored(cohort: rs.Cohort, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stores") / "d.zarr"
    rs.pairwise(cohort, rs.GaussianShapeMetric(), store=path, alignments="float64")
    return path


class TestSources:
    def test_names_come_from_the_metrics(self) -> None:
        D = line([0, 1, 3])
        made = [
            rs.DistanceMatrix(D.values, description=describe(metric))
            for metric in (rs.GaussianShapeMetric(0.5), rs.EnergyShapeMetric(), max)
        ]
        assert [one.name for one in read_sources([*made, made[0]])] == [
            "Gaussian, α = 0.5",
            "Energy, q = 1",
            "max",
            "Gaussian, α = 0.5 (2)",
        ]

    def test_a_mapping_names_them(self) -> None:
        found = read_sources({"first": line([0, 1]), "second": line([0, 2])})
        assert [one.name for one in found] == ["first", "second"]

    def test_files_of_one_metric_are_told_apart_by_name(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            line([0, 1]).save(tmp_path / f"{name}.csv")
        found = read_sources([tmp_path / "a.csv", tmp_path / "b.csv"])
        assert [one.name for one in found] == ["a", "b"]

    def test_a_folder_of_stores_stands_for_all(self, cohort: rs.Cohort, tmp_path: Path) -> None:
        metrics = {f"alpha-{a}": rs.GaussianShapeMetric(a) for a in (0.0, 2.0)}
        rs.pairwise_many(cohort, metrics, store=tmp_path / "sweep")
        found = read_sources(tmp_path / "sweep")
        assert [one.name for one in found] == ["Gaussian, α = 0", "Gaussian, α = 2"]
        assert all(one.store is not None for one in found)

    def test_networks_that_coincide_are_judged_beside_other_matrices(self) -> None:
        tiny, whole = line([0, 1e-9, 2e-9]), line([0, 1, 2])
        assert [one.coincide for one in read_sources([tiny, whole])] == [True, False]
        assert [one.coincide for one in read_sources([tiny])] == [False]

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ([], "at least one matrix"),
            (3, "Got int instead"),
            ([3], "Got int instead"),
            ("nowhere.npz", "There is nothing at nowhere.npz"),
        ],
    )
    def test_bad_input_is_one_sentence(self, given: Any, words: str) -> None:
        with pytest.raises((InputError, InputTypeError), match=words):
            read_sources(given)

    def test_other_networks_are_refused(self) -> None:
        with pytest.raises(InputError, match="Got 2 and 3 networks"):
            read_sources([line([0, 1]), line([0, 1, 2])])
        other = rs.DistanceMatrix([[0, 1], [1, 0]], labels=["0", "x"])
        with pytest.raises(InputError, match="Network 1 is '1' in one and 'x' in another"):
            read_sources([line([0, 1]), other])

    def test_metadata_is_joined(self) -> None:
        first, second = line([0, 1], area=["a", "b"]), line([0, 1], depth=[1.0, 2.0])
        frame = joint_metadata(read_sources([first, second]), [None, None])
        assert frame.columns.tolist() == ["area", "depth"]


class TestWords:
    @pytest.mark.parametrize(
        "metric",
        [
            rs.GaussianShapeMetric(0.3, group="rotation", weights=[1.0, 2.0]),
            rs.GaussianShapeMetric(covariance=rs.CovarianceEstimator("ridge", ridge=0.1)),
            rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=3, whitening=0.5)),
            rs.EnergyShapeMetric(0.7, estimator="v"),
            rs.WassersteinShapeMetric(1.5),
            rs.ProcrustesShapeMetric(distance="angular", group="permutation"),
        ],
    )
    def test_a_metric_comes_back_from_its_description(self, metric: Any) -> None:
        description = json.loads(json.dumps(describe(metric)))
        found = metric_of(description)
        assert found is not None
        assert describe(found) == describe(metric)
        topics = dict(what_was_measured(description))
        assert topics["Invariances"]
        assert topics["Preprocessing"]

    def test_nothing_in_a_description_is_evaluated(self) -> None:
        for text in ("__import__('os').getcwd()", "Preprocess(center=open('x'))", "Other()"):
            description = {
                "metric": "GaussianShapeMetric",
                "parameters": {"alpha": 1.0, "preprocess": text},
            }
            assert metric_of(description) is None

    def test_settings_that_are_not_ours_are_not_guessed(self) -> None:
        assert metric_of({}) is None
        assert metric_of({"metric": "GaussianShapeMetric", "parameters": {"alpha": 9}}) is None
        assert what_was_measured({}) == [("Distance", "The file does not say how it was measured.")]
        assert short_name({}, Path("mine.csv")) == "mine"

    def test_all_settings_are_listed(self) -> None:
        names = [name for name, _ in settings_table(describe(rs.EnergyShapeMetric()))]
        assert names[0] == "metric"
        assert {"q", "random_state", "tol", "repshape"} <= set(names)


class TestPairs:
    def test_nearest_neighbours_are_chosen_first(self) -> None:
        D = line([0, 1, 10, 12, 30])
        assert choose_pairs(D, 10).tolist() == np.column_stack(np.triu_indices(5, 1)).tolist()
        few = {tuple(pair) for pair in choose_pairs(D, 4).tolist()}
        assert {(0, 1), (2, 3), (3, 4)} < few
        assert len(few) == 4
        assert len(choose_pairs(D, 0)) == 0

    def test_aligned_means_come_closer(self, cohort: rs.Cohort) -> None:
        D = rs.pairwise(cohort, rs.GaussianShapeMetric(2.0))
        view = view_pairs(Source("a", D), cohort, 100, False)
        gap = {
            when: np.linalg.norm((getattr(view, when) - view.own[view.index[:, 0]])[..., :2])
            for when in ("before", "after")
        }
        assert gap["after"] < gap["before"]

    def test_what_is_drawn_of_two_neurons_is_the_network_itself(self) -> None:
        """In two dimensions the components keep everything: distances of means are exact."""
        toy = toy_networks(3, 2)
        cohort = rs.Cohort.from_networks(toy)
        D = rs.pairwise(toy, rs.GaussianShapeMetric())
        view = view_pairs(Source("a", D), cohort, 100, False)
        gaps = view.after - view.own[view.index[:, 0]]
        means = np.sqrt((gaps[..., :2] ** 2).sum(-1).mean(-1))
        np.testing.assert_allclose(means, view.parts[:, 2], atol=1e-9)
        traces = view.own[..., 2] + view.own[..., 4]
        scales = toy.metadata["scale"].to_numpy()[:5]
        np.testing.assert_allclose(traces[:5], np.repeat(2 * scales[:, None], 5, axis=1))

    def test_stored_alignments_give_the_same_picture(self, cohort: rs.Cohort, stored: Path) -> None:
        (source,) = read_sources(stored)
        kept = view_pairs(source, cohort, 100, False)
        anew = view_pairs(Source("anew", source.matrix), cohort, 100, False)
        assert "store kept" in kept.note
        assert "found anew" in anew.note
        i, j = kept.index.T
        np.testing.assert_allclose(kept.parts[:, 0], source.matrix.values[i, j], rtol=1e-9)
        shorter = kept.parts[:, 0] < anew.parts[:, 0] - 1e-9  # by the polish
        np.testing.assert_allclose(kept.after[~shorter], anew.after[~shorter], atol=1e-4)
        np.testing.assert_allclose(kept.parts[~shorter, 2:], anew.parts[~shorter, 2:], atol=1e-5)

    def test_parts_make_the_distance(self, cohort: rs.Cohort, stored: Path) -> None:
        (source,) = read_sources(stored)
        parts = view_pairs(source, cohort, 100, False).parts
        np.testing.assert_allclose(parts[:, 0] ** 2, parts[:, 2] ** 2 + parts[:, 3] ** 2, rtol=1e-9)

    def test_many_conditions_are_thinned_and_said(self) -> None:
        cohort = rs.Cohort.from_networks(toy_networks(2, 2, n_conditions=40))
        D = rs.pairwise(cohort, rs.GaussianShapeMetric())
        view = view_pairs(Source("a", D), cohort, 100, False)
        assert view.own.shape == (4, 16, 5)
        assert "16 of 40 conditions" in view.note

    def test_absence_is_explained(self, cohort: rs.Cohort) -> None:
        D = rs.pairwise(cohort, rs.GaussianShapeMetric())
        assert "not given" in view_pairs(Source("a", D), None, 9, False).note
        assert "no alignment" in view_pairs(Source("a", line([0, 1])), None, 9, False).note
        exact = rs.Cohort.from_networks(toy_networks(2, 2))
        E = rs.pairwise(toy_networks(2, 2, n_trials=4), rs.EnergyShapeMetric())
        assert "compares single trials" in view_pairs(Source("a", E), exact, 9, False).note

    def test_other_responses_are_refused(self, cohort: rs.Cohort, stored: Path) -> None:
        other = rs.Cohort()
        for k, network in enumerate(cohort):
            other.add(f"net {k}", 3 * np.asarray(network.responses))  # type: ignore[union-attr]
        with pytest.raises(InputError, match="'net 0' in the cohort are not those"):
            rs.write_report(stored, "x.html", cohort=other)
        D = rs.DistanceMatrix.load(stored)
        with pytest.raises(InputError, match="where the matrix says"):
            rs.write_report(D, "x.html", cohort=other)
        with pytest.raises(InputError, match="Got 2 for 1 matrices"):
            rs.write_report(D, "x.html", cohort=[cohort, cohort])
        with pytest.raises(InputError, match="Got 4 networks, among them 'c0s0'"):
            rs.write_report(D, "x.html", cohort=rs.Cohort.from_networks(toy_networks(2, 2)))


class TestQuality:
    def test_a_metric_needs_no_repair(self) -> None:
        checks = {
            topic: verdict for topic, verdict, _ in assess(Source("a", line([0, 1, 3])), 0).checks
        }
        assert checks["Triangles"] == checks["Repair"] == checks["Complete"] == "good"

    def test_broken_triangles_are_reported_and_repaired_for_the_plane(self) -> None:
        broken = rs.DistanceMatrix([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
        found = assess(Source("a", broken), 0)
        checks = {topic: (verdict, words) for topic, verdict, words in found.checks}
        assert checks["Triangles"] == (
            "bad",
            "1 of 3 triangle inequalities are broken, by up to 40 % of the largest distance.",
        )
        assert checks["Repair"][0] == "note"
        assert found.embedding is not None
        assert found.embedding.stress < 1e-6  # the repaired triangle is flat

    def test_a_matrix_in_the_making_has_no_plane(self) -> None:
        D = rs.DistanceMatrix([[0, np.nan], [np.nan, 0]], missing=True)
        found = assess(Source("a", D), 0)
        assert found.embedding is None
        assert found.checks[0] == ("Complete", "bad", "1 of 1 pair are not computed yet.")

    def test_clusters_lie_beside_each_other(self) -> None:
        order = assess(Source("a", line([0, 10, 1, 11, 2, 12])), 0).order.tolist()
        assert sorted(order[:3]) in ([0, 2, 4], [1, 3, 5])


class TestData:
    def test_distances_keep_every_bit(self, cohort: rs.Cohort, tmp_path: Path) -> None:
        D = rs.pairwise(cohort, rs.GaussianShapeMetric())
        report = rs.write_report(D, tmp_path / "a.html")
        (matrix,) = read_data(report.path.read_text(encoding="utf-8"))["matrices"]
        np.testing.assert_array_equal(unpack(matrix["distances"]), D.condensed())
        assert D.lower_bounds is not None
        np.testing.assert_array_equal(
            unpack(matrix["bounds"]), D.lower_bounds[np.triu_indices(5, 1)]
        )
        assert unpack(matrix["converged"]).all()

    def test_pictures_are_kept_to_sixteen_bits(self, cohort: rs.Cohort) -> None:
        D = rs.pairwise(cohort, rs.GaussianShapeMetric())
        sources = read_sources([D])
        view = view_pairs(sources[0], cohort, 100, False)
        data = page_data(sources, D.metadata, [assess(sources[0], 0)], [view])
        pairs = data["matrices"][0]["pairs"]
        back = unpack(pairs["drawn"]).reshape(10, -1) * unpack(pairs["unit"])[:, None]
        exact = np.concatenate([view.before, view.after], axis=1).reshape(10, -1)
        assert np.abs(back - exact).max() < np.abs(exact).max() / 60000

    def test_planes_are_turned_onto_each_other(self) -> None:
        rng = np.random.default_rng(0)
        points = rng.normal(size=(12, 2))
        turned = points @ np.linalg.qr(rng.normal(size=(2, 2)))[0]
        planes = [
            assess(Source("a", rs.DistanceMatrix(_distances(one))), 0)
            for one in (points, np.zeros((12, 2)), turned)
        ]
        first, _, last = aligned_points(planes)
        assert first is not None
        np.testing.assert_allclose(last, first, atol=1e-6)

    def test_columns_are_numbers_or_levels(self) -> None:
        frame = pd.DataFrame({"depth": [1.0, np.nan, 3.0], "area": ["b", None, "a"], "on": True})
        (source,) = read_sources(line([0, 1, 3]))
        data = page_data([source], frame, [assess(source, 0)], [no_views("")])
        depth, area, on = data["columns"]
        np.testing.assert_array_equal(unpack(depth["values"]), [1.0, np.nan, 3.0])
        assert (area["levels"], unpack(area["codes"]).tolist()) == (["a", "b"], [1, -1, 0])
        assert on["levels"] == ["True"]

    def test_near_pairs_are_those_of_a_sort(self) -> None:
        D = line(np.random.default_rng(1).normal(size=40).tolist())
        rows, columns = (index[_near(D)] for index in np.triu_indices(40, 1))
        expected = set()
        for i in range(40):
            order = [j for j in np.argsort(D.values[i], kind="stable") if j != i][:10]
            expected |= {(min(i, int(j)), max(i, int(j))) for j in order}
        assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == expected

    def test_many_networks_are_simplified_and_said(self, tmp_path: Path) -> None:
        D = line(np.arange(FULL + 1.0).tolist())
        report = rs.write_report(D, tmp_path / "a.html")
        assert "10 nearest" in report.left_out[0]
        page = report.path.read_text(encoding="utf-8")
        assert "10 nearest of each network" in page
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
                r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", _static(script)
            )
        assert "@import" not in _static(STYLE)
        assert "url(" not in _static(STYLE)

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
        with pytest.raises((StorageError, OSError), match="none"):
            rs.write_report(line([0, 1]), tmp_path / "none" / "a.html")


class TestCommand:
    def test_words_json_and_file(
        self, stored: Path, cohort: rs.Cohort, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        saved = cohort.save(tmp_path / "cohort.zarr").path
        out = tmp_path / "report.html"
        command = ["report", str(stored), "--cohort", str(saved), "-o", str(out), "--json"]
        assert run(command) == 0
        captured = capsys.readouterr()
        summary = json.loads(captured.out)
        assert summary["networks"] == 5
        assert summary["matrices"] == ["Gaussian, α = 1"]
        assert summary["bytes"] == out.stat().st_size
        assert f"Wrote {out}" in captured.err

    def test_failure_is_one_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["report", str(tmp_path / "a.npz"), "-o", str(tmp_path / "r.html")]) == 1
        assert re.fullmatch(r"repshape: There is nothing at .*\n", capsys.readouterr().err)
        assert list(tmp_path.iterdir()) == []

    def test_quiet_says_nothing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        line([0, 1]).save(tmp_path / "d.csv")
        assert run(["report", str(tmp_path / "d.csv"), "-o", str(tmp_path / "r.html"), "-q"]) == 0
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == ("", "")
