"""What moved since a release is found in the saved results."""

from __future__ import annotations

import sys

from docs.blocks import ROOT

sys.path.insert(0, str(ROOT))  # benchmarks are no part of the package

from benchmarks.moved import Change, changes, saved_then
from benchmarks.stamps import RESULTS


def test_numbers_that_moved_by_more_than_a_fifth_are_counted_by_name() -> None:
    old = {
        "rows": [{"seconds": 1.0, "name": "a"}, {"name": "b", "seconds": 2.0}],
        "kept": [1, 2],
        "gone": 3,
    }
    new = {
        "rows": [{"seconds": 1.1, "name": "a"}, {"name": "b", "seconds": 6.0}],
        "kept": [1, 2],
        "added": 4,
    }
    assert changes(old, new) == [Change("seconds", 2, 1, 3.0)]


def test_a_number_that_was_zero_has_no_ratio() -> None:
    assert changes({"missed": [0, 0]}, {"missed": [0, 2]}) == [Change("missed", 2, 1, float("inf"))]
    assert changes({"missed": 2}, {"missed": 0}) == [Change("missed", 1, 1, 0.0)]


def test_a_result_that_a_commit_does_not_have_is_none() -> None:
    assert saved_then(RESULTS / "no_such_result.json", "HEAD") is None


def test_an_added_row_moves_no_others() -> None:
    old = {"rows": [{"family": "a", "seconds": 1.0}, {"family": "b", "seconds": 5.0}]}
    new = {"rows": [{"family": "c", "seconds": 9.0}, *old["rows"]]}
    assert changes(old, new) == []
