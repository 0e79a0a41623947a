"""Three sentences about a matrix: what sets networks apart, how much is noise, how sure it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from repshape._arrays import count
from repshape._doubt import PROVEN
from repshape.errors import TRIALS_PER_DIMENSION
from repshape.inference.factors import LEVEL, Factor
from repshape.inference.groups import GroupTest, holm
from repshape.inference.subspaces import STABLE_OVERLAP
from repshape.matrix.sizes import SIZES
from repshape.matrix.summary import doubt_words
from repshape.report.evidence import Evidence
from repshape.report.info import single_words
from repshape.report.noise import (
    COUNTS_MATTER,
    FloorSummary,
    no_floor_words,
    summarise_floors,
)
from repshape.report.quality import Prediction, Quality, many, part_of, regrouped, share_words
from repshape.report.responses import MOMENTS, TRIALS, Facts
from repshape.report.sources import Source

FloatArray = npt.NDArray[np.float64]

SCALED = "with all networks scaled to the same norm"
# Columns that a sentence names; further ones are counted.
MOST_NAMED = 3
# Networks with this many times as many neurons as others are not compared without a word.
MANY_MORE = 1.5
ROUNDING = 1e-9


def three_sentences(source: Source, quality: Quality, evidence: Evidence) -> tuple[str, str, str]:
    """Return what a careful colleague would say about a matrix."""
    if not source.distances.size:
        return (
            "There is only one network, so there is nothing to compare.",
            "There are no distances for noise to affect.",
            "There are no alignments to search for.",
        )
    first = _differences(source, quality, evidence)
    return first, _noise(source, evidence), _certainty(source, quality)


def _differences(source: Source, quality: Quality, evidence: Evidence) -> str:
    """Say what the distances have to do with the metadata, and how much of them is gain."""
    if source.coincide:
        return "All networks coincide: the distances are rounding errors."
    if source.n_missing:
        return "The metadata is not compared with the distances as long as pairs are missing."
    if evidence.test is not None:
        words = _group_words(evidence)
    else:
        words = prediction_words(quality.predictions)
    if evidence.gain is None:
        return f"{words}."
    share = share_words(evidence.gain.value)
    if evidence.gain.p_value is None:
        return (
            f"{words}; differences of overall {evidence.strength} account for {share} of the "
            "squared distances."
        )
    return (
        f"{words}; overall {evidence.strength} explains {share} of the differences between squared "
        f"distances (p = {evidence.gain.p_value:.2g})."
    )


def _group_words(evidence: Evidence) -> str:
    test, without, grouping = evidence.test, evidence.test_without_gain, evidence.grouping
    assert test is not None
    assert grouping is not None
    who = f"Groups by {grouping.column!r}"
    if test.smallest_p_value > LEVEL:
        return (
            f"{who} are too small to test: the smallest possible p-value is "
            f"{test.smallest_p_value:.2g}"
        )
    condition = ", if networks are independent" if grouping.blocks is None else ""
    p, q = (None if one is None else p_words(one) for one in (test, without))
    rest = without is not None and without.p_value <= LEVEL
    if test.p_value > LEVEL:
        words = f"{who} do not differ significantly ({p})"
        return f"{words}, but do {SCALED} ({q}{condition})" if rest else words
    size = f"{100 * test.effect_size:.0f} % of the squared distances"
    words = f"{who} differ ({p}{condition}) and explain {size}"
    if rest:
        words += f", also {SCALED} ({q})"
    elif without is not None:
        words += (
            f", but perhaps only in overall {evidence.strength}: {SCALED}, the difference is not "
            f"significant ({q})"
        )
    if test.dispersion_p_value <= LEVEL:
        words += "; they differ in spread, which may be part of the difference"
    for one in evidence.factors:
        if one.name != "gain" or without is None:  # of which the norms speak above
            words += _factor_words(one)
    return words


def p_words(test: GroupTest) -> str:
    """Return a p-value; if no permutation is as extreme, the smallest that their number allows."""
    if test.exact or test.p_value > 1.0 / (test.n_permutations + 1) * (1.0 + ROUNDING):
        return f"p = {test.p_value:.2g}"
    return f"p ≤ {test.p_value:.2g}, {test.n_permutations} permutations"


def _factor_words(factor: Factor) -> str:
    """Say in a clause what else groups differ in, and whether it could explain the difference."""
    listed = ", ".join(f"{name} {value:.3g}" for name, value in factor.medians.items())
    words = f"; they also differ in {factor.noun} (median {listed})"
    p = factor.repeated_p_value
    if p is None:
        return f"{words}, which alone can make them differ"
    how = f"{factor.how[:1].lower()}{factor.how[1:]}"
    return f"{words}, which {'could' if p > LEVEL else 'does not'} explain it: {how}, p = {p:.2g}"


def prediction_words(predictions: tuple[Prediction, ...]) -> str:
    """Say which columns nearest neighbours predict."""
    if not predictions:
        return "There is no metadata, so nothing is known about what sets the networks apart"
    found = [one.found for one in predictions if one.found is not None]
    names = [one.column for one in predictions if one.found is not None]
    if not found:
        return "No column of the metadata could be compared with the distances"
    p_values = holm(np.array([one.p_value for one in found]))
    good = [
        f"{name!r} ({'R²' if one.score == 'R2' else one.score} = {one.estimate:.2f})"
        for name, one, p in zip(names, found, p_values, strict=True)
        if p <= LEVEL and one.estimate > one.chance
    ]
    if not good:
        columns = "the only column" if len(found) == 1 else f"any of {len(found)} columns"
        return f"Nearest neighbours do not predict {columns} of the metadata better than chance"
    more = [f"{len(good) - MOST_NAMED} more"] if len(good) > MOST_NAMED else []
    listed = _listed(good[:MOST_NAMED] + more)
    worst = max(p for p in p_values if p <= LEVEL)
    return (
        f"Nearest neighbours predict {listed} of held-out networks better than chance (p ≤ "
        f"{worst:.2g}, corrected for {many(len(found), 'column')})"
    )


def _noise(source: Source, evidence: Evidence) -> str:
    """Say how much of the distances is noise."""
    found = summarise_floors(source, evidence)
    if found is not None:
        return _floor_sentence(source, evidence, found)
    facts = evidence.facts
    if facts is not None and TRIALS not in facts.kinds:
        if MOMENTS in facts.kinds:
            return (
                "The networks are given as means and covariances: if these are exact, the "
                "distances contain no noise; if they were estimated from trials, the distances are "
                "too large by an unknown amount."
            )
        return "The networks are given without noise, so the distances contain none."
    if facts is not None and facts.has_trials and int(facts.fewest.max()) == 1:
        return (
            "There is a single trial of each condition, so noise and signal cannot be separated: "
            "the distances contain an unknown amount of noise."
        )
    reason = no_floor_words(source, evidence)
    words = f"How much of the distances is noise is not known, because {reason}"
    return f"{words}{_size_words(source)}."


def _floor_sentence(source: Source, evidence: Evidence, found: FloorSummary) -> str:
    bars = source.matrix.error_bars
    if found.ratio <= 0.0:
        words = "The noise floor is not above 0: noise alone gives no distance on average"
    elif bars is not None:
        words = (
            "The distances are corrected for noise, and "
            f"{part_of(bars.n_above_zero, source.distances.size, 'interval')} "
            f"({100 * bars.level:g} %) are above 0; "
            f"before, the noise floor was {share_words(found.ratio)} of the median distance"
        )
    else:
        words = f"The noise floor is {share_words(found.ratio)} of the median distance"
        if found.n_pairs < source.distances.size:
            words += f" of the {many(found.n_pairs, 'pair')} with enough trials"
        if found.ratio >= 1.0:
            words += ", so a typical distance is no larger than noise alone would make it"
        else:
            squared = share_words(found.ratio**2)
            words += f", so noise accounts for about {squared} of a typical squared distance"
    if found.n_below and bars is None:
        below = part_of(found.n_below, found.n_pairs, "distance")
        words += f", and {below} are not above their floor"
    return f"{words}{_trial_words(evidence)}{_neuron_words(source)}."


def _size_words(source: Source) -> str:
    """Say how large the networks are, if the matrix records it."""
    sizes = source.matrix.sizes
    known = [] if sizes is None else [name for name in SIZES if sizes[name].notna().all()]
    if sizes is None or not known:
        return ""
    spans = [_span(sizes[name].to_numpy(), name) for name in known]
    return f"; the networks have {' and '.join(spans)}" + (
        " of each condition or more" if "trials" in known else ""
    )


def _neuron_words(source: Source) -> str:
    """Say that numbers of neurons are quite different, on which distances depend."""
    sizes = source.matrix.sizes
    if sizes is None or sizes["neurons"].isna().any():
        return ""
    neurons = sizes["neurons"].to_numpy()
    if neurons.max() < MANY_MORE * neurons.min():
        return ""
    return f"; the networks have {_span(neurons, 'neurons')}, and distances grow with their number"


def _span(numbers: FloatArray, noun: str) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return count(low, noun[:-1]) if low == high else f"{low} to {high} {noun}"


def _trial_words(evidence: Evidence) -> str:
    """Say that there are few trials, or that their numbers explain distances."""
    facts, share = evidence.facts, evidence.trial_counts
    words = ""
    few = 0 if facts is None else _with_few_trials(facts)
    if few and facts is not None:
        words += (
            f"; {part_of(few, len(facts.kinds), 'network')} have fewer than "
            f"{TRIALS_PER_DIMENSION} trials per dimension"
        )
    unstable = 0 if facts is None else int((facts.overlaps < STABLE_OVERLAP).sum())
    if unstable and facts is not None:
        words += (
            f"; the principal components of {many(unstable, 'network')} are unstable (two halves "
            f"of the trials overlap by {np.nanmin(facts.overlaps):.2f} at worst)"
        )
    counted = share is not None and share.p_value is not None and share.p_value <= LEVEL
    if share is not None and counted and share.value >= COUNTS_MATTER:
        words += (
            f"; numbers of trials explain {share_words(share.value)} of the differences between "
            "squared distances"
        )
    return words


def _with_few_trials(facts: Facts) -> int:
    given = np.array([kind == TRIALS for kind in facts.kinds])
    return int((facts.per_dimension[given] < TRIALS_PER_DIMENSION).sum())


def _certainty(source: Source, quality: Quality) -> str:
    """Say how surely the distances are the minimum, and whether they are consistent."""
    D, problems, total = source.matrix, [], source.distances.size
    if source.n_missing:
        problems.append(f"{part_of(source.n_missing, total, 'pair')} are not computed yet")
    if D.n_unconverged:
        early = part_of(D.n_unconverged, total, "pair")
        problems.append(f"the solver stopped early for {early}")
    if D.n_doubtful:
        problems.append(regrouped(doubt_words(D)))
    found = quality.triangles
    if found is not None and found.count:
        share = share_words(found.count / found.n_inequalities)
        problems.append(f"{share} of the triangle inequalities are violated")
    if found is not None and found.n_negative:
        problems.append(f"{many(found.n_negative, 'distance')} came out negative")
    if problems:
        return f"Use the distances with care: {_listed(problems)}."
    words = _search_words(source)
    if found is not None and found.n_inequalities and not source.coincide:
        words += ", and no triangle inequality is violated"
    return f"{words}."


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _search_words(source: Source) -> str:
    D = source.matrix
    if D.converged is None:
        return "Nothing is recorded about the search for the best alignments"
    upper = np.triu_indices(len(D), 1)
    if D.lower_bounds is not None:
        gaps = D.values[upper] - D.lower_bounds[upper]
        if (np.abs(gaps) <= PROVEN * np.abs(D.values[upper]).max()).all():
            return "All distances are proven to be the smallest that any alignment gives"
    if D.agreement is None or D.n_starts is None or D.n_starts[upper].max() == 1:
        return f"The solver converged for all pairs, each solved {single_words(D)}"
    shares = D.agreement[upper]
    composed = int((shares == 0.0).sum())
    worst = f"{share_words(shares.min())} in the worst"
    if composed:
        pairs = many(composed, "pair")
        worst = f"in {pairs} none did: it was composed from the alignments of other pairs"
    return (
        f"The solver converged for all pairs; in the median pair, {share_words(np.median(shares))} "
        f"of the independent starts found the best alignment ({worst})"
    )
