"""Arrays in MATLAB files, of version 7.3 (HDF5) and older."""

from __future__ import annotations

import warnings
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from repshape.errors import InputError, RepshapeError
from repshape.io.expansion import Expansion, MaxBytes
from repshape.io.hdf5 import Hdf5Group, open_hdf5, read_dataset
from repshape.io.mat_sizes import check_sizes
from repshape.io.paths import open_file

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
USER_BLOCK = 512  # bytes of MATLAB's own header, before HDF5 begins
NEEDS = "MATLAB files of version 7.3 need h5py: pip install 'repshape[hdf5]'."
DEEPEST = 16  # groups and cells inside one another


def read_mat(file: Path, inside: str, max_bytes: MaxBytes = None) -> dict[str, Any]:
    """Return the variables of a file, or one of them, or the fields of a struct, by name.

    Arrays have the shape that MATLAB shows. A cell array becomes a list, and text a string. The
    file may expand to ``max_bytes``; see `repshape.io.expansion.Expansion`.
    """
    with open_file(file) as handle:
        start = handle.read(USER_BLOCK + len(HDF5_SIGNATURE))
    newer = HDF5_SIGNATURE in (start[: len(HDF5_SIGNATURE)], start[USER_BLOCK:])
    limit = Expansion(file, max_bytes)
    try:
        variables = _read_newer(file, limit) if newer else _read_older(file, limit)
    except RepshapeError:
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


def _read_older(file: Path, limit: Expansion) -> dict[str, Any]:
    from scipy.io import loadmat

    with open_file(file) as handle:
        check_sizes(handle, limit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # they tell of numbers that were not read as written
        warnings.simplefilter("ignore", DeprecationWarning)  # of SciPy's own defaults
        loaded = loadmat(str(file))
    return {
        name: _plain(value, file, name, limit)
        for name, value in loaded.items()
        if not (name.startswith("__") and name.endswith("__"))
    }


def _plain(value: Any, file: Path, name: str, limit: Expansion) -> Any:
    if hasattr(value, "toarray"):
        limit.take(prod(value.shape) * value.dtype.itemsize)
        compressed = value.tocsc()
        compressed.check_format(full_check=True)  # else indices may lie outside the array
        return compressed.toarray()
    array = np.asarray(value)
    if array.dtype.names is not None:
        if array.size != 1 or "MatlabOpaque" in type(value).__name__:
            raise _unsupported(file, name)
        return {key: _plain(array.flat[0][key], file, name, limit) for key in array.dtype.names}
    if array.dtype.kind == "O":  # a cell array, column by column as in MATLAB
        return [_plain(one, file, name, limit) for one in array.ravel(order="F")]
    if array.dtype.kind in "US":
        return str(array.flat[0]) if array.size == 1 else [str(one).rstrip() for one in array.flat]
    return array


def _read_newer(file: Path, limit: Expansion) -> dict[str, Any]:
    with open_hdf5(file, NEEDS) as opened:
        root = Hdf5Group(opened, file)

        def read(node: Any, name: str, depth: int = 0) -> Any:
            if depth > DEEPEST:
                raise InputError(f"{file} holds more than {DEEPEST} levels in {name!r}.")
            if isinstance(node, Hdf5Group):
                limit.take_object()
                return {key: read(one, key, depth + 1) for key, one in node.members()}
            found = _plain_dataset(node, file, name, limit)
            if isinstance(found, list) and _class(node) == "cell":
                return [read(root.follow(one), name, depth + 1) for one in found]
            return found

        return {name: read(one, name) for name, one in root.members() if not name.startswith("#")}


def _class(node: Any) -> str:
    kind = node.attrs.get("MATLAB_class", b"")
    return kind.decode() if isinstance(kind, bytes) else str(kind)


def _plain_dataset(node: Any, file: Path, name: str, limit: Expansion) -> Any:
    """Return a dataset; HDF5 stores arrays of MATLAB with their dimensions reversed.

    Of a cell array, these are references to the cells.
    """
    array = read_dataset(node, limit)
    if node.attrs.get("MATLAB_empty"):
        shape = tuple(int(size) for size in array)
        limit.take(8 * abs(prod(shape)))
        return np.zeros(shape)
    array, kind = array.T, _class(node)
    if kind == "char":
        rows = ["".join(chr(code) for code in row).rstrip() for row in np.atleast_2d(array)]
        return rows[0] if len(rows) == 1 else rows
    if kind == "cell":
        return list(array.ravel(order="F"))
    if array.dtype.names == ("real", "imag"):
        raise InputError(f"The numbers of {name!r} in {file} are complex; responses must be real.")
    if array.dtype.kind not in "fiub":
        raise _unsupported(file, name)
    return array


def _unsupported(file: Path, name: str) -> InputError:
    return InputError(
        f"{file} holds {name!r} as an object of MATLAB that only MATLAB can read. Save numbers, "
        "and text as cellstr(...)."
    )
