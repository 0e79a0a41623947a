"""Decide the claims from measured distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.common.intervals import units_needed
from experiments.common.results import TINY, read_results
from experiments.common.samples import Sample, fold_interval, read_sample
from experiments.common.verdicts import (
    Claim,
    Criterion,
    Verdict,
    combine,
    interval_verdict,
    shifted,
)
from experiments.patch_gaussian import statistics as st
from experiments.patch_gaussian.analysis import tables_of_distances
from experiments.patch_gaussian.claims import CLAIMS, LARGEST_FAILED
from experiments.patch_gaussian.folds import named_folds
from experiments.patch_gaussian.statistics import Found

NETWORKS = "networks"  # the group of all networks, in stored results
TOO_MANY_FAILED = "too many networks failed to train"
NO_MANIPULATION = "the manipulation check does not hold"
TEST = "a test of the programs decides no claim"


@dataclass(frozen=True)
class Evidence:
    """What claims are decided from.

    Attributes
    ----------
    sample : Sample
        Networks with their distances.
    side : int
        Of the images.
    permutations : int
    """

    sample: Sample
    side: int
    permutations: int


Rule = Callable[[Evidence, Criterion], Found]


def _alpha(criterion: Criterion) -> float:
    """Return the alpha that a criterion names at its end: "W, alpha = 0"."""
    return float(criterion.name.rsplit("=", 1)[1])


def _position(evidence: Evidence, criterion: Criterion) -> Found:
    target = criterion.name.split(",")[0]
    return st.prediction(evidence.sample, target, _alpha(criterion), evidence.permutations)


def _spread(evidence: Evidence, criterion: Criterion) -> Found:
    if criterion.name == "against none":
        return st.tighter_than_none(evidence.sample, evidence.side)
    return st.spread_and_accuracy(evidence.sample, evidence.permutations)


RULES: dict[str, Rule] = {
    "alpha": lambda e, c: st.distinct_alphas(e.sample),
    "position": _position,
    "grid": lambda e, c: st.grid(e.sample, c.name, e.permutations),
    "seeds": lambda e, c: st.nearest_cells(e.sample, _alpha(c), e.permutations),
    "nearest network": lambda e, c: st.cell_or_seed(e.sample, _alpha(c)),
    "tau": lambda e, c: st.changes_with_tau(e.sample, _alpha(c)),
    "alpha 1": lambda e, c: st.one_is_like_two(e.sample),
    "prediction": lambda e, c: st.better_below_two(e.sample, e.permutations),
    "spread": _spread,
}


def decide_all(evidence: Evidence, manipulation: Verdict, scale: str) -> list[dict[str, Any]]:
    """Return every claim with its numbers and verdict, ready for JSON.

    No claim is decided if too many networks failed or the manipulation check does not hold.
    """
    note = ""
    if scale == TINY:
        note = TEST
    elif evidence.sample.column("failed").mean() > LARGEST_FAILED:
        note = TOO_MANY_FAILED
    elif manipulation is not Verdict.HOLDS:
        note = NO_MANIPULATION
    return [_decide(claim, evidence, note) for claim in CLAIMS]


def decide_stored(folder: Path) -> dict[str, Any]:
    """Return stored results with what stored distances decide: all claims, and their tables."""
    results, arrays = read_results(folder)
    size = results["settings"]["side"], results["measure"]["permutations"]
    evidence = Evidence(read_sample(arrays, NETWORKS), *size)
    manipulation = Verdict(results["numbers"]["manipulation"]["verdict"])
    claims = decide_all(evidence, manipulation, results["scale"])
    numbers = results["numbers"] | tables_of_distances(evidence.sample, size[1])
    return results | {"claims": claims, "numbers": numbers}


def _decide(claim: Claim, evidence: Evidence, note: str) -> dict[str, Any]:
    criteria = [decide(one, RULES[claim.name], evidence, claim.level) for one in claim.criteria]
    verdict = combine(Verdict(one["verdict"]) for one in criteria)
    words = {"name": claim.name, "sentence": claim.sentence, "source": claim.source}
    if note:
        verdict = Verdict.OPEN
    return words | {"criteria": criteria, "verdict": verdict.value, "note": note}


def decide(criterion: Criterion, rule: Rule, evidence: Evidence, level: float) -> dict[str, Any]:
    """Return a criterion with its folds, estimate, interval, p-value and verdict."""
    found = rule(evidence, criterion)
    interval = fold_interval(found.folds, level, shifted(criterion.limits, found.chance))
    verdict = interval_verdict(criterion, interval.lower, interval.upper, found.p_value)
    units = len({seed for fold in found.folds for seed in fold})
    still_open = verdict is Verdict.OPEN
    return (
        asdict(criterion)
        | interval.summary()
        | {
            "folds": named_folds(found.folds),
            "level": level,
            "p_value": found.p_value,
            "verdict": verdict.value,
            "units": units,
            "units_needed": units_needed(criterion, interval, units, level) if still_open else None,
        }
    )
