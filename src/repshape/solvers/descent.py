"""Riemannian descent on the orthogonal group, for costs without a linear oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
# A cost as a function of T, with the skew matrix G of its slope: d cost(T exp(t W)) = t <G, W>.
Cost = Callable[[FloatArray], tuple[float, FloatArray]]

LINE_SEARCH_TRIES = 30
SUFFICIENT_DECREASE = 1e-4
# Steps in a row after which a cost that stays the same is taken for the least up to rounding. A
# few are allowed, because the slope still falls where the cost has no digits left.
LEVEL_STEPS = 10


@dataclass(frozen=True)
class Turned:
    """Result of a descent; ``cost`` never exceeds that of the start."""

    transform: FloatArray
    cost: float
    converged: bool
    n_iterations: int


def descend_group(
    cost: Cost, start: FloatArray, *, scale: float, tol: float, max_iter: int
) -> Turned:
    """Descend from an orthogonal matrix until the slope is below ``tol`` times ``scale``.

    Steps have the length of Barzilai and Borwein, and are halved until the cost decreases.
    """
    T = start
    value, G = cost(T)
    step, count, level = 1.0 / max(float(np.linalg.norm(G)), 1e-300), 1, 0
    while count < max_iter and level < LEVEL_STEPS:
        slope = float(np.sum(G * G))
        if np.sqrt(slope) <= tol * scale:
            return Turned(T, value, True, count)
        for _ in range(LINE_SEARCH_TRIES):
            candidate = turn(T, -step * G)
            new_value, new_G = cost(candidate)
            count += 1
            if new_value <= value - SUFFICIENT_DECREASE * step * slope:
                break
            step /= 2
        else:
            level = LEVEL_STEPS
            break
        change = new_G - G
        curvature = -step * float(np.sum(G * change))
        moved = step * step * slope
        step = moved / curvature if curvature > 0 else 2 * step
        level = 0 if new_value < value else level + 1
        T, value, G = candidate, new_value, new_G
    # Rounding has been reached, or the largest number of steps.
    small = float(np.linalg.norm(G)) <= np.sqrt(tol) * scale
    return Turned(T, value, bool(small and level >= LEVEL_STEPS), count)


def turn(T: FloatArray, W: FloatArray) -> FloatArray:
    """Return T cay(W), an orthogonal matrix, for skew W.

    >>> turn(np.eye(2), np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    half, one = W / 2, np.eye(len(W))
    return np.asarray(T @ np.linalg.solve(one - half, one + half))
