"""The search for the best plan that matches the neurons of two networks of unequal size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from repshape.solvers.descent import Turned
from repshape.solvers.plans import exact_plan
from repshape.solvers.policy import FINALISTS, TRIAL_STEPS, Found, best_of

FloatArray = npt.NDArray[np.float64]
# Masses below this fraction of that of a neuron are rounding of the simplex.
NO_MASS = 1e-12


@dataclass(frozen=True)
class SoftParts:
    """A squared distance at a fixed plan: in all, of the means and of the covariances."""

    squared: float
    means: float = float("nan")
    covariances: float = float("nan")


class SoftProblem(Protocol):
    """One pair of networks of unequal size, in a unit: distances are multiplied by ``gain``."""

    gain: float

    def at(self, P: FloatArray) -> tuple[float, FloatArray]:
        """Return an objective to be maximised, and its gradient (n_x, n_y)."""

    def parts(self, P: FloatArray) -> SoftParts:
        """Return the squared distance at a plan."""

    @property
    def costs(self) -> FloatArray:
        """Squared distances of single neurons, (n_x, n_y), from which to start."""

    @property
    def bound(self) -> float:
        """A squared distance that no plan undercuts."""


def search(
    problem: SoftProblem,
    plans: Sequence[FloatArray] | None,
    count: int,
    *,
    tol: float,
    max_iter: int,
    seed: int,
) -> Found[Turned]:
    """Return the best of the alternations from several plans.

    The first start is the plan that is best for single neurons, without correlations. Every other
    one is best for its gradient with random changes, or random altogether. All of them get a few
    steps, and the best are finished. Given plans replace all of these, and all are finished.
    """

    def squared(run: Turned) -> float:
        return problem.parts(run.transform).squared

    if plans is not None:
        return best_of([climb(problem, plan, tol, max_iter) for plan in plans], squared, tol)
    first = climb(problem, best_plan(-problem.costs), tol, max_iter)
    gradient = problem.at(first.transform)[1]
    spread = float(gradient.std())
    rng = np.random.default_rng(seed)
    tried = []
    for k in range(count - 1):
        noise = rng.standard_normal(gradient.shape)
        start = best_plan(noise if k % 2 else gradient + spread * (0.5 + k % 4) * noise)
        tried.append(climb(problem, start, tol, min(TRIAL_STEPS, max_iter)))
    tried.sort(key=lambda one: one.cost)
    finished = [climb(problem, one.transform, tol, max_iter) for one in tried[:FINALISTS]]
    return best_of([first, *finished, *tried[FINALISTS:]], squared, tol)


def climb(problem: SoftProblem, plan: FloatArray, tol: float, max_iter: int) -> Turned:
    """Alternate from a plan: the best plan for the gradient is never worse."""
    value, gradient = problem.at(plan)
    for step in range(max_iter):
        following = best_plan(gradient)
        next_value, next_gradient = problem.at(following)
        if next_value - value <= tol * abs(value):
            return Turned(plan, -value, True, step + 1)
        plan, value, gradient = following, next_value, next_gradient
    return Turned(plan, -value, False, max_iter)


def best_plan(gain: FloatArray) -> FloatArray:
    """Return the plan (n_x, n_y) that maximises <P, gain>.

    >>> best_plan(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]))
    array([[0.25, 0.  ],
           [0.  , 0.25],
           [0.  , 0.25],
           [0.25, 0.  ]])
    """
    plan = exact_plan(gain.max() - gain)
    P = np.zeros(gain.shape)
    P[plan.rows, plan.columns] = plan.mass
    P[NO_MASS / max(gain.shape) > P] = 0.0
    return P
