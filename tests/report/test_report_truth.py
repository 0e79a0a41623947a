"""What a report says about noise, gain, trials and groups is what the library computes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import repshape as rs
from report_support import (
    METRIC,
    gain_cohort,
    line,
    matrix_with,
    page_of,
    read_data,
    square,
    studied,
    trials,
    unpack,
    verdict,
)
from repshape.errors import InputError
from repshape.report.data import colour_limit
from repshape.report.evidence import find_groups
from repshape.report.sources import Source, read_inputs
from repshape.report.study import Plan, Studied, study

pytestmark = pytest.mark.usefixtures("quick")


def polished(**fields: Any) -> Studied:
    report = {
        "pairs_improved": 1,
        "largest_gain": 0.1,
        "total_before": 5.0,
        "total_after": 4.9,
        "violated_triangles_before": 2,
        "violated_triangles_after": 0,
    }
    return matrix_with(description={"polish": report}, **fields)


def missing_pair() -> Studied:
    D = rs.DistanceMatrix([[0, np.nan], [np.nan, 0]], missing=True)
    return study(read_inputs(D), Plan())[0]


def negative_of_many() -> Studied:
    """A negative distance between more networks than are repaired."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("repshape.report.quality.FULL", 2)
        return matrix_with(values=[[0, -1, 1], [-1, 0, 1], [1, 1, 0]])


def spread(factor: float) -> Studied:
    """Two groups on a line, one of which is wider."""
    places = [0.0, 1, 2, 3, 4, 5] + [30 + factor * k for k in range(6)]
    inputs = read_inputs(line(places, area=list("aaaaaabbbbbb")))
    return study(inputs, Plan(find_groups(inputs, None, None)))[0]


SIMPLEX = rs.DistanceMatrix(1 - np.eye(6))  # no plane has six points with equal distances
# For every check, an input for which it is green and one for which it is red.
CASES: dict[str, tuple[Callable[[], Studied], Callable[[], Studied]]] = {
    "Complete": (matrix_with, missing_pair),
    "Convergence": (
        lambda: matrix_with(converged=square(True, True)),
        lambda: matrix_with(converged=square(False, True)),
    ),
    "Search": (
        lambda: matrix_with(n_starts=square(24, 1), n_agreeing=square(9, 1)),
        lambda: matrix_with(n_starts=square(24, 1), n_agreeing=square(1, 1)),
    ),
    "Bounds": (
        lambda: matrix_with(lower_bounds=line([0, 1, 3]).values),
        lambda: matrix_with(lower_bounds=2 * line([0, 1, 3]).values),
    ),
    "Triangles": (
        matrix_with,
        lambda: matrix_with(values=[[0, 1, 5], [1, 0, 2], [5, 2, 0]]),
    ),
    "Polish": (polished, lambda: polished(values=[[0, 1, 5], [1, 0, 2], [5, 2, 0]])),
    "Repair": (matrix_with, negative_of_many),
    "Embedding": (matrix_with, lambda: study(read_inputs(SIMPLEX), Plan())[0]),
    "Trials": (lambda: studied(trials([9, 9, 9])), lambda: studied(trials([9, 9, 3]))),
    "Noise floor": (
        lambda: studied(trials([9, 9, 9])),
        lambda: studied(trials([9, 9, 9], apart=0.0)),
    ),
    "Trial counts": (
        lambda: studied(trials([9] * 5)),
        lambda: studied(trials([4] * 4 + [50] * 4, apart=0.0)),
    ),
    "Response norm": (
        lambda: studied(trials([9, 9, 9])),
        lambda: studied(gain_cohort([1, 2, 4, 8])),
    ),
    "Groups": (lambda: spread(1.0), lambda: spread(20.0)),
}


class TestChecks:
    @pytest.mark.parametrize("topic", CASES)
    def test_every_check_that_is_green_can_be_red(self, topic: str) -> None:
        green, red = CASES[topic]
        assert (verdict(green(), topic), verdict(red(), topic)) == ("good", "bad")

    def test_no_check_is_left_out(self) -> None:
        found = [studied(gain_cohort([1, 2, 1, 2])), polished(), spread(1.0)]
        topics = {topic for one in found for topic, _, _ in one.checks}
        assert topics <= set(CASES)


class TestShares:
    def test_gain_is_that_of_confounds(self) -> None:
        cohort = gain_cohort([1, 2, 1, 3])
        found = studied(cohort)
        gain = found.evidence.gain
        assert gain is not None
        expected = rs.inference.confounds(cohort, METRIC, D=found.source.matrix, n_splits=1)
        assert gain.value == pytest.approx(expected.gain_share, rel=1e-9)
        assert gain.p_value is None

    def test_gain_of_other_metrics_is_a_squared_correlation(self) -> None:
        found = studied(gain_cohort([1, 2, 1, 3, 2]), rs.ProcrustesShapeMetric())
        norms = found.evidence.facts.norms  # type: ignore[union-attr]
        upper = np.triu_indices(5, 1)
        gaps = np.subtract.outer(norms, norms)[upper] ** 2
        r = np.corrcoef(found.source.distances**2, gaps)[0, 1]
        assert found.evidence.gain is not None
        assert found.evidence.gain.value == pytest.approx(r**2, rel=1e-9)

    def test_trial_counts_explain_what_a_regression_on_their_inverses_explains(self) -> None:
        counts = [4, 6, 8, 20, 30]
        found = studied(trials(counts, apart=0.3))
        upper = np.triu_indices(5, 1)
        inverse = np.add.outer(1 / np.array(counts), 1 / np.array(counts))[upper]
        design = np.column_stack([np.ones(10), inverse])
        squared = found.source.distances**2
        left = np.linalg.lstsq(design, squared, rcond=None)[1][0]
        assert found.evidence.trial_counts is not None
        expected = 1 - left / np.sum((squared - squared.mean()) ** 2)
        assert found.evidence.trial_counts.value == pytest.approx(expected, rel=1e-9)

    def test_floors_are_those_of_the_library(self) -> None:
        cohort = trials([8, 9, 10])
        found = studied(cohort)
        x, y = cohort[0], cohort[1]
        expected = rs.inference.floor(x, METRIC, y=y, n_splits=5).estimate
        assert found.evidence.floors is not None
        assert found.evidence.floors[0, 1] == pytest.approx(expected, rel=1e-9)

    def test_groups_are_tested_with_and_without_gain(self) -> None:
        cohort = gain_cohort([1] * 5 + [2] * 5)
        found = studied(cohort)
        tests = rs.inference.confounds(
            cohort, METRIC, D=found.source.matrix, labels="gain", n_splits=1, n_permutations=999
        ).tests
        assert found.evidence.test is not None
        assert found.evidence.test_without_gain is not None
        assert found.evidence.test.p_value == tests["distances"].p_value
        assert found.evidence.test_without_gain.p_value == tests["angles"].p_value


class TestIntervals:
    def test_they_are_those_of_the_library(self, tmp_path: Path) -> None:
        cohort = trials([16] * 3)
        D = rs.pairwise(cohort, METRIC, polish=False)
        page = rs.write_report(D, tmp_path / "a.html", cohort=cohort, max_intervals=1).path
        (matrix,) = read_data(page.read_text(encoding="utf-8"))["matrices"]
        (place,) = unpack(matrix["intervals"]["places"])
        i, j = (one[place] for one in np.triu_indices(3, 1))
        expected = rs.inference.distance(cohort[i], cohort[j], METRIC)
        values = unpack(matrix["intervals"]["values"])
        np.testing.assert_allclose(values, [expected.estimate, *expected.interval], rtol=1e-9)
        assert matrix["intervals"]["note"].startswith("1 of 3 distances is corrected for noise.")

    def test_a_corrected_matrix_shows_its_own(self, tmp_path: Path) -> None:
        """Its distances are below those of the alignments, which is no contradiction."""
        cohort = trials([16] * 3, apart=0.1)
        found = rs.inference.matrix(cohort, METRIC, n_splits=2)
        report = rs.write_report(found.matrix, tmp_path / "a.html", cohort=cohort)
        (matrix,) = read_data(report.path.read_text(encoding="utf-8"))["matrices"]
        upper = np.triu_indices(3, 1)
        values = unpack(matrix["intervals"]["values"]).reshape(3, 3)
        expected = np.column_stack([one[upper] for one in (found.matrix.values, found.low)])
        np.testing.assert_array_equal(values[:, :2], expected)
        np.testing.assert_array_equal(unpack(matrix["pair_floors"]), found.floors[upper])
        np.testing.assert_array_equal(unpack(matrix["plug_in"]), found.plug_in.values[upper])
        above = found.error_bars.n_above_zero
        assert f"{above} of 3 intervals (90 %) are above 0" in report.sentences[1]

    def test_few_trials_are_the_reason_for_none(self) -> None:
        found = studied(trials([5] * 3))
        assert "needs at least 6 trials in every condition, and the fewest are 5" in (
            found.intervals.note
        )


class TestPage:
    def test_it_begins_with_the_sentences_of_the_first_matrix(self, tmp_path: Path) -> None:
        near, far = line([0, 1, 3]), line([0, 1, 3], area=list("abc"))
        report = rs.write_report({"z": near, "a": far}, tmp_path / "a.html")
        page = report.path.read_text(encoding="utf-8")
        assert report.matrices == ("z", "a")
        assert re.search(r'autocomplete="off" value="0" checked><span dir="auto">z<', page)
        top = page[page.index('class="short"') : page.index('class="bar"')]
        assert top.index(">z:<") < top.index(">a:<")
        assert top.count("<details") == 6

    def test_neurons_trials_and_conditions_are_named(self) -> None:
        cohort = rs.Cohort()
        rng = np.random.default_rng(0)
        for k, counts in enumerate([(4, 5), (6, 4)]):
            parts = [rng.normal(size=(count, k + 2)) for count in counts]
            cohort.add(f"net {k}", rs.Trials(parts, conditions=["cat", "dog"]))
        data = read_data(page_of(rs.pairwise(cohort, METRIC), cohort))
        (found,) = data["cohorts"]
        assert (found["conditions"], found["named"]) == (["cat", "dog"], True)
        assert unpack(found["neurons"]).tolist() == [2, 3]
        assert unpack(found["fewest"]).tolist() == [4, 4]
        assert unpack(found["most"]).tolist() == [5, 6]
        rows = [unpack(row).tolist() for row in found["trials"]]
        assert rows == [[4, 4], [5, 4.5], [6, 5]]
        assert data["matrices"][0]["pairs"]["conditions"] == ["cat", "dog"]

    def test_one_far_network_does_not_flatten_the_colours(self) -> None:
        rng = np.random.default_rng(0)
        points = rng.uniform(0, 1, size=9)
        near = np.abs(np.subtract.outer(points, points))[np.triu_indices(9, 1)]
        far = np.abs(points - 1000)
        assert colour_limit(np.concatenate([near, far])) == near.max()
        data = read_data(page_of(line([*points, 1000.0], age=[*range(9), 10_000])))
        assert data["matrices"][0]["top"] == near.max()
        assert data["columns"][0]["limits"] == [0, 6.75 + 3 * 4.5]

    def test_groups_and_blocks_are_checked_before_any_work(self) -> None:
        D = line([0, 1, 3, 4], area=list("aabb"), animal=["x", None, "y", "y"], who=list("aaab"))
        for options, words in (
            ({"labels": "place"}, "'labels' parameter must be a column of the metadata. Got 'pl"),
            ({"blocks": "animal"}, "Column 'animal' has none for network '1'"),
            ({"labels": "who"}, "Group 'b' has one"),
            ({"max_intervals": -1}, "'max_intervals' parameter must be"),
        ):
            with pytest.raises(InputError, match=words):
                rs.write_report(D, "x.html", **options)  # type: ignore[arg-type]

    def test_blocks_are_permuted_as_wholes(self) -> None:
        names = [f"animal {k // 2}" for k in range(16)]
        D = line([float(k) for k in range(16)], area=list("a" * 8 + "b" * 8), animal=names)
        inputs = read_inputs(D)
        found = study(inputs, Plan(find_groups(inputs, "area", "animal")))[0]
        expected = rs.inference.groups(D, "area", "animal", n_permutations=999)
        assert found.evidence.test is not None
        assert found.evidence.test.p_value == expected.p_value
        assert "if networks are independent" not in found.sentences[0]


def test_the_source_of_a_report_is_its_input() -> None:
    D = line([0, 1, 3])
    assert Source("a", D).plug_in is D
