"""What a store knew of pairs before networks were added to it, replaced or removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from repshape.engine.plan import Tile
from repshape.engine.tiles import QUANTITIES, KnownPairs
from repshape.errors import StorageError

if TYPE_CHECKING:
    from repshape.engine.store import Store
    from repshape.store.identity import Identity

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
# Neighbouring tiles share what they need of earlier ones.
TILES_IN_MEMORY = 8
EARLIER = (
    "It holds distances from before networks were changed: restore it from a copy, or choose "
    "another output."
)


class Sources:
    """Earlier generations of a store, the latest first, from which known pairs are copied.

    A generation is the store as it was for one set of networks; see
    `repshape.engine.growth`. ``polished`` is the folder of the one whose polish is taken over.
    """

    def __init__(
        self, stores: Sequence[Store], identity: Identity, polished: Path | None = None
    ) -> None:
        self._stores = stores
        self._polished = polished
        self._count = len(identity.labels)
        self._places = [store.identity.places(identity) for store in stores]
        self._read = lru_cache(TILES_IN_MEMORY)(self._read_tile)

    def known(self, pairs: IndexArray, *, polished: bool) -> KnownPairs | None:
        """Return what is known of pairs; see `repshape.engine.tiles.TileStore.known`."""
        numbers = np.full((len(QUANTITIES), len(pairs)), np.nan)
        transforms: list[FloatArray] = [np.zeros((0, 0))] * len(pairs)
        found = np.zeros(len(pairs), dtype=bool)
        kept = False
        for number, layer in self._layers(polished=polished):
            kept = self._stores[number].keeps
            old = self._places[number][pairs]
            wanted = np.flatnonzero(~found & (old >= 0).all(axis=1))
            for tile, at in self._by_tile(number, layer, np.sort(old[wanted], axis=1)):
                where, inside = wanted[at], np.sort(old[wanted[at]], axis=1)
                block, matrices = self._read(number, layer, tile)
                rows, columns = (inside - (tile.rows.start, tile.columns.start)).T
                numbers[:, where] = block[:, rows, columns]
                found[where] = True
                if matrices is None:
                    continue
                for k, place in zip(where.tolist(), tile.places(inside).tolist(), strict=True):
                    turned = old[k, 0] > old[k, 1]  # the pair was stored the other way round
                    transforms[k] = matrices[place].T if turned else matrices[place]
        return KnownPairs(found, numbers, transforms if kept else None) if found.any() else None

    def count(self) -> int:
        """Return how many pairs are known."""
        i, j = np.triu_indices(self._count, 1)
        known = np.zeros(len(i), dtype=bool)
        for number, layer in self._layers(polished=False):
            old = np.sort(self._places[number][np.column_stack([i, j])], axis=1)
            wanted = np.flatnonzero(old[:, 0] >= 0)
            for _, at in self._by_tile(number, layer, old[wanted]):
                known[wanted[at]] = True
        return int(known.sum())

    def _layers(self, *, polished: bool) -> Iterator[tuple[int, int]]:
        """Yield the number and the layer of each store to look in."""
        for number, store in enumerate(self._stores):
            if not polished:
                yield number, 0
            elif self._polished in (None, store.folder) and (recorded := store.polished()):
                yield number, recorded[0]
                return  # the latest polish began from all earlier ones
        if polished and self._polished is not None:
            raise StorageError(f"The polish in {self._polished} is missing. {EARLIER}")

    def _by_tile(
        self, number: int, layer: int, pairs: IndexArray
    ) -> Iterator[tuple[Tile, IndexArray]]:
        """Yield each finished tile that holds some of the pairs, and which of them."""
        store = self._stores[number]
        places, inverse = np.unique(store.plan.places(pairs), axis=0, return_inverse=True)
        for k, (row, column) in enumerate(places.tolist()):
            tile = store.plan.by_place.get((row, column))
            if tile is None:  # networks of the same set, whose distances are not stored
                continue
            if store.has(layer, tile):
                yield tile, np.flatnonzero(inverse.ravel() == k)
            elif layer > 0:
                raise StorageError(f"A tile of the polish in {store.folder} is missing. {EARLIER}")

    def _read_tile(
        self, number: int, layer: int, tile: Tile
    ) -> tuple[npt.NDArray[Any], list[FloatArray] | None]:
        store = self._stores[number]
        return store.numbers(layer, tile), store.transforms(layer, tile) if store.keeps else None
