"""The arrays of a store: a chunk is one file, which is complete and sealed, or absent."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from repshape.io.writing import writable
from repshape.io.zarr import DurableStore, open_array, readable

Array = npt.NDArray[Any]
Place = tuple[int, ...]
# A seal has 48 bits: a float64 holds it exactly, and two float32 hold half of it each.
SEAL_BYTES = 6
RECOMPUTE = "Delete that file and run the same command again to compute what it held again."
REWRITE = "Delete that file and run the same command again to write it again."


def array_form(
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    dtype: str = "float64",
    *,
    compress: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Return how Zarr makes an array of a store: empty means NaN, and chunks have checksums."""
    codecs = [*([ZstdCodec(level=1)] if compress else []), Crc32cCodec()]
    form = {"shape": shape, "chunks": chunks, "dtype": dtype, "fill_value": np.nan}
    return form | {"compressors": codecs} | more


def seal_of(store_id: str, *words: object) -> int:
    """Return a number that tells the place of a chunk, and its store, from all others.

    >>> seal_of("a", 0, 1) == seal_of("a", 0, 1), seal_of("a", 0, 1) == seal_of("b", 0, 1)
    (True, False)
    """
    text = " ".join(map(str, (store_id, *words)))
    return int.from_bytes(sha256(text.encode()).digest()[:SEAL_BYTES])


class SealedArray:
    """A Zarr array that is written and read chunk by chunk.

    A chunk gets its name only when it is complete and on the disk. It carries a seal, so that a
    chunk that was moved, or comes from another store, is refused.

    Parameters
    ----------
    folder : pathlib.Path
    form : dict
        From `array_form`. An array that is described otherwise on disk is refused.
    piece : str
        What a chunk holds, for messages.
    root : pathlib.Path
        The store, inside which no link is followed.
    """

    def __init__(self, folder: Path, form: dict[str, Any], piece: str, root: Path) -> None:
        self.folder, self.form, self.piece, self.root = folder, form, piece, root

    def file(self, place: Place) -> Path:
        """Return the file of a chunk."""
        return Path(self.folder, "c", *map(str, place))

    def has(self, place: Place) -> bool:
        """Return whether a chunk is finished."""
        return self.file(place).exists()

    def write(self, place: Place, block: Array) -> None:
        """Keep a chunk durably."""
        self._opened[self._region(place)] = block

    def read(
        self, place: Place, is_sealed: Callable[[Array], bool], remedy: str = RECOMPUTE
    ) -> Array:
        """Return a chunk, or raise if it is damaged or has the seal of another."""
        opened = self._opened
        with readable(self.file(place), remedy):
            block = np.asarray(opened[self._region(place)])
            if not is_sealed(block):
                raise ValueError(f"it belongs to another {self.piece} or another store")
        return block

    def describe(self) -> None:
        """Write the file that describes the array again if it was deleted."""
        if not (self.folder / "zarr.json").exists():
            with writable(self.folder, REWRITE):
                zarr.create_array(DurableStore(self.folder, within=self.root), **self.form)

    def _region(self, place: Place) -> tuple[slice, ...]:
        sizes = zip(place, self.form["chunks"], self.form["shape"], strict=True)
        return tuple(slice(k * size, min((k + 1) * size, end)) for k, size, end in sizes)

    @cached_property
    def _opened(self) -> zarr.Array[Any]:
        with readable(self.folder / "zarr.json", REWRITE):
            array = open_array(self.folder, within=self.root, writing=True)
            if _layout(array) != _layout(zarr.create_array({}, **self.form)):
                raise ValueError("it describes another array")
        return array


def _layout(array: zarr.Array[Any]) -> dict[str, Any]:
    """Return the layout fields of an array's Zarr metadata."""
    whole = array.metadata.to_dict()
    names = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs")
    return {name: whole[name] for name in names}
