"""NWB files in Zarr, as hdmf-zarr writes them: folders in format 2.

Numbers are read by Zarr. Text is not: hdmf-zarr gives it a fill value that Zarr 3 refuses, and
older versions pickled it. Only what is asked for is opened, so other objects do no harm.
"""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr
from zarr.storage import LocalStore

from repshape.errors import InputError

# A pickle can run any code, so only what an array of text consists of is allowed.
_RECONSTRUCT = np.empty(0, dtype=object).__reduce__()[0]
ALLOWED = {
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}
TEXT_CODECS = ("vlen-utf8", "pickle")


class ZarrGroup:
    """A folder of arrays and other groups, with as much of h5py's interface as we need."""

    def __init__(self, folder: Path) -> None:
        if not (folder / ".zgroup").is_file():
            raise InputError(f"{folder} is not a Zarr group of format 2.")
        self._folder = folder

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the group."""
        file = self._folder / ".zattrs"
        return dict(json.loads(file.read_bytes())) if file.is_file() else {}

    def keys(self) -> list[str]:
        """Names of the arrays and groups in it."""
        return [one.name for one in self._folder.iterdir() if one.name in self]

    def __contains__(self, place: str) -> bool:
        folder = self._folder / place
        return (folder / ".zarray").is_file() or (folder / ".zgroup").is_file()

    def __getitem__(self, place: str) -> Any:
        folder = self._folder / place
        if not (folder / ".zarray").is_file():
            return ZarrGroup(folder)
        settings = json.loads((folder / ".zarray").read_bytes())
        if settings["dtype"] == "|O":
            return TextArray(folder, settings)
        return zarr.open_array(LocalStore(folder, read_only=True), mode="r", zarr_format=2)


class TextArray:
    """An array of text with one dimension, decoded chunk by chunk."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self._folder = folder
        self._settings = settings
        self.shape = tuple(settings["shape"])

    def __getitem__(self, part: slice) -> npt.NDArray[Any]:
        codecs = [one["id"] for one in self._settings["filters"] or ()]
        if len(self.shape) != 1 or len(codecs) != 1 or codecs[0] not in TEXT_CODECS:
            raise InputError(f"{self._folder} is not a column of numbers or text.")
        start, stop, _ = part.indices(self.shape[0])
        (size,) = self._settings["chunks"]
        found = [np.empty(0, dtype=object)]
        for k in range(start // size, -(-stop // size)):
            first = k * size
            found.append(self._chunk(k, codecs[0])[max(start - first, 0) : stop - first])
        return np.concatenate(found)

    def _chunk(self, k: int, codec: str) -> npt.NDArray[Any]:
        import numcodecs

        file = self._folder / str(k)
        if not file.is_file():
            raise InputError(f"{file} is missing.")
        content = file.read_bytes()
        if self._settings["compressor"] is not None:
            content = bytes(numcodecs.get_codec(self._settings["compressor"]).decode(content))
        if codec == "pickle":
            chunk = _TextUnpickler(io.BytesIO(content)).load()
        else:
            chunk = numcodecs.get_codec({"id": codec}).decode(content)
        if not (isinstance(chunk, np.ndarray) and all(_is_text(one) for one in chunk.flat)):
            raise InputError(f"{file} must hold text.")
        return chunk.reshape(-1)


def _is_text(value: Any) -> bool:
    # The last chunk is filled up with the fill value, 0.
    return isinstance(value, str) or (isinstance(value, int) and value == 0)


class _TextUnpickler(pickle.Unpickler):
    """Loads arrays of text, and refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise InputError(f"A column of text must not contain {module}.{name}.")
        return ALLOWED[module, name]
