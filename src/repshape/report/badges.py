"""Three badges of a matrix, which open its sentences: groups, noise and search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from repshape.report.evidence import Evidence
from repshape.report.info import is_all_exact
from repshape.report.noise import summarise_floors
from repshape.report.quality import Check, Quality, many, share_words
from repshape.report.responses import MOMENTS, TRIALS
from repshape.report.sentences import p_words
from repshape.report.sources import Source

# The checks that a badge sums up: it shows the worst of their verdicts.
TOPICS = {
    "Groups": ("Groups", "Response norm", "Trial counts"),
    "Noise": ("Trials", "Noise floor", "Components"),
    "Search": ("Complete", "Convergence", "Search", "Bounds", "Triangles", "Polish", "Distances"),
}
RANKS = ("good", "note", "bad")


@dataclass(frozen=True)
class Badge:
    """One of the three badges: a verdict, a few words, and the sentence that it opens."""

    topic: str
    verdict: str
    short: str
    sentence: str


def make_badges(
    source: Source,
    quality: Quality,
    evidence: Evidence,
    checks: Sequence[Check],
    sentences: tuple[str, str, str],
) -> tuple[Badge, ...]:
    """Return the badges of groups, noise and search."""
    shorts = (
        _group_words(quality, evidence),
        _noise_words(source, evidence),
        _search_words(source),
    )
    return tuple(
        Badge(topic, _worst(checks, TOPICS[topic]), short, sentence)
        for topic, short, sentence in zip(TOPICS, shorts, sentences, strict=True)
    )


def _worst(checks: Sequence[Check], topics: tuple[str, ...]) -> str:
    found = [RANKS.index(verdict) for topic, verdict, _ in checks if topic in topics]
    return RANKS[max(found)] if found else "note"  # nothing was checked: nothing is certified


def _group_words(quality: Quality, evidence: Evidence) -> str:
    if evidence.test is not None:
        return p_words(evidence.test).partition(",")[0]
    found = [one.found for one in quality.predictions if one.found is not None]
    if not found:
        return "nothing to compare"
    best = max(found, key=lambda one: one.estimate - one.chance)
    return f"{'R²' if best.score == 'R2' else best.score} up to {best.estimate:.2f}"


def _noise_words(source: Source, evidence: Evidence) -> str:
    floors = summarise_floors(source, evidence)
    if floors is not None:
        return f"floor {share_words(max(floors.ratio, 0.0))} of the median distance"
    facts = evidence.facts
    if facts is None:
        return "not measured"
    if TRIALS in facts.kinds:
        return "too few trials"
    return "given by moments" if MOMENTS in facts.kinds else "none"


def _search_words(source: Source) -> str:
    D = source.matrix
    if source.n_missing:
        return f"{many(source.n_missing, 'pair')} missing"
    if D.n_unconverged:
        return f"{many(D.n_unconverged, 'pair')} not converged"
    if D.n_doubtful:
        return f"{many(D.n_doubtful, 'pair')} in doubt"
    if D.converged is None:
        return "complete"
    return "exact" if is_all_exact(D) else "converged"
