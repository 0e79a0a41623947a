"""Quadratic programs with non-negative variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

FloatArray = npt.NDArray[np.float64]

# Spectral steps may increase the value for a while. After this many steps without a new best value,
# a step must end below the worst value since then (Dai and Fletcher, 2005).
PATIENCE = 10


@dataclass(frozen=True, eq=False)
class Multipliers:
    """The solution ``y``, and whether it reached the tolerance."""

    y: FloatArray
    converged: bool
    n_iterations: int


def minimise_nonnegative(
    rows: csr_array,
    target: FloatArray,
    start: FloatArray,
    tolerance: FloatArray,
    max_iterations: int,
) -> Multipliers:
    r"""Minimise :math:`\frac12 |B^T y|^2 - b^T y` over :math:`y \ge 0`.

    This is the dual of projecting onto :math:`\{v : B v \ge b\}`: the projection of 0 is
    :math:`v = B^T y`. The method is projected gradient descent. Step lengths alternate between the
    two spectral ones of Barzilai and Borwein, and there is a line search only if the value has not
    improved for a while. An iteration takes one product with B and one with its transpose.

    Parameters
    ----------
    rows : csr_array, shape (m, n)
        B, with rows of about unit length.
    target : ndarray, shape (m,)
        b.
    start : ndarray, shape (m,)
        Initial y, non-negative.
    tolerance : ndarray, shape (m,)
        Stop when no constraint is violated by more than this, and no constraint with positive y
        has more slack than this.
    max_iterations : int
        Maximum number of iterations.

    References
    ----------
    Dai and Fletcher, "Projected Barzilai-Borwein methods for large-scale box-constrained
    quadratic programming", Numerische Mathematik 100, 2005.

    Examples
    --------
    >>> found = minimise_nonnegative(
    ...     csr_array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0]), np.zeros(2),
    ...     np.full(2, 1e-12), 100)
    >>> found.y
    array([2., 0.])
    """
    columns = rows.T.tocsr()
    y, image = start, columns @ start
    gradient = rows @ image - target
    value = 0.5 * float(image @ image) - float(target @ y)
    ceiling = _Ceiling(value)
    length = 1.0
    for iteration in range(max_iterations):
        if (np.abs(_projected(y, gradient)) <= tolerance).all():
            return Multipliers(y, True, iteration)
        step = np.maximum(y - length * gradient, 0.0) - y
        image = columns @ step
        curved = rows @ image
        slope, curvature = float(gradient @ step), float(image @ image)
        fraction = 1.0
        if value + slope + 0.5 * curvature >= ceiling.value:
            fraction = min(1.0, -slope / curvature)  # the exact minimum along the step
        y = y + fraction * step
        gradient = gradient + fraction * curved
        value += fraction * slope + 0.5 * fraction**2 * curvature
        ceiling.see(value)
        if curvature > 0.0:
            ratios = (float(step @ step) / curvature, curvature / float(curved @ curved))
            length = ratios[iteration % 2]
    return Multipliers(y, False, max_iterations)


def _projected(y: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the gradient without the components that point out of the feasible set."""
    return np.where(y > 0.0, gradient, np.minimum(gradient, 0.0))


class _Ceiling:
    """The value below which a step must end, which is infinite until progress stalls."""

    def __init__(self, value: float) -> None:
        self.value = np.inf
        self._best = self._worst = value
        self._stalled = 0

    def see(self, value: float) -> None:
        if value < self._best:
            self._best = self._worst = value
            self._stalled = 0
            return
        self._worst = max(self._worst, value)
        self._stalled += 1
        if self._stalled == PATIENCE:
            self.value, self._worst, self._stalled = self._worst, value, 0
