"""Arrays in MATLAB files, of version 7.3 (HDF5) and older."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from repshape.errors import InputError, MissingDependencyError
from repshape.io.paths import open_file

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
USER_BLOCK = 512  # bytes of MATLAB's own header, before HDF5 begins


def read_mat(file: Path, inside: str) -> dict[str, Any]:
    """Return the variables of a file, or one of them, or the fields of a struct, by name.

    Arrays have the shape that MATLAB shows. A cell array becomes a list, and text a string.
    """
    with open_file(file) as handle:
        start = handle.read(USER_BLOCK + len(HDF5_SIGNATURE))
    newer = HDF5_SIGNATURE in (start[: len(HDF5_SIGNATURE)], start[USER_BLOCK:])
    try:
        variables = _read_newer(file) if newer else _read_older(file)
    except (InputError, MissingDependencyError):
        raise
    except Exception:  # whatever a damaged file makes its reader raise
        raise InputError(f"{file} cannot be read as a MATLAB file: it is damaged.") from None
    if not inside:
        return {name: _tidy(name, value) for name, value in variables.items()}
    if inside not in variables:
        raise InputError(f"{file} has no variable {inside!r}.")
    found = variables[inside]
    if isinstance(found, dict):
        return {name: _tidy(name, value) for name, value in found.items()}
    return {"": found}


def _tidy(name: str, value: Any) -> Any:
    """Return a variable as `repshape.io.importing` expects it, for what MATLAB cannot express.

    Every array of MATLAB has at least two dimensions, numbers are doubles, and dimensions of
    length 1 at the end are dropped.
    """
    if name == "n_trials" and isinstance(value, np.ndarray):
        flat = value.ravel()
        whole = flat.dtype.kind == "f" and bool((flat == np.round(flat)).all())
        return flat.astype(np.int64) if whole else flat
    if name == "factors" and isinstance(value, np.ndarray) and value.ndim == 2:
        return value[:, :, None]
    return value


def _read_older(file: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    loaded = loadmat(str(file))
    return {
        name: _plain(value, file, name)
        for name, value in loaded.items()
        if not (name.startswith("__") and name.endswith("__"))
    }


def _plain(value: Any, file: Path, name: str) -> Any:
    array = np.asarray(value)
    if array.dtype.names is not None:
        if array.size != 1 or "MatlabOpaque" in type(value).__name__:
            raise _unsupported(file, name)
        return {key: _plain(array.flat[0][key], file, name) for key in array.dtype.names}
    if array.dtype.kind == "O":  # a cell array, column by column as in MATLAB
        return [_plain(one, file, name) for one in array.ravel(order="F")]
    if array.dtype.kind in "US":
        return str(array.flat[0]) if array.size == 1 else [str(one).rstrip() for one in array.flat]
    if hasattr(value, "toarray"):
        return value.toarray()
    return array


def _read_newer(file: Path) -> dict[str, Any]:
    try:
        import h5py
    except ImportError:
        raise MissingDependencyError(
            "MATLAB files of version 7.3 need h5py: pip install 'repshape[hdf5]'."
        ) from None
    with h5py.File(file, "r") as opened:

        def read(node: Any, name: str) -> Any:
            if isinstance(node, h5py.Group):
                return {key: read(one, key) for key, one in node.items()}
            return _plain_dataset(node, file, name, lambda reference: read(opened[reference], name))

        return {name: read(one, name) for name, one in opened.items() if not name.startswith("#")}


def _plain_dataset(node: Any, file: Path, name: str, follow: Callable[[Any], Any]) -> Any:
    """Return a dataset; HDF5 stores arrays of MATLAB with their dimensions reversed."""
    kind = node.attrs.get("MATLAB_class", b"")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if node.attrs.get("MATLAB_empty"):
        return np.zeros(tuple(int(size) for size in node[...]))
    array = np.asarray(node[...]).T
    if kind == "char":
        rows = ["".join(chr(code) for code in row).rstrip() for row in np.atleast_2d(array)]
        return rows[0] if len(rows) == 1 else rows
    if kind == "cell":
        return [follow(one) for one in array.ravel(order="F")]
    if array.dtype.kind not in "fiub":
        raise _unsupported(file, name)
    return array


def _unsupported(file: Path, name: str) -> InputError:
    return InputError(
        f"{file} holds {name!r} as an object of MATLAB that only MATLAB can read. Save numbers, "
        "and text as cellstr(...)."
    )
