"""How far the numbers of a report can be trusted, and what neighbours tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.cluster import hierarchy

from repshape._parallel import run_all
from repshape.analysis.distortion import DistortionCurve, distortion_curve
from repshape.analysis.embedding import Embedding, embed
from repshape.analysis.neighbors import knn_classify, knn_regress
from repshape.analysis.protocol import NeighborScore
from repshape.errors import InputError
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.repair import repair
from repshape.matrix.triangles import TriangleViolations, triangle_violations
from repshape.report.info import polish_words
from repshape.report.sources import Source
from repshape.report.words import many

FloatArray = npt.NDArray[np.float64]

# Up to this many networks everything is on the page: each distance in full, a plane by metric
# scaling, repair. Beyond it the page says what was simplified.
FULL = 500
DIMENSIONS = (1, 2, 3, 4, 5, 7, 10)
# Up to this many networks the plane is the best of several starts, which takes seconds; beyond it,
# that from classical scaling, which is seldom worse.
SEVERAL_STARTS = 150
PERMUTATIONS = 99
# Columns judged by neighbours; each costs a few tenths of a second for each matrix.
MOST_COLUMNS = 20
# A bound this close to the distance, relative to it, proves the optimum.
PROVEN = 1e-6
# Below this share of the largest distance a distance is the rounding of a square root, and below
# this share of the pairs' distances it is not worth a number how far a plane bends them.
VANISHES = 1e-7
NOT_WORTH_A_NUMBER = 1e-4


@dataclass(frozen=True, eq=False)
class Quality:
    """What was checked of one matrix.

    Attributes
    ----------
    checks : tuple of (topic, verdict, words)
        Verdict is ``"good"``, ``"note"`` or ``"bad"``.
    embedding : Embedding or None
        The plane; None while pairs are missing.
    curve : DistortionCurve or None
        Distortion by dimension.
    order : ndarray of int
        Networks in the order in which a tree of clusters has them.
    """

    checks: tuple[tuple[str, str, str], ...]
    embedding: Embedding | None
    curve: DistortionCurve | None
    order: npt.NDArray[np.intp]


def assess(source: Source, seed: int) -> Quality:
    """Check one matrix, repair it where a plane needs that, and embed it."""
    D = source.matrix
    if source.coincide:
        return _coinciding(D)
    triangles = triangle_violations(D)
    checks = [_completeness(D), _convergence(D), _bounds(D), _triangles(triangles)]
    if "polish" in D.description:
        checks.append(_polish(D.description["polish"]))
    if not D.complete:
        words = "No plane and no clusters while pairs are missing."
        checks.append(("Embedding", "note", words))
        return Quality(_some(checks), None, None, np.arange(len(D), dtype=np.intp))
    metric, repaired = _metric_version(D, triangles)
    checks.append(repaired)
    method = "metric" if len(D) <= FULL else "classical"
    starts = 4 if len(D) <= SEVERAL_STARTS else 1
    plane = embed(metric, 2, method=method, n_init=starts, random_state=seed)
    curve = None
    if len(D) > 2:
        curve = distortion_curve(metric, DIMENSIONS, method=method, random_state=seed)
    checks.append(_fit(plane, curve))
    return Quality(_some(checks), plane, curve, _leaf_order(metric))


def _coinciding(D: DistanceMatrix) -> Quality:
    """Say that there is nothing to see, and draw all networks in one place."""
    size = float(np.nanmax(np.abs(D.values), initial=0.0))
    words = (
        f"All networks coincide: the largest distance, {size:.1e}, is rounding. Triangles, plane "
        "and neighbours have nothing to say."
    )
    points = np.zeros((len(D), 2))
    plane = Embedding(points, 0.0, 2, "all networks coincide", D.labels, np.zeros(2))
    checks = (_completeness(D), _convergence(D), ("Distances", "note", words))
    return Quality(checks, plane, None, np.arange(len(D), dtype=np.intp))


def _some(
    checks: Sequence[tuple[str, str, str] | None],
) -> tuple[tuple[str, str, str], ...]:
    return tuple(check for check in checks if check is not None)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _completeness(D: DistanceMatrix) -> tuple[str, str, str]:
    total = D.condensed().size
    if D.complete:
        return "Complete", "good", f"All {many(total, 'pair')} are computed."
    return "Complete", "bad", f"{D.n_missing} of {many(total, 'pair')} are not computed yet."


def _convergence(D: DistanceMatrix) -> tuple[str, str, str]:
    if D.converged is None:
        return "Convergence", "note", "The file does not say whether the solver converged."
    known = D.condensed().size - D.n_missing
    if D.n_unconverged == 0:
        return "Convergence", "good", f"The solver converged for all {many(known, 'pair')}."
    share = 100 * D.n_unconverged / known
    words = f"{many(D.n_unconverged, 'pair')} ({share:.2g} %) stopped before convergence: "
    return "Convergence", "bad", words + "their distances may be too large."


def _bounds(D: DistanceMatrix) -> tuple[str, str, str] | None:
    if D.lower_bounds is None:
        return None
    upper = np.triu_indices(len(D), 1)
    distances, bounds = D.values[upper], D.lower_bounds[upper]
    distances, bounds = distances[~np.isnan(distances)], bounds[~np.isnan(distances)]
    positive = distances > VANISHES * np.abs(distances).max(initial=0.0)
    if not (bounds[positive] > 0.0).any():
        return "Bounds", "note", "This metric has no lower bound that says anything."
    gaps = 1.0 - bounds[positive] / distances[positive]
    proven = int((gaps <= PROVEN).sum())
    if proven == gaps.size:
        return "Bounds", "good", f"All {many(proven, 'distance')} above zero proven the smallest."
    middle = 100 * float(np.median(gaps[gaps > PROVEN]))
    words = f"{proven or 'None'} of {many(gaps.size, 'distance')} proven the smallest"
    others = "the others" if proven else "them"
    words += f"; half of {others} lie within {middle:.2g} % of their lower bound"
    return "Bounds", "note", words + "."


def _triangles(found: TriangleViolations) -> tuple[str, str, str]:
    checked = many(found.n_inequalities, "triangle inequalitie")  # the plural is what is said
    if not found.n_inequalities:
        return "Triangles", "note", "There is no triangle to check."
    if not found.count and not found.n_negative:
        return "Triangles", "good", f"None of {checked} is broken."
    words = f"{found.count} of {checked} are broken"
    if found.where is not None:
        words += f", by up to {100 * found.relative:.2g} % of the largest distance"
    if found.n_negative:
        words += f"; {many(found.n_negative, 'distance')} came out negative"
    return "Triangles", "bad", words + "."


def _polish(report: dict[str, Any]) -> tuple[str, str, str]:
    if not report["pairs_improved"] and not report["violated_triangles_after"]:
        return "Polish", "good", "No pair got shorter when it was restarted from others."
    verdict = "bad" if report["violated_triangles_after"] else "good"
    return "Polish", verdict, _capital(polish_words(report).removeprefix("polish: ")) + "."


def _metric_version(
    D: DistanceMatrix, found: TriangleViolations
) -> tuple[DistanceMatrix, tuple[str, str, str]]:
    """Return what is embedded: the matrix itself where it can be, else the nearest metric."""
    if D.description.get("repaired"):
        return D, ("Repair", "note", "The matrix was repaired before it came here.")
    if not found.count and not found.n_negative:
        return D, ("Repair", "good", "Not needed.")
    if len(D) > FULL:
        if not found.n_negative:
            return D, ("Repair", "note", "Not done: run `repshape repair` on the matrix.")
        clipped = DistanceMatrix(np.maximum(D.values, 0.0), D.labels)
        words = "Not done; for the plane, negative distances were set to zero."
        return clipped, ("Repair", "bad", words)
    result = repair(D)
    words = (
        "For plane and clusters the nearest distances without broken triangles were taken, which "
        f"moves a pair by at most {result.largest_change:.3g}. Map, table and neighbours show the "
        "distances as measured."
    )
    return result.matrix, ("Repair", "note", words)


def _fit(plane: Embedding, curve: DistortionCurve | None) -> tuple[str, str, str]:
    words = f"{_capital(plane.method)}: stress {small_words(plane.stress)} in the plane"
    if curve is not None:
        middle = curve.values[1, curve.percentiles.index(50.0)]
        last = curve.values[-1, curve.percentiles.index(50.0)]
        words += (
            f"; half of the pairs are drawn within {percent_words(middle - 1)} of their distance "
            f"({percent_words(last - 1)} in {curve.dimensions[-1]} dimensions)"
        )
    return "Embedding", "good" if plane.stress < 0.1 else "note", words + "."


def small_words(value: float) -> str:
    """Return a share, or that it is next to nothing.

    >>> small_words(0.01234), small_words(3e-16)
    ('0.0123', 'below 0.0001')
    """
    below = value < NOT_WORTH_A_NUMBER
    return f"below {NOT_WORTH_A_NUMBER:g}" if below else f"{value:.3g}"


def percent_words(share: float) -> str:
    """Return a share in percent, or that it is next to nothing.

    >>> percent_words(0.0123), percent_words(2e-16)
    ('1.2 %', '0.01 %')
    """
    return f"{100 * max(share, NOT_WORTH_A_NUMBER):.2g} %"


def _leaf_order(D: DistanceMatrix) -> npt.NDArray[np.intp]:
    """Return the leaves of a tree by average linkage, near ones beside each other."""
    if len(D) < 3:
        return np.arange(len(D), dtype=np.intp)
    tree = hierarchy.linkage(D.condensed(), "average", optimal_ordering=len(D) <= FULL)
    return hierarchy.leaves_list(tree).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Prediction:
    """What neighbours in one matrix tell about one column of the metadata.

    ``found`` is None where the column cannot be judged, and ``reason`` says why.
    """

    column: str
    source: str
    found: NeighborScore | None
    reason: str


def predict_columns(
    sources: Sequence[Source], metadata: pd.DataFrame, seed: int, progress: bool | None
) -> list[Prediction]:
    """Judge each column by each matrix, by held-out networks against chance."""
    tasks = [(name, one) for name in list(metadata.columns)[:MOST_COLUMNS] for one in sources]

    def judge(task: tuple[Any, Source]) -> Prediction:
        name, source = task
        try:
            return Prediction(name, source.name, _score(source, metadata[name], seed), "")
        except InputError as error:
            return Prediction(name, source.name, None, str(error))

    return run_all(judge, tasks, what="columns", progress=progress)


def _score(source: Source, column: pd.Series[Any], seed: int) -> NeighborScore:
    if source.coincide:
        raise InputError("All networks coincide.")
    distinct = column.nunique()
    if distinct < 2:
        raise InputError("Every network has the same value.")
    if column.dtype.kind == "f":
        return knn_regress(
            source.matrix, column.to_numpy(), n_permutations=PERMUTATIONS, random_state=seed
        )
    if distinct > len(column) / 2:
        raise InputError(f"{distinct} classes are too many for {len(column)} networks.")
    return knn_classify(
        source.matrix, column.to_numpy(), n_permutations=PERMUTATIONS, random_state=seed
    )
