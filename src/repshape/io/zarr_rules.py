"""What the metadata of a Zarr array may ask for: checked before Zarr or numcodecs reads them.

Metadata name the codecs that decode an array, and some codecs run code that the file contains.
Only those listed here are used. Objects are never unpickled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from repshape.errors import InputError
from repshape.io.expansion import check_fits

# Format 3: codecs by name, and the settings that each of them may have.
CODECS = {
    "bytes": {"endian"},
    "zstd": {"level", "checksum"},
    "gzip": {"level"},
    "blosc": {"typesize", "cname", "clevel", "shuffle", "blocksize"},
    "crc32c": set(),
}
DATA_TYPES = (
    *("bool", "float16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
KEY_ENCODINGS = ("default", "v2")
SEPARATORS = ("/", ".")
# Format 2: compressors, and filters of numbers, by id.
COMPRESSORS = ("blosc", "zlib", "gzip", "zstd", "lz4")
FILTERS = ("delta", "shuffle")
TEXT_FILTER = "vlen-utf8"
# Booleans, integers, floating-point numbers, and text of a fixed length.
NUMPY_TYPES = re.compile(r"[<>|](b1|[iu][1248]|f[248]|[SU][1-9][0-9]{0,5})")
OBJECTS = "|O"
# More chunks than this are no array that somebody wrote; listing them alone fills the memory.
MOST_CHUNKS = 2**24
METADATA_FILES = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")


def check_metadata(file: Path, content: bytes) -> dict[str, Any]:
    """Return the metadata in a file of Zarr, or raise one sentence if they are not allowed."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(f"{file} is damaged: it does not hold JSON.") from None
    if not isinstance(found, dict):
        raise InputError(f"{file} is damaged: it must hold a JSON object.")
    check: Callable[[Path, dict[str, Any]], None] | None = None
    if file.name == ".zarray":
        check = _check_format_2
    elif file.name == "zarr.json" and found.get("node_type") != "group":
        check = _check_format_3
    if check is not None:
        check(file, found)
    return found


def _check_format_3(file: Path, found: dict[str, Any]) -> None:
    codecs = found.get("codecs")
    _demand(isinstance(codecs, list) and codecs, file, "codecs", codecs)
    for codec in codecs or ():
        name, settings = _named(file, "codec", codec)
        _demand(name in CODECS and settings.keys() <= CODECS[name], file, "codec", codec)
    data_type = found.get("data_type")
    _demand(data_type in DATA_TYPES, file, "data type", data_type)
    grid = found.get("chunk_grid")
    name, settings = _named(file, "chunk grid", grid)
    _demand(name == "regular", file, "chunk grid", grid)
    _check_sizes(
        file, found.get("shape"), settings.get("chunk_shape"), np.dtype(data_type).itemsize
    )
    encoding = found.get("chunk_key_encoding")
    name, settings = _named(file, "chunk key encoding", encoding)
    fits = name in KEY_ENCODINGS and settings.get("separator", "/") in SEPARATORS
    _demand(fits, file, "chunk key encoding", encoding)
    transformers = found.get("storage_transformers")
    _demand(not transformers, file, "storage transformer", transformers)


def _check_format_2(file: Path, found: dict[str, Any]) -> None:
    compressor, filters = found.get("compressor"), found.get("filters") or []
    if compressor is not None:
        _demand(_id(compressor) in COMPRESSORS, file, "compressor", compressor)
    _demand(isinstance(filters, list), file, "filters", filters)
    dtype = found.get("dtype")
    if dtype == OBJECTS:
        if [_id(one) for one in filters] != [TEXT_FILTER]:
            raise InputError(
                f"{file} is not read: text must be stored as '{TEXT_FILTER}', not as other objects "
                f"of Python. Got the filters {_short(filters)}."
            )
    else:
        _demand(_is_plain(dtype), file, "dtype", dtype)
        for one in filters:
            _demand(_id(one) in FILTERS, file, "filter", one)
            kinds = [one[key] for key in ("dtype", "astype") if key in one]
            _demand(all(map(_is_plain, kinds)), file, "filter", one)
    _check_sizes(file, found.get("shape"), found.get("chunks"), np.dtype(dtype).itemsize)
    separator = found.get("dimension_separator", ".")
    _demand(separator in SEPARATORS, file, "dimension separator", separator)


def _check_sizes(file: Path, shape: Any, chunks: Any, item_bytes: int) -> None:
    _demand(_are_sizes(shape, 0), file, "shape", shape)
    _demand(_are_sizes(chunks, 1) and len(chunks) == len(shape), file, "shape of a chunk", chunks)
    count = prod(-(-size // step) for size, step in zip(shape, chunks, strict=True))
    _demand(count <= MOST_CHUNKS, file, "number of chunks", count)
    check_fits(prod(chunks) * item_bytes, f"A chunk of the array in {file.parent}")


def _are_sizes(sizes: Any, low: int) -> bool:
    return isinstance(sizes, list) and all(
        isinstance(one, int) and not isinstance(one, bool) and low <= one < 2**63 for one in sizes
    )


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, str) and NUMPY_TYPES.fullmatch(dtype) is not None


def _id(codec: Any) -> Any:
    return codec.get("id") if isinstance(codec, dict) else None


def _named(file: Path, what: str, entry: Any) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings of an entry of format 3."""
    name = entry.get("name") if isinstance(entry, dict) else entry
    settings = entry.get("configuration") or {} if isinstance(entry, dict) else {}
    _demand(isinstance(name, str) and isinstance(settings, dict), file, what, entry)
    return str(name), settings


def _demand(allowed: Any, file: Path, what: str, found: Any) -> None:
    if not allowed:
        raise InputError(f"{file} is not read: the {what} {_short(found)} is not allowed.")


def _short(found: Any) -> str:
    words = repr(found)
    return words if len(words) <= 100 else f"{words[:100]}..."
