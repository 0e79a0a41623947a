"""Zarr on a local disk, with durable chunks and errors of one sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import zarr
from zarr.codecs import Crc32cCodec
from zarr.core.buffer import Buffer
from zarr.storage import LocalStore

from repshape.errors import StorageError
from repshape.io.expansion import check_fits
from repshape.io.links import refuse_links
from repshape.io.paths import one_line
from repshape.io.writing import atomic_write, open_output_folder, writable
from repshape.io.zarr_rules import METADATA_FILES, check_metadata

ZarrFormat = Literal[2, 3]
# A chunk of at most this many bytes is read or written at once.
CHUNK_BYTES = 2**26
# The attribute that holds a hash of all others.
SEAL = "seal"


class SafeStore(LocalStore):
    """A folder whose metadata are checked before Zarr sees them, and whose links are refused.

    Every Zarr array or group that repshape opens or makes is in such a store.

    Parameters
    ----------
    root : pathlib.Path
        The folder of the array or group.
    read_only : bool
    within : pathlib.Path, optional
        The folder above it, below which no link is followed; ``root`` by default.
    """

    def __init__(
        self, root: Path | str, *, read_only: bool = False, within: Path | None = None
    ) -> None:
        super().__init__(root, read_only=read_only)
        self.within = Path(root) if within is None else within
        refuse_links(self.root, self.within)

    def with_read_only(self, read_only: bool = False) -> Self:
        """Return the same store, for reading or for writing."""
        return type(self)(self.root, read_only=read_only, within=self.within)

    async def get(self, key: str, *arguments: Any, **options: Any) -> Buffer | None:
        """Return one file."""
        file = self._unlinked(key)
        return _checked(file, await super().get(key, *arguments, **options))

    def get_sync(self, key: str, **options: Any) -> Buffer | None:
        """Return one file."""
        file = self._unlinked(key)
        return _checked(file, super().get_sync(key, **options))

    async def _set(self, key: str, value: Buffer, exclusive: bool = False) -> None:
        self._unlinked(key)
        await super()._set(key, value, exclusive)

    async def delete(self, key: str) -> None:
        """Delete one file."""
        self._unlinked(key)
        await super().delete(key)

    async def delete_dir(self, prefix: str) -> None:
        """Delete one folder."""
        self._unlinked(prefix)
        await super().delete_dir(prefix)

    def _unlinked(self, key: str) -> Path:
        refuse_links(self.root / key, self.within)
        return self.root / key


class DurableStore(SafeStore):
    """A folder whose files are complete and on the disk, or absent, at any moment."""

    async def set(self, key: str, value: Buffer) -> None:
        """Write one file durably."""
        self._check_writable()
        await asyncio.to_thread(_write, self._unlinked(key), value.to_bytes())


def _checked(file: Path, content: Buffer | None) -> Buffer | None:
    if content is not None and file.name in METADATA_FILES:
        check_metadata(file, content.to_bytes())
    return content


def open_array(
    folder: Path, *, within: Path, writing: bool = False, zarr_format: ZarrFormat = 3
) -> zarr.Array[Any]:
    """Open an array whose metadata are allowed; see `repshape.io.zarr_rules`.

    Parameters
    ----------
    folder : pathlib.Path
    within : pathlib.Path
        The folder that the user named, below which no link is followed.
    writing : bool
        Whether chunks can be written, each of them durably.
    zarr_format : {3, 2}
    """
    if writing:
        store: SafeStore = DurableStore(folder, within=within)
    else:
        store = SafeStore(folder, read_only=True, within=within)
    return zarr.open_array(store, mode="r+" if writing else "r", zarr_format=zarr_format)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as handle:
        handle.write(content)


def create_group(path: Path, attributes: dict[str, Any]) -> zarr.Group:
    """Make a group with attributes. It is durable once the folder is; see `atomic_folder`."""
    kept = sealed(attributes) if attributes else {}
    return zarr.create_group(SafeStore(path), attributes=kept, zarr_format=3)


@contextmanager
def new_group(path: Path, attributes: dict[str, Any]) -> Iterator[zarr.Group]:
    """Yield a group in a temporary folder that takes the name ``path`` once it is complete."""
    with open_output_folder(path) as folder:
        yield create_group(folder, attributes)


def add_array(
    group: zarr.Group, name: str, data: npt.NDArray[Any], *, compress: bool = False
) -> None:
    """Write an array into a group, in chunks along its first axis, each with a checksum."""
    row = max(data.nbytes // max(len(data), 1), 1)
    rows = min(max(CHUNK_BYTES // row, 1), max(len(data), 1))
    array = group.create_array(
        name,
        shape=data.shape,
        dtype=data.dtype,
        chunks=(rows, *(max(size, 1) for size in data.shape[1:])),
        compressors=[*([zarr.codecs.ZstdCodec(level=1)] if compress else []), Crc32cCodec()],
        overwrite=True,
    )
    if data.size:
        array[...] = data


def read_array(path: Path, within: Path) -> npt.NDArray[Any]:
    """Return a whole array, or raise one clear sentence; see `open_array`."""
    with readable(path):
        array = open_array(path, within=within)
        check_fits(array.nbytes, "It")
        return np.asarray(array[...])


def sealed(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes with a hash of them, by which `read_attributes` notices any change.

    >>> sealed({"a": 1, "b": 2}) == sealed({"b": 2, "a": 1})
    True
    >>> sealed({"a": 1})["seal"] == sealed({"a": 2})["seal"]
    False
    """
    plain = {key: value for key, value in attributes.items() if key != SEAL}
    text = json.dumps(plain, sort_keys=True)
    return plain | {SEAL: sha256(text.encode()).hexdigest()[:16]}


def read_attributes(path: Path, remedy: str = "") -> dict[str, Any] | None:
    """Return the attributes of the Zarr group in a folder, or None if there is no such group.

    Raises one clear sentence if they are not those that were written. Attributes that other
    programs wrote, or earlier versions, have no seal, and are not checked.
    """
    file = path / "zarr.json"
    refuse_links(file, path)
    try:
        text = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"Cannot read {file}: {error.strerror}.") from error
    with readable(file, remedy):
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("node_type") != "group":
            return None
        attributes = content.get("attributes", {})
        if not isinstance(attributes, dict):
            return None
        if SEAL in attributes and sealed(attributes) != attributes:
            raise ValueError("its attributes are not those that were written")
    return {key: value for key, value in attributes.items() if key != SEAL}


def write_attributes(path: Path, attributes: dict[str, Any]) -> None:
    """Make the folder a Zarr group with these attributes, durably, or replace those it has."""
    content = {"attributes": sealed(attributes), "zarr_format": 3, "node_type": "group"}
    with writable(path):
        _write(path / "zarr.json", json.dumps(content, indent=2).encode())


@contextmanager
def readable(path: Path, remedy: str = "") -> Iterator[None]:
    """Turn whatever is raised while a damaged file is read into one sentence."""
    try:
        yield
    except StorageError:
        raise
    except Exception as error:
        words = f"{path} is damaged ({one_line(error)}).{remedy and ' ' + remedy}"
        raise StorageError(words) from error
