"""Alternating minimisation (Prop. 2), as ascent of a convex function over a group.

Minimising over U_1 .. U_M at fixed T gives the polar factors of A_m' T C_m; minimising over T at
fixed U is a linear problem, T <- argmax <T, grad g(T)>. As g is convex, g(T') >= g(T) +
<T' - T, grad g(T)> >= g(T): the objective never decreases, whatever the group.

The native solver gets to the same optima sooner; this is what it is tested against.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape.groups import oracle

FloatArray = npt.NDArray[np.float64]
Objective = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True)
class Ascent:
    """Where alternation ended.

    Attributes
    ----------
    transform : array of shape (n_x, n_y)
    values : tuple of float
        The objective at every step; it never decreases.
    converged : bool
        The last step gained less than ``tol`` of the objective.
    """

    transform: FloatArray
    values: tuple[float, ...]
    converged: bool


def alternate(
    objective: Objective,
    start: FloatArray,
    group: str = "orthogonal",
    *,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> Ascent:
    """Climb from ``start`` by alternation until a step gains less than ``tol`` of the objective.

    Parameters
    ----------
    objective : callable
        Maps T (n_x, n_y) to the convex objective and its gradient (n_x, n_y).
    start : array of shape (n_x, n_y)
    group : str
        Name of the group over which T ranges.

    Examples
    --------
    >>> target = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> climb = alternate(lambda T: (float((T * target).sum()), target), np.eye(2))
    >>> climb.values
    (0.0, 2.0, 2.0)
    """
    step = oracle(group)
    T = start
    value, gradient = objective(T)
    values = [value]
    for _ in range(max_iter):
        T = step(gradient)
        value, gradient = objective(T)
        values.append(value)
        if value - values[-2] <= tol * abs(value):
            return Ascent(T, tuple(values), True)
    return Ascent(T, tuple(values), False)
