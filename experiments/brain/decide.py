"""Decide the claims from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.brain.claims import CLAIMS, CLASSES, SUBSAMPLED_ALPHAS
from experiments.brain.settings import Source
from experiments.brain.statistics import (
    NOTHING,
    STATISTICS,
    ClassResults,
    Measured,
    Results,
    draws_interval,
    with_interval,
)
from experiments.brain.vaes import DECIDING
from experiments.common.verdicts import Claim, Criterion, combine, interval_verdict

FloatArray = npt.NDArray[np.float64]

# Claims that make no sense for a source: the numbers and stimuli are those of the mice.
NOT_APPLICABLE = {Source.MACAQUE: ("Appendix B.2", "Supplementary Figure 5")}
# Claims whose statistics exist for plug-in distances, too.
BOTH_ESTIMATES = (
    "Section 3.2 (a)",
    "Section 3.2 (c)",
    "Section 3.2, reversal",
    "Figure 3 D",
    "Figure 3 E",
    "Supplementary Figure 5",
)
GROWTH, PRESERVED = "Supplementary Figure 6, growth", "Supplementary Figure 6, ratio"
LINES = "Supplementary Figure 6, lines"
OVER_DRAWS = (GROWTH, PRESERVED, LINES)


def decide(
    source: Source,
    found: Results,
    subsampling: Mapping[str, Any] | None,
    vaes: Mapping[str, Measured],
) -> list[dict[str, Any]]:
    """Return all claims with their numbers and verdicts, ready for JSON."""
    out = []
    for claim in CLAIMS:
        if claim.name in NOT_APPLICABLE.get(source, ()):
            continue
        rows = [_row(claim, one, found, subsampling, vaes) for one in claim.criteria]
        verdict = combine(_verdict(one, row) for one, row in zip(claim.criteria, rows, strict=True))
        out.append(
            {
                "name": claim.name,
                "sentence": claim.sentence,
                "source": claim.source,
                "verdict": str(verdict),
                "criteria": rows,
            }
        )
    return out


def _row(
    claim: Claim,
    criterion: Criterion,
    found: Results,
    subsampling: Mapping[str, Any] | None,
    vaes: Mapping[str, Measured],
) -> dict[str, Any]:
    """Return the numbers of one criterion."""
    measured, others = NOTHING, {}
    statistic = STATISTICS.get(claim.name, {}).get(criterion.name)
    if claim.name in OVER_DRAWS:
        if subsampling is not None:
            measured = subsampling_statistic(claim, criterion.name, subsampling)
    elif criterion.name in DECIDING:
        measured = vaes.get(criterion.name, NOTHING)
    elif statistic is not None:
        used = relevant(claim.name, criterion.name, found)
        how: dict[str, Any] = {"level": claim.level, "limits": criterion.limits}
        measured = with_interval(statistic, used, **how)
        if any(each.names != each.animals for each in used.values()):
            others["over populations"] = with_interval(statistic, used, "names", **how).summary()
        if claim.name in BOTH_ESTIMATES:
            plug_in = {role: each.as_plug_in() for role, each in used.items()}
            others["plug-in"] = with_interval(statistic, plug_in, **how).summary()
    row = {
        "name": criterion.name,
        "statistic": criterion.statistic,
        "above": criterion.above,
        "refuted_below": criterion.refuted_below,
        "reason": criterion.reason,
        "level": claim.level,
        **measured.summary(),
        **others,
        "why": why_unknown(criterion.name, measured),
    }
    return row | {"verdict": str(_verdict(criterion, row))}


def why_unknown(criterion: str, measured: Measured) -> str:
    """Return why a number or its interval is not known; empty if both are."""
    if not measured.n_units:
        return "not measured"
    if np.isnan(measured.value):
        weak = "halves of the trials agree too little"
        return weak if criterion.endswith("agreement") else "a mean of squares is not positive"
    if np.isnan(measured.low):
        return "no interval: without one of the animals it is not a number"
    return ""


def relevant(claim: str, criterion: str, found: Results) -> dict[str, ClassResults]:
    """Return the classes that a criterion is about; both, with the same sessions, if it compares.

    An animal that is in no class of the criterion must not be left out in the jackknife.
    """
    named = [role for role in found if criterion.startswith(role)]
    if named:
        return {role: found[role] for role in named}
    both = {role: found[role] for role in CLASSES if role in found}
    shared = set.intersection(*(set(each.names) for each in both.values())) if both else set()
    return {role: each.keep([n in shared for n in each.names]) for role, each in both.items()}


def _verdict(criterion: Criterion, row: Mapping[str, Any]) -> Any:
    ends = [float("nan") if row[key] is None else float(row[key]) for key in ("low", "high")]
    return interval_verdict(criterion, *ends)


def subsampling_statistic(claim: Claim, criterion: str, found: Mapping[str, Any]) -> Measured:
    """Return a statistic of Supplementary Figure 6 over draws without replacement."""
    distances = np.array(found["distances"]["without"])  # (sizes, draws, alphas)
    sizes = np.log(found["sizes"])
    if len(sizes) < 2:
        return NOTHING
    if claim.name == GROWTH:
        place = [f"alpha = {alpha:g}" for alpha in SUBSAMPLED_ALPHAS].index(criterion)
        slopes = np.polyfit(sizes, np.log(distances[:, :, place]), 1)[0]
        return draws_interval(slopes, claim.level)
    ratios = np.log(distances[:, :, 0] / distances[:, :, -1])
    if claim.name == LINES:
        return draws_interval((-ratios).min(axis=0), claim.level)
    change = draws_interval(ratios[-1] - ratios[0], claim.level)
    if criterion.endswith("from below"):
        return change
    return Measured(-change.value, -change.high, -change.low, change.n_units)
