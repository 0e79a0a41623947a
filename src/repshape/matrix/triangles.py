"""Which triangle inequalities a matrix of distances violates, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape._compact import compact_repr
from repshape._parallel import available_cores, run_all
from repshape.errors import check_real
from repshape.matrix.distances import DistanceMatrix

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Violations up to this fraction of the largest distance are due to rounding or to the solver's
# tolerance.
TOLERANCE = 1e-7
# Sums of pairs are formed this many at a time, so that a block stays in the second-level cache.
BLOCK = 2**16


@compact_repr
@dataclass(frozen=True, eq=False)
class TriangleViolations:
    r"""What `triangle_violations` found.

    Attributes
    ----------
    count : int
        Number of inequalities :math:`D_{ij} \le D_{ik} + D_{kj}` that are violated by more than
        ``tolerance``. Each triangle has three of them; non-negative distances violate at most one.
    largest : float
        The largest excess :math:`D_{ij} - D_{ik} - D_{kj}`, even if it is within the tolerance;
        0 if there is none.
    where : tuple of int or None
        The networks (i, j, k) of the largest violation: ``D[i, j]`` exceeds the detour through k.
    n_inequalities : int
        Number of inequalities that were checked: three for each triangle whose sides are known.
    n_pairs : int
        Number of pairs (i, j) whose distance exceeds the detour through at least one k.
    n_negative : int
        Number of pairs with a negative distance.
    scale : float
        The largest absolute distance.
    tolerance : float
        The excess that is not counted as a violation, in units of distance.
    excess : ndarray, shape (K, K)
        The largest excess of each pair; 0 where no inequality is violated.
    """

    count: int
    largest: float
    where: tuple[int, int, int] | None
    n_inequalities: int
    n_pairs: int
    n_negative: int
    scale: float
    tolerance: float
    excess: FloatArray

    @property
    def relative(self) -> float:
        """The largest excess as a fraction of the largest distance."""
        return self.largest / self.scale if self.scale else 0.0


def triangle_violations(
    D: DistanceMatrix | npt.ArrayLike, *, tol: float = TOLERANCE
) -> TriangleViolations:
    r"""Count the triangle inequalities that a matrix violates, and find the largest violation.

    The excess of a pair is the amount by which it is too long,

    .. math:: e_{ij} = D_{ij} - \min_k (D_{ik} + D_{kj}) \ge 0.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Symmetric. NaN marks an unknown distance: triangles with such a side are skipped. Negative
        distances are allowed.
    tol : float
        Excess that is not counted as a violation, as a fraction of the largest absolute distance.

    Returns
    -------
    TriangleViolations

    Notes
    -----
    All :math:`K(K-1)(K-2)/2` inequalities are checked, on all cores.

    Examples
    --------
    >>> found = triangle_violations([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
    >>> found.count, found.largest, found.where
    (1, 2.0, (0, 2, 1))
    """
    check_real("tol", tol, 0.0)
    values = symmetric_values(D)
    known = ~np.isnan(values)
    scale = float(np.abs(values[known]).max())
    scan = scan_triangles(values, tol * scale)
    excess = scan.excess + scan.excess.T
    excess.setflags(write=False)
    upper = values[np.triu_indices(len(values), 1)]
    return TriangleViolations(
        count=scan.count,
        largest=float(excess.max()),
        where=scan.worst(),
        n_inequalities=_count_inequalities(known),
        n_pairs=int((scan.excess > tol * scale).sum()),
        n_negative=int((upper < 0.0).sum()),
        scale=scale,
        tolerance=tol * scale,
        excess=excess,
    )


@dataclass(frozen=True, eq=False)
class Scan:
    """For each pair i < j: its excess, and the k of the shortest detour (upper triangles)."""

    excess: FloatArray
    middle: IntArray
    count: int

    def worst(self) -> tuple[int, int, int] | None:
        """Return the pair of largest excess, and the k of its shortest detour."""
        i, j = divmod(int(self.excess.argmax()), len(self.excess))
        return (i, j, int(self.middle[i, j])) if self.excess[i, j] > 0.0 else None


def scan_triangles(values: FloatArray, tolerance: float) -> Scan:
    """Find the shortest detour of every pair, and count the violations above the tolerance."""
    size = len(values)
    # A detour over an unknown distance is infinitely long; an unknown distance is never too long.
    lengths = np.where(np.isnan(values), np.inf, values)
    direct = np.where(np.isnan(values), -np.inf, values)
    excess = np.zeros((size, size))
    middle = np.zeros((size, size), dtype=np.int64)

    def scan_rows(first: int) -> int:
        sums = np.empty((max(1, BLOCK // size), size))
        rows = range(first, size - 1, workers)  # row i has size - i - 1 pairs: balance them
        return sum(_scan_row(i, lengths, direct, tolerance, sums, excess, middle) for i in rows)

    workers = min(available_cores(), size)
    counts = run_all(scan_rows, range(workers), workers=workers, progress=False)
    return Scan(excess, middle, sum(counts))


def _scan_row(
    i: int,
    lengths: FloatArray,
    direct: FloatArray,
    tolerance: float,
    sums: FloatArray,
    excess: FloatArray,
    middle: IntArray,
) -> int:
    """Write excess and middle of the pairs (i, j > i), and count their violations."""
    count = 0
    for start in range(i + 1, len(lengths), len(sums)):
        block = slice(start, min(start + len(sums), len(lengths)))
        over = np.add(lengths[block], lengths[i], out=sums[: block.stop - start])
        shortest = over.min(axis=1)
        # k = i gives the pair itself, so the excess of a pair without violations is exactly zero.
        late = np.flatnonzero(shortest < direct[i, block])
        if len(late):
            pairs, long = late + start, direct[i, late + start]
            excess[i, pairs] = long - shortest[late]
            middle[i, pairs] = over[late].argmin(axis=1)
            late = late[excess[i, pairs] > tolerance]
            long = direct[i, late + start]
            count += int(np.count_nonzero(long[:, None] - over[late] > tolerance))
    return count


def symmetric_values(D: DistanceMatrix | npt.ArrayLike) -> FloatArray:
    """Return the distances, symmetric to the bit; NaN is allowed."""
    return (D if isinstance(D, DistanceMatrix) else DistanceMatrix(D, missing=True)).values


def _count_inequalities(known: npt.NDArray[np.bool_]) -> int:
    """Return three times the number of triangles whose sides are all known."""
    size = len(known)
    if known.all():
        return size * (size - 1) * (size - 2) // 2
    edges = known.astype(np.float64)
    np.fill_diagonal(edges, 0.0)
    # tr(E^3) counts each triangle six times.
    return round(float((edges @ edges * edges).sum())) // 2
