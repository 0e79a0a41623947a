"""Tables of NWB files, in HDF5 and in Zarr, read column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._arrays import IntArray
from repshape._labels import list_values
from repshape.errors import InputError, RepshapeError, StorageError
from repshape.io.expansion import check_fits
from repshape.io.hdf5 import Hdf5Group, open_hdf5
from repshape.io.nwb_zarr import ZarrGroup
from repshape.io.paths import one_line

Column = npt.NDArray[Any]

# Neighbouring units share chunks of the spike times. With room for one large chunk, HDF5 does not
# decompress it again for each unit.
CHUNK_CACHE_BYTES = 2**26


def open_nwb_file(path: Path) -> tuple[Any, Callable[[], None]]:
    """Return the root group of a file or folder, and the function that closes it."""
    if not path.exists():
        raise StorageError(f"There is no file {path}.")
    with damaged(path):
        root, close = (ZarrGroup(path), _nothing) if path.is_dir() else _open_hdf5(path)
        version = root.attrs.get("nwb_version")
    if version is None:
        close()
        raise InputError(f"{path} is not an NWB file: it has no 'nwb_version'.")
    return root, close


def _open_hdf5(path: Path) -> tuple[Any, Callable[[], None]]:
    needs = "NWB files need h5py and pynwb: pip install 'repshape[nwb]'."
    file = open_hdf5(path, needs, rdcc_nbytes=CHUNK_CACHE_BYTES)
    return Hdf5Group(file, path), file.close


def _nothing() -> None:
    """Zarr keeps no file open."""


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turn whatever a file that cannot be read makes h5py or Zarr raise into one sentence."""
    try:
        yield
    except (RepshapeError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{path} cannot be read as an NWB file: {one_line(error)}.") from None


class Table:
    """A dynamic table, of which a column is read when it is first used, and then kept.

    Columns with several values per row are read row by row, and not kept: `cells`.
    """

    def __init__(self, group: Any, name: str, path: Path) -> None:
        self.name = name
        self._group = group
        self._path = path
        self._kept: dict[str, Column] = {}
        self._ragged: dict[str, Any] = {}  # datasets, opened once
        with damaged(path):
            self._members = set(map(str, group.keys()))  # damaged names are bytes

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns with one value per row, in alphabetical order."""
        ragged = {name for name in self._members if f"{name}_index" in self._members}
        return tuple(sorted(self._members - ragged - {f"{name}_index" for name in ragged}))

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def __len__(self) -> int:
        return len(self["id"])

    def __getitem__(self, name: str) -> Column:
        """Return a column with one value per row; text is decoded."""
        if name not in self._kept:
            self.require(name)
            if f"{name}_index" in self._members:
                raise InputError(
                    f"The column {name!r} of {self.name!r} in {self._path} has several values per "
                    "row, and cannot be used here."
                )
            self._kept[name] = self._read_column(name)
        return self._kept[name]

    def _read_column(self, name: str) -> Column:
        """Return a column that has as many rows as the table."""
        with damaged(self._path):
            values = _read(self._group[name])
        rows = len(self) if name != "id" and "id" in self._members else None
        listed = values.ndim == 1 if name == "id" else values.ndim > 0
        if not listed or rows not in (None, len(values)):
            raise InputError(
                f"{self._path} is damaged: the column {name!r} of {self.name!r} does not have "
                "a value for each row."
            )
        return values

    def require(self, *names: str) -> None:
        """Raise one sentence that lists the columns, unless all of these are among them."""
        for name in names:
            if name not in self._members:
                raise InputError(
                    f"{self._path} has no column {name!r} in {self.name!r}. The columns are "
                    f"{', '.join(map(repr, self.columns))}."
                )

    def ends(self, name: str) -> IntArray:
        """Return where the values of each row end in a column with several values per row."""
        self.require(name, f"{name}_index")
        key = f"{name}_index"
        if key not in self._kept:
            ends = self._read_column(key)
            with damaged(self._path):
                ends = ends.astype(np.intp)
                total = self._group[name].shape[0]
            rising = ends.ndim == 1 and (np.diff(ends, prepend=0) >= 0).all()
            if not rising or (len(ends) and ends[-1] > total):
                raise InputError(
                    f"{self._path} is damaged: {key!r} of {self.name!r} must increase up to the "
                    f"{total} values of {name!r}."
                )
            self._kept[key] = ends
        return self._kept[key]

    def cells(self, name: str, row: int) -> Column:
        """Return the values of one row, in a column with several values per row."""
        ends = self.ends(name)
        start = int(ends[row - 1]) if row else 0
        with damaged(self._path):
            if name not in self._ragged:
                self._ragged[name] = self._group[name]
            return _read(self._ragged[name], slice(start, int(ends[row])))


def read_scalar(array: Any) -> Any:
    """Return the only value of a dataset: HDF5 has scalars, Zarr arrays of length 1."""
    value = np.ravel(_read(array))[0]
    return value.item() if isinstance(value, np.generic) else value


def is_plain(column: Column) -> bool:
    """Whether a column has a number or a text in each row, and not a reference or an array."""
    return column.ndim == 1 and column.dtype.kind in "fiubO"


def _read(array: Any, part: slice = slice(None)) -> Column:
    if array.shape:
        rows = len(range(*part.indices(array.shape[0])))
        item_bytes = getattr(array, "dtype", np.dtype(object)).itemsize  # text has none in Zarr
        check_fits(rows * prod(array.shape[1:]) * item_bytes, "A column")
    values = np.asarray(array[part] if array.shape else array[()])
    if values.dtype.kind == "c":
        raise ValueError("a column holds complex numbers")
    if values.dtype.kind not in "OSUT":
        return values
    flat = values.astype(object).ravel()
    return by_distinct(flat, _text, object).reshape(values.shape)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def by_distinct(values: Column, function: Callable[[Any], Any], dtype: Any) -> Column:
    """Return a function of every value, which is called once for each distinct one.

    Columns have thousands of rows and a few distinct values.
    """
    if values.ndim != 1:
        raise InputError("A column that is used here must have one value per row.")
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    found = np.empty(len(distinct), dtype=dtype)
    found[:] = [function(value) for value in list_values(np.asarray(distinct))]
    return found[codes]
