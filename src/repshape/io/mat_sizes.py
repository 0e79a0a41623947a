"""The sizes that a MATLAB file before version 7.3 announces, checked before SciPy reads it.

Variables are compressed, and SciPy takes memory for the dimensions that a variable announces,
whether its values are there or not. Here every variable is walked through, without its values.

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

from repshape.io.expansion import Expansion

HEADER, TAG = 128, 8  # bytes
PIECE = 2**20  # bytes that are decompressed at once
ARRAY, COMPRESSED = 14, 15  # types of elements
CELL, STRUCT, OBJECT, CHAR, SPARSE, DOUBLE = 1, 2, 3, 4, 5, 6  # classes of arrays
ITEM_BYTES = {CHAR: 4, SPARSE: 8, DOUBLE: 8, 7: 4, 8: 1, 9: 1, 10: 2, 11: 2, 12: 4, 13: 4}
ITEM_BYTES |= {14: 8, 15: 8}
COMPLEX = 0x800  # a flag of an array
DEEPEST = 16  # cells and structs inside one another


@dataclass(frozen=True)
class _Reader:
    """Elements one after the other, in the byte order of the file."""

    content: memoryview
    order: str

    def element(self, place: int) -> tuple[int, memoryview, int]:
        """Return the type and the bytes of the element at a place, and where the next one is."""
        (kind, size) = struct.unpack_from(f"{self.order}II", self.content, place)
        if kind >> 16:  # small: the size is in the upper half, and up to 4 bytes follow
            size, kind = kind >> 16, kind & 0xFFFF
            return kind, self.content[place + 4 : place + 4 + min(size, 4)], place + TAG
        end = place + TAG + size
        if end > len(self.content):
            raise ValueError("an element is cut short")
        return kind, self.content[place + TAG : end], end + (-size % TAG)

    def numbers(self, place: int, form: str) -> tuple[list[int], int]:
        """Return the integers of an element, and where the next one is."""
        _, content, following = self.element(place)
        count = len(content) // struct.calcsize(form)
        return list(struct.unpack_from(f"{self.order}{count}{form}", content)), following


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
            kind = struct.unpack_from(f"{order}I", content)[0]
            content = content[TAG:]
        else:
            limit.take(min(size, limit.limit + 1))
            content = memoryview(handle.read(size))
        if kind == ARRAY:
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
    """Count the values of an array, and those inside it."""
    if not reader.content:
        return  # an empty cell
    if depth > DEEPEST:
        raise ValueError("cells are nested too deeply")
    limit.take_object()
    flags, place = reader.numbers(0, "I")
    kind = flags[0] & 0xFF
    if kind not in (CELL, STRUCT, OBJECT) and kind not in ITEM_BYTES:
        return  # a function or an object, which SciPy leaves as they are
    dimensions, place = reader.numbers(place, "i")
    if min(dimensions, default=0) < 0:
        raise ValueError("a negative dimension")
    count = prod(dimensions)
    _, _, place = reader.element(place)  # the name
    if kind in ITEM_BYTES:
        limit.take(count * ITEM_BYTES[kind] * (2 if flags[0] & COMPLEX else 1))
        return
    limit.take(count * TAG)  # SciPy makes an array of objects
    if kind == OBJECT:
        _, _, place = reader.element(place)  # the name of its class
    if kind != CELL:
        (longest, *_), place = reader.numbers(place, "i")
        _, names, place = reader.element(place)
        count *= len(names) // longest if longest > 0 else 1
    if count * TAG > len(reader.content) - place and (kind == CELL or count > 1):
        raise ValueError("cells are missing")
    for _ in range(count):
        _, content, place = reader.element(place)
        _walk(_Reader(content, reader.order), limit, depth + 1)
