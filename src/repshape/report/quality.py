"""Checks of the distances in a report, and predictions of metadata from nearest neighbours."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.cluster import hierarchy

from repshape._arrays import count
from repshape._doubt import PROVEN
from repshape._parallel import run_all
from repshape.analysis.distortion import DistortionCurve, distortion_curve
from repshape.analysis.embedding import Embedding, embed
from repshape.analysis.neighbors import knn_classify, knn_regress
from repshape.analysis.protocol import NeighborScore
from repshape.errors import InputError
from repshape.io.tables import is_numeric
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.repair import repair
from repshape.matrix.summary import bound_words
from repshape.matrix.triangles import TriangleViolations, triangle_violations
from repshape.report.info import is_all_exact, n_single_of_few, polish_words, search_words
from repshape.report.sources import Inputs, Source

FloatArray = npt.NDArray[np.float64]
Check = tuple[str, str, str]  # topic, verdict ("good", "note" or "bad") and a sentence

# Up to this many networks the page has everything: every distance in full precision, metric
# scaling and repair. With more networks, the page says what was simplified.
FULL = 500
DIMENSIONS = (1, 2, 3, 4, 5, 7, 10)
# Up to this many networks the embedding is the best of several starts, which takes seconds. With
# more networks it starts from classical scaling only, which is rarely worse.
SEVERAL_STARTS = 150
PERMUTATIONS = 99
# Columns to predict; each takes a few tenths of a second for each matrix.
MOST_COLUMNS = 30
# A distance below this fraction of the largest one is rounding error, because it is a square root.
VANISHES = 1e-7
# Stresses from which an embedding is only fair, and from which its distances mislead.
FAIR_STRESS, POOR_STRESS = 0.1, 0.2
COUNTS = re.compile(r"\b\d{4,}(?= (?:of \d|pairs?\b))")
# Smaller stresses and relative errors are shown as "below" this number.
SMALLEST_SHOWN = 1e-4


@dataclass(frozen=True, eq=False)
class Prediction:
    """How well the neighbours in one matrix predict one column of the metadata.

    ``found`` is None if the column cannot be predicted; then ``reason`` says why.
    """

    column: str
    source: str
    found: NeighborScore | None
    reason: str


@dataclass(frozen=True, eq=False)
class Quality:
    """The checks of one matrix and what was computed for them.

    Attributes
    ----------
    checks : tuple of (topic, verdict, sentence)
        The verdict is ``"good"``, ``"note"`` or ``"bad"``.
    embedding : Embedding or None
        The networks in the plane; None if pairs are missing.
    curve : DistortionCurve or None
        Distortion as a function of dimension.
    order : ndarray of int
        The networks in the leaf order of a hierarchical clustering.
    predictions : tuple of Prediction
        One for each column of the metadata.
    triangles : TriangleViolations or None
        The triangle inequalities that were checked; None if all networks coincide.
    """

    checks: tuple[Check, ...]
    embedding: Embedding | None
    curve: DistortionCurve | None
    order: npt.NDArray[np.intp]
    predictions: tuple[Prediction, ...] = ()
    triangles: TriangleViolations | None = None


def assess(inputs: Inputs, seed: int, progress: bool | None) -> list[Quality]:
    """Check and embed every matrix, and predict every column of the metadata from it."""
    checked = run_all(
        lambda one: check_matrix(one, seed), inputs.sources, what="matrices", progress=progress
    )
    columns = list(inputs.metadata.columns)[:MOST_COLUMNS]
    predictions = run_all(
        lambda task: _predict(*task, seed),
        [(inputs.metadata[name], source) for source in inputs.sources for name in columns],
        what="columns",
        progress=progress,
    )
    size = len(columns)
    return [
        replace(quality, predictions=tuple(predictions[k * size : (k + 1) * size]))
        for k, quality in enumerate(checked)
    ]


def check_matrix(source: Source, seed: int) -> Quality:
    """Check one matrix, repair it if the embedding requires that, and embed it."""
    D = source.matrix
    if source.coincide:
        return _coinciding(source)
    triangles = triangle_violations(D)
    checks = [_completeness(source), _convergence(source), *_search(D), *_bounds(D)]
    checks.append(_triangles(triangles))
    if "polish" in D.description:
        checks.append(_polish(D.description["polish"], triangles))
    if source.n_missing:
        words = "There is no embedding and no clustering as long as pairs are missing."
        checks.append(("Embedding", "note", words))
        order = np.arange(len(D.values), dtype=np.intp)
        return Quality(tuple(checks), None, None, order, triangles=triangles)
    metric, repaired = _metric_version(D, triangles)
    size = len(metric.values)
    method = "metric" if size <= FULL else "classical"
    starts = 4 if size <= SEVERAL_STARTS else 1
    plane = embed(metric, 2, method=method, n_init=starts, random_state=seed)
    curve = None
    if size > 2:
        curve = distortion_curve(metric, DIMENSIONS, method=method, random_state=seed)
    checks += [repaired, _fit(plane, curve)]
    order = _leaf_order(metric.values)
    return Quality(tuple(checks), plane, curve, order, triangles=triangles)


def _coinciding(source: Source) -> Quality:
    """Return the checks of a matrix of zeros, with all networks in one place."""
    D = source.matrix
    size = float(np.nanmax(np.abs(D.values), initial=0.0))
    words = (
        f"All networks coincide: the largest distance, {size:.1e}, is rounding error. Triangles, "
        "embedding and neighbours are not informative."
    )
    points = np.zeros((len(D.values), 2))
    plane = Embedding(points, 0.0, 2, "all networks coincide", D.labels, np.zeros(2))
    checks = (_completeness(source), _convergence(source), ("Distances", "note", words))
    return Quality(checks, plane, None, np.arange(len(points), dtype=np.intp))


def many(number: int, noun: str) -> str:
    """Return a count with its digits in groups of three.

    >>> many(44850, "pair").replace("\u202f", " ")
    '44 850 pairs'
    """
    return count(number, noun).replace(str(number), grouped(number), 1)


def grouped(number: int) -> str:
    """Return a number with its digits in groups of three."""
    return f"{number:,}".replace(",", "\u202f")  # a narrow space that does not break


def part_of(part: int, total: int, noun: str) -> str:
    """Return a part of a count, with the digits of both numbers in groups of three.

    >>> part_of(2826, 4851, "pair").replace("\u202f", " ")
    '2 826 of 4 851 pairs'
    """
    return f"{grouped(part)} of {many(total, noun)}"


def regrouped(words: str) -> str:
    """Return a sentence with the digits of counts of pairs in groups of three.

    >>> regrouped("for 2826 of 4851 pairs, in 2023").replace("\u202f", " ")
    'for 2 826 of 4 851 pairs, in 2023'
    """
    return COUNTS.sub(lambda found: grouped(int(found[0])), words)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _completeness(source: Source) -> Check:
    total = source.distances.size
    if not source.n_missing:
        return "Complete", "good", f"All {many(total, 'pair')} are computed."
    missing = part_of(source.n_missing, total, "pair")
    words = f"{missing} {_is(source.n_missing)} not computed yet."
    return "Complete", "bad", words


def _convergence(source: Source) -> Check:
    D = source.matrix
    if D.converged is None:
        return "Convergence", "note", "The file does not say whether the solver converged."
    known = source.distances.size - source.n_missing
    if D.n_unconverged == 0:
        return "Convergence", "good", f"The solver converged for all {many(known, 'pair')}."
    share = percent_words(D.n_unconverged / known)
    words = f"The solver stopped before convergence for {many(D.n_unconverged, 'pair')} "
    return "Convergence", "bad", words + f"({share}): these distances may be too large."


def _search(D: DistanceMatrix) -> list[Check]:
    words = regrouped(search_words(D))
    if not words:
        return []
    assert D.n_starts is not None
    sure = is_all_exact(D) or (D.n_starts.max() > 1 and not n_single_of_few(D))
    verdict = "bad" if D.n_doubtful else "good" if sure else "note"
    return [("Search", verdict, _capital(words.removeprefix("search: ")) + ".")]


def _bounds(D: DistanceMatrix) -> list[Check]:
    if D.lower_bounds is None or is_all_exact(D):  # a bound adds nothing to an exact search
        return []
    upper = np.triu_indices(len(D.values), 1)
    distances, bounds = D.values[upper], D.lower_bounds[upper]
    distances, bounds = distances[~np.isnan(distances)], bounds[~np.isnan(distances)]
    positive = distances > VANISHES * np.abs(distances).max(initial=0.0)
    if not (bounds[positive] > 0.0).any():
        return []
    gaps = 1.0 - bounds[positive] / distances[positive]
    below = int((gaps < -PROVEN).sum())
    if below:
        words = f"{many(below, 'distance')} below the proven lower bound, which is impossible: "
        return [("Bounds", "bad", words + "the bounds are not those of these distances.")]
    proven = int((gaps <= PROVEN).sum())
    if proven == gaps.size:
        words = f"All {many(proven, 'distance')} above zero are proven to be minimal."
        return [("Bounds", "good", words)]
    words = regrouped(bound_words(D))
    if not words:  # the bounds say nothing about most pairs
        return []
    if proven:
        words += f"; {grouped(proven)} {_is(proven)} proven to be minimal"
    return [("Bounds", "note", words + " (not a confidence limit).")]


def _triangles(found: TriangleViolations) -> Check:
    if not found.n_inequalities:
        return "Triangles", "note", "There are no triangles to check."
    checked = grouped(found.n_inequalities)
    if not found.count and not found.n_negative:
        return "Triangles", "good", f"None of the {checked} triangle inequalities is violated."
    words = f"{grouped(found.count)} of {checked} triangle inequalities {_is(found.count)} violated"
    if found.where is not None:
        words += f", by up to {percent_words(found.relative)} of the largest distance"
    if found.n_negative:
        words += f"; {many(found.n_negative, 'distance')} came out negative"
    return "Triangles", "bad", words + "."


def _polish(report: dict[str, Any], found: TriangleViolations) -> Check:
    """Say what the polish changed; violated triangles are those of the check above."""
    words = "No distance became smaller when it was restarted from the alignments of others"
    if report["pairs_improved"]:
        words = _capital(polish_words(report, triangles=False).removeprefix("polish: "))
    if found.count:
        return "Polish", "bad", f"{words}; triangles are violated nevertheless."
    return "Polish", "good", f"{words}."


def _metric_version(D: DistanceMatrix, found: TriangleViolations) -> tuple[DistanceMatrix, Check]:
    """Return the matrix to embed: the given one if it is a metric, or else the nearest metric."""
    if D.description.get("repaired"):
        return D, ("Repair", "note", "The matrix was already repaired when it was read.")
    if not found.count and not found.n_negative:
        return D, ("Repair", "good", "Not needed.")
    if len(D.values) > FULL:
        if not found.n_negative:
            words = f"Skipped for more than {FULL} networks. Run `repshape repair` on the matrix."
            return D, ("Repair", "note", words)
        clipped = DistanceMatrix(np.maximum(D.values, 0.0), D.labels)
        words = "Not done; for the embedding, negative distances were set to zero."
        return clipped, ("Repair", "bad", words)
    result = repair(D)
    words = (
        "The embedding and the clustering use the nearest distances without violated triangles, "
        f"which differ by at most {result.largest_change:.3g}. The map, the tables and the "
        "neighbours use the distances as they were measured."
    )
    return result.matrix, ("Repair", "note", words)


def _fit(plane: Embedding, curve: DistortionCurve | None) -> Check:
    words = f"{_capital(plane.method)}, with stress {small_words(plane.stress)} in two dimensions"
    if curve is not None:
        middle = curve.values[1, curve.percentiles.index(50.0)]
        last = curve.values[-1, curve.percentiles.index(50.0)]
        words += (
            f"; for half of the pairs, the distance in the plane is within "
            f"{percent_words(middle - 1)} of the true one ({percent_words(last - 1)} in "
            f"{curve.dimensions[-1]} dimensions)"
        )
    verdict = "good" if plane.stress < FAIR_STRESS else "note"
    return "Embedding", "bad" if plane.stress >= POOR_STRESS else verdict, words + "."


def small_words(value: float) -> str:
    """Return a number in three digits, or that it is very small.

    >>> small_words(0.01234), small_words(3e-16)
    ('0.0123', 'below 0.0001')
    """
    return f"below {SMALLEST_SHOWN:g}" if value < SMALLEST_SHOWN else f"{value:.3g}"


def percent_words(share: float) -> str:
    """Return a fraction in percent, with two digits or as an integer, but no less than 0.01 %.

    >>> percent_words(0.0123), percent_words(1.114), percent_words(2e-16)
    ('1.2 %', '111 %', '0.01 %')
    """
    percent = 100 * max(share, SMALLEST_SHOWN)
    return f"{percent:.2g} %" if percent < 10 else f"{percent:.0f} %"


def share_words(share: float) -> str:
    """Return a share in percent, which may be nothing at all.

    >>> share_words(0.0), share_words(2e-16), share_words(0.361)
    ('0 %', 'less than 0.01 %', '36 %')
    """
    if not share:
        return "0 %"
    return f"less than {percent_words(0.0)}" if share < SMALLEST_SHOWN else percent_words(share)


def _leaf_order(distances: FloatArray) -> npt.NDArray[np.intp]:
    """Return the leaf order of average-linkage clustering, with similar networks adjacent."""
    size = len(distances)
    if size < 3:
        return np.arange(size, dtype=np.intp)
    condensed = distances[np.triu_indices(size, 1)]
    tree = hierarchy.linkage(condensed, "average", optimal_ordering=size <= FULL)
    return hierarchy.leaves_list(tree).astype(np.intp)


def _predict(column: pd.Series[Any], source: Source, seed: int) -> Prediction:
    """Predict a column for held-out networks, and compare the score with chance."""
    name = str(column.name)
    try:
        return Prediction(name, source.name, _score(source, column, seed), "")
    except InputError as error:
        return Prediction(name, source.name, None, str(error))


def _score(source: Source, column: pd.Series[Any], seed: int) -> NeighborScore:
    if source.coincide:
        raise InputError("All networks coincide.")
    distinct = column.nunique()
    if distinct < 2:
        raise InputError("All networks have the same value.")
    numbers = is_numeric(column)
    if not numbers and distinct > len(column) / 2:
        raise InputError(f"{distinct} classes are too many for {len(column)} networks.")
    predict = knn_regress if numbers else knn_classify
    return predict(source.matrix, column.to_numpy(), n_permutations=PERMUTATIONS, random_state=seed)
