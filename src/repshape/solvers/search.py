"""The search over starts for every problem that is solved in Python.

The compiled core searches in the same way (cpp/search/exploration.h and stopping.h): it explores
starts coarsely until independent ones agree on the best optimum, perturbs the best transform if few
of them do, and finishes the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._native import Solution
from repshape.groups import Oracle
from repshape.solvers.alternation import Problem, Run, descend

FloatArray = npt.NDArray[np.float64]

# Squared distances that differ by less than this fraction belong to the same optimum, and so do
# those that differ by less than the second fraction of the largest that was seen.
SAME_OPTIMUM, ROUNDING = 2e-4, 1e-10
# Starts are explored until a step reduces F by less than this fraction, and the best is finished.
COARSE = 1e-5
# Norms of the random matrices that perturb the best transform, in units of its own.
MOVE_SIZES = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Policy:
    """How many starts a search makes.

    Attributes
    ----------
    most : int
        Maximum number of starts.
    hits, fewest : int
        Stop once ``hits`` of at least ``fewest`` starts reach the best optimum.
    moves : int
        How often the best transform is perturbed and improved again if fewer than ``hits`` starts
        agree; a quarter as often if most of them do not.
    always_move : bool
        Whether to do so also if starts agree.
    """

    most: int = 64
    hits: int = 6
    fewest: int = 12
    moves: int = 192
    always_move: bool = False

    def enough(self, n_starts: int, n_agreeing: int) -> bool:
        """Return whether a search may stop before its largest number of starts."""
        return n_agreeing >= self.hits and n_starts >= self.fewest

    def moves_after(self, n_starts: int, n_agreeing: int) -> int:
        """Return how many moves to make after the starts."""
        if n_agreeing < self.hits or self.always_move:
            return self.moves
        return self.moves // 4 if 2 * n_agreeing < n_starts else 0


class Agreement:
    """The best optimum of a search so far, and how many starts ended in it."""

    def __init__(self) -> None:
        self.best, self.hits = np.inf, 0
        self._ends: list[float] = []
        self._largest = 0.0

    def see(self, run: Run) -> bool:
        """Count the optimum of another start, and return whether it is a better one.

        >>> search, ends = Agreement(), (2.0, 1.0, 1.0, 3.0)
        >>> [search.see(Run(np.eye(1), (end,), True)) for end in ends], search.hits
        ([True, True, False, False], 2)
        """
        self._ends.append(run.cost)
        self._largest = max(self._largest, run.values[0])
        better = not self._ends[1:] or run.cost < self.best - self._margin
        if better:
            self.hits = 1
        else:
            self.hits += int(run.cost <= self.best + self._margin)
        self.best = min(self.best, run.cost)
        return bool(better)

    @property
    def _margin(self) -> float:
        return max(SAME_OPTIMUM * self.best, ROUNDING * self._largest)

    @property
    def gap(self) -> float:
        """By what share the second-best optimum is longer than the best; 0 if there is none.

        >>> search = Agreement()
        >>> for end in (4.0, 1.0, 9.0):
        ...     _ = search.see(Run(np.eye(1), (end,), True))
        >>> search.gap
        1.0
        """
        others = [end for end in self._ends if end > self.best + self._margin]
        least = max(self.best, ROUNDING * self._largest)
        return float(np.sqrt(min(others) / least) - 1) if others else 0.0


@dataclass(frozen=True)
class Found:
    """The best run, the number of independent starts, and how many of them agree with it.

    ``gap`` is the share by which the second-best optimum is longer; 0 if there is none.
    """

    best: Run
    n_starts: int = 1
    n_agreeing: int = 1
    gap: float = 0.0

    def solution(
        self,
        distance: float,
        lower_bound: float,
        transform: FloatArray,
        parts: tuple[float, float] = (float("nan"), float("nan")),
        *,
        composed: bool = False,
    ) -> Solution:
        """Return the result of a pair; starts that were ``composed`` agree with nothing."""
        return Solution(
            distance=distance,
            lower_bound=min(lower_bound, distance),
            mean_distance=parts[0],
            covariance_distance=parts[1],
            converged=self.best.converged,
            n_iterations=self.best.n_iterations,
            n_starts=self.n_starts,
            n_agreeing=0 if composed else self.n_agreeing,
            transform=transform,
            gap=float("nan") if composed else self.gap,
        )


@dataclass(frozen=True)
class Search:
    """A search from many starts, with the settings of a metric.

    Attributes
    ----------
    problem : Problem
    oracle : callable
    tol, max_iter
        Of the best start; the others are explored coarsely.
    policy : Policy
        When to stop.
    descend : callable
        How to improve a start.
    """

    problem: Problem
    oracle: Oracle
    tol: float
    max_iter: int
    policy: Policy
    descend: Callable[..., Run] = descend

    def solve(
        self,
        starts: Callable[[np.random.Generator], Iterable[FloatArray]],
        n_starts: int | str,
        seed: Sequence[int],
        given: Iterable[FloatArray] | None = None,
    ) -> Found:
        """Search from as many starts as it takes ("auto"), or from a given number of them.

        Starts that are ``given`` replace all others, and all of them are finished.
        """
        if given is not None:
            return self._finish_all(given)
        rng = np.random.default_rng(seed)
        if n_starts == "auto":
            return self._explore(starts(rng), rng)
        return self._finish_all(islice(starts(rng), int(n_starts)))

    def _finish_all(self, starts: Iterable[FloatArray]) -> Found:
        """Finish every start, and return the best."""
        runs = [self._descend(start, self.tol) for start in starts]
        agreement = Agreement()
        for run in runs:
            agreement.see(run)
        best = min(runs, key=lambda run: run.cost)
        return Found(best, len(runs), agreement.hits, agreement.gap)

    def _explore(self, starts: Iterable[FloatArray], rng: np.random.Generator) -> Found:
        """Explore starts until enough of them agree, move the best one, and finish it."""
        agreement, best, n_starts = Agreement(), None, 0
        for start in islice(starts, self.policy.most):
            run = self._descend(start, COARSE, agreement.best)
            n_starts += 1
            agreement.see(run)
            best = run if best is None or run.cost < best.cost else best
            if self.policy.enough(n_starts, agreement.hits):
                break
        assert best is not None  # there is at least one start
        agreeing = agreement.hits
        for move in range(self.policy.moves_after(n_starts, agreeing)):
            start = self._moved(best.transform, MOVE_SIZES[move % len(MOVE_SIZES)], rng)
            run = self._descend(start, COARSE, agreement.best)
            if agreement.see(run):
                agreeing = 1
            best = run if run.cost < best.cost else best
        return Found(self._finish(best), n_starts, agreeing, agreement.gap)

    def _descend(self, start: FloatArray, tol: float, limit: float = np.inf) -> Run:
        settings: dict[str, Any] = {"tol": max(tol, self.tol), "max_iter": self.max_iter}
        return self.descend(self.problem, start, self.oracle, limit=limit, **settings)

    def _finish(self, run: Run) -> Run:
        left = max(self.max_iter - run.n_iterations + 1, self.max_iter // 2, 1)
        last = self.descend(self.problem, run.transform, self.oracle, tol=self.tol, max_iter=left)
        return Run(last.transform, (*run.values, *last.values[1:]), last.converged)

    def _moved(self, T: FloatArray, size: float, rng: np.random.Generator) -> FloatArray:
        noise = rng.standard_normal(T.shape) * float(np.linalg.norm(T)) / np.sqrt(T.size)
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
