"""Claims are complete, and their rules can end in each of the three verdicts."""

from __future__ import annotations

import pytest
from experiments.vae.claims import ALPHAS, CLAIMS, Claim, Criterion, Verdict, combine


def test_claims_are_named_once_and_complete() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names)) == 14
    for claim in CLAIMS:
        assert claim.sentence.endswith(".")
        assert claim.source
        assert len({criterion.statistic for criterion in claim.criteria}) == len(claim.criteria)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_can_hold_fail_and_stay_open(claim: Claim) -> None:
    for criterion in claim.criteria:
        p = 0.001 if criterion.largest_p else None
        low, high = criterion.above, criterion.refuted_below
        assert criterion.verdict(low + 0.01, high + 1, p) is Verdict.HOLDS
        assert criterion.verdict(low - 1, high - 0.01, p) is Verdict.FAILS
        assert criterion.verdict(low - 1, high + 1, p) is Verdict.OPEN


def test_an_effect_that_is_sure_but_not_unlikely_by_chance_stays_open() -> None:
    criterion = Criterion("x", 0.0, 0.05, largest_p=0.01, null="labels")
    assert criterion.verdict(0.01, 0.2, 0.01) is Verdict.HOLDS
    assert criterion.verdict(0.01, 0.2, 0.02) is Verdict.OPEN
    assert criterion.verdict(0.01, 0.2) is Verdict.OPEN
    assert criterion.verdict(0.01, 0.04, 0.02) is Verdict.OPEN


def test_intervals_cover_together() -> None:
    levels = {claim.name: claim.level for claim in CLAIMS}
    assert levels["objective, every strength"] == pytest.approx(0.95)
    assert levels["seed"] == pytest.approx(1 - 0.05 / len(ALPHAS))
    assert levels["ratio"] == pytest.approx(1 - 0.05 / 3)  # trained, and two initialisations before


def test_one_criterion_refutes_a_claim() -> None:
    holds, fails, unknown = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN
    assert combine([holds, holds]) is holds
    assert combine([holds, unknown]) is unknown
    assert combine([holds, unknown, fails]) is fails


def test_contradictory_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 'above'"):
        Criterion("x", above=0.5, refuted_below=0.4)
    with pytest.raises(ValueError, match="needs a null"):
        Criterion("x", 0.0, 0.0, largest_p=0.01)
