"""Networks as points of shape space: aligned factors, tangent vectors, and the way back.

After y is aligned to x by T, its factors T C U', with U the polar factor of A' T C, are those that
are closest to A. So distances from x are Euclidean distances between aligned means and factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import condition_weights
from repshape._compact import compact_repr
from repshape.coordinates.factors import factorise
from repshape.coordinates.positions import Blocks
from repshape.errors import InputError, InputTypeError
from repshape.metrics.base import check_same_conditions
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.metrics.process import PositionShapeMetric, check_same_positions
from repshape.metrics.soft import refuse_soft
from repshape.reference.gaussian import polar
from repshape.responses import Gaussians
from repshape.responses.positions import PositionNetwork

FloatArray = npt.NDArray[np.float64]


@compact_repr
@dataclass(frozen=True, eq=False)
class TangentVector:
    """A direction and a length in shape space, at a network x.

    Attributes
    ----------
    means : ndarray, shape (M, P, n)
        sqrt(a w_m) times the change of the means, at P positions (1 if there are none).
    factors : ndarray, shape (K, Q, n, r)
        sqrt((2 - a) w_m) times the change of the factors of the covariances, in blocks of the
        metric; for `GaussianShapeMetric` there is one block with Q = 1 for each condition.
    transform : ndarray, shape (n_y, n), or None
        The alignment of the network that the vector points to: ``y @ transform`` is aligned to x.
        n is the larger of both numbers of neurons.
    """

    means: FloatArray
    factors: FloatArray
    transform: FloatArray | None = None

    @property
    def norm(self) -> float:
        """Length of the vector: the distance to the network that it points to."""
        return float(np.sqrt((self.means**2).sum() + (self.factors**2).sum()))

    @property
    def vector(self) -> FloatArray:
        """All entries in one row."""
        return np.concatenate([self.means.ravel(), self.factors.ravel()])

    def __mul__(self, factor: float) -> TangentVector:
        return TangentVector(factor * self.means, factor * self.factors)

    __rmul__ = __mul__


@dataclass(frozen=True, eq=False)
class Point:
    """A network in neurons of a common number: means (M, P, n) and factors (K, Q, n, r)."""

    network: Any
    means: FloatArray
    factors: FloatArray

    def widened(self, width: int) -> FloatArray:
        """Return the factors with at least ``width`` columns, the additional ones zero."""
        extra = max(width - self.factors.shape[3], 0)
        return np.pad(self.factors, ((0, 0), (0, 0), (0, 0), (0, extra)))


# The tolerance of the search, or less.
VECTOR_TOLERANCE = 1e-9


def check_padding(metric: Any, size: int) -> None:
    """Raise if neurons could be matched with silent ones, which the space does not have."""
    if metric.group == "permutation" and (metric.pad_to or 0) > size:
        raise InputError(
            "The mean has as many neurons as the largest network, and 'pad_to' must not be "
            f"larger. Got {metric.pad_to} for at most {size} neurons."
        )


class ShapeSpace:
    """The space in which a metric measures distances."""

    def __init__(self, metric: Any) -> None:
        metric = GaussianShapeMetric() if metric is None else metric
        if not isinstance(metric, GaussianShapeMetric | PositionShapeMetric):
            raise InputTypeError(
                "The 'metric' parameter must be a GaussianShapeMetric or a ProcessShapeMetric. "
                f"Got {metric!r} instead."
            )
        metric._validate_parameters()
        refuse_soft(metric, "The geometry of shape space")
        if getattr(metric, "shifts", False):
            raise InputError("The geometry of shape space needs shifts=False. Got shifts=True.")
        self.given = metric
        # A vector has the error of its transform, and a distance only the square of it.
        tol = min(metric.tol, VECTOR_TOLERANCE)
        self.metric: Any = metric.with_parameters(preprocess=None, tol=tol)
        if isinstance(metric, PositionShapeMetric) and metric.order is not None:
            self.metric = self.metric.with_parameters(order=None)  # the blocks are models already

    def points(self, networks: list[Any], names: list[str]) -> list[Point]:
        """Read, preprocess and factorise networks, with the same number of neurons each."""
        read: list[Any] = [
            self.given._read(one, name) for one, name in zip(networks, names, strict=True)
        ]
        for network in read[1:]:
            check_same_conditions(read[0], network)
            if isinstance(read[0], PositionNetwork):
                check_same_positions(read[0], network)
        blocks = [self._blocks(network) for network in read]
        size = max(one.means.shape[2] for one in blocks)
        check_padding(self.given, size)
        return [
            self.point(_padded(one.means, size, 2), _padded(one.factors, size, 2), network)
            for one, network in zip(blocks, read, strict=True)
        ]

    def _blocks(self, network: Any) -> Blocks:
        metric, phi = self.given, self.given.preprocess
        if isinstance(metric, PositionShapeMetric):
            return metric._blocks(metric._preprocessed(network)[0])
        if phi is not None:
            network = phi.fit(network, metric.weights).apply(network)
        net = factorise(metric._moments(network))
        return Blocks(net.means[:, None], net.dense[:, None])

    def point(self, means: FloatArray, factors: FloatArray, like: Any) -> Point:
        """Return a point from means and factors, with the conditions and positions of a network."""
        M, P, n = means.shape
        if not isinstance(like, PositionNetwork):
            network: Any = Gaussians.from_factors(
                means[:, 0], factors[:, 0], conditions=like.conditions
            )
            return Point(network, means, factors)
        K, Q, _, r = factors.shape
        whole = np.zeros((M, P, n, K // M, r))
        for k in range(K // M):  # the marginal mode has a block for each position
            rows = slice(k, k + 1) if Q == 1 and P > 1 else slice(None)
            whole[:, rows, :, k] = factors[k :: K // M]
        shape = M, P * n, K // M * r
        network = PositionNetwork.from_factors(
            means.reshape(M, *like.positions, n), whole.reshape(shape), conditions=like.conditions
        )
        return Point(network, means, factors)

    def scales(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """Return what the changes of means and of factors are multiplied by."""
        M, K = len(point.means), len(point.factors)
        weights = condition_weights(self.given.weights, M)
        alpha = self.given.alpha
        means = np.sqrt(alpha * weights)[:, None, None]
        return means, np.sqrt((2 - alpha) * np.repeat(weights, K // M))[:, None, None, None]

    def log(self, x: Point, y: Point, transform: FloatArray | None = None) -> TangentVector:
        """Return the tangent vector at x that points to y; it has the length of the distance."""
        if transform is None:
            transform = self.metric.align(x.network, y.network).transform
        T = transform.T
        width = max(x.factors.shape[3], y.factors.shape[3])
        A, moved = x.widened(width), T @ y.widened(width)
        K, Q, n, _ = A.shape
        flat = A.reshape(K, Q * n, width), moved.reshape(K, Q * n, width)
        U = polar(np.swapaxes(flat[0], 1, 2) @ flat[1])
        closest = (flat[1] @ np.swapaxes(U, 1, 2)).reshape(A.shape)
        of_means, of_factors = self.scales(x)
        return TangentVector(
            of_means * (y.means @ T.T - x.means), of_factors * (closest - A), transform
        )

    def exp(self, x: Point, vector: TangentVector) -> Point:
        """Return the point that a tangent vector at x leads to."""
        width = vector.factors.shape[3]
        A = x.widened(width)
        if vector.means.shape != x.means.shape or A.shape != vector.factors.shape:
            raise InputError(
                "The tangent vector must belong to this network and metric. Got changes of shape "
                f"{vector.means.shape} and {vector.factors.shape} for means {x.means.shape} and "
                f"factors {x.factors.shape}."
            )
        of_means, of_factors = self.scales(x)
        means = x.means + _divided(vector.means, of_means)
        return self.point(means, A + _divided(vector.factors, of_factors), x.network)


def _padded(array: FloatArray, size: int, axis: int) -> FloatArray:
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, size - array.shape[axis])
    return np.pad(array, widths)


def _divided(change: FloatArray, scale: FloatArray) -> FloatArray:
    """Return change / scale, and 0 where the scale is: what has no weight does not move."""
    out = np.zeros_like(change)
    return np.divide(change, scale, out=out, where=np.broadcast_to(scale > 0, change.shape))
