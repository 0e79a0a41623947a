"""Checks of what else could explain the distances: noise, numbers of trials, gain and spread."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from repshape.errors import TRIALS_PER_DIMENSION
from repshape.inference.factors import LEVEL
from repshape.inference.subspaces import STABLE_OVERLAP
from repshape.report.evidence import Evidence, Share
from repshape.report.quality import Check, many, part_of, share_words
from repshape.report.responses import MOMENTS, POINTS, TRIALS, Facts
from repshape.report.sources import Source

# A share of the squared distances from which it is worth mentioning, and from which it dominates.
SOME, MOST = 0.25, 0.5
# Numbers of trials matter if they explain this share of the differences between squared distances,
# more than permuted numbers do at the level of tests of groups.
COUNTS_MATTER = 0.1


@dataclass(frozen=True)
class FloorSummary:
    """Noise floors beside plug-in distances, over the pairs that have one.

    Attributes
    ----------
    ratio : float
        Median floor, divided by the median distance.
    share : float
        Sum of squared floors, divided by the sum of squared distances.
    n_below, n_pairs : int
        Number of distances that are not above their floor, and of all that have a floor.
    """

    ratio: float
    share: float
    n_below: int
    n_pairs: int


def summarise_floors(source: Source, evidence: Evidence) -> FloorSummary | None:
    """Return the noise floors beside the distances, or None if there are none."""
    if evidence.floors is None or source.coincide:
        return None
    upper = np.triu_indices(len(source.matrix), 1)
    floors, distances = evidence.floors[upper], source.plug_in.values[upper]
    known = ~np.isnan(floors) & ~np.isnan(distances)
    floors, distances = floors[known], distances[known]
    middle = float(np.median(distances)) if distances.size else 0.0
    if middle <= 0.0:
        return None
    total = float(np.sum(distances * np.abs(distances)))
    return FloorSummary(
        ratio=float(np.median(floors)) / middle,
        share=float(np.sum(floors * np.abs(floors))) / total if total > 0.0 else 0.0,
        n_below=int(np.count_nonzero(distances <= floors)),
        n_pairs=int(distances.size),
    )


def noise_checks(source: Source, evidence: Evidence) -> list[Check]:
    """Return the checks of noise, numbers of trials, gain and groups."""
    checks = [_trials(evidence.facts), _floors(source, evidence)]
    if evidence.trial_counts is not None and evidence.facts is not None:
        checks.append(_trial_counts(evidence.trial_counts, evidence.facts))
    if evidence.facts is not None and not np.isnan(evidence.facts.overlaps).all():
        checks.append(_components(evidence.facts))
    if evidence.gain is not None:
        checks.append(_gain(evidence.gain, evidence.strength))
    if evidence.test is not None:
        checks.append(_groups(evidence))
    return checks


def _span(values: npt.ArrayLike) -> str:
    low, high = (f"{edge:.3g}" for edge in (np.min(values), np.max(values)))
    return low if low == high else f"{low} to {high}"


def _counted(values: npt.ArrayLike, noun: str) -> str:
    words = _span(values)
    return f"{words} {noun}" if words == "1" else f"{words} {noun}s"


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _trials(facts: Facts | None) -> Check:
    topic = "Trials"
    if facts is None:
        return topic, "note", "Not known, because the report was made without the responses."
    counts = {kind: facts.kinds.count(kind) for kind in (TRIALS, MOMENTS, POINTS)}
    if not counts[TRIALS]:
        words = "The networks are given as means and covariances, without trials."
        if not counts[MOMENTS]:
            words = "The networks are given without noise: one response for each condition."
        return topic, "note", words
    given = np.array([kind == TRIALS for kind in facts.kinds])
    words = (
        f"{_counted(facts.trials[given], 'trial')} of each condition and "
        f"{_counted(facts.neurons[given], 'neuron')}; {_span(facts.per_dimension[given])} trials "
        "per dimension"
    )
    if counts[TRIALS] < len(given):
        words += f". {len(given) - counts[TRIALS]} of {len(given)} networks have no trials"
    single = int((facts.fewest[given] == 1).sum())
    if single:
        words += f". {many(single, 'network')} {_have(single)} conditions with a single trial, "
        return topic, "bad", words + "which says nothing about noise."
    few = int((facts.per_dimension[given] < TRIALS_PER_DIMENSION).sum())
    if few:
        words += (
            f". {many(few, 'network')} {_have(few)} fewer than {TRIALS_PER_DIMENSION}, so that "
            "noise shapes covariances and alignments."
        )
        return topic, "bad", words
    return topic, "good" if counts[TRIALS] == len(given) else "note", words + "."


def _floors(source: Source, evidence: Evidence) -> Check:
    found = summarise_floors(source, evidence)
    topic = "Noise floor"
    if found is None:
        facts = evidence.facts
        none = facts is not None and set(facts.kinds) == {POINTS}
        start = "There is none" if none else "Not known"
        return topic, "note", f"{start}: {no_floor_words(source, evidence)}."
    before = " before the correction for noise" if source.matrix.error_bars is not None else ""
    if found.share <= 0.0:
        words = "The floor is not above 0: noise alone gives no distance on average"
    else:
        words = (
            f"The floor is {share_words(found.ratio)} of the median distance{before}; noise "
            f"alone gives {share_words(found.share)} of the mean squared distance"
        )
    below = f"{part_of(found.n_below, found.n_pairs, 'distance')} are not above their floor"
    words += f"; {below}." if found.n_below else "; every distance is above its floor."
    verdict = "bad" if found.share >= MOST else "note" if found.share >= SOME else "good"
    return topic, verdict, words


def no_floor_words(source: Source, evidence: Evidence) -> str:
    """Say why there is no noise floor, without a capital letter and a full stop."""
    facts = evidence.facts
    if source.coincide:
        return "all networks coincide"
    if facts is None:
        return "the report was made without the responses"
    if TRIALS not in facts.kinds:
        return (
            "the networks are given as means and covariances"
            if MOMENTS in facts.kinds
            else "the networks are given without noise"
        )
    if source.metric is None:
        return "the metric is not known"
    return "there are too few trials to divide them into halves"


def _trial_counts(share: Share, facts: Facts) -> Check:
    topic = "Trial counts"
    if share.p_value is None:
        return topic, "good", "All networks have the same numbers of trials."
    words = (
        f"Numbers of trials explain {share_words(share.value)} of the differences between "
        f"squared distances (Mantel test, p = {share.p_value:.2g}), from "
        f"{_counted(facts.fewest, 'trial')} of the condition with fewest."
    )
    if share.p_value > LEVEL:
        return topic, "good", words
    return topic, "bad" if share.value >= COUNTS_MATTER else "note", words


def _gain(share: Share, strength: str) -> Check:
    topic = f"{strength.split()[0].capitalize()} norm"
    verdict = "bad" if share.value >= MOST else "note" if share.value >= SOME else "good"
    if share.p_value is None:
        words = (
            f"Differences of overall {strength} (norm) account for "
            f"{share_words(share.value)} of the squared distances."
        )
        return topic, verdict, words
    words = (
        f"Differences of overall {strength} (norm) explain "
        f"{share_words(share.value)} of the differences between squared distances (Mantel test, "
        f"p = {share.p_value:.2g})."
    )
    return topic, "good" if share.p_value > LEVEL else verdict, words


def _groups(evidence: Evidence) -> Check:
    test, grouping = evidence.test, evidence.grouping
    assert test is not None
    assert grouping is not None
    words = [f"By {grouping.column!r}.", *replace(test, factors=()).words()]
    if evidence.test_without_gain is not None and "gain" not in evidence.factor_names:
        p = evidence.test_without_gain.p_value
        words.append(f"With all networks scaled to norm 1: p = {p:.3g}.")
    if grouping.blocks is None:
        words.append(
            "The test assumes that networks are independent. If several come from one animal or "
            "one trained model, make the page again with the column that says so as blocks."
        )
    words += [one.words(test.p_value <= LEVEL) for one in evidence.factors]
    doubtful = evidence.factors or test.dispersion_p_value <= LEVEL
    return "Groups", "bad" if doubtful else "good", " ".join(words)


def _components(facts: Facts) -> Check:
    """Say how well two halves of the trials agree about the principal components."""
    topic = "Components"
    known = facts.overlaps[~np.isnan(facts.overlaps)]
    low = int((known < STABLE_OVERLAP).sum())
    words = f"Those of two halves of the trials overlap by {_span(known)} (1 is identical)"
    if not low:
        return topic, "good", f"{words}: they are stable."
    words += (
        f": those of {part_of(low, known.size, 'network')} are unstable, chosen partly by noise."
    )
    return topic, "bad", words
