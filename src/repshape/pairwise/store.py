"""The store: a matrix of distances on disk that grows tile by tile and survives anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from repshape.errors import StorageError
from repshape.io.matrices import metadata_from_json, metadata_to_json
from repshape.io.writing import atomic_folder
from repshape.io.zarr import DurableStore, create_group, read_attributes, readable, writable
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import PairResults
from repshape.pairwise.plan import Plan, Tile
from repshape.pairwise.tiles import QUANTITIES, Entries, mirror

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
FORMAT = "repshape-distance-store"
FORMAT_VERSION = 1
AGAIN = "Finished tiles are safe: run the same command again to continue."
ANEW = "Delete that file and run the same command again to compute its tile anew."


@dataclass(frozen=True)
class Identity:
    """What a store is of: it continues with the same, and refuses all else."""

    description: dict[str, Any]
    labels: tuple[str, ...]
    fingerprints: tuple[str, ...]

    def difference(self, other: Identity) -> str | None:
        """Say what differs between a store's identity and ``other``, or return None."""
        mine, theirs = self.description, other.description
        if mine["metric"] != theirs["metric"]:
            return f"the metric was {mine['metric']} and is {theirs['metric']}"
        for name in sorted(mine["parameters"].keys() | theirs["parameters"].keys()):
            old, new = (d["parameters"].get(name) for d in (mine, theirs))
            if old != new:
                return f"the metric's {name!r} was {old!r} and is {new!r}"
        if len(self.labels) != len(other.labels):
            return f"there were {len(self.labels)} networks and are {len(other.labels)}"
        for k, (old, new) in enumerate(zip(self.labels, other.labels, strict=True)):
            if old != new:
                return f"network {k} was {old!r} and is {new!r}"
            if self.fingerprints[k] != other.fingerprints[k]:
                return f"the responses of network {old!r} are not those of before"
        if mine["repshape"] != theirs["repshape"]:
            return f"it was made by repshape {mine['repshape']} and this is {theirs['repshape']}"
        return None


class Store:
    """Distances on disk: a Zarr group whose chunks are tiles of the upper triangle.

    The array ``tiles`` (quantity, network, network) holds distance, lower bound and convergence;
    NaN means "not computed yet". A tile is one chunk: one file, renamed into place when it is on
    the disk. ``alignments`` (tile row, tile column, numbers) holds the transforms of a tile, one
    after the other, where they are kept. ``polish/1``, ``polish/2``, ... hold what the polish
    made of them, in the same form.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        path = self.path = Path(path)
        self._header = _header(path)
        self.plan = Plan(len(self._header["labels"]), int(self._header["edge"]))
        self.keeps = self._header["alignments"] is not None
        self._arrays: dict[tuple[int, str], zarr.Array[Any]] = {}

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        identity: Identity,
        metadata: pd.DataFrame,
        edge: int,
        alignments: str | None,
        width: int,
    ) -> Store:
        """Make an empty store, or open the one that is there if it is of the same."""
        target = Path(path)
        header = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "description": identity.description,
            "labels": list(identity.labels),
            "fingerprints": list(identity.fingerprints),
            "metadata": metadata_to_json(metadata),
            "edge": edge,
            "alignments": alignments,
            "width": width,
        }
        if not target.exists():
            try:
                with writable(target), atomic_folder(target) as folder:
                    _create_layer(folder, header, header)
            except StorageError as error:
                if not isinstance(error.__cause__, FileExistsError):
                    raise  # else another process was faster: its store is as good as ours
        store = cls(target)
        store.check(identity, alignments)
        return store

    def check(self, identity: Identity, alignments: str | None) -> None:
        """Raise one sentence unless this is a store of the given metric and data."""
        difference = self.identity.difference(identity)
        if difference is None and alignments is not None and not self.keeps:
            difference = "it keeps no alignments, which the polish needs"
        if difference:
            raise StorageError(
                f"{self.path} cannot be continued: {difference}. Choose another name for the "
                "output, or remove that one."
            )

    @cached_property
    def identity(self) -> Identity:
        """What the store is of."""
        head = self._header
        return Identity(head["description"], tuple(head["labels"]), tuple(head["fingerprints"]))

    @property
    def metadata(self) -> pd.DataFrame:
        """A row for each network."""
        frame = metadata_from_json(self._header["metadata"], self.plan.count)
        frame.index = pd.Index(list(self.identity.labels))
        return frame

    def missing(self, layer: int = 0) -> list[Tile]:
        """Return the tiles that are not finished."""
        return [tile for tile in self.plan.tiles if not self.has(layer, tile)]

    def has(self, layer: int, tile: Tile) -> bool:
        """Return whether a tile is finished: its file takes its name only when it is."""
        return self._file(layer, tile).exists()

    def write(self, layer: int, tile: Tile, found: PairResults) -> None:
        """Keep a finished tile, durably and whole; the numbers come last and make it count."""
        rows, columns = self.plan.span(tile.row), self.plan.span(tile.column)
        pairs = self.plan.pairs(tile)
        with writable(self.path, AGAIN):
            self._ensure(layer)
            if self.keeps and found.transforms is not None:
                array = self._array(layer, "alignments")
                record = np.full(array.shape[2], np.nan)  # a whole chunk: nothing is read back
                packed = _pack(found.transforms, pairs, rows, columns)
                record[: len(packed)] = packed
                array[tile.row, tile.column] = record
            block = np.full((len(QUANTITIES), len(rows), len(columns)), np.nan)
            i, j = pairs[:, 0] - rows.start, pairs[:, 1] - columns.start
            block[:, i, j] = np.stack([found.distance, found.lower_bound, found.converged])
            self._array(layer, "tiles")[:, _slice(rows), _slice(columns)] = block

    def entries(self, layer: int) -> Entries:
        """Return the numbers of all pairs of a layer, NaN where they are not computed yet."""
        upper = np.full((len(QUANTITIES), self.plan.count, self.plan.count), np.nan)
        for tile in self.plan.tiles:
            file = self._file(layer, tile)
            if file.exists():
                where = (slice(None), *(_slice(self.plan.span(k)) for k in (tile.row, tile.column)))
                with readable(file, ANEW):
                    upper[where] = self._array(layer, "tiles")[where]
        return mirror(upper)

    def transforms(self, layer: int, tile: Tile) -> list[FloatArray]:
        """Return the transforms of a tile, from the last layer that changed it."""
        for at in range(layer, -1, -1):
            name = Path("alignments", "c", str(tile.row), str(tile.column), "0")
            file = self._layer(at) / name
            if at == 0 or file.exists():
                with readable(file, ANEW):
                    record = np.asarray(self._array(at, "alignments")[tile.row, tile.column])
                    spans = self.plan.span(tile.row), self.plan.span(tile.column)
                    return _unpack(record, self.plan.pairs(tile), *spans)
        raise AssertionError("layer 0 holds every tile")

    def finish_polish(self, layers: int, report: dict[str, float]) -> None:
        """Note that the polish is complete."""
        with writable(self.path, AGAIN):
            group = zarr.open_group(DurableStore(self.path / "polish"), mode="r+")
            group.update_attributes({"layers": layers, "report": report})

    def polished(self) -> tuple[int, dict[str, float]] | None:
        """Return what `finish_polish` noted, or None."""
        noted = read_attributes(self.path / "polish") or {}
        return (int(noted["layers"]), dict(noted["report"])) if "layers" in noted else None

    def _layer(self, layer: int) -> Path:
        return self.path if layer == 0 else self.path / "polish" / str(layer)

    def _file(self, layer: int, tile: Tile) -> Path:
        return self._layer(layer) / "tiles" / "c" / "0" / str(tile.row) / str(tile.column)

    def _ensure(self, layer: int) -> None:
        folder = self._layer(layer)
        if folder.exists():
            return
        with suppress(FileExistsError), atomic_folder(folder) as new:
            _create_layer(new, {}, self._header)

    def _array(self, layer: int, name: str) -> zarr.Array[Any]:
        key = (layer, name)
        if key not in self._arrays:
            folder = self._layer(layer) / name
            self._arrays[key] = zarr.open_array(DurableStore(folder), mode="r+", zarr_format=3)
        return self._arrays[key]


def read_store(path: str | os.PathLike[str]) -> DistanceMatrix:
    """Return the matrix of a store as far as it is computed, polished if it was."""
    store = Store(path)
    noted = store.polished()
    found = store.entries(noted[0] if noted else 0)
    bounded = not np.isnan(found.lower_bound[np.triu_indices(store.plan.count, 1)]).all()
    return DistanceMatrix(
        found.distance,
        store.identity.labels,
        store.metadata,
        found.lower_bound if bounded else None,
        found.converged == 1.0 if bounded else None,
        store.identity.description | ({"polish": noted[1]} if noted else {}),
        missing=True,
    )


def _header(path: Path) -> dict[str, Any]:
    """Return the attributes of a store, or raise one clear sentence."""
    if not path.exists():
        raise StorageError(f"There is no distance store at {path}.")
    header = read_attributes(path) or {}
    if header.get("format") != FORMAT:
        raise StorageError(f"{path} is not a repshape distance store; it is left as it is.")
    if header.get("version") != FORMAT_VERSION:
        raise StorageError(
            f"{path} has format version {header.get('version')}; "
            f"this repshape reads version {FORMAT_VERSION}."
        )
    return header


def _create_layer(folder: Path, attributes: dict[str, Any], header: dict[str, Any]) -> None:
    """Fill a new folder with the empty arrays of a layer."""
    plan = Plan(len(header["labels"]), int(header["edge"]))
    group = create_group(folder, attributes)
    group.create_array(
        "tiles",
        shape=(len(QUANTITIES), plan.count, plan.count),
        chunks=(len(QUANTITIES), plan.edge, plan.edge),
        dtype="float64",
        fill_value=np.nan,
        compressors=[Crc32cCodec()],
        dimension_names=("quantity", "network", "other network"),
        attributes={"quantities": list(QUANTITIES)},
    )
    if attributes:
        group.create_group("polish")
    if header["alignments"] is not None:
        group.create_array(
            "alignments",
            shape=(plan.side, plan.side, int(header["width"])),
            chunks=(1, 1, int(header["width"])),
            dtype=header["alignments"],
            fill_value=np.nan,
            compressors=[ZstdCodec(level=1), Crc32cCodec()],  # most of a record may be empty
        )


def record_width(edge: int, size: int) -> int:
    """Return how many numbers hold the transforms of a tile of networks of ``size`` dimensions."""
    return 2 * edge + (edge * size) ** 2


def _pack(
    transforms: Sequence[FloatArray], pairs: IndexArray, rows: range, columns: range
) -> FloatArray:
    """Return sizes of the networks of rows and columns, then all transforms, as one vector."""
    sizes = np.zeros(len(rows) + len(columns))
    for (i, j), transform in zip(pairs, transforms, strict=True):
        sizes[len(rows) + j - columns.start], sizes[i - rows.start] = transform.shape
    return np.concatenate([sizes, *(one.ravel() for one in transforms)])


def _unpack(
    record: npt.NDArray[Any], pairs: IndexArray, rows: range, columns: range
) -> list[FloatArray]:
    numbers = record.astype(np.float64)
    row_sizes = numbers[: len(rows)].astype(np.intp)
    column_sizes = numbers[len(rows) : len(rows) + len(columns)].astype(np.intp)
    shapes = np.column_stack(
        [column_sizes[pairs[:, 1] - columns.start], row_sizes[pairs[:, 0] - rows.start]]
    )
    ends = len(rows) + len(columns) + np.cumsum(shapes.prod(axis=1))
    starts = np.concatenate([[len(rows) + len(columns)], ends[:-1]])
    return [numbers[a:b].reshape(shape) for a, b, shape in zip(starts, ends, shapes, strict=True)]


def _slice(span: range) -> slice:
    return slice(span.start, span.stop)
