"""Solving pairs from compositions of the alignments of other pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._native import PairResults
from repshape.engine.tiles import Compositions
from repshape.groups import compose

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

# Of the compositions of a pair, this many with the highest objective are compared with the present
# transform.
COMPARED = 8
# The solver would lead a start this close to a transform to the same optimum: 2 sin(t / 2) for an
# angle t of 41 degrees.
FAR = 0.7


def solve_composed(
    metric: Any,  # a shape metric whose solver takes starts and keeps transforms
    prepared: Sequence[Any],
    places: IndexArray,
    pairs: IndexArray,
    given: Compositions,
) -> PairResults:
    """Solve pairs from compositions T_kj T_ik, of shape (s_j, s_i): rows are responses.

    Through a smaller network, a composition maps some directions to zero; the solver completes it.

    Parameters
    ----------
    metric : ShapeMetric
    prepared : sequence of prepared networks
    places : ndarray, shape (P, 2)
        The pairs, as indices into ``prepared``.
    pairs : ndarray, shape (P, 2)
        The pairs, as ``given`` knows them.
    given : Compositions

    Returns
    -------
    PairResults
        ``n_agreeing`` counts the compositions that were solved and ended in the best optimum of
        those, ``n_composed`` others that lie close to the present transform. The distance of a
        pair of which none was solved is infinite.
    """
    # A permutation may match neurons with silent ones, which a product alone would lose.
    join = compose if getattr(metric, "group", None) == "permutation" else np.matmul
    starts = [
        np.stack([join(given.known[k, j], given.known[i, k]) for k in via.tolist()])
        for (i, j), via in zip(pairs.tolist(), given.through, strict=True)
    ]
    near = np.zeros(len(pairs), dtype=np.int64)
    if given.most is not None:
        values = _rate(metric, prepared, places, starts)
        for p, (i, j) in enumerate(pairs.tolist()):
            best = starts[p][np.argsort(-values[p], kind="stable")[:COMPARED]]
            gaps = _gaps(best, given.known[i, j])
            near[p] = np.count_nonzero(gaps <= FAR)
            starts[p] = _distinct(best[gaps > FAR], int(given.most[p]))
    solved = np.array([p for p, one in enumerate(starts) if len(one)], dtype=np.intp)
    found = None
    if solved.size:
        given_starts = [starts[p] for p in solved]
        found = metric.solve_pairs(prepared, places[solved], starts=given_starts, keep=True)
    return _spread(found, solved, near)


def _rate(
    metric: Any, prepared: Sequence[Any], places: IndexArray, starts: list[FloatArray]
) -> list[FloatArray]:
    """Return the objective at each start, or their order if the metric cannot rate them.

    They are in the order of d_ik + d_kj.
    """
    if hasattr(metric, "rate_starts"):
        found: list[FloatArray] = metric.rate_starts(prepared, places, starts)
        return found
    return [-np.arange(len(one), dtype=np.float64) for one in starts]


def _distinct(transforms: FloatArray, most: int) -> FloatArray:
    """Return the first transforms that are far from each other."""
    kept: list[FloatArray] = []
    for one in transforms:
        if len(kept) < most and (not kept or _gaps(np.stack(kept), one).min() > FAR):
            kept.append(one)
    return np.stack(kept) if kept else transforms[:0]


def _gaps(transforms: FloatArray, other: FloatArray) -> FloatArray:
    """Return how far transforms turn some direction from where another one turns it.

    The spectral norm of the difference is 2 where a direction is reversed, and 2 sin(t / 2) where
    it is turned by t.
    """
    return np.asarray(np.linalg.norm(transforms - other, ord=2, axis=(1, 2)))


def _spread(found: PairResults | None, at: IndexArray, near: npt.NDArray[np.int64]) -> PairResults:
    """Return results for all pairs, of which some were solved."""
    count = len(near)
    spread = PairResults(
        distance=np.full(count, np.inf),
        lower_bound=np.full(count, np.nan),
        converged=np.zeros(count, dtype=bool),
        n_starts=np.zeros(count, dtype=np.int64),
        n_agreeing=np.zeros(count, dtype=np.int64),
        transforms=[np.zeros((0, 0))] * count,
        n_composed=near,
        gap=np.zeros(count),
    )
    if found is None:
        return spread
    for name in ("distance", "lower_bound", "converged", "n_starts", "n_agreeing"):
        getattr(spread, name)[at] = getattr(found, name)
    if found.gap is not None and spread.gap is not None:
        spread.gap[at] = found.gap
    for place, one in zip(at.tolist(), found.transforms or [], strict=True):
        (spread.transforms or [])[place] = one
    return spread
