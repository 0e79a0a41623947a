"""NWB files in Zarr, as hdmf-zarr writes them: folders in format 2.

Numbers are read by Zarr. Text is not: hdmf-zarr gives it a fill value that Zarr 3 refuses. Only
what is asked for is opened, so other objects do no harm. Text that older writers have pickled is
refused, as a pickle can run any code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError
from repshape.io.links import list_folder, refuse_links
from repshape.io.zarr import open_array
from repshape.io.zarr_rules import OBJECTS, check_metadata

COUNT_BYTES = 4  # of the number of texts in a chunk, and of the length of each


class ZarrGroup:
    """A folder of arrays and other groups, with as much of h5py's interface as we need.

    Parameters
    ----------
    folder : pathlib.Path
    root : pathlib.Path, optional
        The folder that the user named, below which no link is followed.
    """

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        self._folder = folder
        self._root = folder if root is None else root
        if not self._has(".zgroup"):
            raise InputError(f"{folder} is not a Zarr group of format 2.")

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the group."""
        return self._metadata(".zattrs") if self._has(".zattrs") else {}

    def keys(self) -> list[str]:
        """Names of the arrays and groups in it."""
        return [one.name for one in list_folder(self._folder) if one.name in self]

    def __contains__(self, place: str) -> bool:
        return self._has(f"{place}/.zarray") or self._has(f"{place}/.zgroup")

    def __getitem__(self, place: str) -> Any:
        folder = self._folder / place
        if not self._has(f"{place}/.zarray"):
            return ZarrGroup(folder, self._root)
        settings = self._metadata(f"{place}/.zarray")
        if settings["dtype"] == OBJECTS:
            return TextArray(folder, settings)
        return open_array(folder, within=self._root, zarr_format=2)

    def _has(self, place: str) -> bool:
        file = self._folder / place
        refuse_links(file, self._root)
        return file.is_file()

    def _metadata(self, place: str) -> dict[str, Any]:
        file = self._folder / place
        refuse_links(file, self._root)
        return check_metadata(file, file.read_bytes())


class TextArray:
    """An array of text with one dimension, decoded chunk by chunk.

    Its settings are those that `repshape.io.zarr_rules` has checked.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self._folder = folder
        self._compressor = settings["compressor"]
        self.shape = tuple(settings["shape"])
        self._chunks = settings["chunks"]

    def __getitem__(self, part: slice) -> npt.NDArray[Any]:
        if len(self.shape) != 1:
            raise InputError(f"{self._folder} is not a column of numbers or text.")
        start, stop, _ = part.indices(self.shape[0])
        (size,) = self._chunks
        found = [np.empty(0, dtype=object)]
        for k in range(start // size, -(-stop // size)):
            first = k * size
            found.append(self._chunk(k, size)[max(start - first, 0) : stop - first])
        return np.concatenate(found)

    def _chunk(self, k: int, size: int) -> npt.NDArray[Any]:
        file = self._folder / str(k)
        refuse_links(file, self._folder)
        if not file.is_file():
            raise InputError(f"{file} is missing.")
        content = file.read_bytes()
        if self._compressor is not None:
            import numcodecs

            # The settings of a compressor are not needed to decompress.
            content = bytes(numcodecs.get_codec({"id": self._compressor["id"]}).decode(content))
        texts = decode_texts(content)
        if texts is None or len(texts) != size:
            raise InputError(f"{file} must hold {size} texts.")
        chunk = np.empty(size, dtype=object)
        chunk[:] = texts
        return chunk


def decode_texts(content: bytes) -> list[str] | None:
    r"""Return texts in the form "vlen-utf8", or None if they are not in that form.

    Their number comes first; before each text comes its length in bytes.

    >>> decode_texts(b"\2\0\0\0" b"\1\0\0\0a" b"\2\0\0\0\xc3\xa9")
    ['a', 'é']
    """
    texts = []
    place = COUNT_BYTES
    while place < len(content):
        start = place + COUNT_BYTES
        place = start + int.from_bytes(content[place:start], "little")
        if place > len(content):
            return None
        try:
            texts.append(content[start:place].decode())
        except UnicodeDecodeError:
            return None
    return texts if int.from_bytes(content[:COUNT_BYTES], "little") == len(texts) else None
