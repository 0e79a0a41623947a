"""Small faults of the words on a page, each of which was seen once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import repshape as rs
from report_support import line, page_of, read_data, studied, trials
from repshape.report.evidence import find_groups
from repshape.report.quality import part_of
from repshape.report.sources import read_inputs
from repshape.report.study import Plan, study

pytestmark = pytest.mark.usefixtures("quick")

NARROW = "\u202f"


def words_of(page: str) -> str:
    """Return the text of a page, without its data and code."""
    seen = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", seen)


def test_both_numbers_of_a_share_have_their_digits_in_groups() -> None:
    """Not "1500 of 1 770 pairs"."""
    rng = np.random.default_rng(0)
    values = np.abs(np.subtract.outer(range(60), range(60))).astype(float)
    missing = np.triu(rng.random((60, 60)) < 0.9, 1)
    values[missing | missing.T] = np.nan
    D = rs.DistanceMatrix(values, missing=True, converged=np.zeros((60, 60), dtype=bool))
    said = study(read_inputs(D), Plan())[0]
    for text in (said.headline, *said.sentences, *(words for _, _, words in said.checks)):
        assert not re.search(r"\b\d{4,} of ", text), text
    assert part_of(int(missing.sum()), 1770, "pair") in said.headline
    assert NARROW in said.headline


def test_a_page_has_no_python_in_it() -> None:
    """Neither arguments such as blocks=, nor calls of the library."""
    areas = ["V1"] * 6 + ["LM"] * 6
    rng = np.random.default_rng(0)
    sizes = {"neurons": [9] * 6 + [21] * 6, "trials": [20.0] * 12}
    points = np.concatenate([rng.normal(size=6), 9.0 + rng.normal(size=6)])
    D = line(list(points), area=areas).replace(sizes=sizes)
    text = words_of(page_of(D))
    assert "number of neurons" in text
    for code in ("blocks=", "labels=", "match=", "rs.inference", "--blocks", "cohort,"):
        assert code not in text


def test_what_groups_differ_in_is_said_once() -> None:
    D = line([0.0, 1.0, 2.0, 3.0, 20.0, 21.0, 22.0, 23.0], area=["a"] * 4 + ["b"] * 4)
    D = D.replace(sizes={"neurons": [9] * 4 + [21] * 4, "trials": [20.0] * 8})
    inputs = read_inputs(D)
    found = study(inputs, Plan(find_groups(inputs, None, None)))[0]
    (check,) = (words for topic, _, words in found.checks if topic == "Groups")
    assert check.count("number of neurons") == 1


def test_triangles_are_counted_in_one_place() -> None:
    """The polish does not say "0 to 0" beside a check that found one."""
    polish = {
        "pairs_improved": 1,
        "largest_gain": 0.1,
        "total_before": 9.0,
        "total_after": 8.0,
        "violated_triangles_before": 0,
        "violated_triangles_after": 0,
    }
    broken = rs.DistanceMatrix([[0, 1, 5], [1, 0, 2], [5, 2, 0]], description={"polish": polish})
    checks = {topic: words for topic, _, words in study(read_inputs(broken), Plan())[0].checks}
    assert "1 of 3 triangle inequalities" in checks["Triangles"]
    assert "0 to 0" not in checks["Polish"]
    assert checks["Polish"].endswith("triangles are violated nevertheless.")


def test_one_start_is_never_called_many() -> None:
    cohort = trials([8] * 3)
    fixed = rs.GaussianShapeMetric(n_starts=1)
    text = words_of(page_of(rs.pairwise(cohort, fixed, polish=False), cohort))
    assert "from one start" in text
    assert "1 start, seed 0" in text
    assert "starts as a pair needs" not in text


def test_titles_are_titles() -> None:
    found = words_of(page_of(line([0, 1, 3])))
    assert "Shape distances of 3 networks" in found
    assert "repshape report" not in found


def test_constant_columns_are_left_out_of_predictions() -> None:
    points = list(np.arange(12.0))
    page = page_of(line(points, depth=points, same=["x"] * 12))
    table = re.search(r'<table class="data knn">.*?</table>', page, re.DOTALL)
    assert table is not None
    assert "depth" in table[0]
    assert ">same<" not in table[0]
    assert "Not predicted: same (All networks have the same value)." in words_of(page)


def test_columns_that_nothing_predicts_are_not_called_absent() -> None:
    text = words_of(page_of(line([0.0, 1.0, 2.0], animal=["a", "b", "c"])))
    assert "There is no metadata" not in text
    assert "No column of the metadata can be predicted: animal" in text


def test_the_library_s_file_is_not_called_unknown() -> None:
    """What the run recorded is said: the metric, its settings and whether it converged."""
    cohort = trials([8] * 3)
    text = words_of(page_of(rs.pairwise(cohort, rs.GaussianShapeMetric(), polish=False), cohort))
    assert "does not say" not in text
    assert "Nothing is recorded" not in text
    assert "not known" not in text


def test_an_embedding_has_stress_and_no_explained_variance() -> None:
    """The networks lie on a line, and the page says that too."""
    page = page_of(line([0.0, 1.0, 3.0, 7.0, 8.0]))
    assert "with stress" in words_of(page)
    assert "variance" not in words_of(page)
    (matrix,) = read_data(page)["matrices"]
    assert matrix["collapse"]


def test_intervals_are_not_promised_for_moments() -> None:
    """Networks given by moments have no trials to correct with."""
    exact = rs.Cohort.from_networks(rs.datasets.toy_networks(2, 2))
    found = studied(exact)
    assert found.intervals.note == ""
