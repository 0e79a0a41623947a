"""Everything that a report says about one matrix, from its input."""

from __future__ import annotations

from dataclasses import dataclass

from repshape.report.badges import Badge, make_badges
from repshape.report.evidence import Evidence, Grouping, weigh
from repshape.report.headline import make_headline
from repshape.report.intervals import Intervals, estimate_intervals
from repshape.report.noise import noise_checks
from repshape.report.pairs import PairViews, view_pairs
from repshape.report.quality import Check, Quality, assess
from repshape.report.responses import read_facts
from repshape.report.sentences import three_sentences
from repshape.report.sources import Inputs, Source
from repshape.report.telling import TellingPair, telling_pair


@dataclass(frozen=True, eq=False)
class Studied:
    """One matrix with its checks, what could explain it, its intervals and its drawings."""

    source: Source
    quality: Quality
    evidence: Evidence
    intervals: Intervals
    views: PairViews
    telling: TellingPair | None

    @property
    def checks(self) -> tuple[Check, ...]:
        """Everything that was checked, as (topic, verdict, sentence)."""
        return (*self.quality.checks, *noise_checks(self.source, self.evidence))

    @property
    def sentences(self) -> tuple[str, str, str]:
        """What a careful colleague would say about the matrix."""
        return three_sentences(self.source, self.quality, self.evidence)

    @property
    def headline(self) -> str:
        """What a reader should know first."""
        return make_headline(self.source, self.quality, self.evidence)

    @property
    def badges(self) -> tuple[Badge, ...]:
        """The verdicts on groups, noise and search, which open the sentences."""
        return make_badges(self.source, self.quality, self.evidence, self.checks, self.sentences)


@dataclass(frozen=True)
class Plan:
    """How much a report computes."""

    grouping: Grouping | None = None
    max_pairs: int = 0
    max_intervals: int | None = 0
    seed: int = 0
    progress: bool | None = False


def study(inputs: Inputs, plan: Plan) -> list[Studied]:
    """Check every matrix, and gather what could explain it."""
    qualities = assess(inputs, plan.seed, plan.progress)
    return [
        _study_one(source, quality, plan)
        for source, quality in zip(inputs.sources, qualities, strict=True)
    ]


def _study_one(source: Source, quality: Quality, plan: Plan) -> Studied:
    # Drawing comes first: it raises if the cohort is not the one of the matrix.
    plane = quality.embedding
    values = source.matrix.values
    telling = telling_pair(values, plan.grouping, None if plane is None else plane.points)
    views = view_pairs(source, plan.max_pairs, plan.progress, telling)
    facts = read_facts(source, plan.seed, plan.progress)
    return Studied(
        source,
        quality,
        weigh(source, facts, plan.grouping, plan.seed),
        estimate_intervals(source, facts, plan.max_intervals, plan.seed, plan.progress),
        views,
        telling,
    )
