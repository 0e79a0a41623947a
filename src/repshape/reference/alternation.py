"""Alternating minimisation (Prop. 2), as ascent of a convex function over a group.

Minimising over U_1 .. U_M at fixed T gives the polar factors of A_m' T C_m. Minimising over T at
fixed U is a linear problem, T <- argmax <T, grad g(T)>. Since g is convex, g(T') >= g(T) +
<T' - T, grad g(T)> >= g(T): the objective never decreases, for any group.

The compiled solver reaches the same optima faster, and is tested against this module.
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
    """Result of the alternation.

    Attributes
    ----------
    transform : array of shape (n_x, n_y)
    values : tuple of float
        The objective after every step, which never decreases.
    converged : bool
        Whether the last step increased the objective by less than the fraction ``tol``.
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
    """Alternate from ``start`` until a step gains less than the fraction ``tol`` of the objective.

    Parameters
    ----------
    objective : callable
        Maps T (n_x, n_y) to the convex objective and its gradient (n_x, n_y).
    start : array of shape (n_x, n_y)
    group : str
        Name of the group.

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
