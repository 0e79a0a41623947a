"""Distances of parts of the trials, whose searches begin at transforms of larger parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from repshape.groups import FREE_COORDINATES, Transform, nearest_orthogonal
from repshape.metrics.base import ShapeMetric, warm_start
from repshape.metrics.prepared import Prepared
from repshape.preprocess import FittedPreprocess

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


class Solved(NamedTuple):
    """Squared distances of pairs, and their transforms (s_y, s_x) in prepared coordinates."""

    squared: FloatArray
    cores: Sequence[FloatArray] | None


def search(
    metric: ShapeMetric[Any],
    parts: Sequence[Any],
    pairs: IntArray,
    starts: Sequence[FloatArray] | None = None,
) -> Solved:
    """Return squared distances: by the metric's own search, and from given starts if there are.

    Parts with few trials have many local optima. A shorter search would leave distances too large
    by up to 3 %, between networks and within them.
    """
    if not metric.takes_starts:
        return Solved(_signed(metric.solve_pairs(parts, pairs)), None)
    if starts is None or metric.group == "identity":
        return _solve(metric, parts, pairs)
    fresh = _solve(metric, parts, pairs)
    warm = _solve(metric, parts, pairs, starts)
    assert fresh.cores is not None
    assert warm.cores is not None
    closer = warm.squared < fresh.squared
    both = zip(closer, warm.cores, fresh.cores, strict=True)
    cores = [one if first else other for first, one, other in both]
    return Solved(np.minimum(warm.squared, fresh.squared), cores)


def follow(
    metric: ShapeMetric[Any],
    old: Sequence[Any],
    new: Sequence[Any],
    pairs: IntArray,
    found: Solved,
) -> FloatArray:
    """Return squared distances of slightly different parts, from the transforms of the old ones."""
    changed = [new[i] is not old[i] or new[j] is not old[j] for i, j in pairs.tolist()]
    squared = found.squared.copy()
    if found.cores is None or metric.group == "identity":
        squared[changed] = search(metric, new, pairs[changed]).squared
        return squared
    maps = [None if a is b else coordinate_map(a, b) for a, b in zip(old, new, strict=True)]
    both = zip(found.cores, pairs, changed, strict=True)
    starts = [carried(core, maps, pair) for core, pair, moved in both if moved]
    squared[changed] = _solve(metric, new, pairs[changed], starts).squared
    return squared


def _solve(
    metric: Any, parts: Sequence[Any], pairs: IntArray, starts: Sequence[FloatArray] | None = None
) -> Solved:
    given = None
    if starts is not None:
        given = [
            one[None] if metric.group in FREE_COORDINATES else _of_group(metric, one, parts, pair)
            for one, pair in zip(starts, pairs, strict=True)
        ]
    found = metric.solve_pairs(parts, pairs, starts=given, keep=True)
    return Solved(_signed(found), found.transforms)


def _of_group(metric: Any, start: FloatArray, parts: Sequence[Any], pair: IntArray) -> FloatArray:
    return warm_start(Transform(start), parts[pair[0]], parts[pair[1]], metric.group)[None]


def _signed(found: Any) -> FloatArray:
    return np.asarray(found.distance * np.abs(found.distance))


def n_coordinates(network: Prepared) -> int:
    """Return the number of coordinates in which pairs of a network are solved."""
    return network.n_neurons if network.basis is None else network.basis.shape[1]


def coordinate_map(old: Prepared, new: Prepared) -> FloatArray | None:
    """Return the map (s_new, s_old) between the coordinates of two samples of one network.

    None if both have the same coordinates.
    """
    turn = component_rotation(new.phi, old.phi) if reduces(old.phi) else None
    if turn is None and old.basis is None and new.basis is None:
        return None
    moved = np.eye(old.n_neurons) if old.basis is None else old.basis
    moved = moved if turn is None else turn @ moved
    return moved if new.basis is None else np.asarray(new.basis.T @ moved)


def reduces(phi: FittedPreprocess | None) -> bool:
    """Return whether a network has fewer components than neurons."""
    return phi is not None and phi.linear is not None and phi.n_outputs < phi.n_neurons


def component_rotation(new: FittedPreprocess | None, old: FittedPreprocess | None) -> FloatArray:
    """Return the rotation between the principal components of two samples of one network.

    It is the orthogonal factor of P_new' P_old.
    """
    if new is None or old is None or new.linear is None or old.linear is None:
        raise AssertionError("both samples have the same preprocessing")
    return nearest_orthogonal(new.linear.T @ old.linear)


def carried(core: FloatArray, maps: Sequence[FloatArray | None], pair: IntArray) -> FloatArray:
    """Return a transform (s_y, s_x) in the coordinates of other samples of both networks."""
    to_x, to_y = maps[pair[0]], maps[pair[1]]
    moved = core if to_y is None else to_y @ core
    return moved if to_x is None else np.asarray(moved @ to_x.T)
