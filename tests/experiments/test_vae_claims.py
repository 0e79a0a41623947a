"""Claims are complete, and their rules can end in each of the three verdicts."""

from __future__ import annotations

import pytest
from experiments.common.verdicts import Claim, Verdict, interval_verdict
from experiments.vae.claims import ALPHAS, CLAIMS


def test_claims_are_named_once_and_complete() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names)) == 15
    for claim in CLAIMS:
        assert claim.sentence.endswith(".")
        assert claim.source
        assert len({criterion.statistic for criterion in claim.criteria}) == len(claim.criteria)
        assert len({criterion.name for criterion in claim.criteria}) == len(claim.criteria)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_can_hold_fail_and_stay_open(claim: Claim) -> None:
    for criterion in claim.criteria:
        p = 0.001 if criterion.largest_p else None
        low, high = criterion.above, criterion.refuted_below
        assert interval_verdict(criterion, low + 0.01, high + 1, p) is Verdict.HOLDS
        assert interval_verdict(criterion, low - 1, high - 0.01, p) is Verdict.FAILS
        assert interval_verdict(criterion, low - 1, high + 1, p) is Verdict.OPEN


def test_intervals_cover_together() -> None:
    levels = {claim.name: claim.level for claim in CLAIMS}
    assert levels["objective, every strength"] == pytest.approx(0.95)
    assert levels["seed"] == pytest.approx(1 - 0.05 / len(ALPHAS))
    assert levels["ratio"] == pytest.approx(1 - 0.05 / 4)  # once trained, three times not
