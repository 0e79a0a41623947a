"""Habits of new users: what they type works, or one clear sentence says what to type instead."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.cluster import HDBSCAN

import repshape as rs
from repshape.cli.app import run
from repshape.errors import InputError, InputTypeError
from repshape.report.sources import read_inputs

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 4, 12, 3))
METRIC = rs.GaussianShapeMetric()
COHORT = rs.Cohort({"x": X, "y": Y, "z": X + Y}, metadata={"x": {"k": 1}, "y": {}, "z": {"k": 3}})


class TestMetrics:
    TAKERS: tuple[Any, ...] = (
        lambda m: rs.pairwise([X, Y], m),
        lambda m: rs.pairwise_many([X, Y], {"a": m}),
        lambda m: rs.cross([X], [Y], m),
        lambda m: rs.analysis.neighbor_graph([X, Y], m, 1),
        lambda m: rs.inference.floor(X, m),
        lambda m: rs.inference.distance(X, Y, m),
        lambda m: rs.analysis.frechet_mean([X, Y], m),
    )

    @pytest.mark.parametrize("call", TAKERS)
    def test_a_class_is_told_from_its_instance(self, call: Any) -> None:
        with pytest.raises(InputTypeError, match=r"an instance: GaussianShapeMetric\(\.\.\.\)"):
            call(rs.GaussianShapeMetric)

    @pytest.mark.parametrize("call", TAKERS)
    def test_a_name_is_answered_with_the_metric(self, call: Any) -> None:
        with pytest.raises(InputTypeError, match=r"Got 'gaussian' instead. Pass GaussianShapeM"):
            call("gaussian")
        with pytest.raises(InputTypeError, match=r"The metrics are GaussianShapeMetric, Energy"):
            call("cosine")

    @pytest.mark.parametrize("call", TAKERS)
    def test_a_wrong_parameter_gets_one_sentence_everywhere(self, call: Any) -> None:
        with pytest.raises(InputError, match=r"^The 'group' parameter of Gauss.*'orthoganal'"):
            call(rs.GaussianShapeMetric(group="orthoganal"))
        with pytest.raises(InputError, match=r"^The 'alpha' parameter of GaussianShapeMetric must"):
            call(rs.GaussianShapeMetric(alpha=3))

    def test_a_wrong_parameter_leaves_no_store(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="'alpha' parameter"):
            rs.pairwise([X, Y], rs.GaussianShapeMetric(alpha=3), store=tmp_path / "s")
        assert not (tmp_path / "s").exists()


class TestCohorts:
    def test_they_are_made_from_networks(self) -> None:
        assert COHORT.labels == ("x", "y", "z")
        assert COHORT.metadata["k"].tolist()[::2] == [1, 3]
        assert rs.Cohort([X, Y], ["a", "b"]).labels == ("a", "b")
        assert len(rs.Cohort()) == 0
        with pytest.raises(InputTypeError, match=r"Cohort\.open\('c\.zarr'\)"):
            rs.Cohort("c.zarr")

    def test_a_mask_selects_networks(self) -> None:
        for mask in (
            np.array([True, False, True]),
            [True, False, True],
            COHORT.metadata["k"] > 0,
            pd.Series([True, True, False], index=["z", "x", "y"]),
        ):
            assert COHORT[mask].labels == ("x", "z")
        assert COHORT[np.array(["z", "x"])].labels == ("z", "x")
        with pytest.raises(InputError, match="an entry for each of 3 networks"):
            COHORT[[True, False]]
        with pytest.raises(InputError, match="no entry for network 'x'"):
            COHORT[pd.Series([True] * 3, index=["a", "y", "z"])]
        with pytest.raises(InputError, match="False for all"):
            COHORT[np.zeros(3, dtype=bool)]

    def test_a_report_takes_networks_with_names(self) -> None:
        D = rs.pairwise(COHORT, METRIC, progress=False)
        for given in ({"x": X, "y": Y, "z": X + Y}, [COHORT]):
            found = read_inputs(D, given)  # type: ignore[arg-type]
            assert found.sources[0].cohort is not None
        toy = rs.datasets.toy_networks(2, 2)
        read_inputs(rs.pairwise(toy, METRIC, progress=False), toy)  # type: ignore[arg-type]
        for wrong in (5, [X, Y, X + Y]):
            with pytest.raises(InputTypeError, match="must be a cohort, its path, or a dict"):
                read_inputs(D, wrong)  # type: ignore[arg-type]


class TestTrials:
    def test_they_become_arrays(self) -> None:
        trials = rs.Trials(X)
        np.testing.assert_array_equal(np.asarray(trials), X)
        np.testing.assert_array_equal(np.asarray(trials)[:, :, :2], X[:, :, :2])
        assert np.asarray(trials, dtype=np.float32).dtype == np.float32
        copied = np.array(trials)
        copied[:] = 0  # which the network does not notice
        np.testing.assert_array_equal(trials.means, X.mean(axis=1))
        with pytest.raises(InputError, match="do not form one array"):
            np.asarray(rs.Trials([X[0], X[1, :5]]))

    @pytest.mark.parametrize("key", [np.s_[:, :, :2], np.s_[:2], np.s_[..., 0]])
    def test_slices_get_one_sentence(self, key: Any) -> None:
        with pytest.raises(InputError, match=r"For slices, use an array: np\.asarray\(trials\)"):
            rs.Trials(X)[key]
        with pytest.raises(InputError, match="For slices, use an array: means"):
            rs.Gaussians(X[:, 0], np.ones((4, 3)))[key]


def test_a_matrix_has_what_libraries_ask_of_an_array() -> None:
    D = rs.pairwise([g * X + Y for g in (1, 1.1, 1.2, 9, 9.1, 9.2)], METRIC, progress=False)
    assert (D.ndim, D.dtype) == (2, np.dtype(np.float64))
    np.testing.assert_array_equal(D.T, D.values)
    changed = D.copy()
    changed[0, 1] = 7.0
    assert D.values[0, 1] != 7.0
    found = HDBSCAN(min_cluster_size=2, metric="precomputed", copy=True).fit_predict(D)
    assert len(set(found[:3])) == 1
    assert found[0] != found[3]


def test_an_embedding_draws_itself() -> None:
    D = rs.pairwise(COHORT, METRIC, progress=False)
    ax = rs.embed(D).plot(D, colour="k", ax=Figure().subplots())
    assert len(ax.collections[0].get_offsets()) == 3 or len(ax.collections) > 1


def test_questions_are_answered_and_not_claimed() -> None:
    found = rs.inference.confounds(
        [X + k for k in range(4)], METRIC, labels=list("abab"), progress=False
    )
    words = str(found)
    p = found.tests["distances"].p_value
    assert p > 0.05
    assert f"Do groups differ in distance? No evidence (p = {p:.3g})." in words
    html = found.tests["distances"]._repr_html_()  # type: ignore[attr-defined]
    for line in found.tests["distances"].words():
        assert f"<p>{line}</p>" in html


def test_noise_floors_show_one_line_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    class ZMQInteractiveShell:
        pass

    class Line:
        def update(self, data: dict[str, str], raw: bool) -> None:
            pass

    def display(data: dict[str, str], **options: Any) -> Line:
        made.append(data["text/plain"])
        return Line()

    ipython, module = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    rs.inference.confounds([X, Y, X + Y, X - Y], METRIC)
    shown = [line.split(":")[0] for line in made]
    assert [one for one in shown if "polish" not in one] == ["pairs", "noise floors"]


def test_the_name_of_a_report_is_not_called_a_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rs.DistanceMatrix(1 - np.eye(3)).save(tmp_path / "d.npz")
    assert run(["report", str(tmp_path / "d.npz"), "-o", str(tmp_path / "r.txt")]) == 1
    said = capsys.readouterr().err
    assert "The name of a report must end in .html" in said
    assert "'path'" not in said
