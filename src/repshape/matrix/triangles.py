"""Which triangles a matrix of distances breaks, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape._parallel import available_cores, run_all
from repshape.errors import InputError, check_real
from repshape.matrix.distances import DistanceMatrix

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Violations up to this fraction of the largest distance are rounding, or a solver's tolerance.
TOLERANCE = 1e-7
# Sums of pairs are formed this many at a time, so that a block stays in the second-level cache.
BLOCK = 2**16


@dataclass(frozen=True, eq=False)
class TriangleViolations:
    r"""What `triangle_violations` found.

    Attributes
    ----------
    count : int
        Number of inequalities :math:`D_{ij} \le D_{ik} + D_{kj}` broken by more than
        ``tolerance``. Each triangle has three, of which distances that are not negative break at
        most one.
    largest : float
        The largest excess :math:`D_{ij} - D_{ik} - D_{kj}`, however small; 0 if there is none.
    where : tuple of int or None
        The networks (i, j, k) of the largest: the way from i to j over k is too short.
    n_inequalities : int
        How many were checked: three for each triangle whose sides are all known.
    n_pairs : int
        Number of pairs (i, j) that are too long for at least one k.
    n_negative : int
        Number of pairs with a negative distance.
    scale : float
        The largest absolute distance.
    tolerance : float
        The excess that was let pass, in units of distance.
    excess : ndarray, shape (K, K)
        The largest excess of each pair; 0 where no triangle is broken.
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
    r"""Count the triangle inequalities that a matrix breaks, and find the worst.

    The excess of a pair is what it is too long by,

    .. math:: e_{ij} = D_{ij} - \min_k (D_{ik} + D_{kj}) \ge 0.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Symmetric. NaN marks a distance that is not known: triangles with such a side are skipped.
        Negative distances are allowed.
    tol : float
        Excess that is let pass, as a fraction of the largest absolute distance.

    Returns
    -------
    TriangleViolations

    Notes
    -----
    All :math:`K(K-1)(K-2)/2` inequalities are checked, over all cores.

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
    """For each pair i < j: its excess, and the k that shows it (upper triangles)."""

    excess: FloatArray
    middle: IntArray
    count: int

    def worst(self) -> tuple[int, int, int] | None:
        """Return the pair of largest excess and its middle."""
        i, j = divmod(int(self.excess.argmax()), len(self.excess))
        return (i, j, int(self.middle[i, j])) if self.excess[i, j] > 0.0 else None


def scan_triangles(values: FloatArray, tolerance: float) -> Scan:
    """Find the shortest way over one other network for every pair; ``count`` is above tolerance."""
    size = len(values)
    # A way over an unknown distance is infinitely long, and an unknown distance never too long.
    ways = np.where(np.isnan(values), np.inf, values)
    direct = np.where(np.isnan(values), -np.inf, values)
    excess = np.zeros((size, size))
    middle = np.zeros((size, size), dtype=np.int64)

    def scan_rows(first: int) -> int:
        sums = np.empty((max(1, BLOCK // size), size))
        rows = range(first, size - 1, workers)  # row i has size - i - 1 pairs: deal them out
        return sum(_scan_row(i, ways, direct, tolerance, sums, excess, middle) for i in rows)

    workers = min(available_cores(), size)
    counts = run_all(scan_rows, range(workers), workers=workers, progress=False)
    return Scan(excess, middle, sum(counts))


def _scan_row(
    i: int,
    ways: FloatArray,
    direct: FloatArray,
    tolerance: float,
    sums: FloatArray,
    excess: FloatArray,
    middle: IntArray,
) -> int:
    """Scan the pairs (i, j > i), write their excess and middle, and count violations."""
    count = 0
    for start in range(i + 1, len(ways), len(sums)):
        block = slice(start, min(start + len(sums), len(ways)))
        over = np.add(ways[block], ways[i], out=sums[: block.stop - start])
        shortest = over.min(axis=1)
        # k = i gives the pair itself, so that what is not too long comes out as exactly zero.
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
    """Return the distances, symmetric to the bit; only here may some be NaN."""
    if isinstance(D, DistanceMatrix):
        return D.values
    values = np.array(D, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise InputError(f"Distances must form a square matrix. Got shape {values.shape}.")
    missing = np.isnan(values)
    np.fill_diagonal(missing, False)
    if (missing != missing.T).any():
        raise InputError("Distances must be symmetric, and so must be those that are missing.")
    filled = np.where(missing, 0.0, values)
    checked = np.array(DistanceMatrix(filled).values)
    checked[missing] = np.nan
    return checked


def _count_inequalities(known: npt.NDArray[np.bool_]) -> int:
    """Return three times the number of triangles whose sides are all known."""
    size = len(known)
    if known.all():
        return size * (size - 1) * (size - 2) // 2
    edges = known.astype(np.float64)
    np.fill_diagonal(edges, 0.0)
    return (
        round(float((edges @ edges * edges).sum())) // 2
    )  # tr(E^3) counts each triangle six times
