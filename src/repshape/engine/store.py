"""The store: a matrix of distances on disk that grows tile by tile and survives interruptions."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from repshape._native import PairResults
from repshape.engine.chunks import (
    pack,
    places_in,
    unpack,
    where,
)
from repshape.engine.effort import INHERITING_LAYER
from repshape.engine.header import MatrixHeader
from repshape.engine.plan import Tile
from repshape.engine.sources import EARLIER, Sources
from repshape.engine.tiles import (
    QUANTITIES,
    Entries,
    KnownPairs,
    mirror,
    numbers_of,
    read_block,
    read_matrix,
)
from repshape.errors import SearchWarning, StorageError
from repshape.io.writing import writable
from repshape.io.zarr import read_attributes, readable, write_attributes
from repshape.matrix.cross import CrossDistances
from repshape.matrix.distances import DistanceMatrix
from repshape.store.arrays import RECOMPUTE, REWRITE, Array, Place, SealedArray, seal_of
from repshape.store.header import REFUSALS, Header, make_group, read_header
from repshape.store.lease import Lease

__all__ = ["Store", "make_layer", "read_cross", "read_steadily", "read_store"]

T = TypeVar("T")
FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
# The folder of a generation begins with this; the first generation is in the store itself.
GENERATION = "generation-"
GENERATION_NAME = re.compile(rf"\.?|{GENERATION}[0-9a-f]+")
# Alignments may be kept as float32, which holds half of a seal.
HALF_SEAL = 2**24
# The seal of a tile also says whether its transforms were written.
KINDS = ("plain", "aligned")
RESUME = "Finished tiles are safe: run the same command again to continue."


class Store:
    """Distances on disk: a Zarr group whose chunks are tiles of the upper triangle.

    The array ``tiles`` (quantity, network, network) holds what `repshape.engine.tiles.QUANTITIES`
    lists: distance, lower bound, convergence and numbers of starts; NaN means "not computed yet".
    A tile is one chunk, which is one file, and it gets its name only when it is complete and on
    the disk. Where transforms are kept, ``alignments`` (tile row, tile
    column, numbers) holds those of a tile one after the other. ``polish/1``, ``polish/2``, ...
    hold the layers of the polish in the same form; there, a tile has alignments only if the layer
    changed it.

    Once networks were added or removed, the attributes name the folder inside the store that holds
    the present generation, in the same form; see `repshape.engine.growth`.

    The same form holds the distances between two sets of networks: then the rows of the tiles are
    the networks of the first set, and their columns those of the second.

    Parameters
    ----------
    path : path
        The store.
    folder : pathlib.Path, optional
        An earlier generation of it; the present one by default.
    """

    def __init__(self, path: str | os.PathLike[str], folder: Path | None = None) -> None:
        self.path = Path(path)
        self.root = read_header(self.path, "matrix", "cross")
        self.folder = self._generation(self.root.get("current", "")) if folder is None else folder
        # The first generation is in the store itself, whose attributes may have changed since.
        own = self.folder != self.path
        attributes = read_header(self.folder, "matrix", "cross") if own else self.root
        if "labels" not in attributes:
            raise StorageError(f"{self.folder} holds no distances any more.")
        self.header = MatrixHeader.read(self.folder, attributes)
        self.id, self.plan, self.identity = self.header.id, self.header.plan, self.header.identity
        self.alignments, self.effort = self.header.alignments, self.header.effort
        self.keeps, self.bounded = self.alignments is not None, self.header.bounded
        self.inherited = self.header.inherited
        self.lease: Lease | None = None  # that of the run which opened the store to write
        self._arrays: dict[tuple[int, str], SealedArray] = {}

    @cached_property
    def generations(self) -> list[Store]:
        """The present generation, and earlier ones that still exist, the latest first."""
        places = [self._generation(one) for one in self.header.sources]
        there = [one for one in places if "labels" in (read_attributes(one) or {})]
        return [self, *(Store(self.path, one) for one in there)]

    def _generation(self, name: str) -> Path:
        """Return the folder of a generation, or raise one sentence if it would not be inside."""
        if not (isinstance(name, str) and GENERATION_NAME.fullmatch(name)):
            raise StorageError(f"{self.path} is damaged: it has no generation {name!r}.")
        return self.path / name

    @cached_property
    def _sources(self) -> Sources:
        polished = self.header.inherited_from
        folder = None if polished is None else self._generation(polished)
        return Sources(self.generations[1:], self.identity, folder)

    @property
    def _is_current(self) -> bool:
        return bool(self.folder == self.path / self.root.get("current", ""))

    def _remedy(self, layer: int, name: str, remedy: str) -> str:
        """Return how to replace a lost file: not at all if it is of an earlier polish."""
        inherits = self.effort.inherits and layer == INHERITING_LAYER
        alone = layer == 0 and name == "tiles"  # every pair, solved by itself
        lost = not (alone or (self._is_current and not inherits) or self.polished() is None)
        return EARLIER if lost else remedy

    def missing(self, layer: int = 0) -> list[Tile]:
        """Return the tiles that are not finished."""
        return [tile for tile in self.plan.tiles if not self.has(layer, tile)]

    def has(self, layer: int, tile: Tile) -> bool:
        """Return whether a tile is finished, with its alignments if it has any."""
        if not self._file(layer, "tiles", tile).exists():
            return False
        aligned = not self.keeps or self._file(layer, "alignments", tile).exists()
        return aligned or not self._is_aligned(layer, tile)

    def write(self, layer: int, tile: Tile, found: PairResults) -> None:
        """Keep a finished tile durably; its numbers are written last and make it count."""
        aligned = self.keeps and found.transforms is not None
        self._check_lease()
        with writable(self.path, RESUME):
            self._ensure(layer)
            if aligned:
                record = np.full(self.header.forms["alignments"]["chunks"], np.nan)
                packed = pack(found.transforms or [], tile)
                record[0, 0, 2 : 2 + len(packed)] = packed
                record[0, 0, :2] = divmod(self._seal(layer, tile, "alignments"), HALF_SEAL)
                self._array(layer, "alignments").write(_place("alignments", tile), record)
            kept = self.header.forms["tiles"]["shape"][0] - 1  # the last one is the seal
            block = np.full((kept + 1, len(tile.rows), len(tile.columns)), np.nan)
            i, j = places_in(tile)
            block[:-1, i, j] = numbers_of(found)[:kept]
            block[-1, i, j] = self._seal(layer, tile, KINDS[aligned])
            self._array(layer, "tiles").write(_place("tiles", tile), block)

    @property
    def was_polished(self) -> bool:
        """Whether the present generation or an earlier one was polished."""
        return any(one.polished() is not None for one in self.generations)

    def known(self, pairs: IndexArray, *, polished: bool) -> KnownPairs | None:
        """Return what earlier generations know of pairs, or None."""
        return self._sources.known(pairs, polished=polished)

    def numbers(self, layer: int, tile: Tile) -> FloatArray:
        """Return the numbers of a finished tile, shape (7, rows, columns)."""
        kept = self._read(layer, "tiles", tile)[:-1]
        unknown = [(0, len(QUANTITIES) - len(kept)), (0, 0), (0, 0)]
        return np.pad(kept, unknown, constant_values=np.nan)

    def entries(self, layer: int) -> Entries:
        """Return the numbers of all pairs of a layer, NaN where they are not computed yet."""
        return mirror(self._upper(layer))

    def _upper(self, layer: int) -> FloatArray:
        numbers = np.full((len(QUANTITIES), self.plan.count, self.plan.count), np.nan)
        for tile in self.plan.tiles:
            if self._file(layer, "tiles", tile).exists():
                numbers[where(tile)] = self.numbers(layer, tile)
        return numbers

    def latest(self) -> Entries:
        """Return the numbers of all pairs as far as they are known, polished if they were.

        Until the polish is complete, pairs that were polished before networks were added keep
        what it found then.
        """
        recorded = self.polished()
        numbers = self._upper(recorded[0] if recorded else 0)
        if recorded is None and self.header.sources:
            for tile in self.plan.tiles:
                for polished in (False, True):
                    known = self.known(tile.pairs, polished=polished)
                    if known is not None:
                        i, j = tile.pairs[known.found].T
                        numbers[:, i, j] = known.numbers[:, known.found]
        return mirror(numbers)

    def transforms(self, layer: int, tile: Tile) -> list[FloatArray]:
        """Return the transforms of a tile, from the last layer that changed it."""
        while layer > 0 and not self._is_aligned(layer, tile):
            layer -= 1
        file = self._file(layer, "alignments", tile)
        if not file.exists():
            again = "Run the same command again to compute it again."
            raise StorageError(f"{file} is missing. {self._remedy(layer, 'alignments', again)}")
        return unpack(self._read(layer, "alignments", tile)[0, 0, 2:], tile)

    def finish_polish(self, layers: int, report: dict[str, float]) -> None:
        """Record that the polish is complete."""
        self._check_lease()
        record = {"id": self.id, "layers": layers, "report": report}
        write_attributes(self.folder / "polish", record)

    def polished(self) -> tuple[int, dict[str, float]] | None:
        """Return what `finish_polish` recorded, or None."""
        folder, remedy = self.folder / "polish", REWRITE if self._is_current else EARLIER
        noted = read_attributes(folder, remedy) or {}
        with readable(folder / "zarr.json", remedy):
            if noted.get("id", self.id) != self.id:
                raise ValueError("it belongs to another store")
            return (int(noted["layers"]), dict(noted["report"])) if "layers" in noted else None

    def _read(self, layer: int, name: str, tile: Tile) -> Array:
        """Return the chunk of a tile, or raise if it is damaged or has the seal of another."""

        def is_sealed(block: Array) -> bool:
            if name == "alignments":
                seal = divmod(self._seal(layer, tile, name), HALF_SEAL)
                return tuple(block[0, 0, :2].tolist()) == seal
            seals = block[-1][places_in(tile)]
            return any((seals == self._seal(layer, tile, one)).all() for one in KINDS)

        remedy = self._remedy(layer, name, RECOMPUTE)
        return self._array(layer, name).read(_place(name, tile), is_sealed, remedy)

    def _is_aligned(self, layer: int, tile: Tile) -> bool:
        """Return whether a finished tile was written together with its alignments."""
        seals = self._read(layer, "tiles", tile)[-1]
        return bool((seals == self._seal(layer, tile, "aligned")).any())

    def _check_lease(self) -> None:
        """Raise if another run has taken over; the workers of a cluster leave that to their run."""
        if self.lease is not None:
            self.lease.check(RESUME)

    def _seal(self, layer: int, tile: Tile, kind: str) -> int:
        return seal_of(self.id, layer, tile.row, tile.column, kind)

    def _layer(self, layer: int) -> Path:
        return self.folder if layer == 0 else self.folder / "polish" / str(layer)

    def _file(self, layer: int, name: str, tile: Tile) -> Path:
        return self._array(layer, name).file(_place(name, tile))

    def _ensure(self, layer: int) -> None:
        if not self._layer(layer).exists():
            make_layer(self._layer(layer), {}, self.header.forms)

    def _array(self, layer: int, name: str) -> SealedArray:
        key = (layer, name)
        if key not in self._arrays:
            folder = self._layer(layer) / name
            self._arrays[key] = SealedArray(folder, self.header.forms[name], "tile", self.path)
        return self._arrays[key]

    def describe_arrays(self) -> None:
        """Write the files that describe the arrays again where they were deleted."""
        with writable(self.path, RESUME):
            for layer in takewhile(lambda one: self._layer(one).exists(), count()):
                for name in self.header.forms:
                    self._array(layer, name).describe()


def _place(name: str, tile: Tile) -> Place:
    """Return the place of a tile's chunk in one of the arrays."""
    return (0, tile.row, tile.column) if name == "tiles" else (tile.row, tile.column, 0)


def make_layer(folder: Path, attributes: Header, forms: dict[str, Header]) -> None:
    """Make a folder with the empty arrays of a layer; the first one has attributes."""
    make_group(folder, attributes, forms, ("polish",) if attributes else ())


def read_steadily(path: Path, read: Callable[[Store], T]) -> T:
    """Return what is read from a store, again if another run changed its networks meanwhile."""
    while True:
        root = read_attributes(path)
        try:
            store = Store(path)
            found = read(store)
        except StorageError:
            if read_attributes(path) == root:
                raise
        else:
            if read_attributes(path) == root == store.root:
                return found


def read_store(path: str | os.PathLike[str]) -> DistanceMatrix:
    """Return the matrix of a store as far as it is computed, polished if it was.

    Warns if every pair is computed, but only from a brief search that the polish is to complete.
    """
    D, unfinished = read_steadily(Path(path), _read_all)
    if unfinished:
        warnings.warn(
            f"{path} is not finished: its pairs were searched briefly, and the polish has not been "
            "run, so distances may be too large. Run the same command again, without a shard.",
            SearchWarning,
            stacklevel=3,  # the caller of DistanceMatrix.load
        )
    return D


def read_cross(path: str | os.PathLike[str]) -> CrossDistances:
    """Return the distances between two sets of networks in a store, as far as computed."""
    return read_steadily(Path(path), _read_block)


def _read_block(store: Store) -> CrossDistances:
    if store.header.sides is None:
        raise StorageError(f"{store.path} {REFUSALS['cross']}; rs.DistanceMatrix.load reads it.")
    return read_block(store, store.header.sides, store.identity.description)


def _read_all(store: Store) -> tuple[DistanceMatrix, bool]:
    """Return the matrix, and whether it is complete but still waits for its polish."""
    if store.plan.rows is not None:
        raise StorageError(
            f"{store.path} holds distances between two sets of networks, not a matrix: "
            "rs.CrossDistances.load reads it."
        )
    identity, header = store.identity, store.header
    D = read_matrix(store, identity.labels, header.metadata, identity.description, header.sizes)
    waits = store.keeps and store.effort.brief is not None and store.polished() is None
    return D, D.complete and waits
