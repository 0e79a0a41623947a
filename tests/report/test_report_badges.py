"""The headline, the badges, the pair that is shown first, and the rows of predictions."""

from __future__ import annotations

import numpy as np
import pytest

import repshape as rs
from report_support import gain_cohort, line, matrix_with, square, studied, trials
from repshape.analysis import knn_regress
from repshape.report.evidence import Grouping
from repshape.report.predictions import (
    place,
    prediction_row,
    prediction_rows,
    unpredicted_words,
)
from repshape.report.quality import Prediction
from repshape.report.sources import read_inputs
from repshape.report.study import Plan, Studied, study
from repshape.report.telling import telling_pair


def badge(found: Studied, topic: str) -> tuple[str, str]:
    one = next(one for one in found.badges if one.topic == topic)
    assert one.sentence in found.sentences
    return one.verdict, one.short


class TestBadges:
    def test_search_changes_with_the_search(self) -> None:
        assert badge(matrix_with(converged=square(True, True)), "Search")[1] == "converged"
        early = badge(matrix_with(converged=square(False, True)), "Search")
        assert early == ("bad", "3 pairs not converged")
        once = matrix_with(
            converged=square(True, True), n_starts=square(20, 1), n_agreeing=square(1, 1)
        )
        assert badge(once, "Search") == ("bad", "3 pairs in doubt")
        values = line([0, 1, 3]).values.copy()
        values[0, 1] = values[1, 0] = np.nan
        part = study(read_inputs(rs.DistanceMatrix(values, missing=True)), Plan())[0]
        assert badge(part, "Search") == ("bad", "1 pair missing")

    def test_nothing_is_certified_that_was_not_checked(self) -> None:
        found = matrix_with()
        assert badge(found, "Search") == ("note", "complete")
        assert badge(found, "Noise") == ("note", "not measured")
        assert badge(found, "Groups")[0] == "note"

    def test_noise_changes_with_the_trials(self) -> None:
        quiet = badge(studied(trials([40, 40, 40], apart=30.0)), "Noise")
        loud = badge(studied(trials([6, 6, 6], n=4, apart=0.0)), "Noise")
        assert quiet[0] == "good"
        assert loud[0] == "bad"
        assert quiet[1].startswith("floor ")
        exact = rs.Cohort.from_networks(rs.datasets.toy_networks(2, 2))
        assert badge(studied(exact), "Noise")[1] == "given by moments"

    def test_groups_change_with_the_labels(self) -> None:
        gains = gain_cohort([1.0, 1.1, 1.0, 1.1, 4.0, 4.2, 4.1, 4.0])
        table = [f"group {k // 4}" for k in range(8)]
        apart = rs.Cohort()
        for k, network in enumerate(gains):
            apart.add(f"net {k}", network, area=table[k])
        assert badge(studied(apart), "Groups")[1].startswith("p = 0.0")
        points = list(np.arange(12.0))
        predicted = study(read_inputs(line(points, depth=points)), Plan())[0]
        assert badge(predicted, "Groups")[1].startswith("R² up to ")


class TestTelling:
    def test_the_embedding_s_worst_pair_without_groups(self) -> None:
        values = line([0.0, 1.0, 2.0, 5.0]).values
        points = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.5, 0.0]])
        found = telling_pair(values, None, points)
        assert found is not None
        assert (found.first, found.second) == (0, 3)
        assert "fits worst" in found.why

    def test_missing_pairs_are_never_shown_first(self) -> None:
        values = line([0.0, 1.0, 5.0]).values.copy()
        values[0, 1] = values[1, 0] = np.nan
        grouping = Grouping("area", ("a", "b", "b"))
        found = telling_pair(values, grouping, None)
        assert found is not None
        assert (found.first, found.second) == (0, 2)
        assert telling_pair(np.full((2, 2), np.nan), None, None) is None

    def test_the_pair_is_among_those_drawn(self) -> None:
        """Even if only few pairs are drawn, and it is no pair of nearest neighbours."""
        cohort = trials([6] * 9, apart=2.0, area=["a"] * 7 + ["b"] * 2)
        D = rs.pairwise(cohort, rs.GaussianShapeMetric(), polish=False)
        grouping = Grouping("area", ("a",) * 7 + ("b",) * 2)
        found = study(read_inputs(D, cohort), Plan(grouping, max_pairs=2))[0]
        assert found.telling is not None
        pair = [found.telling.first, found.telling.second]
        assert pair in found.views.index.tolist()
        assert len(found.views.index) == 2


class TestPredictions:
    def test_a_row_names_the_smallest_p_value(self) -> None:
        points = np.arange(30.0)
        score = knn_regress(line(list(points)), points, n_permutations=19, random_state=0)
        row = prediction_row(Prediction("depth", "a", score, ""))
        assert row["p"] == "≤ 0.05"
        assert row["score_x"] > row["null"][1] >= row["null"][0]
        noise = np.random.default_rng(0).normal(size=30)
        chance = knn_regress(line(list(points)), noise, n_permutations=19, random_state=0)
        other = prediction_row(Prediction("noise", "a", chance, ""))
        assert float(other["p"].removeprefix("≤ ")) > 0.05

    def test_columns_that_are_not_predicted_are_named_once(self) -> None:
        reason = "All networks have the same value."
        both = [Prediction("area", source, None, reason) for source in ("a", "b")]
        assert unpredicted_words(both) == "area (All networks have the same value)."
        assert prediction_rows([[both[0]], [both[1]]], 0) == []

    def test_rows_are_those_of_one_matrix_with_the_scores_of_the_others(self) -> None:
        """Best scores first; not a row for each column of each matrix."""
        points = np.arange(30.0)
        D = line(list(points))
        noise = np.random.default_rng(0).normal(size=30)

        def scored(column: str, values: np.ndarray, source: str) -> Prediction:
            found = knn_regress(D, values, n_permutations=0, random_state=0)
            return Prediction(column, source, found, "")

        first = [scored("noise", noise, "a"), scored("depth", points, "a")]
        second = [scored("noise", noise[::-1], "b"), scored("depth", points[::-1], "b")]
        rows = prediction_rows([first, second], 0)
        assert [row["column"] for row in rows] == ["depth", "noise"]
        assert second[1].found is not None
        assert rows[0]["others_x"] == [place(second[1].found.estimate)]


@pytest.mark.parametrize("count", [1, 2])
def test_few_networks_have_a_page(count: int) -> None:
    found = study(read_inputs(line([0.0, 1.0][:count])), Plan())[0]
    assert len(found.badges) == 3
    assert (found.telling is None) == (count == 1)
