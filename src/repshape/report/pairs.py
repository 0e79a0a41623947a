"""Drawings of pairs: two networks before and after alignment, in the components of the first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import count
from repshape._parallel import run_all
from repshape.engine.store import Store
from repshape.errors import InputError, InputTypeError
from repshape.groups import Transform
from repshape.io.cohort import Cohort
from repshape.metrics.base import ShapeMetric, prepared_transform
from repshape.preprocess import Preprocess
from repshape.report.sources import Source
from repshape.responses import Gaussians, Trials

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# The ellipses of more conditions would cover each other.
MOST_CONDITIONS = 16
# Memory for prepared networks; each takes several times the memory of its responses.
READY_BYTES = 2**30
READY_COPIES = 6
# Number of pairs that a thread draws at a time.
BATCH = 32
# A distance that is computed again may differ from the stored one by the tolerance of the solver.
SLACK = 1e-6
# Rounding errors of the two parts of a squared distance.
PARTS_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class PairViews:
    """Drawings of pairs, in the first two principal components of the first network.

    Attributes
    ----------
    index : ndarray of int, shape (P, 2)
        The pairs (x, y) that are drawn, x < y.
    own : ndarray, shape (K, C, 5)
        Means (two numbers) and covariances (xx, xy, yy) of every x in its own components; NaN for
        networks that are not the first of any pair.
    before, after : ndarray, shape (P, C, 5)
        The same for y in the components of x, before and after alignment.
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
    before: FloatArray
    after: FloatArray
    parts: FloatArray
    conditions: tuple[str, ...]
    note: str


def no_views(note: str) -> PairViews:
    """Return no drawings, and a note that says why."""
    none = np.zeros((0, 0, 5))
    index = np.zeros((0, 2), dtype=np.intp)
    return PairViews(index, none, none, none, np.zeros((0, 4)), (), note)


def view_pairs(source: Source, limit: int, progress: bool | None) -> PairViews:
    """Return drawings of at most ``limit`` pairs, or a note that says why there are none."""
    metric, cohort = source.metric, source.cohort
    if metric is None:
        return no_views("This metric has no alignment to draw.")
    if cohort is None:
        return no_views(
            "Alignments are not drawn because the report was made without the responses. "
            "Pass the cohort to include them."
        )
    index = choose_pairs(source.matrix.values, limit)
    if not len(index):
        return no_views("No pairs are drawn: none is computed yet, or none was requested.")
    projector = _PairProjector(metric, cohort)
    try:
        projector.check()
    except (InputError, InputTypeError) as error:
        return no_views(f"Alignments are not drawn: {error}")
    return _draw_pairs(source, projector, index, progress)


def _draw_pairs(
    source: Source, projector: _PairProjector, index: IndexArray, progress: bool | None
) -> PairViews:
    """Return drawings of the given pairs."""
    kept = _stored_transforms(source.store, projector.metric, index)

    def draw(part: IndexArray) -> list[_PairDrawing]:
        return [
            projector.draw(i, j, None if kept is None else kept[i, j]) for i, j in part.tolist()
        ]

    parts_of = [index[k : k + BATCH] for k in range(0, len(index), BATCH)]
    what = f"{BATCH} pairs of {source.name}"
    drawn = [one for some in run_all(draw, parts_of, what=what, progress=progress) for one in some]
    parts = np.array([one.parts for one in drawn])
    own = np.full((len(source.matrix.labels), len(projector.shown), 5), np.nan)
    for (i, _), one in zip(index, drawn, strict=True):
        own[i] = one.own
    _check_cohort_fits(source, index, parts, float(np.nanmax(np.abs(own))))
    return PairViews(
        index,
        own,
        np.array([one.before for one in drawn]),
        np.array([one.after for one in drawn]),
        parts,
        projector.conditions,
        _note(len(index), source.distances.size, projector, kept is not None),
    )


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


@dataclass(frozen=True, eq=False)
class _Projected:
    """A network prepared for one metric, and what is needed to draw it."""

    prepared: Any
    means: FloatArray
    spread: Callable[[FloatArray], FloatArray]  # W, (n, 2) -> covariances W' S W, (C, 2, 2)
    basis: FloatArray
    offset: FloatArray
    network: Trials | Gaussians


@dataclass(frozen=True, eq=False)
class _PairDrawing:
    """Moments of both networks of a pair, shape (C, 5), as `PairViews` holds them."""

    own: FloatArray
    before: FloatArray
    after: FloatArray
    parts: tuple[float, float, float, float]


class _PairProjector:
    """Projects pairs of networks onto a plane; keeps the networks that were used last."""

    def __init__(self, metric: ShapeMetric[Any], cohort: Cohort) -> None:
        self.metric, self._cohort = metric, cohort
        self._kept: OrderedDict[int, _Projected] = OrderedDict()
        self._lock = Lock()
        records = cohort.records
        largest = max(record.n_bytes for record in records)
        self._most = max(READY_BYTES // (READY_COPIES * largest + 1), 4)
        M = records[0].n_conditions
        self.n_conditions = M
        self.shown = np.unique(np.linspace(0, M - 1, min(M, MOST_CONDITIONS)).astype(int))
        given = records[0].conditions
        names = range(M) if given is None else given
        self.conditions = tuple(str(names[m]) for m in self.shown.tolist())

    def check(self) -> None:
        """Raise if the metric does not accept these responses."""
        self._ready(0)

    def draw(self, i: int, j: int, core: FloatArray | None) -> _PairDrawing:
        """Draw the pair (i, j) with the given transform between coordinates, or solve it first."""
        x, y = self._ready(i), self._ready(j)
        if core is None:
            found = self.metric.align_prepared(x.prepared, y.prepared)
            two = found.mean_distance, found.covariance_distance
            moved = found._map
            four = (
                found.distance,
                found.lower_bound,
                *squared_parts(self.metric, found.distance, *two),
            )
        else:
            group = getattr(self.metric, "group", "")
            moved = prepared_transform(core, x.prepared, y.prepared, group)
            four = self._parts(x, y, moved)
        still = np.zeros((len(y.offset), 2))  # neuron k of y on neuron k of x, if there is one
        shared = min(len(y.offset), len(x.offset))
        still[:shared] = x.basis[:shared]
        turned = moved.reversed().apply(x.basis.T).T  # T @ basis, without forming T
        shift = x.offset @ x.basis
        own = _flat(x.means @ x.basis - shift, x.spread(x.basis))
        before = _flat(y.means @ still - shift, y.spread(still))
        after = _flat(y.means @ turned - shift, y.spread(turned))
        return _PairDrawing(own, before, after, four)

    def _parts(
        self, x: _Projected, y: _Projected, moved: Transform
    ) -> tuple[float, float, float, float]:
        whole = self.metric._evaluate(x.network, y.network, moved)
        parts = self.metric._distance_parts(x.network, y.network, moved)
        return whole, np.nan, *squared_parts(self.metric, whole, *parts)

    def _ready(self, k: int) -> _Projected:
        with self._lock:
            if k not in self._kept:
                self._kept[k] = self._make(k)
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(k)
            return self._kept[k]

    def _make(self, k: int) -> _Projected:
        prepared = self.metric.prepare(self._cohort[k])
        network = self._cohort[k]
        if prepared.phi is not None:
            network = prepared.phi.apply(network)
        drawn = self.metric._moments(network)
        axes = Preprocess(n_components=min(2, drawn.means.shape[1])).fit(network)
        assert axes.linear is not None
        basis = np.pad(axes.linear, ((0, 0), (0, 2 - axes.linear.shape[1])))
        means = drawn.means[self.shown]
        return _Projected(prepared, means, self._spread(drawn), basis, axes.offset, network)

    def _spread(self, moments: Gaussians) -> Callable[[FloatArray], FloatArray]:
        stored = moments.stored[self.shown]
        if moments.kind == "factors":
            return lambda W: _gram(stored.transpose(0, 2, 1) @ W)
        if moments.kind == "diagonal":
            return lambda W: _gram(np.sqrt(stored)[:, :, None] * W)
        return lambda W: np.asarray(W.T @ stored @ W)


def squared_parts(
    metric: ShapeMetric[Any], whole: float, means: float, covariances: float
) -> tuple[float, float]:
    """Return how much of a squared distance is due to means and to covariances.

    These are alpha times the squared distance of means, and 2 - alpha times that of covariances.
    NaN unless they add up to the squared distance.

    >>> from repshape import GaussianShapeMetric
    >>> squared_parts(GaussianShapeMetric(0.5), 4.0, 2.0, 3.0)
    (nan, nan)
    >>> squared_parts(GaussianShapeMetric(1.0), 5.0, 3.0, 4.0)
    (9.0, 16.0)
    """
    alpha = metric._mean_weight
    parts = [
        0.0 if weight == 0.0 else weight * part**2
        for weight, part in ((alpha, means), (2.0 - alpha, covariances))
    ]
    if not abs(sum(parts) - whole**2) <= PARTS_SLACK * whole**2:
        return np.nan, np.nan
    return parts[0], parts[1]


def _gram(rows: FloatArray) -> FloatArray:
    return np.asarray(rows.transpose(0, 2, 1) @ rows)


def _flat(means: FloatArray, covariances: FloatArray) -> FloatArray:
    """Return shape (C, 5): both means, then xx, xy and yy."""
    three = covariances[:, [0, 0, 1], [0, 1, 1]]
    return np.concatenate([means, three], axis=1)


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
    given, slack = D.values[i, j], SLACK * (np.abs(D.values[i, j]) + size)
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


def _note(n_drawn: int, n_pairs: int, projector: _PairProjector, stored: bool) -> str:
    where = "read from the store" if stored else "computed again for this page"
    words = f"Alignments were {where}."
    if n_drawn < n_pairs:
        words += (
            f" {n_drawn} of {count(n_pairs, 'pair')} can be shown: nearest neighbours, and others "
            "spread evenly over the range of distances."
        )
    shown = len(projector.shown)
    if shown < projector.n_conditions:
        words += f" {shown} of {projector.n_conditions} conditions are drawn."
    return words
