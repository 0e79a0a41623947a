"""Arrays in NPY and NPZ files: numbers and text, never pickled objects, and of a limited size.

Neither the directory of a ZIP archive nor the header of an array is trusted: no more bytes are
decompressed than the header announces, and these are counted before memory is taken for them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Container
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError
from repshape.io.expansion import Expansion, MaxBytes
from repshape.io.paths import open_file

Array = npt.NDArray[Any]
KINDS = "biufSU"
ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")  # of an archive, and of an empty one
# Version 3 is for the names of fields, which no array of numbers or text has.
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
LONGEST_HEADER = 10_000  # in bytes, as in NumPy
PIECE = 2**20  # bytes that are read at once


def read_arrays(
    file: Path, max_bytes: MaxBytes = None, names: Container[str] | None = None
) -> dict[str, Array]:
    """Return the arrays of an NPZ file by name; of NPY, the only one is called "".

    Parameters
    ----------
    file : pathlib.Path
    max_bytes : int, str or None
        Limit of what the file may expand to; see `repshape.io.expansion.Expansion`.
    names : container of str, optional
        The arrays to read, as far as the file has them; all by default.

    Raises
    ------
    InputError
        If the file is too large or has complex numbers or two arrays of one name. A damaged file
        raises whatever NumPy or zipfile do.
    """
    with open_file(file) as handle:
        limit = Expansion(file, max_bytes)
        start = handle.read(len(ZIP_SIGNATURES[0]))
        handle.seek(0)
        if start not in ZIP_SIGNATURES:
            return {"": _read_array(handle, file, "", limit)}
        return _read_archive(handle, file, names, limit)


def _read_archive(
    handle: IO[bytes], file: Path, names: Container[str] | None, limit: Expansion
) -> dict[str, Array]:
    found: dict[str, Array] = {}
    with zipfile.ZipFile(handle) as archive:
        members = [(one.filename.removesuffix(".npy"), one) for one in archive.infolist()]
        seen = set()
        for name, _ in members:
            if name in seen:
                raise InputError(f"{file} holds two arrays named {name!r}.")
            seen.add(name)
        for name, member in members:
            if names is None or name in names:
                limit.take_object()
                with archive.open(member) as stream:
                    found[name] = _read_array(stream, file, name, limit)
    return found


def _read_array(stream: IO[bytes], file: Path, name: str, limit: Expansion) -> Array:
    version = np.lib.format.read_magic(stream)
    if version not in HEADERS:
        raise ValueError("an unknown version")
    shape, reverse, dtype = HEADERS[version](_Header(stream), max_header_size=LONGEST_HEADER)
    if dtype.kind == "c":
        what = f"complex numbers in {name!r}" if name else "complex numbers"
        raise InputError(f"{file} holds {what}; responses and distances must be real.")
    if dtype.kind not in KINDS or min(shape, default=0) < 0:
        raise ValueError("neither numbers nor text")
    count = prod(shape)
    limit.take(max(count * dtype.itemsize, count))
    array = np.empty(count, dtype=dtype)
    _fill(stream, array)
    return array.reshape(shape[::-1]).T if reverse else array.reshape(shape)


class _Header:
    """A stream from which no more is read than a header may have, whatever it announces."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= LONGEST_HEADER:
            raise ValueError("the header is too long")
        return self._stream.read(size)


def _fill(stream: IO[bytes], array: Array) -> None:
    """Read the content of an array; one byte more lets zipfile compare the checksum."""
    content = array.view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
    place = 0
    while place < len(content):
        piece = stream.read(min(PIECE, len(content) - place))
        if not piece:
            raise ValueError("cut short")
        content[place : place + len(piece)] = np.frombuffer(piece, np.uint8)
        place += len(piece)
    stream.read(1)
