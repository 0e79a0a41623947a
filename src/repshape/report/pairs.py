"""Pairs of networks before and after alignment, as planes on which their moments are projected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.engine.store import Store
from repshape.errors import InputError, InputTypeError
from repshape.metrics.base import ShapeMetric
from repshape.report.projection import (
    Body,
    PairDrawing,
    PairProjector,
    on_plane,
    padded,
    widened,
)
from repshape.report.quality import part_of
from repshape.report.sources import Source
from repshape.report.telling import TellingPair

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# Number of pairs that a thread draws at a time.
BATCH = 32
# A distance that is computed again may differ from the stored one by rounding, which grows with the
# size of the responses, and by as much as responses that were stored with few digits make.
ROUNDING, FEW_DIGITS = 1e-6, 1e-3


@dataclass(frozen=True, eq=False)
class PairViews:
    """Moments of networks, and the planes on which the networks of a pair are drawn.

    A pair (x, y) is drawn in the first two principal components of x. A plane is a matrix with two
    columns: a mean m becomes m W + w, a covariance S becomes W' S W, where W are all rows of the
    plane but the last one, w. What is drawn is exact: the coordinates of y are its neurons, or
    an orthonormal basis of both planes of the pair.

    Attributes
    ----------
    index : ndarray of int, shape (P, 2)
        The pairs (x, y) that are drawn, x < y.
    own : ndarray, shape (K, C, 5)
        Each network in its own components: two means, then xx, xy and yy of the covariance.
    means : ndarray, shape (K, C, R) or (P, C, R)
        Means of y, by network or by pair.
    covariances : ndarray, shape (K, C, R, R) or (P, C, R, R)
        Covariances in the same coordinates.
    by_pair : bool
        Whether means and covariances are those of pairs.
    planes_before, planes_after : ndarray, shape (P, R + 1, 2)
        The plane of y in the components of x, before and after alignment.
    parts : ndarray, shape (P, 4)
        Distance of the drawn alignment, its lower bound, and the parts of its square that means
        and covariances make, which add up to it; NaN for metrics without such parts.
    conditions : tuple of str
        Names of the C conditions that are drawn.
    note : str
        What is drawn and what is left out.
    """

    index: IndexArray
    own: FloatArray
    means: FloatArray
    covariances: FloatArray
    by_pair: bool
    planes_before: FloatArray
    planes_after: FloatArray
    parts: FloatArray
    conditions: tuple[str, ...]
    note: str

    @property
    def before(self) -> FloatArray:
        """Return y of each pair before alignment, shape (P, C, 5)."""
        return self._drawn(self.planes_before)

    @property
    def after(self) -> FloatArray:
        """Return y of each pair after alignment, shape (P, C, 5)."""
        return self._drawn(self.planes_after)

    def _drawn(self, planes: FloatArray) -> FloatArray:
        which = range(len(self.index)) if self.by_pair else self.index[:, 1].tolist()
        bodies = [Body(self.means[k], self.covariances[k]) for k in which]
        return np.array([on_plane(body, one) for body, one in zip(bodies, planes, strict=True)])


def no_views(note: str) -> PairViews:
    """Return no drawings, and a note that says why."""
    none, plane = np.zeros((0, 0, 0)), np.zeros((0, 1, 2))
    index = np.zeros((0, 2), dtype=np.intp)
    parts = np.zeros((0, 4))
    return PairViews(index, none, none, none[..., None], False, plane, plane, parts, (), note)


def view_pairs(
    source: Source, limit: int, progress: bool | None, telling: TellingPair | None = None
) -> PairViews:
    """Return drawings of at most ``limit`` pairs, or a note that says why there are none.

    The pair that the page shows first is among them.
    """
    metric, cohort = source.metric, source.cohort
    if metric is None:
        return no_views("This metric has no alignment to draw.")
    if cohort is None:
        return no_views(
            "Alignments are not drawn because the report was made without the responses. "
            "Pass the cohort to include them."
        )
    index = choose_pairs(source.matrix.values, limit)
    if telling is not None and len(index):
        index = _with_pair(index, telling.first, telling.second)
    if not len(index):
        return no_views("No pairs are drawn: none is computed yet, or none was requested.")
    try:
        projector = PairProjector(metric, cohort, len(index))
    except (InputError, InputTypeError) as error:
        return no_views(f"Alignments are not drawn: {error}")
    return _draw_pairs(source, projector, index, progress)


def _draw_pairs(
    source: Source, projector: PairProjector, index: IndexArray, progress: bool | None
) -> PairViews:
    """Return drawings of the given pairs."""
    kept = _stored_transforms(source.store, projector.metric, index)

    def draw(part: IndexArray) -> list[PairDrawing]:
        return [
            projector.draw(i, j, None if kept is None else kept[i, j]) for i, j in part.tolist()
        ]

    parts_of = [index[k : k + BATCH] for k in range(0, len(index), BATCH)]
    what = f"{BATCH} pairs of {source.name}"
    drawn = [one for some in run_all(draw, parts_of, what=what, progress=progress) for one in some]
    parts = np.array([one.parts for one in drawn])
    by_pair = [one.body for one in drawn if one.body is not None]
    bodies = by_pair or projector.bodies(len(source.matrix))
    width = max(body.means.shape[-1] for body in bodies)
    bodies = [padded(body, width) for body in bodies]
    views = PairViews(
        index,
        projector.own(len(source.matrix)),
        np.array([body.means for body in bodies]),
        np.array([body.covariances for body in bodies]),
        projector.by_pair,
        np.array([widened(one.before, width) for one in drawn]),
        np.array([widened(one.after, width) for one in drawn]),
        parts,
        projector.conditions,
        _note(len(index), source.distances.size, projector, kept is not None),
    )
    _check_cohort_fits(source, index, parts, float(np.abs(views.own).max()))
    return views


def choose_pairs(values: FloatArray, limit: int) -> IndexArray:
    """Return at most ``limit`` known pairs of a matrix of distances.

    Nearest neighbours come first; the other pairs are spread evenly over the range of distances.

    >>> choose_pairs(np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 6.0], [5.0, 6.0, 0.0]]), 2).tolist()
    [[0, 1], [0, 2]]
    """
    size = len(values)
    rows, columns = np.triu_indices(size, 1)
    distances = values[rows, columns]
    known = np.flatnonzero(~np.isnan(distances))
    if len(known) > limit:
        filled = np.where(np.isnan(values), np.inf, values)
        np.fill_diagonal(filled, np.inf)
        nearest = filled.argmin(axis=1)
        wanted = np.sort(np.column_stack([np.arange(size), nearest]), axis=1)
        at = np.flatnonzero(np.isin(rows * size + columns, wanted @ [size, 1]))
        first = np.intersect1d(at, known)
        first = first[np.argsort(distances[first], kind="stable")][:limit]
        others = np.setdiff1d(known, first)
        ranked = others[np.argsort(distances[others], kind="stable")]
        places = np.linspace(0, len(ranked) - 1, limit - len(first)).astype(np.intp)
        known = np.union1d(first, ranked[places])
    return np.column_stack([rows[known], columns[known]])


def _with_pair(index: IndexArray, first: int, second: int) -> IndexArray:
    """Return the pairs with another one, which replaces the last unless it is there already."""
    if ((index == (first, second)).all(axis=1)).any():
        return index
    return np.vstack([index[:-1], [[first, second]]])


def _stored_transforms(
    store: Store | None, metric: ShapeMetric[Any], index: IndexArray
) -> dict[tuple[int, int], FloatArray] | None:
    """Return the transforms that a store keeps of the pairs, or None if it keeps none."""
    if store is None or not store.keeps or not metric.takes_starts:
        return None
    return dict(_read_transforms(store, {(int(i), int(j)) for i, j in index}))


def _read_transforms(
    store: Store, wanted: set[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], FloatArray]]:
    noted = store.polished()
    layer = noted[0] if noted else 0
    for tile in store.plan.tiles:
        pairs = [(int(i), int(j)) for i, j in tile.pairs]
        if not wanted.isdisjoint(pairs):
            found = store.transforms(layer, tile)
            yield from ((p, one) for p, one in zip(pairs, found, strict=True) if p in wanted)


def _check_cohort_fits(source: Source, index: IndexArray, parts: FloatArray, size: float) -> None:
    """Raise if the responses contradict the matrix: then it was computed from others.

    Rounding errors of distances are proportional to the ``size`` of the responses.
    """
    D = source.plug_in  # a corrected distance may be below the lower bound
    i, j = index.T
    given = D.values[i, j]
    slack = FEW_DIGITS * np.abs(given) + ROUNDING * size
    wrong = parts[:, 1] > given + slack  # no distance is below a lower bound
    if D.lower_bounds is not None:
        wrong |= parts[:, 0] < D.lower_bounds[i, j] - slack
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(
            "The 'cohort' parameter must hold the responses that the matrix was computed from. "
            f"The distance between {D.labels[i[k]]!r} and {D.labels[j[k]]!r} is "
            f"{parts[k, 0]:.6g} in the cohort, but {given[k]:.6g} in the matrix."
        )


def _note(n_drawn: int, n_pairs: int, projector: PairProjector, stored: bool) -> str:
    where = "read from the store" if stored else "computed again for this page"
    words = f"Alignments were {where}."
    if n_drawn < n_pairs:
        words += (
            f" {part_of(n_drawn, n_pairs, 'pair')} can be shown: nearest neighbours, and "
            "others spread evenly over the range of distances."
        )
    shown = len(projector.shown)
    if shown < projector.n_conditions:
        words += f" {shown} of {projector.n_conditions} conditions are drawn."
    return words
