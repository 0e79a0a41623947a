"""Points for new networks, from their distances to networks that have points already."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
# Majorisation stops when no point moves by more than this fraction of the typical distance.
TOLERANCE = 1e-9
MAX_ITERATIONS = 1000


def triangulate(distances: FloatArray, anchors: FloatArray) -> FloatArray:
    r"""Place points by Gower's formula, which solves the linear equations of classical scaling.

    With anchors :math:`a_l` around their mean, :math:`|p - a_l|^2 = d_l^2` less its mean over l is
    linear in p.

    Parameters
    ----------
    distances : ndarray, shape (Q, L)
        From each new point to each anchor.
    anchors : ndarray, shape (L, dimension)

    Returns
    -------
    ndarray, shape (Q, dimension)

    Examples
    --------
    >>> anchors = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> triangulate(np.array([[5.0, 4.0, 3.0]]), anchors).round(9)
    array([[3., 4.]])
    """
    centre = anchors.mean(axis=0)
    A = anchors - centre
    known = (A**2).sum(axis=1) - distances**2
    known -= known.mean(axis=1, keepdims=True)
    return np.asarray(centre + 0.5 * known @ np.linalg.pinv(A).T)


def stress_of(points: FloatArray, distances: FloatArray, anchors: FloatArray) -> FloatArray:
    """Return the sum of squared errors of the distances of each point."""
    found = np.linalg.norm(points[:, None] - anchors[None], axis=2)
    return np.asarray(((found - distances) ** 2).sum(axis=1))


def minimise_stress(start: FloatArray, distances: FloatArray, anchors: FloatArray) -> FloatArray:
    r"""Move each point to a minimum of its stress :math:`\sum_l (d_l - |p - a_l|)^2`.

    Majorisation, as in SMACOF: :math:`p \leftarrow \mathrm{mean}_l (a_l + d_l (p - a_l) /
    |p - a_l|)` never increases the stress.
    """
    points = start.copy()
    unit = float(distances.mean()) or 1.0
    active = np.arange(len(points))
    for _ in range(MAX_ITERATIONS):
        here = points[active]
        gaps = here[:, None] - anchors[None]
        lengths = np.linalg.norm(gaps, axis=2)
        scale = np.divide(distances[active], lengths, out=np.zeros_like(lengths), where=lengths > 0)
        moved = (anchors[None] + scale[:, :, None] * gaps).mean(axis=1)
        points[active] = moved
        active = active[np.linalg.norm(moved - here, axis=1) > TOLERANCE * unit]
        if not len(active):
            break
    return points


def place_points(distances: FloatArray, anchors: FloatArray, *, refine: bool) -> FloatArray:
    """Return the points of new networks.

    Parameters
    ----------
    distances : ndarray, shape (Q, L)
    anchors : ndarray, shape (L, dimension)
    refine : bool
        Whether to minimise the stress, from Gower's points and from the middle of the two nearest
        anchors; the better result is kept.
    """
    first = triangulate(distances, anchors)
    if not refine:
        return first
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :2]
    found = [first]
    found += [
        minimise_stress(start, distances, anchors)
        for start in (first, anchors[nearest].mean(axis=1))
    ]
    stress = np.array([stress_of(points, distances, anchors) for points in found])
    return np.asarray(np.stack(found)[stress.argmin(axis=0), np.arange(len(first))])
