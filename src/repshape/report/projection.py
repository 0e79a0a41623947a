"""Projects networks of a pair onto a plane: the moments and the planes that a page draws."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.groups import Transform
from repshape.io.cohort import Cohort
from repshape.metrics.base import ShapeMetric, prepared_transform
from repshape.preprocess import Preprocess
from repshape.responses import Gaussians, Trials

FloatArray = npt.NDArray[np.float64]

# The ellipses of more conditions would cover each other.
MOST_CONDITIONS = 16
# Networks of more neurons are drawn in this many leading components, to keep pages small.
MOST_COMPONENTS = 12
# Memory for prepared networks; each takes several times the memory of its responses.
READY_BYTES = 2**30
READY_COPIES = 6
# Rounding errors of the two parts of a squared distance.
PARTS_SLACK = 1e-6


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
class PairDrawing:
    """The planes of the second network of a pair, as `PairViews` holds them."""

    before: FloatArray
    after: FloatArray
    parts: tuple[float, float, float, float]


class PairProjector:
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

    def draw(self, i: int, j: int, core: FloatArray | None) -> PairDrawing:
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
        return PairDrawing(view(still, shift), view(turned, shift), four)

    def moments(self, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return means, covariances and planes of all networks; zeros for those not drawn."""
        widths = [means.shape[1] for means, _, _ in self._drawn.values()]
        C, R = len(self.shown), max(widths)
        found = np.zeros((count, C, R)), np.zeros((count, C, R, R)), np.zeros((count, R + 1, 2))
        for k, (means, covariances, plane) in self._drawn.items():
            width = means.shape[1]
            found[0][k, :, :width] = means
            found[1][k, :, :width, :width] = covariances
            found[2][k] = widened(plane, R)
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


def widened(plane: FloatArray, width: int) -> FloatArray:
    """Return a plane with rows of zeros for the coordinates that a network does not have."""
    missing = width + 1 - len(plane)
    return np.insert(plane, [len(plane) - 1] * missing, 0.0, axis=0) if missing else plane
