"""The rules that decide criteria and claims end in the verdict that they promise."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from experiments.common.verdicts import (
    Claim,
    Criterion,
    Verdict,
    combine,
    fold_verdict,
    interval_verdict,
)
from experiments.standard import PAGE, STUDIES, page_text

DOCS = Path(__file__).parents[2] / "docs"
ALL_CLAIMS = [claim for module in STUDIES.values() for claim in module.CLAIMS]
HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN
TESTED = Criterion("c", "s", 0.0, 0.05, largest_p=0.01, null="labels")


@pytest.mark.parametrize(
    ("folds", "p_value", "verdict"),
    [
        ([0.1, 0.2, 0.3], 0.01, HOLDS),
        ([0.1, 0.2, 0.3], 0.02, OPEN),
        ([0.1, 0.2, 0.3], None, OPEN),
        ([0.1, 0.0, 0.3], 0.001, OPEN),
        ([0.01, -0.2, 0.04], 0.001, FAILS),
        ([math.nan, 0.2, 0.3], 0.001, OPEN),
        ([math.nan, -0.2, -0.3], 0.001, OPEN),
        ([0.01, 0.02, 0.03], 0.2, FAILS),  # too small to matter, whatever its p-value
        ([0.01, 0.02, 0.03], 0.001, FAILS),
    ],
)
def test_criterion_needs_every_fold_and_the_test(
    folds: list[float], p_value: float | None, verdict: Verdict
) -> None:
    assert fold_verdict(TESTED, folds, p_value) is verdict


@pytest.mark.parametrize(
    ("interval", "p_value", "verdict"),
    [
        ((0.01, 0.2), 0.01, HOLDS),
        ((0.01, 0.2), 0.02, OPEN),
        ((0.01, 0.2), None, OPEN),
        ((0.01, 0.04), 0.001, FAILS),  # there, but too small to matter
        ((-0.01, 0.04), 0.001, FAILS),
        ((-0.01, 0.06), 0.001, OPEN),
        ((math.nan, 0.04), 0.001, OPEN),
    ],
)
def test_criterion_needs_the_whole_interval_and_the_test(
    interval: tuple[float, float], p_value: float | None, verdict: Verdict
) -> None:
    assert interval_verdict(TESTED, *interval, p_value) is verdict


def test_no_fold_decides_nothing() -> None:
    with pytest.raises(ValueError, match="at least one fold"):
        fold_verdict(TESTED, [])


def test_intervals_of_a_claim_cover_together() -> None:
    one = Criterion("c", "s", 0.0, 0.0)
    assert Claim("a", "A.", "here", (one,)).level == pytest.approx(0.95)
    assert Claim("a", "A.", "here", (one,) * 4).level == pytest.approx(1 - 0.05 / 4)


@pytest.mark.parametrize("claim", ALL_CLAIMS, ids=lambda claim: claim.name)
def test_every_threshold_has_a_reason_within_its_limits(claim: Claim) -> None:
    for criterion in claim.criteria:
        assert len(criterion.reason.split()) > 3
        lowest, highest = criterion.limits
        assert lowest is None or lowest <= criterion.above
        assert highest is None or criterion.refuted_below < highest
        if criterion.above < 0:  # the claim is that something is small or the same
            assert "margin" in criterion.reason


def test_the_page_of_the_rules_is_current() -> None:
    assert (DOCS / PAGE).read_text(encoding="utf-8") == page_text()


def test_contradictory_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 'above'"):
        Criterion("c", "s", 0.1, 0.0)
    with pytest.raises(ValueError, match="needs a null"):
        Criterion("c", "s", 0.0, 0.0, largest_p=0.01)


def test_one_refuted_criterion_refutes_a_claim() -> None:
    assert combine([HOLDS, HOLDS]) is HOLDS
    assert combine([HOLDS, OPEN]) is OPEN
    assert combine([HOLDS, OPEN, FAILS]) is FAILS
