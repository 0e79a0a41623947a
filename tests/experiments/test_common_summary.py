"""The table of all verdicts: what decided a claim, and how many units would."""

from __future__ import annotations

from typing import Any

import pytest
from experiments.common.summary import Round, counts, decided, study_rows
from experiments.standard import stored_rounds, verdicts_text
from test_stored_pages import DOCS


def row(name: str, verdict: str, ends: tuple[float, float] | None, **more: Any) -> dict[str, Any]:
    lower, upper = ends or (None, None)
    middle = None if ends is None else sum(ends) / 2
    numbers = {"estimate": middle, "lower": lower, "upper": upper, "units": 10, "level": 0.95}
    limits = {"above": 0.0, "refuted_below": 0.02, "p_value": None, "largest_p": 0.01}
    return {"name": name, "verdict": verdict} | numbers | limits | more


def claim(verdict: str, *rows: dict[str, Any], note: str = "") -> dict[str, Any]:
    return {"name": "gain", "verdict": verdict, "note": note, "criteria": list(rows)}


def test_a_claim_that_holds_names_its_weakest_number() -> None:
    rows = row("far", "holds", (1.0, 2.0)), row("near", "holds", (0.1, 2.0))
    words = "each of 2 numbers; closest to its threshold: near: 1.05 [0.1, 2], above 0"
    assert decided(claim("holds", *rows)) == (words, "-")


def test_a_refuted_claim_names_the_clearest_refutation() -> None:
    rows = (
        row("fine", "holds", (1.0, 2.0)),
        row("small", "does not hold", (-0.01, 0.01)),
        row("gone", "does not hold", (-2.0, -1.0)),
    )
    assert decided(claim("does not hold", *rows)).words == "gone: -1.5 [-2, -1], below 0.02"
    assert decided(claim("does not hold", *rows[:2])).words == "small: 0 [-0.01, 0.01], below 0.02"


def test_an_open_claim_says_why_and_how_many_units_decide() -> None:
    open_one = row("wide", "inconclusive", (-0.01, 0.11))
    found = decided(claim("inconclusive", open_one, row("fine", "holds", (1.0, 2.0))))
    assert found == ("wide: 0.05 [-0.01, 0.11] around 0", "14")
    tested = row("tested", "inconclusive", (0.1, 0.2), p_value=0.04)
    assert decided(claim("inconclusive", tested)) == (
        "tested: 0.15 [0.1, 0.2], p = 0.04 above 0.01",
        "not known",
    )
    missing = row("none", "inconclusive", None, units=0)
    assert decided(claim("inconclusive", open_one, missing)).units == "14 for some"
    assert decided(claim("inconclusive", missing)).words == "none: not measured"
    unknown = row("none", "inconclusive", None)
    assert decided(claim("inconclusive", unknown)).words == "none: not a number"
    assert decided(claim("inconclusive", open_one, note="too many failed")).words == (
        "too many failed"
    )


def test_brain_criteria_have_other_names() -> None:
    """Studies name an estimate and its interval in two ways; both give the same row."""
    own = row("wide", "inconclusive", (-0.01, 0.11))
    names = {"estimate": "value", "lower": "low", "upper": "high", "units": "n_units"}
    other = {names.get(key, key): value for key, value in own.items()}
    assert decided(claim("inconclusive", own)) == decided(claim("inconclusive", other))


def test_the_last_round_decides() -> None:
    pilot = Round.of({"claims": [claim("holds", row("a", "holds", (1.0, 2.0)))]})
    later = Round.of({"claims": [claim("inconclusive", row("a", "inconclusive", (-1.0, 2.0)))]})
    (found,) = study_rows("study", ["gain"], [pilot, later])
    assert found[:4] == ["study", "gain", "holds", "inconclusive"]
    assert found[4].startswith("a: 0.5 [-1, 2] around 0")
    (found,) = study_rows("study", ["gain"], [pilot, Round.of(None)])
    assert found[2:4] == ["holds", "-"]
    (found,) = study_rows("study", ["other"], [pilot, later])
    assert found[2:] == ["-", "-", "not measured yet", "-"]
    assert counts({"study": later}) == [["study", "1", "0", "0", "1", "100%"]]


@pytest.mark.parametrize("study", list(stored_rounds(DOCS)))
def test_every_claim_has_a_row(study: str) -> None:
    text = verdicts_text(DOCS)
    for one in stored_rounds(DOCS)[study][0]:
        assert f"| {study} | {one.name} | " in text
