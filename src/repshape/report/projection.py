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
# Memory for prepared networks; each takes several times the memory of its responses.
READY_BYTES = 2**30
READY_COPIES = 6
# Rounding errors of the two parts of a squared distance.
PARTS_SLACK = 1e-6
# A network before and after an alignment lies on two planes, which span this many dimensions.
BOTH_PLANES = 4


@dataclass(frozen=True, eq=False)
class Body:
    """Means (C, R) and covariances (C, R, R) of a network in some coordinates."""

    means: FloatArray
    covariances: FloatArray


@dataclass(frozen=True, eq=False)
class _Projected:
    """A network prepared for one metric, its moments, and its first two principal components."""

    prepared: Any
    moments: Gaussians
    basis: FloatArray
    offset: FloatArray
    network: Trials | Gaussians


@dataclass(frozen=True, eq=False)
class PairDrawing:
    """The planes of the second network of a pair, as `PairViews` holds them, and its moments.

    There is no ``body`` if the planes are those of all neurons, whose moments are kept by network.
    """

    body: Body | None
    before: FloatArray
    after: FloatArray
    parts: tuple[float, float, float, float]


class PairProjector:
    """Projects pairs of networks onto a plane; keeps the networks that were used last.

    What is kept of the second network of a pair are the moments of all its neurons, or only those
    on the two planes of the pair: whichever takes less room for ``n_pairs`` pairs.
    """

    def __init__(self, metric: ShapeMetric[Any], cohort: Cohort, n_pairs: int) -> None:
        self.metric, self._cohort = metric, cohort
        self._kept: OrderedDict[int, _Projected] = OrderedDict()
        self._own: dict[int, FloatArray] = {}
        self._bodies: dict[int, Body] = {}
        self._lock = Lock()
        records = cohort.records
        largest = max(record.n_bytes for record in records)
        self._most = max(READY_BYTES // (READY_COPIES * largest + 1), 4)
        M = records[0].n_conditions
        self.n_conditions, self._n_pairs = M, n_pairs
        self.shown = np.unique(np.linspace(0, M - 1, min(M, MOST_CONDITIONS)).astype(int))
        given = records[0].conditions
        names = range(M) if given is None else given
        self.conditions = tuple(str(names[m]) for m in self.shown.tolist())
        self.by_pair = self._is_smaller_by_pair(self._ready(0).moments)

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
        for k, network in ((i, x), (j, y)):
            if not self.by_pair and k not in self._bodies:
                self._bodies[k] = self._body(network.moments, np.eye(len(network.offset)))
        return self._drawing(y, (still, turned), x.offset @ x.basis, four)

    def _drawing(
        self,
        y: _Projected,
        planes: tuple[FloatArray, FloatArray],
        shift: FloatArray,
        parts: tuple[float, float, float, float],
    ) -> PairDrawing:
        body = None
        if self.by_pair:
            axes = np.linalg.qr(np.hstack(planes))[0]
            body = self._body(y.moments, axes)
            planes = axes.T @ planes[0], axes.T @ planes[1]
        before, after = (np.vstack([plane, -shift]) for plane in planes)
        return PairDrawing(body, before, after, parts)

    def own(self, count: int) -> FloatArray:
        """Return all networks in their own components, shape (K, C, 5); zeros if not drawn."""
        found = np.zeros((count, len(self.shown), 5))
        for k, drawn in self._own.items():
            found[k] = drawn
        return found

    def bodies(self, count: int) -> list[Body]:
        """Return the moments of all neurons of all networks; empty for those not needed."""
        C = len(self.shown)
        none = Body(np.zeros((C, 0)), np.zeros((C, 0, 0)))
        return [self._bodies.get(k, none) for k in range(count)]

    def _is_smaller_by_pair(self, moments: Gaussians) -> bool:
        """Whether two planes of each pair take less room than all neurons of each network."""
        C, n = len(self.shown), moments.means.shape[1]
        if self.metric.preprocess is None:
            n = max(n, *(record.n_neurons for record in self._cohort.records))
        neurons = C * (2 * n if moments.kind == "diagonal" else n + n * (n + 1) // 2)
        planes = C * (BOTH_PLANES + BOTH_PLANES * (BOTH_PLANES + 1) // 2)
        wider = 2 * (n - BOTH_PLANES)
        return self._n_pairs * planes < len(self._cohort) * neurons + self._n_pairs * wider

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
        moments = self.metric._moments(network)
        n = moments.means.shape[1]
        axes = Preprocess(n_components=min(2, n)).fit(network)
        assert axes.linear is not None
        basis = np.pad(axes.linear, ((0, 0), (0, max(2 - n, 0))))
        body = self._body(moments, basis)
        self._own[k] = on_plane(body, np.vstack([np.eye(2), -(axes.offset @ basis)]))
        return _Projected(prepared, moments, basis, axes.offset, network)

    def _body(self, moments: Gaussians, axes: FloatArray) -> Body:
        """Return the moments of the conditions that are drawn, along some axes."""
        means, stored = moments.means[self.shown] @ axes, moments.stored[self.shown]
        if moments.kind == "factors":
            return Body(means, _gram(stored.transpose(0, 2, 1) @ axes))
        if moments.kind == "diagonal":
            return Body(means, _gram(np.sqrt(stored)[:, :, None] * axes))
        return Body(means, np.asarray(axes.T @ stored @ axes))


def on_plane(body: Body, plane: FloatArray) -> FloatArray:
    """Return moments on a plane, shape (C, 5): both means, then xx, xy and yy.

    >>> plane = np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
    >>> on_plane(Body(np.ones((1, 2)), np.eye(2)[None]), plane).tolist()
    [[6.0, 7.0, 1.0, 0.0, 4.0]]
    """
    W, shift = plane[:-1], plane[-1]
    moved = W.T @ body.covariances @ W
    return np.concatenate([body.means @ W + shift, moved[..., [0, 0, 1], [0, 1, 1]]], axis=-1)


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


def padded(body: Body, width: int) -> Body:
    """Return moments with zeros for the coordinates that a network does not have.

    >>> padded(Body(np.ones((1, 1)), np.ones((1, 1, 1))), 2).means.tolist()
    [[1.0, 0.0]]
    """
    missing = (0, width - body.means.shape[-1])
    return Body(
        np.pad(body.means, [(0, 0), missing]),
        np.pad(body.covariances, [(0, 0), missing, missing]),
    )
