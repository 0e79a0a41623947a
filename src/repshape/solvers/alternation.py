"""Plain alternation over any group, and what a search knows of one start.

A problem is a function F on the transforms of a group that has, at every T, a matrix G such that
T <- argmax <T, G> does not increase F, or, if that is not certain, such that -G is a direction of
ascent. The group enters only by its linear oracle, which solves this argmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from repshape.groups import Oracle

FloatArray = npt.NDArray[np.float64]

# Damping of a step that increases F, in units of the norm of G.
DAMPING = (0.0, 1.0, 4.0, 16.0, 64.0, 256.0)
# From STEPS_BEFORE_JUDGEMENT steps on, an alternation is abandoned if it would not reach the best
# even if its last gain were repeated HOPE times.
HOPE, STEPS_BEFORE_JUDGEMENT = 20.0, 4


class Problem(Protocol):
    """What is minimised over a group."""

    @property
    def bounded(self) -> bool:
        """Whether the step to the oracle's transform never increases F."""

    def at(self, T: FloatArray) -> tuple[float, FloatArray]:
        """Return F(T), a squared distance, and G."""


@dataclass(frozen=True)
class Run:
    """A start that was followed to its end; ``values``, of F after each step, never increase."""

    transform: FloatArray
    values: tuple[float, ...]
    converged: bool

    @property
    def cost(self) -> float:
        """F at the transform."""
        return self.values[-1]

    @property
    def n_iterations(self) -> int:
        """Number of evaluations of F and G."""
        return len(self.values)


def descend(
    problem: Problem,
    start: FloatArray,
    oracle: Oracle,
    *,
    tol: float,
    max_iter: int,
    limit: float = np.inf,
) -> Run:
    """Alternate from ``start`` until a step reduces F by less than the fraction ``tol``.

    Parameters
    ----------
    problem : Problem
    start : array of shape (s_x, s_y)
        A transform of the group.
    oracle : callable
        Maps G to the transform of the group that maximises <T, G>.
    limit : float
        The alternation is abandoned when it is unlikely to end below this value.
    """
    T = start
    value, G = problem.at(T)
    values = [value]
    for _ in range(max_iter):
        found = _step(problem, T, value, G, oracle)
        if found is None:
            return Run(T, tuple(values), True)
        T, value, G = found
        values.append(value)
        if values[-2] - value <= tol * values[-2]:
            return Run(T, tuple(values), True)
        if is_hopeless(values, limit):
            break
    return Run(T, tuple(values), False)


def is_hopeless(values: Sequence[float], limit: float) -> bool:
    """Return whether a descent is unlikely to end below a limit."""
    if len(values) < STEPS_BEFORE_JUDGEMENT + 2:
        return False
    return values[-1] - HOPE * (values[-2] - values[-1]) > limit


def _step(
    problem: Problem, T: FloatArray, value: float, G: FloatArray, oracle: Oracle
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the next transform with its value and G, or None if no step reduces F."""
    unit = float(np.abs(G).max(initial=0.0)) or 1.0  # squares of huge numbers overflow
    size = unit * float(np.linalg.norm(G / unit))
    for damping in DAMPING:
        candidate = oracle(G + damping * size * T)
        if np.array_equal(candidate, T):
            return None
        new_value, new_G = problem.at(candidate)
        if new_value < value:
            return candidate, new_value, new_G
        if problem.bounded:  # F can only increase by rounding
            return None
    return None
