"""The structure of a MATLAB file before version 7.3, checked before SciPy reads it.

Variables are compressed, and SciPy takes memory for the dimensions that a variable announces,
whether its values are there or not. A type of number that it does not know makes it crash. So every
variable is walked through here, without its values.

A file is a list of elements: a type and a number of bytes, then these bytes. A compressed element
holds another one. An array is an element that holds its class, dimensions, name and values; the
values of a cell array or a struct are arrays themselves.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from math import prod
from typing import IO

from repshape.errors import InputError
from repshape.io.expansion import Expansion

HEADER, TAG = 128, 8  # bytes
PIECE = 2**20  # bytes that are decompressed at once
INT8, INT32, UINT32, ARRAY, COMPRESSED, UTF8 = 1, 5, 6, 14, 15, 16  # types of elements
NUMBERS = (1, 2, 3, 4, 5, 6, 7, 9, 12, 13)
CHARACTERS = (1, 2, 4, 16, 17, 18)
CELL, STRUCT, OBJECT, CHAR, SPARSE = 1, 2, 3, 4, 5  # classes of arrays; numbers are 6 to 15
FUNCTION, OPAQUE = 16, 17
ITEM_BYTES = {CHAR: 4, SPARSE: 8, 6: 8, 7: 4, 8: 1, 9: 1, 10: 2, 11: 2, 12: 4, 13: 4, 14: 8, 15: 8}
COMPLEX = 0x800  # a flag of an array
MOST_DIMENSIONS = 32
DEEPEST = 16  # cells and structs inside one another
ONLY_MATLAB = (
    "A MATLAB file must hold numbers, and text as cellstr(...), not objects that only MATLAB can "
    "read."
)


@dataclass(frozen=True)
class _Reader:
    """Elements one after the other, in the byte order of the file."""

    content: memoryview
    order: str

    def element(self, place: int, kinds: tuple[int, ...]) -> tuple[memoryview, int]:
        """Return the bytes of the element at a place, and where the next one is."""
        kind, size = struct.unpack_from(f"{self.order}II", self.content, place)
        small = kind >> 16  # the size of a small element, whose bytes are in its tag
        if small:
            size, kind = small, kind & 0xFFFF
        start = place + (4 if small else TAG)
        fits = start + size <= len(self.content) and (not small or size <= 4)
        if kind not in kinds or not fits:
            raise ValueError("an element is cut short, or of an unknown type")
        following = place + TAG if small else start + size + (-size % TAG)
        return self.content[start : start + size], following

    def integers(self, place: int, kind: int) -> tuple[list[int], int]:
        """Return the integers of an element, and where the next one is."""
        kinds = (INT32, UINT32) if kind == INT32 else (kind,)  # some programs write the other one
        content, following = self.element(place, kinds)
        if len(content) % 4:
            raise ValueError("an integer is cut short")
        form = f"{self.order}{len(content) // 4}{'i' if kind == INT32 else 'I'}"
        return list(struct.unpack(form, content)), following


def check_sizes(handle: IO[bytes], limit: Expansion) -> None:
    """Count what all variables expand to, or raise; files of version 4 are not compressed."""
    header = handle.read(HEADER)
    if len(header) < HEADER or 0 in header[:4]:
        return
    order = "<" if header[126:128] == b"IM" else ">"
    while len(tag := handle.read(TAG)) == TAG:
        kind, size = struct.unpack(f"{order}II", tag)
        limit.take_object()
        if kind == COMPRESSED:
            content = _decompressed(handle, size, limit)
            kind, size = struct.unpack_from(f"{order}II", content)
            content = content[TAG : TAG + size]
        else:
            limit.take(min(size, limit.limit + 1))
            content = memoryview(handle.read(size))
        if kind != ARRAY or len(content) < size:
            raise ValueError("a variable is cut short, or not an array")
        _walk(_Reader(content, order), limit, 0)


def _decompressed(handle: IO[bytes], size: int, limit: Expansion) -> memoryview:
    stream, parts = zlib.decompressobj(), []
    pending = b""
    while not stream.eof:
        if not pending:
            pending = handle.read(min(size, PIECE))
            size -= len(pending)
            if not pending:
                raise ValueError("a variable is cut short")
        parts.append(stream.decompress(pending, PIECE))
        limit.take(len(parts[-1]))
        pending = stream.unconsumed_tail
    handle.seek(size, 1)  # what follows the compressed data
    return memoryview(b"".join(parts))


def _walk(reader: _Reader, limit: Expansion, depth: int) -> None:
    """Count the values of an array, and those inside it, or raise unless it has all its parts."""
    if depth and not reader.content:
        return  # an empty cell
    if depth > DEEPEST:
        raise ValueError("cells are nested too deeply")
    limit.take_object()
    flags, place = reader.integers(0, UINT32)
    if flags and flags[0] & 0xFF == OPAQUE:
        raise InputError(ONLY_MATLAB)
    dimensions, place = reader.integers(place, INT32)
    _, place = reader.element(place, (INT8, UTF8))  # the name
    kind, parts = flags[0] & 0xFF, 2 if flags[0] & COMPLEX else 1
    if len(flags) != 2 or not 2 <= len(dimensions) <= MOST_DIMENSIONS or min(dimensions) < 0:
        raise ValueError("an array without dimensions")
    count = prod(dimensions)
    limit.take(count * ITEM_BYTES.get(kind, TAG) * parts)
    if kind in (CELL, STRUCT, OBJECT):
        place = _walk_cells(reader, limit, depth, kind, place, count)
    elif kind in ITEM_BYTES:
        for _ in range(parts + (2 if kind == SPARSE else 0)):
            _, place = reader.element(place, CHARACTERS if kind == CHAR else NUMBERS)
    elif kind == FUNCTION:
        content, place = reader.element(place, (ARRAY,))
        _walk(_Reader(content, reader.order), limit, depth + 1)
    else:
        raise InputError(ONLY_MATLAB)
    if place < len(reader.content):  # SciPy would read on here
        raise ValueError("an array is followed by something else")


def _walk_cells(
    reader: _Reader, limit: Expansion, depth: int, kind: int, place: int, count: int
) -> int:
    """Walk through the cells of a cell array, or the fields of structs; return where they end."""
    if kind == OBJECT:
        _, place = reader.element(place, (INT8, UTF8))  # the name of its class
    if kind != CELL:
        (longest,), place = reader.integers(place, INT32)
        names, place = reader.element(place, (INT8,))
        if longest < 1:
            raise ValueError("a field without a name")
        count *= len(names) // longest
    if count * TAG > len(reader.content) - place:
        raise ValueError("cells are missing")
    for _ in range(count):
        content, place = reader.element(place, (ARRAY,))
        _walk(_Reader(content, reader.order), limit, depth + 1)
    return place
