"""Pairs of networks before and after alignment, as planes on which their moments are projected."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.engine.store import Store
from repshape.errors import InputError, InputTypeError
from repshape.groups import Transform
from repshape.io.cohort import Cohort
from repshape.metrics.base import ShapeMetric, prepared_transform
from repshape.preprocess import Preprocess
from repshape.report.quality import grouped, many
from repshape.report.sources import Source
from repshape.report.telling import TellingPair
from repshape.responses import Gaussians, Trials

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# The ellipses of more conditions would cover each other.
MOST_CONDITIONS = 16
# Networks of more neurons are drawn in this many leading components, to keep pages small.
MOST_COMPONENTS = 12
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
    """Moments of networks, and the planes on which the networks of a pair are drawn.

    A pair (x, y) is drawn in the first two principal components of x. A plane is a matrix with two
    columns: a mean m becomes m W + w, a covariance S becomes W' S W, where W are all rows of the
    plane but the last one, w.

    Attributes
    ----------
    index : ndarray of int, shape (P, 2)
        The pairs (x, y) that are drawn, x < y.
    means : ndarray, shape (K, C, R)
        Means of every network, in its own coordinates: its neurons, or its leading components.
    covariances : ndarray, shape (K, C, R, R)
        Covariances in the same coordinates.
    planes : ndarray, shape (K, R + 1, 2)
        The plane of each network in its own components.
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
    means: FloatArray
    covariances: FloatArray
    planes: FloatArray
    planes_before: FloatArray
    planes_after: FloatArray
    parts: FloatArray
    conditions: tuple[str, ...]
    note: str

    @property
    def own(self) -> FloatArray:
        """Return each network as it is drawn, shape (K, C, 5): means, then xx, xy and yy."""
        return project(self.means, self.covariances, self.planes)

    @property
    def before(self) -> FloatArray:
        """Return y of each pair before alignment, shape (P, C, 5)."""
        y = self.index[:, 1]
        return project(self.means[y], self.covariances[y], self.planes_before)

    @property
    def after(self) -> FloatArray:
        """Return y of each pair after alignment, shape (P, C, 5)."""
        y = self.index[:, 1]
        return project(self.means[y], self.covariances[y], self.planes_after)


def project(means: FloatArray, covariances: FloatArray, planes: FloatArray) -> FloatArray:
    """Return moments on planes, shape (K, C, 5): both means, then xx, xy and yy.

    >>> plane = np.array([[[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]]])
    >>> project(np.ones((1, 1, 2)), np.eye(2)[None, None], plane).tolist()
    [[[6.0, 7.0, 1.0, 0.0, 4.0]]]
    """
    W, shift = planes[:, None, :-1], planes[:, -1:]
    moved = W.swapaxes(-1, -2) @ covariances @ W
    return np.concatenate([means @ W[:, 0] + shift, moved[..., [0, 0, 1], [0, 1, 1]]], axis=-1)


def no_views(note: str) -> PairViews:
    """Return no drawings, and a note that says why."""
    none = np.zeros((0, 0, 0))
    plane = np.zeros((0, 1, 2))
    index = np.zeros((0, 2), dtype=np.intp)
    return PairViews(index, none, none[..., None], plane, plane, plane, np.zeros((0, 4)), (), note)


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
    moments = projector.moments(len(source.matrix))
    width = moments[0].shape[-1]
    views = PairViews(
        index,
        *moments,
        np.array([_widened(one.before, width) for one in drawn]),
        np.array([_widened(one.after, width) for one in drawn]),
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


@dataclass(frozen=True, eq=False)
class _Coordinates:
    """The moments of a network in few coordinates: a response r is (r - centre) @ axes there."""

    centre: FloatArray  # (n,)
    axes: FloatArray  # (n, R)
    means: FloatArray  # (C, R)
    covariances: FloatArray  # (C, R, R)

    def plane(self, basis: FloatArray, shift: FloatArray) -> FloatArray:
        """Return the plane, shape (R + 1, 2), that maps a response r to r @ basis - shift."""
        return np.vstack([self.axes.T @ basis, self.centre @ basis - shift])


@dataclass(frozen=True, eq=False)
class _Projected:
    """A network prepared for one metric, and what is needed to draw it."""

    prepared: Any
    coordinates: _Coordinates
    basis: FloatArray
    offset: FloatArray
    network: Trials | Gaussians


@dataclass(frozen=True, eq=False)
class _PairDrawing:
    """The planes of the second network of a pair, as `PairViews` holds them."""

    before: FloatArray
    after: FloatArray
    parts: tuple[float, float, float, float]


class _PairProjector:
    """Projects pairs of networks onto a plane; keeps the networks that were used last."""

    def __init__(self, metric: ShapeMetric[Any], cohort: Cohort) -> None:
        self.metric, self._cohort = metric, cohort
        self._kept: OrderedDict[int, _Projected] = OrderedDict()
        self._drawn: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
        self._lock = Lock()
        records = cohort.records
        largest = max(record.n_bytes for record in records)
        self._most = max(READY_BYTES // (READY_COPIES * largest + 1), 4)
        M = records[0].n_conditions
        self.n_conditions = M
        self.reduced = False  # whether a network has more neurons than are drawn
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
        view = y.coordinates.plane
        return _PairDrawing(view(still, shift), view(turned, shift), four)

    def moments(self, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return means, covariances and planes of all networks; zeros for those not drawn."""
        widths = [means.shape[1] for means, _, _ in self._drawn.values()]
        C, R = len(self.shown), max(widths)
        found = np.zeros((count, C, R)), np.zeros((count, C, R, R)), np.zeros((count, R + 1, 2))
        for k, (means, covariances, plane) in self._drawn.items():
            width = means.shape[1]
            found[0][k, :, :width] = means
            found[1][k, :, :width, :width] = covariances
            found[2][k] = _widened(plane, R)
        return found

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
        n = drawn.means.shape[1]
        axes = Preprocess(n_components=min(MOST_COMPONENTS, n)).fit(network)
        assert axes.linear is not None
        basis = np.pad(axes.linear[:, :2], ((0, 0), (0, max(2 - n, 0))))
        coordinates = self._coordinates(drawn, axes.linear, axes.offset)
        plane = coordinates.plane(basis, axes.offset @ basis)
        self._drawn[k] = coordinates.means, coordinates.covariances, plane
        return _Projected(prepared, coordinates, basis, axes.offset, network)

    def _coordinates(
        self, moments: Gaussians, leading: FloatArray, centre: FloatArray
    ) -> _Coordinates:
        if len(leading) <= MOST_COMPONENTS:  # the neurons themselves
            leading, centre = np.eye(len(leading)), np.zeros(len(leading))
        else:
            self.reduced = True
        means = (moments.means[self.shown] - centre) @ leading
        stored = moments.stored[self.shown]
        if moments.kind == "factors":
            return _Coordinates(centre, leading, means, _gram(stored.transpose(0, 2, 1) @ leading))
        if moments.kind == "diagonal":
            scaled = np.sqrt(stored)[:, :, None] * leading
            return _Coordinates(centre, leading, means, _gram(scaled))
        return _Coordinates(centre, leading, means, np.asarray(leading.T @ stored @ leading))


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


def _widened(plane: FloatArray, width: int) -> FloatArray:
    """Return a plane with rows of zeros for the coordinates that a network does not have."""
    missing = width + 1 - len(plane)
    return np.insert(plane, [len(plane) - 1] * missing, 0.0, axis=0) if missing else plane


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
            f" {grouped(n_drawn)} of {many(n_pairs, 'pair')} can be shown: nearest neighbours, and "
            "others spread evenly over the range of distances."
        )
    if projector.reduced:
        words += f" Networks are drawn in their {MOST_COMPONENTS} leading components."
    shown = len(projector.shown)
    if shown < projector.n_conditions:
        words += f" {shown} of {projector.n_conditions} conditions are drawn."
    return words
