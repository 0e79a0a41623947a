"""The problem of the sample Wasserstein metric, for the alternation of transport and alignment.

With W_p(m)^p = min over plans of <plan_m, |x - Ty|^p>, the objective is

    F(T) = sum_m w_m W_p(m)^2 = sum_m w_m (<plan_m, s_m^(p/2)>)^(2/p),   s = |x - Ty|^2.

At a fixed plan and for p <= 2, each term is a power mean of s, which is concave in s, and s is
linear in T on the group. So the tangent in s is an upper bound of F, and T <- argmax <T, G> with

    G = sum_m w_m W_p(m)^(2-p) sum of plan_m s^((p-2)/2) x y'

never increases F, and neither does the next transport. For p = 2 the step is a Procrustes problem.
For p > 2, and for p < 2 with regularization, the bound does not hold: the step is damped,
T <- argmax <T, G + k T'> with T' the current transform, until F decreases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape.solvers.plans import Planner, squared_gaps

FloatArray = npt.NDArray[np.float64]

# Squared distances below this fraction of the squared responses are rounding: trials coincide.
MEETING = 1e-24


@dataclass(frozen=True)
class TransportProblem:
    """The trials of a pair, and how they are transported.

    Attributes
    ----------
    x, y : sequences of M arrays of shape (L_m, s_x) and (K_m, s_y), s_x >= s_y
    weights : array of shape (M,)
    p : float
    planners : sequence of M planners
    offsets : array of shape (M,)
        Subtracted from the cost of each condition: the self-transport that debiases an entropic
        cost.
    """

    x: Sequence[FloatArray]
    y: Sequence[FloatArray]
    weights: FloatArray
    p: float
    planners: Sequence[Planner]
    offsets: FloatArray

    def at(self, T: FloatArray) -> tuple[float, FloatArray]:
        """Return F(T) and the matrix G of its bound; -2 G is the gradient on the group."""
        value, G = 0.0, np.zeros(T.shape)
        for m in np.flatnonzero(self.weights).tolist():
            x, y = self.x[m], self.y[m]
            s = squared_gaps(x, y @ T.T)
            plan = self.planners[m](s if self.p == 2 else s ** (self.p / 2))
            cost = max(plan.cost - self.offsets[m], 0.0)
            value += self.weights[m] * cost ** (2 / self.p)
            mass = plan.mass * self._tangent(s[plan.rows, plan.columns], cost, x, y)
            G += self.weights[m] * (x[plan.rows] * mass[:, None]).T @ y[plan.columns]
        return value, G

    @property
    def bounded(self) -> bool:
        """Whether the tangent in s is an upper bound of F."""
        return self.p == 2 or (self.p < 2 and not self.offsets.any())

    def _tangent(self, s: FloatArray, cost: float, x: FloatArray, y: FloatArray) -> FloatArray:
        if self.p == 2:
            return np.ones_like(s)
        floor = max(MEETING * ((x**2).sum() / len(x) + (y**2).sum() / len(y)), 1e-300)
        ratio = np.maximum(s, floor) / max(cost ** (2 / self.p), floor)  # s / W_p^2
        return np.asarray(ratio ** (self.p / 2 - 1))
