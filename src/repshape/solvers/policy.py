"""When searches in Python stop, and which starts agree.

The compiled search has the same rules, with other numbers, in cpp/search/stopping.h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from repshape._native_results import Solution

FloatArray = npt.NDArray[np.float64]

# Squared distances that differ by less than this fraction belong to the same optimum.
SAME_OPTIMUM = 2e-4


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
        If starts do not agree, how often the best transform is perturbed and improved again.
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

    def moves_after(self, n_agreeing: int) -> int:
        """Return how many moves to make after the starts."""
        return self.moves if n_agreeing < self.hits or self.always_move else 0


# Sample Wasserstein distances.
TRANSPORT = Policy()
# Groups that are objects. In a discrete group, alternation stops at many points, and starts agree
# more easily by chance: of 200 pairs under signed permutations of three neurons, 4 of 8 missed the
# best 16 times, and these numbers 3 times.
GROUP_OBJECTS = Policy(hits=8, fewest=24, always_move=True)
# Plans of networks of unequal size: every start gets a few steps, and the best of them are
# finished.
PLANS, TRIAL_STEPS, FINALISTS = Policy(most=64), 3, 4
# Ground metrics between covariances: every start is finished.
COVARIANCES = Policy(most=16)


class Agreement:
    """The best optimum of a search so far, a squared distance, and how often it was found."""

    def __init__(self) -> None:
        self.best, self.hits = np.inf, 0
        self._ends: list[float] = []

    def see(self, value: float) -> bool:
        """Count the optimum of another start, and return whether it is a better one.

        >>> search = Agreement()
        >>> [search.see(value) for value in (2.0, 1.0, 1.0, 3.0)], search.hits
        ([True, True, False, False], 2)
        """
        self._ends.append(value)
        better = value < self.best * (1 - SAME_OPTIMUM)
        if better:
            self.hits = 1
        else:
            self.hits += int(value <= self.best * (1 + SAME_OPTIMUM))
        self.best = min(self.best, value)
        return bool(better)

    @property
    def gap(self) -> float:
        """By what share the second-best optimum is longer than the best; 0 if there is none.

        >>> search = Agreement()
        >>> for value in (4.0, 1.0, 9.0):
        ...     _ = search.see(value)
        >>> search.gap
        1.0
        """
        return compare_ends(self._ends, self.best).gap


class Run(Protocol):
    """A start that was followed to its end; ``cost`` is a squared distance, up to a constant."""

    @property
    def cost(self) -> float:
        """What the search minimises."""

    @property
    def converged(self) -> bool:
        """Whether the run ended at an optimum."""


R = TypeVar("R", bound=Run)


@dataclass(frozen=True)
class Found(Generic[R]):
    """The best run, the number of independent starts, and how many of them agree with it.

    ``gap`` is the share by which the second-best optimum is longer; 0 if there is none.
    """

    best: R
    n_starts: int = 1
    n_agreeing: int = 1
    gap: float = 0.0

    def solution(
        self,
        distance: float,
        lower_bound: float,
        transform: FloatArray,
        n_iterations: int,
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
            n_iterations=n_iterations,
            n_starts=self.n_starts,
            n_agreeing=0 if composed else self.n_agreeing,
            transform=transform,
            gap=float("nan") if composed else self.gap,
        )


def best_of(runs: Sequence[R], squared: Callable[[R], float], tol: float = 0.0) -> Found[R]:
    """Return the best of several runs, and how many of them agree with it.

    ``squared`` returns the squared distance at the end of a run, and ``tol`` is the precision of
    the costs.
    """
    best = min(runs, key=lambda run: run.cost)
    ends = compare_ends([run.cost for run in runs], squared(best), tol)
    return Found(best, len(runs), ends.n_agreeing, ends.gap)


@dataclass(frozen=True)
class Ends:
    """How many of several runs agree with the best one, and the gap to the second-best optimum.

    ``gap`` is the share by which the second-best optimum is longer; 0 if there is none.
    """

    n_agreeing: int
    gap: float


def compare_ends(costs: Sequence[float], squared: float, tol: float = 0.0) -> Ends:
    """Compare the ends of runs, whose costs are squared distances up to a constant.

    ``squared`` is the squared distance of the least cost, and ``tol`` the precision of the costs.

    >>> compare_ends([-2.0, 1.0, -2.0 + 1e-6], 1.0)
    Ends(n_agreeing=2, gap=1.0)
    """
    best = min(costs)
    margin = SAME_OPTIMUM * abs(squared) + tol * abs(best)
    others = [one for one in costs if one > best + margin]
    gap = 0.0
    if others:
        gap = float(np.sqrt(1 + (min(others) - best) / max(abs(squared), margin, 1e-300)) - 1)
    return Ends(len(costs) - len(others), gap)
