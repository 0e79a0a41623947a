"""Riemannian descent on the orthogonal group, for problems without a linear oracle."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from repshape.groups import Oracle
from repshape.solvers.alternation import Problem, Run, is_hopeless

FloatArray = npt.NDArray[np.float64]

LINE_SEARCH_TRIES = 30
SUFFICIENT_DECREASE = 1e-4
# Steps in a row after which a cost that stays the same is taken for the least up to rounding. A
# few are allowed, because the slope still falls where the cost has no digits left.
LEVEL_STEPS = 10


class SlopedProblem(Problem, Protocol):
    """A problem with the skew matrix G of its slope: dF(T exp(t W)) = t <G, W>."""

    @property
    def scale(self) -> float:
        """A typical value of F."""


def descend_group(
    problem: SlopedProblem,
    start: FloatArray,
    oracle: Oracle | None = None,
    *,
    tol: float,
    max_iter: int,
    limit: float = np.inf,
) -> Run:
    """Descend from an orthogonal matrix until the slope is below ``tol`` times the scale of F.

    Steps have the length of Barzilai and Borwein, and are halved until F decreases. The arguments
    are those of `descend`; the ``oracle`` is not used.
    """
    T = start
    value, G = problem.at(T)
    values, level = [value], 0
    step = 1.0 / max(float(np.linalg.norm(G)), 1e-300)
    while len(values) < max_iter and level < LEVEL_STEPS:
        slope = float(np.sum(G * G))
        if np.sqrt(slope) <= tol * problem.scale:
            return Run(T, tuple(values), True)
        for _ in range(LINE_SEARCH_TRIES):
            candidate = turn(T, -step * G)
            new_value, new_G = problem.at(candidate)
            if new_value <= value - SUFFICIENT_DECREASE * step * slope:
                break
            values.append(value)
            step /= 2
        else:
            level = LEVEL_STEPS
            break
        curvature = -step * float(np.sum(G * (new_G - G)))
        moved = step * step * slope
        step = moved / curvature if curvature > 0 else 2 * step
        level = 0 if new_value < value else level + 1
        T, value, G = candidate, new_value, new_G
        values.append(value)
        if is_hopeless(values, limit):
            return Run(T, tuple(values), False)
    # Rounding has been reached, or the largest number of steps.
    small = float(np.linalg.norm(G)) <= np.sqrt(tol) * problem.scale
    return Run(T, tuple(values), bool(small and level >= LEVEL_STEPS))


def turn(T: FloatArray, W: FloatArray) -> FloatArray:
    """Return T cay(W), an orthogonal matrix, for skew W.

    >>> turn(np.eye(2), np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    half, one = W / 2, np.eye(len(W))
    return np.asarray(T @ np.linalg.solve(one - half, one + half))
