"""The nearest matrix that satisfies the triangle inequality (Duong et al. 2023, Appendix F.3)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from repshape._arrays import count
from repshape._compact import compact_repr
from repshape.errors import InputError, NotConvergedWarning, check_integer, check_real
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.triangles import (
    TriangleViolations,
    scan_triangles,
    symmetric_values,
    triangle_violations,
)
from repshape.solvers.nonnegative import minimise_nonnegative

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Each round is solved to this fraction of the violation that the previous one left: early rounds
# need not be exact, because they lack most of the triangles that matter.
EAGERNESS = 0.1
# A triangle without a multiplier is dropped once it is slack by this fraction of the scale.
SLACK = 1e-6
# A violation of at most this size after the closure is a rounding error.
ROUNDING = 4 * np.finfo(np.float64).eps
MAX_ITERATIONS = 5000  # per round; the next round starts from there


@compact_repr
@dataclass(frozen=True, eq=False)
class Repaired:
    """The nearest metric, and the evidence that it is a metric and the nearest one.

    Attributes
    ----------
    matrix : DistanceMatrix
        The repaired distances, which violate no triangle inequality, with everything else that the
        input holds; except for its lower bounds, which are about the measured distances.
    moved : float
        Square root of the (weighted) sum over pairs of squared changes, which was minimised.
    largest_change : float
        The largest absolute change of one distance.
    error_bound : float
        The exact solution lies within this (weighted) distance of ``matrix``, from the duality
        gap.
    before, after : TriangleViolations
        The triangle inequalities that the input and the result violate.
    n_active : int
        Number of triangle inequalities that are active at the solution.
    n_triangles : int
        Number of triangles in the last quadratic program.
    n_rounds, n_iterations : int
        Rounds of adding triangles, and iterations of the solver in all of them.
    converged : bool
        Whether the solver reached its tolerance. If not, ``matrix`` is still a metric, and
        ``error_bound`` says how far it may be from the nearest metric.
    """

    matrix: DistanceMatrix
    moved: float
    largest_change: float
    error_bound: float
    before: TriangleViolations
    after: TriangleViolations
    n_active: int
    n_triangles: int
    n_rounds: int
    n_iterations: int
    converged: bool

    @property
    def values(self) -> FloatArray:
        """The repaired distances, shape (K, K)."""
        return self.matrix.values

    def summary(self) -> dict[str, Any]:
        """Return the certificate, ready for JSON."""
        return {
            "networks": len(self.matrix),
            "violations_before": self.before.count,
            "largest_violation_before": self.before.largest,
            "negative_before": self.before.n_negative,
            "violations_after": self.after.count,
            "largest_violation_after": self.after.largest,
            "moved": self.moved,
            "largest_change": self.largest_change,
            "error_bound": self.error_bound,
            "active_triangles": self.n_active,
            "rounds": self.n_rounds,
            "iterations": self.n_iterations,
            "converged": self.converged,
        }

    def words(self) -> str:
        """Say what the repair found and changed."""
        if self.before.count == 0 and self.before.n_negative == 0:
            return "No triangle inequality is violated: the distances are unchanged."
        return (
            f"Before: {count(self.before.count, 'violated triangle')} (by at most "
            f"{self.before.largest:.3g}) and {count(self.before.n_negative, 'negative distance')}. "
            f"After: {self.after.count} and 0. The largest change of a distance is "
            f"{self.largest_change:.3g}, the root of the summed squared changes is "
            f"{self.moved:.3g}, and the exact solution is within {self.error_bound:.1e}."
        )


def repair(
    D: DistanceMatrix | npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    tol: float = 1e-12,
    max_rounds: int = 100,
) -> Repaired:
    r"""Find the nearest matrix of distances that violates no triangle inequality.

    .. math:: \min_X \sum_{i<j} w_{ij} (X_{ij} - D_{ij})^2 \quad\text{subject to}\quad
              X_{ij} \ge 0, \; X_{ij} \le X_{ik} + X_{kj} \text{ for all } i, j, k.

    A matrix that already satisfies them (up to ``tol``) is returned unchanged, to the bit.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Symmetric and finite; negative estimates are allowed.
    weights : array_like, shape (K, K), optional
        How much a change of each pair costs: symmetric and positive, for example 1 / variance of
        the estimate. The diagonal is ignored.
    tol : float
        Violations that the solver may leave, as a fraction of the largest absolute distance. They
        are then removed by replacing each distance with the length of the shortest path.
    max_rounds : int
        Maximum number of rounds.

    Returns
    -------
    Repaired

    Notes
    -----
    There are :math:`3\binom{K}{3}` inequalities, and few of them matter. Each round adds the most
    violated one of every pair, solves the dual by projected spectral gradients, and drops those
    that became slack. :math:`X \ge 0` follows from the triangle inequalities.

    Examples
    --------
    >>> result = repair([[0, 1, 5], [1, 0, 1], [5, 1, 0]])
    >>> result.values
    array([[0., 2., 4.],
           [2., 0., 2.],
           [4., 2., 0.]])
    >>> round(result.moved, 6), result.before.count, result.after.count
    (1.732051, 1, 0)
    """
    check_real("tol", tol, 0.0, 1.0, closed="neither")
    check_integer("max_rounds", max_rounds, 1)
    source = _complete(D)
    cost = _condensed_weights(weights, len(source))
    before = triangle_violations(source, tol=tol)
    if before.count == 0 and source.values.min() >= 0.0:
        return Repaired(source, 0.0, 0.0, 0.0, before, before, 0, 0, 0, 0, True)
    program = _Program(source.values / before.scale, cost, tol)
    with threadpool_limits(limits=1, user_api="blas"):  # vectors too short for several threads
        program.run(max_rounds)
    if not program.converged:
        warnings.warn(
            f"The repair did not converge in {max_rounds} rounds: its result is a metric, but not "
            "the nearest one. Increase max_rounds.",
            NotConvergedWarning,
            stacklevel=2,
        )
    values = before.scale * program.metric()
    change = (values - source.values)[np.triu_indices(len(source), 1)]
    return Repaired(
        matrix=source.replace(
            values=values,  # without lower bounds, which bound what was measured
            converged=source.converged,
            n_starts=source.n_starts,
            n_agreeing=source.n_agreeing,
            n_composed=source.n_composed,
            gaps=source.gaps,
            description=source.description | {"repaired": True},
        ),
        moved=float(np.sqrt(cost @ change**2)),
        largest_change=float(np.abs(change).max()),
        error_bound=before.scale * program.error_bound(values / before.scale),
        before=before,
        after=triangle_violations(values, tol=tol),
        n_active=int((program.multipliers > 0.0).sum()),
        n_triangles=len(program.triangles),
        n_rounds=program.n_rounds,
        n_iterations=program.n_iterations,
        converged=program.converged,
    )


class _Program:
    """The dual of the quadratic program over the triangles that were violated so far.

    With v = sqrt(w) (x - d), a triangle is a row of A with -1 at (i, j) and 1 at (i, k), (k, j);
    v solves min |v|^2 / 2 subject to A (d + v / sqrt(w)) >= 0. Rows are scaled to unit length.
    """

    def __init__(self, values: FloatArray, weights: FloatArray, tol: float) -> None:
        self.size = len(values)
        self.upper = np.triu_indices(self.size, 1)
        self.given = values[self.upper]
        self.root = np.sqrt(weights)
        self.tol = tol
        self.triangles = np.zeros((0, 3), dtype=np.int64)  # i < j, and k: x_ij <= x_ik + x_kj
        self.multipliers = np.zeros(0)
        self.solution = self.given
        self.precision = 0.0  # of the multipliers; there are none yet
        self.n_rounds = self.n_iterations = 0
        self.converged = False

    def run(self, max_rounds: int) -> None:
        """Add the violated inequalities and solve, until none is violated."""
        for _ in range(max_rounds):
            scan = scan_triangles(self.square(), self.tol)
            worst = float(scan.excess.max())
            # If the last round was solved loosely, it may be far from the optimum even without
            # violations: a triangle with a multiplier must be tight too.
            self.converged = worst <= self.tol and self.precision <= self.tol
            if self.converged:
                return
            i, j = np.nonzero(scan.excess > self.tol)
            self._add(np.stack([i, j, scan.middle[i, j]], axis=1))
            self._solve(max(self.tol / 2.0, EAGERNESS * worst))
            self.n_rounds += 1

    def square(self) -> FloatArray:
        """Return the current solution as a matrix."""
        return _square(self.solution, self.size)

    def metric(self) -> FloatArray:
        """Return the solution with every distance replaced by the length of the shortest path."""
        values = np.maximum(self.square(), 0.0)
        for _ in range(self.size):  # each pass doubles the number of steps of a path
            excess = scan_triangles(values, 0.0).excess
            if excess.max() <= ROUNDING:
                break
            values = values - excess - excess.T
        return values

    def error_bound(self, values: FloatArray) -> float:
        """Bound the weighted distance of a metric to the exact solution.

        The gap between the cost of x and the dual value of y is y'Ax + |v(x) - v(y)|^2 / 2, a sum
        of two non-negative terms. The cost is strongly convex, so the error is at most
        sqrt(2 gap).
        """
        if self.size < 3:  # without triangles, setting negative distances to zero is exact
            return 0.0
        x = values[self.upper]
        slack = self._rows()[0] @ (self.root * x)
        apart = self.root * (x - self.solution)
        twice_gap = 2.0 * float(self.multipliers @ slack) + float(apart @ apart)
        return float(np.sqrt(max(0.0, twice_gap)))

    def _add(self, found: IntArray) -> None:
        known = np.isin(self._keys(found), self._keys(self.triangles))
        self.triangles = np.concatenate([self.triangles, found[~known]])
        self.multipliers = np.concatenate([self.multipliers, np.zeros((~known).sum())])

    def _keys(self, triangles: IntArray) -> IntArray:
        """Return a unique number for each triangle and its longest side."""
        i, j, k = triangles.T
        keys: IntArray = (i * self.size + j) * self.size + k
        return keys

    def _solve(self, tolerance: float) -> None:
        rows, lengths = self._rows()
        found = minimise_nonnegative(
            rows,
            -(rows @ (self.root * self.given)),
            self.multipliers,
            tolerance / lengths,
            MAX_ITERATIONS,
        )
        self.n_iterations += found.n_iterations
        self.precision = tolerance if found.converged else np.inf
        self.solution = self.given + (rows.T @ found.y) / self.root
        slack = lengths * (rows @ (self.root * self.solution))
        keep = (found.y > 0.0) | (slack < SLACK)
        self.triangles, self.multipliers = self.triangles[keep], found.y[keep]

    def _rows(self) -> tuple[csr_array, FloatArray]:
        """Return A / sqrt(w) with rows of unit length, and the lengths before scaling."""
        i, j, k = self.triangles.T
        sides = np.stack([self._pair(i, j), self._pair(i, k), self._pair(k, j)], axis=1)
        entries = np.array([-1.0, 1.0, 1.0]) / self.root[sides]
        lengths = np.sqrt((entries**2).sum(axis=1))
        bounds = np.arange(0, sides.size + 1, 3)
        shape = (len(sides), len(self.given))
        scaled = (entries / lengths[:, None]).ravel()
        return csr_array((scaled, sides.ravel(), bounds), shape=shape), lengths

    def _pair(self, a: IntArray, b: IntArray) -> IntArray:
        """Return the position of each pair in the condensed order."""
        low, high = np.minimum(a, b), np.maximum(a, b)
        position: IntArray = low * self.size - low * (low + 1) // 2 + high - low - 1
        return position


def _square(condensed: FloatArray, size: int) -> FloatArray:
    values = np.zeros((size, size))
    values[np.triu_indices(size, 1)] = condensed
    return values + values.T


def _complete(D: DistanceMatrix | npt.ArrayLike) -> DistanceMatrix:
    values = symmetric_values(D)
    missing = int(np.isnan(values).sum()) // 2
    if missing:
        raise InputError(f"Only a complete matrix can be repaired. Got {missing} missing pairs.")
    return D if isinstance(D, DistanceMatrix) else DistanceMatrix(values)


def _condensed_weights(weights: npt.ArrayLike | None, size: int) -> FloatArray:
    if weights is None:
        return np.ones(size * (size - 1) // 2)
    array = np.array(weights, dtype=np.float64)
    if array.shape != (size, size):
        raise InputError(f"'weights' must have shape ({size}, {size}). Got {array.shape}.")
    upper = np.triu_indices(size, 1)
    condensed: FloatArray = array[upper]
    if not (np.isfinite(condensed) & (condensed > 0.0)).all():
        raise InputError("Weights must be positive and finite.")
    if not np.allclose(condensed, array.T[upper], rtol=1e-10, atol=0.0):
        raise InputError("Weights must be symmetric.")
    return condensed
