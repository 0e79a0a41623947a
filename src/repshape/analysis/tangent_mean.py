"""The Frechet mean of networks with positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.analysis._barycentre import barycentre
from repshape.analysis.tangent_space import Point, ShapeSpace

FloatArray = npt.NDArray[np.float64]
# The iteration starts from the most central of this many networks.
MAX_CANDIDATES = 4
# A mean is left if a point at this fraction of the way to a network has a smaller variance, by more
# than this fraction.
STEP = 0.05
KINK = 1e-6
# Squared distances below this fraction of the squared responses are rounding.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class MeanPoint:
    """The mean of points, and the alignments of all points to it.

    Attributes
    ----------
    mean : Point
    distances : array of shape (K,)
    transforms : list of K arrays of shape (n, n)
    converged : bool
    n_iterations : int
    """

    mean: Point
    distances: FloatArray
    transforms: list[FloatArray]
    converged: bool
    n_iterations: int


def mean_point(
    space: ShapeSpace,
    points: list[Point],
    share: FloatArray,
    *,
    tol: float,
    max_iter: int,
    workers: int | None,
) -> MeanPoint:
    """Alternate between aligning all points to the mean, and averaging them.

    Blocks of factors are averaged by the fixed point of `repshape.analysis._barycentre`, one block
    at a time. The factors of the mean are as wide as the mean of full rank may need.
    """
    K, Q, n, _ = points[0].factors.shape
    widest = sum(one.factors.shape[3] for one in points)
    width = max(max(one.factors.shape[3] for one in points), min(Q * n, widest))

    def flat(point: Point, T: FloatArray) -> FloatArray:
        return np.asarray((T @ point.widened(width)).reshape(K, Q * n, width))

    def align(target: Point) -> tuple[FloatArray, list[FloatArray]]:
        found = run_all(
            lambda one: space.metric.align(target.network, one.network),
            points,
            workers=workers,
            progress=False,
        )
        return np.array([one.distance for one in found]), [one.transform.T for one in found]

    distances, transforms, mean = _most_central(points, share, align)
    A = flat(mean, np.eye(n))
    floor = ROUNDING * sum((one.means**2).sum() + (one.factors**2).sum() for one in points)
    previous, converged, iteration = np.inf, False, 0
    used = np.flatnonzero(share > 0)
    while not converged and iteration < max_iter:
        iteration += 1
        means = sum(share[k] * points[k].means @ transforms[k].T for k in used)
        A = barycentre(A, [flat(points[k], transforms[k]) for k in used], share[used])
        mean = space.point(np.asarray(means), A.reshape(K, Q, n, width), mean.network)
        distances, transforms = align(mean)
        variance = float(share @ distances**2)
        converged = previous - variance <= tol * variance + floor
        previous = variance
        better = _step_away(space, points, share, mean, transforms, align) if converged else None
        if better is not None and float(share @ better[0] ** 2) < (1 - KINK) * variance:
            distances, transforms, mean = better
            A, previous, converged = flat(mean, np.eye(n)), np.inf, False
    return MeanPoint(mean, distances, transforms, converged, iteration)


def _step_away(
    space: ShapeSpace,
    points: list[Point],
    share: FloatArray,
    mean: Point,
    transforms: list[FloatArray],
    align: Any,
) -> Any:
    """Return distances, transforms and the best of some points near the mean.

    Averaging may stop where another coupling of the noise is as good as the current one. The mean
    is then no minimum: the variance is smaller on the way to one of the points.
    """
    used = np.flatnonzero(share > 0)
    tried = []
    for k in used[:: -(-len(used) // MAX_CANDIDATES)]:
        near = space.exp(mean, STEP * space.log(mean, points[k], transforms[k].T))
        tried.append((*align(near), near))
    return min(tried, key=lambda one: float(share @ one[0] ** 2))


def _most_central(points: list[Point], share: FloatArray, align: Any) -> Any:
    """Return distances, transforms and the candidate with the smallest variance about it."""
    used = np.flatnonzero(share > 0)
    tried = [(*align(points[k]), points[k]) for k in used[:: -(-len(used) // MAX_CANDIDATES)]]
    return min(tried, key=lambda one: float(share @ one[0] ** 2))
