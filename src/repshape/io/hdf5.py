"""HDF5 files that are read without opening any other file.

A link, a virtual dataset or a dataset with external storage can name any file of the machine. They
are refused where they lie on a path that is read; what is not read does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError, MissingDependencyError
from repshape.io.expansion import Expansion

# Soft links that lead to one another; a file can hold a circle of them.
MOST_SOFT_LINKS = 16


def open_hdf5(file: Path, needs: str, **options: Any) -> Any:
    """Return an open h5py.File; ``needs`` says what to install."""
    try:
        import h5py
    except ImportError:
        raise MissingDependencyError(needs) from None
    return h5py.File(file, "r", **options)


class Hdf5Group:
    """A group whose members are found without leaving the file.

    Parameters
    ----------
    group : h5py.Group
    file : pathlib.Path
        For messages.
    """

    def __init__(self, group: Any, file: Path) -> None:
        self._group = group
        self._file = file

    @property
    def attrs(self) -> Any:
        """Attributes of the group."""
        return self._group.attrs

    def keys(self) -> list[str]:
        """Names of the members."""
        return list(self._group.keys())

    def __contains__(self, place: str) -> bool:
        return self._find(place) is not None

    def __getitem__(self, place: str) -> Any:
        found = self._find(place)
        if found is None:
            raise KeyError(place)
        return self._wrap(found)

    def members(self) -> Iterator[tuple[str, Any]]:
        """Yield the names of groups and datasets, and these."""
        import h5py

        for name in self.keys():
            node = self._find(name)
            if isinstance(node, h5py.Group | h5py.Dataset):
                yield name, self._wrap(node)

    def follow(self, reference: Any) -> Any:
        """Return the group or dataset of the same file that a reference points to."""
        return self._wrap(self._group[reference])

    def _wrap(self, node: Any) -> Any:
        """Return a group as an `Hdf5Group`, or a dataset after a look at where its values are."""
        import h5py

        if isinstance(node, h5py.Group):
            return Hdf5Group(node, self._file)
        if not isinstance(node, h5py.Dataset):
            raise InputError(f"{self._file} holds {node.name!r}, neither an array nor a group.")
        if node.is_virtual or node.id.get_create_plist().get_external_count():
            raise self._outside(str(node.name))
        return node

    def _find(self, place: str, n_links: int = 0) -> Any:
        """Return what is at a path, or None; every step is looked at before it is taken."""
        import h5py

        node = self._group.file if place.startswith("/") else self._group
        parts = [part for part in place.split("/") if part not in ("", ".")]
        for k, part in enumerate(parts):
            name = part.encode("utf-8", "surrogateescape")
            if not isinstance(node, h5py.Group) or not node.id.links.exists(name):
                return None
            kind = node.id.links.get_info(name).type
            if kind == h5py.h5l.TYPE_SOFT:
                if n_links >= MOST_SOFT_LINKS:
                    raise InputError(f"{self._file} has circular links at {place!r}.")
                target = node.id.links.get_val(name).decode("utf-8", "surrogateescape")
                rest = "/".join([target, *parts[k + 1 :]])
                return Hdf5Group(node, self._file)._find(rest, n_links + 1)
            if kind != h5py.h5l.TYPE_HARD:
                raise self._outside(f"{node.name.rstrip('/')}/{part}")
            node = node[part]
        return node

    def _outside(self, name: str) -> InputError:
        return InputError(
            f"{self._file} is not read: {name!r} is stored in another file. Copy its values into "
            "this file."
        )


def read_dataset(node: Any, limit: Expansion) -> npt.NDArray[Any]:
    """Return the values of a dataset, whose size is counted before they are read."""
    limit.take_object()
    if node.shape is None:  # "empty", without a shape
        return np.zeros(0)
    count = prod(node.shape)
    limit.take(max(count * node.dtype.itemsize, count))
    return np.asarray(node[...])
