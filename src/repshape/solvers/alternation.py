"""Plain alternation over any group, from many starts, until independent starts agree.

A problem is a function F on the transforms of a group that has, at every T, a matrix G such that
T <- argmax <T, G> does not increase F, or, if that is not certain, such that -G is a direction of
ascent. The group enters only by its linear oracle, which solves this argmax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
import numpy.typing as npt

from repshape.groups import Oracle
from repshape.solvers.policy import Agreement, Found, Policy, best_of

FloatArray = npt.NDArray[np.float64]

# Damping of a step that increases F, in units of the norm of G.
DAMPING = (0.0, 1.0, 4.0, 16.0, 64.0, 256.0)
# Starts are explored until a step reduces F by less than this fraction, and the best is finished.
COARSE = 1e-5
# Norms of the random matrices that perturb the best transform, in units of its own.
MOVE_SIZES = (0.5, 1.0, 2.0, 4.0)
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
class Descent:
    """Result of the alternation; ``values``, of F after each step, never increase."""

    transform: FloatArray
    values: tuple[float, ...]
    converged: bool

    @property
    def cost(self) -> float:
        """F at the transform."""
        return self.values[-1]


def descend(
    problem: Problem,
    start: FloatArray,
    oracle: Oracle,
    *,
    tol: float,
    max_iter: int,
    limit: float = np.inf,
) -> Descent:
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
    T, values = start, []
    value, G = problem.at(T)
    values.append(value)
    for step in range(max_iter):
        found = _step(problem, T, value, G, oracle)
        if found is None:
            return Descent(T, tuple(values), True)
        T, value, G = found
        values.append(value)
        gain = values[-2] - value
        if gain <= tol * values[-2]:
            return Descent(T, tuple(values), True)
        if step >= STEPS_BEFORE_JUDGEMENT and value - HOPE * gain > limit:
            break
    return Descent(T, tuple(values), False)


def _step(
    problem: Problem, T: FloatArray, value: float, G: FloatArray, oracle: Oracle
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the next transform with its value and G, or None if no step reduces F."""
    size = float(np.linalg.norm(G))
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


@dataclass
class Exploration:
    """A search from many starts.

    Attributes
    ----------
    problem : Problem
    oracle : callable
    tol, max_iter
        Of the best start; the others are explored coarsely.
    policy : Policy
        When to stop.
    """

    problem: Problem
    oracle: Oracle
    tol: float
    max_iter: int
    policy: Policy

    def run(self, starts: Iterable[FloatArray], rng: np.random.Generator) -> Found[Descent]:
        """Explore starts until enough of them agree, move the best one, and finish it."""
        self._best: Descent | None = None
        self._agreement = Agreement()
        n_starts = 0
        for start in islice(starts, self.policy.most):
            n_starts += 1
            self._consider(start)
            if self.policy.enough(n_starts, self._agreement.hits):
                break
        agreeing = self._agreement.hits
        for move in range(self.policy.moves_after(agreeing)):
            if self._consider(self._moved(MOVE_SIZES[move % len(MOVE_SIZES)], rng)):
                agreeing = 1
        gap = self._agreement.gap
        return Found(self._finish(self._known), n_starts, max(agreeing, 1), gap)

    def finish_all(self, starts: Iterable[FloatArray]) -> Found[Descent]:
        """Finish every start, and return the best."""
        runs = [self._descend(start, self.tol) for start in starts]
        return best_of(runs, lambda run: run.cost)

    @property
    def _known(self) -> Descent:
        if self._best is None:
            raise AssertionError("there is at least one start")
        return self._best

    def _consider(self, start: FloatArray) -> bool:
        """Explore another start, and return whether it leads to a better optimum."""
        run = self._descend(start, COARSE, self._agreement.best)
        if self._best is None or run.cost < self._best.cost:
            self._best = run
        return self._agreement.see(run.cost)

    def _descend(self, start: FloatArray, tol: float, limit: float = np.inf) -> Descent:
        return descend(
            self.problem,
            start,
            self.oracle,
            tol=max(tol, self.tol),
            max_iter=self.max_iter,
            limit=limit,
        )

    def _finish(self, run: Descent) -> Descent:
        left = max(self.max_iter - len(run.values) + 1, 1)
        last = descend(self.problem, run.transform, self.oracle, tol=self.tol, max_iter=left)
        return Descent(last.transform, (*run.values, *last.values[1:]), last.converged)

    def _moved(self, size: float, rng: np.random.Generator) -> FloatArray:
        T = self._known.transform
        noise = rng.standard_normal(T.shape) / np.sqrt(len(T))
        return self.oracle(T + size * noise)


def suggest(
    oracle: Oracle, suggestions: Callable[[], FloatArray], rng: np.random.Generator
) -> Iterable[FloatArray]:
    """Yield starts without end: two from the conditions, then one at random, and so on."""
    while True:
        first = suggestions()
        yield oracle(first)
        yield oracle(suggestions())
        yield oracle(rng.standard_normal(first.shape))
