"""The headline of a matrix: the finding, how much is noise, and what is wrong with the search."""

from __future__ import annotations

import numpy as np

from repshape.inference.factors import LEVEL
from repshape.report.evidence import Evidence
from repshape.report.noise import summarise_floors
from repshape.report.quality import Quality, many, part_of, share_words
from repshape.report.sentences import p_words, prediction_words
from repshape.report.sources import Source


def make_headline(source: Source, quality: Quality, evidence: Evidence) -> str:
    """Return what a reader should know first, in at most three short sentences."""
    if not source.distances.size:
        return "There is only one network, so there is nothing to compare."
    parts = [_finding(source, quality, evidence), _noise(source, evidence), _search(source)]
    return " ".join(part for part in parts if part)


def _finding(source: Source, quality: Quality, evidence: Evidence) -> str:
    if source.coincide:
        return "All networks coincide: the distances are rounding errors."
    if source.n_missing:
        missing = part_of(source.n_missing, source.distances.size, "pair")
        return f"The matrix is incomplete: {missing} are missing."
    if evidence.test is not None:
        return f"{_groups(evidence)}."
    if any(one.found is not None for one in quality.predictions):
        return f"{prediction_words(quality.predictions)}."
    return _extremes(source)


def _extremes(source: Source) -> str:
    """Name the nearest and the farthest pair, if there is nothing to compare distances with."""
    D = source.matrix
    rows, columns = np.triu_indices(len(D), 1)
    near, far = int(source.distances.argmin()), int(source.distances.argmax())
    if near == far:
        return f"The distance between the two networks is {source.distances[near]:.3g}."
    named = [f"{D.labels[rows[p]]!r} and {D.labels[columns[p]]!r}" for p in (near, far)]
    return (
        f"The nearest networks are {named[0]} (distance {source.distances[near]:.3g}), the "
        f"farthest {named[1]} ({source.distances[far]:.3g})."
    )


def _groups(evidence: Evidence) -> str:
    test, grouping = evidence.test, evidence.grouping
    assert test is not None
    assert grouping is not None
    who = f"Groups by {grouping.column!r}"
    if test.smallest_p_value > LEVEL:
        return f"{who} are too small to test"
    if test.p_value > LEVEL:
        return f"{who} do not differ significantly ({p_words(test)})"
    size = f"{100 * test.effect_size:.0f} % of the squared distances"
    words = f"{who} differ: they explain {size} ({p_words(test)})"
    doubts = _explanations(evidence)
    return f"{words}, but {doubts}" if doubts else words


def _explanations(evidence: Evidence) -> str:
    """Say what else could explain the difference of the groups, if anything could."""
    assert evidence.test is not None
    unsettled = [
        one.noun
        for one in evidence.factors
        if one.repeated_p_value is None or one.repeated_p_value > LEVEL
    ]
    without = evidence.test_without_gain
    if without is not None and without.p_value > LEVEL and "gain" not in evidence.factor_names:
        unsettled.append(f"overall {evidence.strength}")
    if unsettled:
        return f"differences in {' and '.join(unsettled)} could explain it"
    if evidence.test.dispersion_p_value <= LEVEL:
        return "they differ in spread, which may be part of it"
    return ""


def _noise(source: Source, evidence: Evidence) -> str:
    found = summarise_floors(source, evidence)
    if found is None or found.ratio <= 0.0:
        return ""
    if source.matrix.error_bars is not None:
        above = source.matrix.error_bars.n_above_zero
        counted = part_of(above, source.distances.size, "distance")
        return f"Corrected for noise, {counted} are above 0."
    if found.ratio >= 1.0:
        return "A typical distance is no larger than noise alone would make it."
    return f"Noise accounts for about {share_words(found.ratio**2)} of a typical squared distance."


def _search(source: Source) -> str:
    D = source.matrix
    if D.n_unconverged:
        return f"The solver stopped early for {many(D.n_unconverged, 'pair')}."
    if D.n_doubtful:
        return f"The search is in doubt for {many(D.n_doubtful, 'pair')}."
    return ""
