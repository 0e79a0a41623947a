"""What one tile of pairs yields, and where tiles are kept while a matrix grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from repshape.metrics.base import PairResults
from repshape.pairwise.plan import Plan, Tile

FloatArray = npt.NDArray[np.float64]
# The numbers kept of each pair, in this order: layers of one array, so that a tile is one chunk.
QUANTITIES = ("distance", "lower_bound", "converged")


@dataclass(frozen=True)
class Entries:
    """The numbers of all pairs, each a symmetric matrix; NaN where a pair is not computed yet."""

    distance: FloatArray
    lower_bound: FloatArray
    converged: FloatArray


class Ledger(Protocol):
    """Where finished tiles are kept. Layer 0 is the matrix; later layers are its polish."""

    plan: Plan
    keeps: bool

    def has(self, layer: int, tile: Tile) -> bool:
        """Return whether a tile is finished."""

    def write(self, layer: int, tile: Tile, found: PairResults) -> None:
        """Keep a finished tile, at once and whole."""

    def entries(self, layer: int) -> Entries:
        """Return the numbers of all pairs of a layer."""

    def transforms(self, layer: int, tile: Tile) -> list[FloatArray]:
        """Return the transforms of all pairs of a tile, in the order of ``plan.pairs``."""

    def finish_polish(self, layers: int, report: dict[str, float]) -> None:
        """Note that the polish is complete: ``layers`` is the number of the last."""

    def polished(self) -> tuple[int, dict[str, float]] | None:
        """Return what `finish_polish` noted, or None."""


class MemoryLedger:
    """Tiles in memory, for a matrix that is not stored."""

    def __init__(self, plan: Plan, alignments: str | None) -> None:
        self.plan = plan
        self.keeps = alignments is not None
        self._dtype = alignments
        self._tiles: dict[tuple[int, Tile], PairResults] = {}
        self._polished: tuple[int, dict[str, float]] | None = None

    def has(self, layer: int, tile: Tile) -> bool:
        """Return whether a tile is finished."""
        return (layer, tile) in self._tiles

    def write(self, layer: int, tile: Tile, found: PairResults) -> None:
        """Keep a finished tile."""
        if found.transforms is not None:  # rounded as a store would, for the same bits
            rounded = [one.astype(self._dtype) for one in found.transforms]
            found = replace(found, transforms=rounded)
        self._tiles[layer, tile] = found

    def entries(self, layer: int) -> Entries:
        """Return the numbers of all pairs of a layer."""
        return gather(self.plan, [self._tiles.get((layer, tile)) for tile in self.plan.tiles])

    def transforms(self, layer: int, tile: Tile) -> list[FloatArray]:
        """Return the transforms of all pairs of a tile, from the last layer that changed it."""
        for at in range(layer, -1, -1):
            found = self._tiles[at, tile].transforms
            if found is not None:
                return [one.astype(np.float64) for one in found]
        raise AssertionError("transforms are kept wherever they are asked for")

    def finish_polish(self, layers: int, report: dict[str, float]) -> None:
        """Note that the polish is complete."""
        self._polished = (layers, report)

    def polished(self) -> tuple[int, dict[str, float]] | None:
        """Return what `finish_polish` noted, or None."""
        return self._polished


def gather(plan: Plan, tiles: Sequence[PairResults | None]) -> Entries:
    """Return symmetric matrices of the numbers of tiles, given in the order of ``plan.tiles``."""
    blocks = np.full((len(QUANTITIES), plan.count, plan.count), np.nan)
    for tile, found in zip(plan.tiles, tiles, strict=True):
        if found is not None:
            i, j = plan.pairs(tile).T
            blocks[:, i, j] = np.stack([found.distance, found.lower_bound, found.converged])
    return mirror(blocks)


def mirror(upper: FloatArray) -> Entries:
    """Return symmetric matrices of arrays (3, K, K) of which only the upper triangle is read."""
    lower = np.tril_indices(upper.shape[1], -1)
    upper[:, lower[0], lower[1]] = upper[:, lower[1], lower[0]]
    diagonal = np.arange(upper.shape[1])
    upper[:, diagonal, diagonal] = np.array([0.0, 0.0, 1.0])[:, None]
    return Entries(*upper)
