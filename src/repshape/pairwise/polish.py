r"""Polish: shorter distances, and no violated triangle, from alignments that are known already.

If :math:`T_{ik}` aligns k with i and :math:`T_{kj}` aligns j with k, then their product aligns j
with i, at a cost of at most :math:`d_{ik} + d_{kj}`: the ground metric obeys the triangle
inequality and does not change when both sides are transformed. So

1. every pair is solved again from the products through the few networks k with the smallest
   :math:`d_{ik} + d_{kj}`, and keeps the better of old and new (layer 1);
2. every pair that is longer than some :math:`d_{ik} + d_{kj}` is solved again from that product.
   The solver never climbs, so it ends no longer than that sum (layers 2, 3, ...), and this is
   repeated until no pair is longer.

A layer reads only the one below it, so tiles of a layer can be done in any order, at any time, by
anyone, and give the same bits. Distances only ever fall, from one critical value of the objective
to another, so the layers come to an end.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.metrics.base import PairResults, ShapeMetric
from repshape.pairwise.engine import Work
from repshape.pairwise.plan import Plan, Tile
from repshape.pairwise.tiles import Entries, Ledger

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
Execute = Callable[[int, list[Tile]], None]

# Products tried for each pair, besides what it has.
COMPOSITIONS = 3
# A pair whose distance equals its lower bound to this share is solved, and cannot get shorter.
CERTAIN = 1e-9
# A product within this of the present transform would be led back to it: 2 sin(t / 2) for an angle
# t of 41 degrees.
FAR = 0.7
# A side that is longer than the others together by less than this share of the largest distance
# is so by rounding.
ROUNDING = 1e-9
# A gain of less than this share is rounding, and no reason to keep another transform.
NEGLIGIBLE = 1e-12
# Layers after which to give up; each shortens at least one pair.
MOST_LAYERS = 50


def can_polish(metric: Any) -> bool:
    """Return whether the distance is a metric, and its solver takes starts and keeps transforms."""
    if not isinstance(metric, ShapeMetric) or not metric.is_metric:
        return False
    if getattr(metric, "group", None) == "identity":  # nothing was searched
        return False
    return {"starts", "keep"} <= inspect.signature(metric.solve_pairs).parameters.keys()


class Polish:
    """The polish of one matrix, layer by layer and tile by tile.

    Parameters
    ----------
    ledger : Ledger
        Where the finished matrix and its transforms are (layer 0), and where the layers go.
    number : int
        Number of the metric among those of the job.
    """

    def __init__(self, ledger: Ledger, number: int) -> None:
        self._ledger = ledger
        self._number = number
        self._read: tuple[int, Entries] | None = None

    def run(self, execute: Execute) -> None:
        """Have all layers computed that are missing, and note what they changed."""
        if self._ledger.polished() is not None:
            return
        before = self._ledger.entries(0)
        self._execute(1, execute)
        layer, left = 1, 0
        while layer < MOST_LAYERS:
            now = self._entries(layer).distance
            left = count_violations(now, self._ledger.plan)
            if not left or (
                layer > 1 and not (now < self._ledger.entries(layer - 1).distance).any()
            ):
                break
            layer += 1
            self._execute(layer, execute)
        after = self._entries(layer).distance
        self._ledger.finish_polish(layer, _report(before.distance, after, left, self._ledger.plan))

    def _execute(self, layer: int, execute: Execute) -> None:
        plan = self._ledger.plan
        execute(layer, [tile for tile in plan.tiles if not self._ledger.has(layer, tile)])

    def work(self, layer: int, tile: Tile) -> Work:
        """Return what is to be done for one tile of a layer."""
        old = self._entries(layer - 1)
        pairs = self._ledger.plan.pairs(tile)
        sums, through = shortest_detours(old.distance, pairs, COMPOSITIONS if layer == 1 else 1)
        i, j = pairs.T
        wanted = old.lower_bound[i, j] < (1 - CERTAIN) * old.distance[i, j]
        if layer > 1:
            slack = ROUNDING * np.max(old.distance)
            wanted &= old.distance[i, j] > sums[:, 0] + slack
        wanted &= np.isfinite(sums[:, 0])
        chosen = np.flatnonzero(wanted)
        starts = self._compose(layer - 1, pairs[chosen], through[chosen], new_only=layer == 1)
        fresh = np.array([k for k, one in enumerate(starts) if len(one)], dtype=np.intp)
        chosen, starts = chosen[fresh], [starts[k] for k in fresh]

        def finish(found: PairResults) -> PairResults:
            return self._merge(layer, tile, chosen, found)

        # A violated triangle is resolved at any cost; other restarts must promise something.
        limits = old.distance[i, j][chosen] if layer == 1 else None
        return Work(self._ledger, layer, tile, self._number, pairs[chosen], starts, limits, finish)

    def _entries(self, layer: int) -> Entries:
        if self._read is None or self._read[0] != layer:
            self._read = (layer, self._ledger.entries(layer))
        return self._read[1]

    def _compose(
        self, layer: int, pairs: IndexArray, through: IndexArray, new_only: bool
    ) -> list[FloatArray]:
        """Return the products T_kj T_ik (C, s_j, s_i) of each pair, rows being responses.

        With ``new_only``, without those that lead where the pair is already.
        """
        ends = np.repeat(pairs, through.shape[1], axis=0)
        legs = [np.column_stack([ends[:, 0], through.ravel()])]
        legs.append(np.column_stack([through.ravel(), ends[:, 1]]))
        known = self._transforms(layer, np.concatenate([*legs, pairs]))
        products = []
        for (i, j), via in zip(pairs.tolist(), through.tolist(), strict=True):
            product = np.stack([known[k, j] @ known[i, k] for k in via])
            if new_only:
                product = product[_far(product, known[i, j])]
            products.append(product)
        return products

    def _transforms(self, layer: int, legs: IndexArray) -> dict[tuple[int, int], FloatArray]:
        """Return T_ab, which takes rows of b onto a, for all legs; every tile is read once."""
        plan = self._ledger.plan
        known: dict[tuple[int, int], FloatArray] = {}
        ordered = np.unique(np.sort(legs, axis=1), axis=0)
        tiles, where = np.unique(ordered // plan.edge, axis=0, return_inverse=True)
        for number, (row, column) in enumerate(tiles.tolist()):
            tile = Tile(row, column)
            found = self._ledger.transforms(layer, tile)
            inside = ordered[where.ravel() == number]
            places = _positions(plan, tile, inside)
            for (a, b), place in zip(inside.tolist(), places, strict=True):
                known[a, b], known[b, a] = found[place], found[place].T
        return known

    def _merge(self, layer: int, tile: Tile, chosen: IndexArray, found: PairResults) -> PairResults:
        """Return the tile with what was found where it is shorter."""
        old = self._entries(layer - 1)
        i, j = self._ledger.plan.pairs(tile).T
        merged = PairResults(old.distance[i, j], old.lower_bound[i, j], old.converged[i, j] == 1.0)
        better = found.distance < (1 - NEGLIGIBLE) * merged.distance[chosen]
        if not better.any():
            return merged
        at = chosen[better]
        merged.distance[at] = found.distance[better]
        merged.lower_bound[at] = np.minimum(merged.lower_bound[at], found.distance[better])
        merged.converged[at] = found.converged[better]
        transforms = list(self._ledger.transforms(layer - 1, tile))
        for place, new in zip(at.tolist(), np.flatnonzero(better).tolist(), strict=True):
            transforms[place] = (found.transforms or [])[new]
        return replace(merged, transforms=transforms)


def _far(products: FloatArray, present: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which transforms turn some direction far from where the present one turns it.

    The spectral norm of the difference is 2 where a direction is reversed, and 2 sin(t / 2) where
    it is turned by t.
    """
    gaps: FloatArray = np.linalg.norm(products - present, ord=2, axis=(1, 2))
    return gaps > FAR


def _positions(plan: Plan, tile: Tile, pairs: IndexArray) -> list[int]:
    """Return where pairs stand among ``plan.pairs(tile)``."""
    i = pairs[:, 0] - plan.span(tile.row).start
    j = pairs[:, 1] - plan.span(tile.column).start
    if tile.row != tile.column:
        found = i * len(plan.span(tile.column)) + j
    else:
        found = i * len(plan.span(tile.row)) - i * (i + 1) // 2 + j - i - 1
    return list(map(int, found))


def shortest_detours(D: FloatArray, pairs: IndexArray, count: int) -> tuple[FloatArray, IndexArray]:
    """Return the smallest sums d_ik + d_kj of each pair, and through which k, shapes (P, count).

    >>> D = np.array([[0.0, 9.0, 1.0], [9.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    >>> shortest_detours(D, np.array([[0, 1]]), 1)
    (array([[3.]]), array([[2]]))
    """
    count = min(count, max(len(D) - 2, 1))
    sums = np.empty((len(pairs), count))
    through = np.empty((len(pairs), count), dtype=np.intp)
    step = max(2**22 // len(D), 1)  # 32 MiB at a time
    for start in range(0, len(pairs), step):
        part = slice(start, start + step)
        i, j = pairs[part].T
        detours = D[i] + D[j]
        rows = np.arange(len(i))
        detours[rows, i] = detours[rows, j] = np.inf
        for place in range(count):
            through[part, place] = detours.argmin(axis=1)
            sums[part, place] = detours[rows, through[part, place]]
            detours[rows, through[part, place]] = np.inf
    return sums, through


def count_violations(D: FloatArray, plan: Plan) -> int:
    """Return how many triangles have a side longer than the other two by more than rounding."""
    slack = ROUNDING * np.max(D)
    total = 0
    for k in range(plan.count):
        total += int(np.count_nonzero((D[:, k, None] + D[k]) + slack < D))
    return total // 2


def _report(before: FloatArray, after: FloatArray, left: int, plan: Plan) -> dict[str, float]:
    upper = np.triu_indices(plan.count, 1)
    old, new = before[upper], after[upper]
    shorter = old - new > ROUNDING * old.max(initial=0.0)
    gains = 1.0 - new[shorter] / old[shorter]
    return {
        "pairs_improved": int(gains.size),
        "largest_gain": float(gains.max(initial=0.0)),
        "total_before": float(old.sum()),
        "total_after": float(new.sum()),
        "violated_triangles_before": count_violations(before, plan),
        "violated_triangles_after": left,
    }
