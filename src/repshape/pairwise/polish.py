r"""The polish: shorter distances and no violated triangle, from alignments that are known already.

If :math:`T_{ik}` aligns k with i and :math:`T_{kj}` aligns j with k, then their product aligns j
with i, at a cost of at most :math:`d_{ik} + d_{kj}`, because the ground metric obeys the triangle
inequality and does not change when both sides are transformed. So

1. every pair is solved again from the products through the few networks k with the smallest
   :math:`d_{ik} + d_{kj}`, and keeps the better of old and new (layer 1);
2. every pair with a distance above some :math:`d_{ik} + d_{kj}` is solved again from that product.
   The solver never increases the distance, so it ends at most at that sum (layers 2, 3, ...). This
   is repeated until no triangle is violated.

A layer reads only the layer below it, so its tiles can be solved in any order, at any time and by
any process, and give the same bits. Distances only ever decrease, from one critical value of the
objective to another, so the number of layers is finite.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._native import PairResults
from repshape.groups import compose
from repshape.metrics.base import ShapeMetric
from repshape.pairwise.plan import Tile
from repshape.pairwise.tiles import Layer, TileStore, TileTask

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# Products tried for each pair, besides its present transform.
COMPOSITIONS = 3
# If the distance equals its lower bound to this relative precision, the pair is solved: its
# distance cannot decrease.
CERTAIN = 1e-9
# The solver would lead a product this close to the present transform back to it: 2 sin(t / 2) for
# an angle t of 41 degrees.
FAR = 0.7
# A triangle that is violated by less than this share of the largest distance is so by rounding.
ROUNDING = 1e-9
# A relative gain below this is rounding, and no reason to replace a transform.
NEGLIGIBLE = 1e-12
# Layers after which to give up; each one shortens at least one pair.
MOST_LAYERS = 50


def can_polish(metric: Any) -> bool:
    """Return whether the distance is a metric, and its solver takes starts and keeps transforms."""
    if not keeps_transforms(metric) or not metric.is_metric:
        return False
    return getattr(metric, "group", None) != "identity"  # which leaves nothing to improve


def keeps_transforms(metric: Any) -> bool:
    """Return whether the solver of a metric takes starts and keeps transforms."""
    if not isinstance(metric, ShapeMetric):
        return False
    return {"starts", "keep"} <= inspect.signature(metric.solve_pairs).parameters.keys()


def polish_layers(tiles: TileStore, metric: int) -> Iterator[Layer]:
    """Yield the layers of the polish; the caller solves each one before asking for the next.

    Parameters
    ----------
    tiles : TileStore
        Where layer 0 is complete, with its transforms, and where the layers go.
    metric : int
        Number of the metric among those of the job.
    """
    recorded = tiles.polished()
    if recorded is not None:  # complete, unless damaged tiles were deleted to be computed again
        yield from (Layer(tiles, metric, number + 1) for number in range(recorded[0]))
        return
    layer = Layer(tiles, metric, 1)
    first = layer.below.distance
    while True:
        yield layer
        above = Layer(tiles, metric, layer.number + 1)
        before, now = layer.below.distance, above.below.distance
        left = count_violations(now)
        stuck = layer.number > 1 and not (now < before).any()
        if not left or stuck or layer.number == MOST_LAYERS:
            break
        layer = above
    tiles.finish_polish(layer.number, _report(first, now, left))


def make_task(layer: Layer, tile: Tile) -> TileTask:
    """Return which pairs of a tile to solve, and from which starts."""
    pairs = tile.pairs
    if layer.number == 0:
        return TileTask(layer, tile, pairs)
    old, first = layer.below, layer.number == 1
    sums, through = shortest_detours(old.distance, pairs, COMPOSITIONS if first else 1)
    i, j = pairs.T
    ones = np.ones(len(pairs), dtype=np.int64)
    before = PairResults(
        old.distance[i, j], old.lower_bound[i, j], old.converged[i, j] == 1.0, ones, ones.copy()
    )
    wanted = before.lower_bound < (1 - CERTAIN) * before.distance
    if not first:
        slack = ROUNDING * np.max(old.distance)
        wanted &= before.distance > sums[:, 0] + slack
    wanted &= np.isfinite(sums[:, 0])
    chosen = np.flatnonzero(wanted)
    starts = _compose(layer, pairs[chosen], through[chosen], new_only=first)
    fresh = np.array([k for k, one in enumerate(starts) if len(one)], dtype=np.intp)
    chosen, starts = chosen[fresh], [starts[k] for k in fresh]
    # A violated triangle is resolved at any cost; other restarts must look promising.
    limits = before.distance[chosen] if first else None
    return TileTask(layer, tile, pairs[chosen], starts, limits, before, chosen)


def keep_better(task: TileTask, found: PairResults) -> PairResults:
    """Return the results of the whole tile: those from before, with shorter pairs replaced."""
    if task.before is None or task.places is None:
        return found
    merged, chosen = task.before, task.places
    better = found.distance < (1 - NEGLIGIBLE) * merged.distance[chosen]
    if not better.any():
        return merged
    at = chosen[better]
    merged.distance[at] = found.distance[better]
    merged.lower_bound[at] = np.minimum(merged.lower_bound[at], found.distance[better])
    merged.converged[at] = found.converged[better]
    transforms = list(_tile_transforms(task.layer, task.tile))
    for place, new in zip(at.tolist(), np.flatnonzero(better).tolist(), strict=True):
        transforms[place] = (found.transforms or [])[new]
    return replace(merged, transforms=transforms)


def _compose(
    layer: Layer, pairs: IndexArray, through: IndexArray, new_only: bool
) -> list[FloatArray]:
    """Return the products T_kj T_ik (C, s_j, s_i) of each pair, rows being responses.

    With ``new_only``, products close to the present transform are left out.
    """
    ends = np.repeat(pairs, through.shape[1], axis=0)
    legs = [np.column_stack([ends[:, 0], through.ravel()])]
    legs.append(np.column_stack([through.ravel(), ends[:, 1]]))
    known = _known_transforms(layer, np.concatenate([*legs, pairs]))
    products = []
    for (i, j), via in zip(pairs.tolist(), through.tolist(), strict=True):
        product = np.stack([compose(known[k, j], known[i, k]) for k in via])
        if new_only:
            product = product[_far(product, known[i, j])]
        products.append(product)
    return products


def _known_transforms(layer: Layer, legs: IndexArray) -> dict[tuple[int, int], FloatArray]:
    """Return T_ab, which takes rows of b onto a, for all legs; every tile is read once."""
    plan = layer.tiles.plan
    known: dict[tuple[int, int], FloatArray] = {}
    ordered = np.unique(np.sort(legs, axis=1), axis=0)
    numbers, where = np.unique(ordered // plan.edge, axis=0, return_inverse=True)
    needed = {tuple(place): number for number, place in enumerate(numbers.tolist())}
    for tile in plan.tiles:
        number = needed.get((tile.row, tile.column))
        if number is None:
            continue
        found = _tile_transforms(layer, tile)
        inside = ordered[where.ravel() == number]
        for (a, b), place in zip(inside.tolist(), _places(tile, inside), strict=True):
            known[a, b], known[b, a] = found[place], found[place].T
    return known


def _tile_transforms(layer: Layer, tile: Tile) -> list[FloatArray]:
    return layer.tiles.transforms(layer.number - 1, tile)


def _far(products: FloatArray, present: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which transforms turn some direction far from where the present one turns it.

    The spectral norm of the difference is 2 where a direction is reversed, and 2 sin(t / 2) where
    it is turned by t.
    """
    gaps: FloatArray = np.linalg.norm(products - present, ord=2, axis=(1, 2))
    return gaps > FAR


def _places(tile: Tile, pairs: IndexArray) -> list[int]:
    """Return the places of pairs among ``tile.pairs``."""
    i, j = pairs[:, 0] - tile.rows.start, pairs[:, 1] - tile.columns.start
    if tile.row != tile.column:
        found = i * len(tile.columns) + j
    else:
        found = i * len(tile.rows) - i * (i + 1) // 2 + j - i - 1
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


def count_violations(D: FloatArray) -> int:
    """Return how many triangles have a side above the sum of the others by more than rounding."""
    slack = ROUNDING * np.max(D)
    total = 0
    for k in range(len(D)):
        total += int(np.count_nonzero((D[:, k, None] + D[k]) + slack < D))
    return total // 2


def _report(before: FloatArray, after: FloatArray, left: int) -> dict[str, float]:
    upper = np.triu_indices(len(before), 1)
    old, new = before[upper], after[upper]
    shorter = old - new > ROUNDING * old.max(initial=0.0)
    gains = 1.0 - new[shorter] / old[shorter]
    return {
        "pairs_improved": int(gains.size),
        "largest_gain": float(gains.max(initial=0.0)),
        "total_before": float(old.sum()),
        "total_after": float(new.sum()),
        "violated_triangles_before": count_violations(before),
        "violated_triangles_after": left,
    }
