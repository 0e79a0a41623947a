"""Exact search for neighbours: a pair is solved only if its lower bound does not exclude it.

Networks are searched in blocks of rows. Each round solves, for every row, the pairs with the
smallest lower bounds, which lowers the limit that the distance of a neighbour may not exceed. A row
is finished once the bounds of all other pairs exceed its limit. Bounds are proven, so the result is
that of solving all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape._native import PairResults
from repshape._parallel import Advance
from repshape.analysis.lower_bounds import LowerBounds
from repshape.analysis.solved_pairs import SolvedPairs

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IndexArray = npt.NDArray[np.intp]
# Calls `keep` with pairs and their results, as soon as these are solved.
Solve = Callable[[IndexArray, Callable[[IndexArray, PairResults], None]], None]

# A round solves at least this many pairs if there are as many, to keep a few threads busy.
SMALLEST_ROUND = 8
# Bounds of a row that are made tight before its first pairs are chosen, for each neighbour.
TIGHT_PER_NEIGHBOR = 4
TIGHT_AT_LEAST = 16
# Legs of triangles have rounding errors of this size, relative to them.
LEG_ROUNDING = 1e-12


@dataclass(frozen=True)
class Pivots:
    """Distances and lower bounds between all networks and a few, shape (N, P) each.

    ``places`` are the positions of the few. By the triangle inequality, no distance is smaller than
    the lower bound of one leg less the distance of the other: distances are upper bounds of the
    minimum.
    """

    places: tuple[int, ...]
    distance: FloatArray
    lower_bound: FloatArray

    def bounds(self, rows: range, columns: int) -> FloatArray:
        """Return the best bounds over all pivots, shape (rows, columns)."""
        at, to = slice(rows.start, rows.stop), slice(0, columns)
        found = np.full((len(rows), columns), -np.inf)
        for far, near in zip(self.distance.T, self.lower_bound.T, strict=True):
            margin = LEG_ROUNDING * far.max(initial=0.0)
            np.maximum(found, near[at, None] - far[None, to] - margin, out=found)
            np.maximum(found, near[None, to] - far[at, None] - margin, out=found)
        return found


@dataclass(frozen=True)
class Limits:
    """What counts as a neighbour: the ``k`` nearest, or all within ``radius``."""

    k: int | None
    radius: float

    def of(self, distances: FloatArray) -> FloatArray:
        """Return the distance that no further neighbour of each row can exceed."""
        if self.k is None:
            return np.full(len(distances), self.radius)
        return np.minimum(np.partition(distances, self.k - 1, axis=1)[:, self.k - 1], self.radius)


class Block:
    """The rows of some networks: bounds, and distances where they are solved.

    Rows are networks ``rows``, and columns are the networks 0 ... ``columns`` - 1 among which
    neighbours are searched. A network is not its own neighbour.
    """

    def __init__(self, rows: range, columns: int, bounds: FloatArray, limits: Limits) -> None:
        self.rows, self.columns, self.bounds, self._limits = rows, columns, bounds, limits
        self.distances = np.full(bounds.shape, np.inf)
        self.solved = np.zeros(bounds.shape, dtype=bool)
        self.tight = np.zeros(bounds.shape, dtype=bool)
        self.limit = limits.of(self.distances)  # of each row
        self.n_open = len(rows)  # rows that are not finished, when pairs were chosen last
        own = np.arange(rows.start, min(rows.stop, columns))
        self.solved[own - rows.start, own] = True

    def fill(self, pairs: IndexArray, distances: FloatArray) -> None:
        """Set the distances of pairs (row, column), whose row is in the block."""
        inside = pairs[:, 1] < self.columns
        i, j = pairs[inside, 0] - self.rows.start, pairs[inside, 1]
        self.distances[i, j] = distances[inside]
        self.solved[i, j] = True
        changed = np.unique(i)
        self.limit[changed] = self._limits.of(self.distances[changed])

    def open(self) -> BoolArray:
        """Return which pairs are neither solved nor excluded by their bounds."""
        return np.asarray(~self.solved & (self.bounds <= self.limit[:, None]))

    def loose(self) -> IndexArray:
        """Return the pairs whose bounds should be made tight before any is solved."""
        candidates, known = self.open(), np.isfinite(self.limit)
        wanted = candidates & ~self.tight & known[:, None]
        if self._limits.k is not None:
            count = TIGHT_PER_NEIGHBOR * self._limits.k + TIGHT_AT_LEAST
            first = self._smallest(candidates, count) & ~known[:, None]
            wanted |= first & ~self.tight
        return self._pairs(wanted)

    def next_pairs(self) -> IndexArray:
        """Return the pairs to solve next: of each row, those with the smallest bounds."""
        candidates = self.open()
        candidates &= self.tight | np.isfinite(self.limit)[:, None]
        rows = np.flatnonzero(candidates.any(axis=1))
        self.n_open = len(rows)
        if not len(rows) or self._limits.k is None:
            return self._pairs(candidates)
        missing = self._limits.k - np.isfinite(self.distances).sum(axis=1)
        each = max(1, -(-SMALLEST_ROUND // len(rows)))
        chosen = np.zeros_like(candidates)
        for count in np.unique(np.maximum(missing[rows], each)):
            some = rows[np.maximum(missing[rows], each) == count]
            chosen[some] = self._smallest(candidates[some], int(count), some)
        return self._pairs(chosen)

    def _smallest(
        self, candidates: BoolArray, count: int, rows: IndexArray | None = None
    ) -> BoolArray:
        """Return the ``count`` candidates with the smallest bounds of each row."""
        bounds = self.bounds if rows is None else self.bounds[rows]
        if count >= bounds.shape[1]:
            return candidates
        keys = np.where(candidates, bounds, np.inf)
        nearest = np.argpartition(keys, count - 1, axis=1)[:, :count]
        chosen = np.zeros_like(candidates)
        np.put_along_axis(chosen, nearest, True, axis=1)
        return chosen & candidates

    def tighten(self, pairs: IndexArray, bounds: FloatArray) -> None:
        """Raise the bounds of pairs (i, j), in both rows if both are in the block."""
        for order in (pairs, pairs[:, ::-1]):
            mine = self._mine(order)
            i, j = order[mine, 0] - self.rows.start, order[mine, 1]
            self.bounds[i, j] = np.maximum(self.bounds[i, j], bounds[mine])
            self.tight[i, j] = True

    def add(self, pairs: IndexArray, distances: FloatArray) -> None:
        """Set the distances of pairs (i, j), in both rows if both are in the block."""
        for order in (pairs, pairs[:, ::-1]):
            mine = self._mine(order)
            self.fill(order[mine], distances[mine])

    def _mine(self, pairs: IndexArray) -> BoolArray:
        i, j = pairs.T
        inside = (i >= self.rows.start) & (i < self.rows.stop) & (j < self.columns)
        return np.asarray(inside)

    def _pairs(self, chosen: BoolArray) -> IndexArray:
        """Return the chosen pairs i < j, each once, in order."""
        i, j = np.nonzero(chosen)
        i += self.rows.start
        total = max(self.columns, self.rows.stop)
        keys = np.unique(np.minimum(i, j) * total + np.maximum(i, j))
        return np.stack(np.divmod(keys, total), axis=1)

    def neighbors(self) -> Iterator[tuple[IndexArray, FloatArray]]:
        """Yield the neighbours of each row and their distances, the nearest first.

        Of equal distances, the network that comes first in the cohort is the nearer one.
        """
        for row, known in zip(self.distances, self.solved, strict=True):
            order = np.argsort(row, kind="stable")
            order = order[known[order] & (row[order] <= self._limits.radius)]
            order = order[np.isfinite(row[order])][: self._limits.k]
            yield order, row[order]


@dataclass
class NeighborSearch:
    """A search for the neighbours of some networks among the first ``columns`` of all.

    Attributes
    ----------
    bounds : LowerBounds
    solved : SolvedPairs
        What is known already; what is solved is added.
    solve : callable
    columns : int
    limits : Limits
    pivots : Pivots or None
    n_tight : int
        Number of bounds that needed a decomposition.
    """

    bounds: LowerBounds
    solved: SolvedPairs
    solve: Solve
    columns: int
    limits: Limits
    pivots: Pivots | None = None
    n_tight: int = 0

    def run(self, rows: range, advance: Advance) -> list[tuple[IndexArray, FloatArray]]:
        """Return the neighbours of each row and their distances, and count finished rows."""
        rough = self.bounds.rough(rows, self.columns)
        if self.pivots is not None:
            np.maximum(rough, self.pivots.bounds(rows, self.columns), out=rough)
        block = Block(rows, self.columns, rough, self.limits)
        self.solved.refresh()
        pairs, distances, _ = self.solved.of(rows)
        block.fill(pairs, distances)
        while True:
            loose = block.loose()
            if len(loose):
                block.tighten(loose, self.bounds.tight(loose))
                self.n_tight += len(loose)
            before = block.n_open
            pairs = block.next_pairs()
            advance(before - block.n_open)
            if not len(pairs):
                return list(block.neighbors())
            self._solve(block, pairs)

    def solve_row(self, row: int, total: int) -> None:
        """Solve the pairs of one network with all others, unless they are known."""
        known = self.solved.of(range(row, row + 1))[0][:, 1]
        others = np.setdiff1d(np.arange(total), [row, *known])
        pairs = np.sort(np.stack([np.full(len(others), row), others], axis=1), axis=1)
        if len(pairs):
            self.solve(pairs, self.solved.add)

    def _solve(self, block: Block, pairs: IndexArray) -> None:
        def keep(some: IndexArray, found: PairResults) -> None:
            self.solved.add(some, found)
            block.add(some, found.distance)

        self.solve(pairs, keep)


def choose_pivots(search: NeighborSearch, number: int, total: int, exact: bool) -> Pivots:
    """Solve the distances between all networks and a few, each far from those before it.

    The first network of the cohort is the first of them. ``exact`` takes distances for their own
    lower bounds.
    """
    distance, bound = np.zeros((total, number)), np.zeros((total, number))
    nearest, places = np.full(search.columns, np.inf), [0]
    for p in range(number):
        pivot = places[p]
        search.solve_row(pivot, total)
        pairs, far, proven = search.solved.of(range(pivot, pivot + 1))
        others = pairs[:, 1]
        if not exact:
            proven = np.fmax(proven, search.bounds.tight(pairs))
        distance[others, p], bound[others, p] = far, far if exact else proven
        np.minimum(nearest, distance[: search.columns, p], out=nearest)
        places.append(int(nearest.argmax()))
    return Pivots(tuple(places[:number]), distance, bound)
