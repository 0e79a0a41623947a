"""Estimates of a cohort on disk: what is computed from one part of the trials is one row."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.inference.dask_rows import rows_on_dask
from repshape.io.links import refuse_links
from repshape.io.writing import writable
from repshape.io.zarr import readable
from repshape.store.arrays import SealedArray, array_form, seal_of
from repshape.store.header import (
    ADVICE,
    check_store_path,
    identity_in,
    new_header,
    open_header,
    refusal,
)
from repshape.store.identity import Identity

FloatArray = npt.NDArray[np.float64]
Item = TypeVar("Item")
RESUME = "Finished parts are safe: run the same command again to continue."


class PartStore:
    """Rows of numbers on disk: one chunk each, with its seal as the last number.

    It is continued only with the same metric, networks and settings. Several processes may add rows
    at the same time.

    Parameters
    ----------
    path : pathlib.Path
    identity : Identity
    settings : dict
        Whatever else the numbers depend on.
    shapes : dict of name to (int, int)
        Number of rows of each array, and of numbers in a row.
    """

    def __init__(
        self,
        path: Path,
        identity: Identity,
        settings: dict[str, Any],
        shapes: dict[str, tuple[int, int]],
    ) -> None:
        forms = {
            name: array_form((count, width + 1), (1, width + 1))
            for name, (count, width) in shapes.items()
        }
        header = open_header(path, new_header("parts", identity, settings=settings), forms)
        with readable(path / "zarr.json"):
            self.path, self._id = path, str(header["id"])
            difference = identity_in(header).difference(identity)
            for name, old in header["settings"].items():
                if difference is None and old != settings.get(name):
                    difference = f"{name!r} was {old!r} and is {settings.get(name)!r}"
        if difference is not None:
            raise refusal(path, f"{difference}. {ADVICE}")
        self._arrays = {
            name: SealedArray(path / name, form, "part", path) for name, form in forms.items()
        }
        with writable(path, RESUME):
            for array in self._arrays.values():
                array.describe()

    def rows(self, name: str) -> dict[int, FloatArray]:
        """Return the finished rows of an array, by number."""
        array = self._arrays[name]
        there = [k for k in range(array.form["shape"][0]) if array.has((k, 0))]
        return {k: array.read((k, 0), self._seals(name, k))[0, :-1] for k in there}

    def write(self, name: str, k: int, row: FloatArray) -> None:
        """Keep a finished row durably."""
        with writable(self.path, RESUME):
            self._arrays[name].write((k, 0), np.append(row, self._seal(name, k))[None])

    def _seal(self, name: str, k: int) -> int:
        return seal_of(self._id, name, k)

    def _seals(self, name: str, k: int) -> Callable[[FloatArray], bool]:
        return lambda block: bool(block[0, -1] == self._seal(name, k))


def run_rows(
    function: Callable[[Item], FloatArray],
    items: Sequence[Item],
    *,
    store: PartStore | None,
    name: str,
    workers: int | None,
    progress: bool | None,
    scheduler: Any = None,
) -> FloatArray:
    """Return a row for each item, computing only those that the store does not have.

    With a ``scheduler``, they are computed by the workers of a Dask cluster.
    """
    found: dict[int, FloatArray] = {}
    missing = list(range(len(items)))
    if store is not None:
        found = store.rows(name)
        missing = [k for k in missing if k not in found]

    def finish(k: int, row: FloatArray) -> None:
        if store is not None:
            store.write(name, k, row)
        found[k] = row

    if scheduler is None:
        run_all(
            lambda k: finish(k, function(items[k])),
            missing,
            what=name,
            workers=workers,
            progress=progress,
        )
    elif missing:
        rows_on_dask(
            function,
            [items[k] for k in missing],
            lambda place, row: finish(missing[place], row),
            scheduler=scheduler,
            what=name,
            progress=progress,
        )
    return np.array([found[k] for k in range(len(items))])


def store_folder(store: str | os.PathLike[str] | None, name: str) -> Path | None:
    """Return the folder of some results inside the user's store, which is made; None without."""
    if store is None:
        return None
    check_store_path(Path(store))
    with writable(Path(store)):
        Path(store).mkdir(exist_ok=True)
    refuse_links(Path(store, name), Path(store))
    return Path(store, name)
