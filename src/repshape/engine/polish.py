r"""The polish: shorter distances and no violated triangle, from alignments that are known already.

If :math:`T_{ik}` aligns k with i and :math:`T_{kj}` aligns j with k, then their product aligns j
with i, at a cost of at most :math:`d_{ik} + d_{kj}`, because the ground metric obeys the triangle
inequality and does not change when both sides are transformed. So each pair of a cohort has more
starts than its own. `repshape.engine.effort` has the order of the layers that make use of this:

own
    Every pair is solved as it would be by itself.
compose
    Every pair that is not settled is solved again from compositions: the objective is evaluated
    once at each of them, and the search starts from the best that are far from the present
    transform and from each other. A pair keeps the better of old and new. It is settled if at
    least half of its own starts have ended in its best optimum, or enough starts and compositions,
    or if its distance is proven to be minimal.
triangles
    Every pair with a distance above some :math:`d_{ik} + d_{kj}` is solved again from that
    product. The solver never increases the distance, so it ends at most at that sum. This is
    repeated until no triangle is violated.

A layer reads only layers below it, so its tiles can be solved in any order, at any time and by any
process, and give the same bits. Distances only ever decrease, from one critical value of the
objective to another, so the number of layers is finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._native import PairResults
from repshape.engine.effort import Effort, Stage
from repshape.engine.plan import Tile
from repshape.engine.tiles import (
    QUANTITIES,
    Compositions,
    KnownPairs,
    Layer,
    TileStore,
    TileTask,
    numbers_of,
)
from repshape.metrics.base import ShapeMetric

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

# A pair is settled once this many starts and compositions have ended in its best optimum, and some
# of them were compositions, or most of its own starts: those resemble each other, and a few of them
# may agree on a poor optimum.
SETTLED = 4
FEWEST_COMPOSED = 2
MOST_STARTS = 0.5
# Maximum number of compositions of a pair that are solved in a round. Where the metric chooses the
# number of starts, one composition is solved per STARTS_PER_COMPOSITION starts, so that the polish
# takes a fraction of the search's time.
SOLVED = 2
STARTS_PER_COMPOSITION = 16
# Distances that differ by less than this share belong to the same optimum, as in the search.
SAME = 3e-4
# If the distance equals its lower bound to this relative precision, the pair is solved: its
# distance cannot decrease.
CERTAIN = 1e-9
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
    """Return whether the solver of a metric takes starts, keeps transforms and can be brief."""
    return isinstance(metric, ShapeMetric) and metric.takes_starts


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
        if above.stage is Stage.TRIANGLES:
            before, now = layer.below.distance, above.below.distance
            left = count_violations(now)
            stuck = layer.stage is Stage.TRIANGLES and not (now < before).any()
            if not left or stuck or layer.number == MOST_LAYERS:
                break
        layer = above
    tiles.finish_polish(layer.number, summarise(first, now, left))


def make_task(layer: Layer, tile: Tile) -> TileTask:
    """Return which pairs of a tile to solve, and from which starts."""
    pairs, effort = tile.pairs, layer.tiles.effort
    if layer.stage is Stage.OWN:
        return _own_task(layer, tile)
    before = layer.below.of_pairs(pairs)
    if layer.stage is Stage.INHERIT:
        nothing = np.zeros(0, dtype=np.intp)
        return TileTask(layer, tile, pairs[nothing], None, None, _inherit(layer, tile), nothing)
    open_pairs = before.lower_bound < (1 - CERTAIN) * before.distance
    if layer.stage is Stage.COMPOSE:
        chosen = np.flatnonzero(open_pairs & ~is_settled(before, effort))
        through = [_hubs(layer, i, j) for i, j in pairs[chosen].tolist()]
        used = [k for k, one in enumerate(through) if len(one)]
        chosen, through = chosen[used], [through[k] for k in used]
        most = count_solved(before.n_starts[chosen], effort)
    else:
        sums, nearest = shortest_detours(layer.below.distance, pairs)
        slack = ROUNDING * np.max(layer.below.distance)
        chosen = np.flatnonzero(open_pairs & (before.distance > sums + slack))
        through, most = list(nearest[chosen, None]), None
    known = _known_transforms(layer, pairs[chosen], through)
    compositions = Compositions(through, known, most)
    return TileTask(layer, tile, pairs[chosen], None, compositions, before, chosen)


def _own_task(layer: Layer, tile: Tile) -> TileTask:
    """Return the task to solve the pairs of a tile that are not known already."""
    pairs, brief = tile.pairs, layer.tiles.effort.brief
    known = layer.tiles.known(pairs, polished=False)
    if known is None:
        return TileTask(layer, tile, pairs, brief)
    new = np.flatnonzero(~known.found)
    return TileTask(layer, tile, pairs[new], brief, before=known.results(), places=new)


def _inherit(layer: Layer, tile: Tile) -> PairResults:
    """Return a tile with what an earlier polish found for its pairs."""
    before = layer.below.of_pairs(tile.pairs)
    known = layer.tiles.known(tile.pairs, polished=True)
    if known is None:
        return before
    transforms = list(_tile_transforms(layer, tile))
    for place in np.flatnonzero(known.found).tolist():
        transforms[place] = (known.transforms or transforms)[place]
    numbers = np.where(known.found, known.numbers, numbers_of(before))
    return KnownPairs(np.ones_like(known.found), numbers, transforms).results()


def is_settled(found: PairResults, effort: Effort) -> BoolArray:
    """Return which pairs have ended in their best optimum often enough, or are solved exactly."""
    assert found.n_composed is not None
    often = found.n_agreeing + found.n_composed >= SETTLED
    often &= found.n_composed >= FEWEST_COMPOSED
    most = found.n_agreeing >= np.maximum(MOST_STARTS * found.n_starts, SETTLED)
    exact = found.n_starts == 1
    return np.asarray(often | (effort.whole & most) | (effort.exact & exact))


def count_solved(n_starts: IndexArray, effort: Effort) -> IndexArray:
    """Return how many compositions of each pair to solve, for its number of own starts.

    >>> count_solved(np.array([4, 8, 64]), Effort(exact=True))
    array([1, 1, 2])
    """
    if not effort.whole:
        return np.full(len(n_starts), SOLVED, dtype=np.intp)
    return np.clip(n_starts // STARTS_PER_COMPOSITION, 1, SOLVED).astype(np.intp)


def keep_better(task: TileTask, found: PairResults) -> PairResults:
    """Return the results of the whole tile: those from before, with shorter pairs replaced."""
    if task.before is None or task.places is None:
        return found
    if task.layer.stage is Stage.OWN:
        return _filled(task.before, task.places, found)
    merged, at = task.before, task.places
    old = merged.distance[at]
    _count(task, found)
    better = found.distance < (1 - NEGLIGIBLE) * old
    if not better.any():
        return merged
    where = at[better]
    merged.distance[where] = found.distance[better]
    merged.lower_bound[where] = np.minimum(merged.lower_bound[where], found.distance[better])
    merged.converged[where] = found.converged[better]
    transforms = list(_tile_transforms(task.layer, task.tile))
    for place, new in zip(where.tolist(), np.flatnonzero(better).tolist(), strict=True):
        transforms[place] = (found.transforms or [])[new]
    return replace(merged, transforms=transforms)


def _filled(known: PairResults, places: IndexArray, found: PairResults) -> PairResults:
    """Return the results of a tile of which some pairs were known and the others are found."""
    for name in QUANTITIES:
        getattr(known, name)[places] = getattr(found, name)
    if known.transforms is not None:
        for place, transform in zip(places.tolist(), found.transforms or [], strict=True):
            known.transforms[place] = transform
    return known


def _count(task: TileTask, found: PairResults) -> None:
    """Bring the numbers of starts and compositions up to date with new results.

    Starts and compositions that ended in another optimum than the best no longer count.
    """
    merged, at = task.before, task.places
    assert merged is not None
    assert merged.n_composed is not None
    assert merged.gap is not None
    old = merged.distance[at]
    other = found.distance < (1 - SAME) * old  # a better optimum
    same = ~other & (found.distance <= (1 + SAME) * old)
    merged.gap[at] = _gap(merged.gap[at], old, found, other, same)
    near = np.zeros(len(old), dtype=np.int64) if found.n_composed is None else found.n_composed
    ended = np.maximum(found.n_agreeing, 1)
    kept = merged.n_composed[at] + near + np.where(same, ended, 0)
    merged.n_composed[at] = np.where(other, ended, kept)
    merged.n_agreeing[at] = np.where(other, 0, merged.n_agreeing[at])


def _gap(
    before: FloatArray, old: FloatArray, found: PairResults, other: BoolArray, same: BoolArray
) -> FloatArray:
    """Return the gap between the best and the second-best optimum, new results included.

    ``other`` says where the new distance is that of a better optimum than the old one, and
    ``same`` where it belongs to the same. 0 stands for no second optimum, and NaN for an unknown
    gap.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.abs(np.maximum(old, found.distance) / np.minimum(old, found.distance) - 1.0)
    new = np.zeros(len(old)) if found.gap is None else found.gap
    known = [np.where(other, np.inf, before), np.where(other | same, new, np.inf)]
    known.append(np.where(same, np.inf, between))
    gaps = [np.where(one == 0.0, np.inf, one) for one in known]
    smallest = np.fmin.reduce(gaps)
    unknown = np.isnan(before) & ~np.isfinite(smallest)
    return np.where(unknown, np.nan, np.where(np.isfinite(smallest), smallest, 0.0))


def _hubs(layer: Layer, i: int, j: int) -> IndexArray:
    """Return the networks through which to compose a pair: the nearest ones that are new to it.

    A composition is new if the pair or one of the legs has changed since the last compositions.
    """
    D = layer.below.distance
    detours = D[i] + D[j]
    detours[[i, j]] = np.inf
    if layer.composed is not None:
        old = (1 - SAME) * layer.composed[[i, j]]
        changed = (D[i] < old[0]) | (D[j] < old[1]) | (D[i, j] < old[0, j])
        detours[~changed] = np.inf
    order = np.argsort(detours, kind="stable")[: layer.tiles.effort.hubs]
    return np.asarray(order[np.isfinite(detours[order])])


def _known_transforms(
    layer: Layer, pairs: IndexArray, through: list[IndexArray]
) -> dict[tuple[int, int], FloatArray]:
    """Return T_ab, which takes rows of b onto a, of all pairs and legs; a tile is read once."""
    plan = layer.tiles.plan
    known: dict[tuple[int, int], FloatArray] = {}
    hubs = np.concatenate([np.zeros(0, dtype=np.intp), *through])
    ends = np.repeat(pairs, [len(one) for one in through], axis=0)
    legs = [np.column_stack([ends[:, side], hubs]) for side in (0, 1)]
    ordered = np.unique(np.sort(np.concatenate([*legs, pairs]), axis=1), axis=0)
    places, where = np.unique(ordered // plan.edge, axis=0, return_inverse=True)
    for number, (row, column) in enumerate(places.tolist()):
        tile = plan.by_place[row, column]
        found = _tile_transforms(layer, tile)
        inside = ordered[where.ravel() == number]
        for (a, b), place in zip(inside.tolist(), tile.places(inside).tolist(), strict=True):
            known[a, b], known[b, a] = found[place], found[place].T
    return known


def _tile_transforms(layer: Layer, tile: Tile) -> list[FloatArray]:
    return layer.tiles.transforms(layer.number - 1, tile)


def shortest_detours(D: FloatArray, pairs: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return the smallest sum d_ik + d_kj of each pair, and through which k.

    >>> D = np.array([[0.0, 9.0, 1.0], [9.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    >>> shortest_detours(D, np.array([[0, 1]]))
    (array([3.]), array([2]))
    """
    sums, through = np.empty(len(pairs)), np.empty(len(pairs), dtype=np.intp)
    step = max(2**22 // len(D), 1)  # 32 MiB at a time
    for start in range(0, len(pairs), step):
        part = slice(start, start + step)
        i, j = pairs[part].T
        detours = D[i] + D[j]
        rows = np.arange(len(i))
        detours[rows, i] = detours[rows, j] = np.inf
        through[part] = detours.argmin(axis=1)
        sums[part] = detours[rows, through[part]]
    return sums, through


def count_violations(D: FloatArray) -> int:
    """Return how many triangles have a side above the sum of the others by more than rounding."""
    slack = ROUNDING * np.max(D)
    total = 0
    for k in range(len(D)):
        total += int(np.count_nonzero((D[:, k, None] + D[k]) + slack < D))
    return total // 2


def summarise(before: FloatArray, after: FloatArray, left: int) -> dict[str, float]:
    """Return what changed from one matrix to another; ``left`` triangles are still violated."""
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
