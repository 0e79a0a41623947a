"""Estimates of a cohort on disk: what is computed from one part of the trials is one row."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from zarr.codecs import Crc32cCodec

from repshape._parallel import run_all
from repshape.engine.store import check_store_path
from repshape.errors import StorageError
from repshape.inference.dask_rows import rows_on_dask
from repshape.io.links import refuse_links
from repshape.io.writing import writable
from repshape.io.zarr import new_group, open_array, read_attributes, readable

FloatArray = npt.NDArray[np.float64]
Item = TypeVar("Item")
FORMAT = "repshape-estimates"
FORMAT_VERSION = 1
RESUME = "Finished parts are safe: run the same command again to continue."
RECOMPUTE = "Delete that folder and run the same command again."


class PartStore:
    """Rows of numbers that are written one by one and survive interruptions.

    A row is one chunk, which is one file; it gets its name only when it is complete and on the
    disk. NaN means "not computed yet". The store keeps an identity, and is continued only if the
    same one is given again.
    """

    def __init__(
        self, path: Path, identity: dict[str, Any], shapes: dict[str, tuple[int, int]]
    ) -> None:
        check_store_path(path)
        if not path.exists():
            header = {"format": FORMAT, "version": FORMAT_VERSION, "identity": identity}
            with new_group(path, header) as group:
                for name, shape in shapes.items():
                    group.create_array(
                        name,
                        shape=shape,
                        chunks=(1, max(shape[1], 1)),
                        dtype="float64",
                        fill_value=np.nan,
                        compressors=[Crc32cCodec()],
                    )
        self.path = path
        self._check(identity)
        with readable(path, RECOMPUTE):
            self._arrays = {
                name: open_array(path / name, within=path, writing=True) for name in shapes
            }

    def _check(self, identity: dict[str, Any]) -> None:
        header = read_attributes(self.path) or {}
        if header.get("format") != FORMAT or header.get("version") != FORMAT_VERSION:
            raise StorageError(
                f"{self.path} does not hold estimates of this version of repshape; it is left as "
                "it is."
            )
        mine = header["identity"]
        for name, value in identity.items():
            if mine.get(name) != value:
                raise StorageError(
                    f"{self.path} cannot be continued: its {name} differ. Choose another name for "
                    "the store, or delete it."
                )

    def rows(self, name: str) -> FloatArray:
        """Return all rows of an array, NaN where they are not computed yet."""
        with readable(self.path / name, RECOMPUTE):
            return np.asarray(self._arrays[name][...])

    def write(self, name: str, k: int, row: FloatArray) -> None:
        """Keep a finished row durably."""
        with writable(self.path, RESUME):
            self._arrays[name][k] = row


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
        rows = store.rows(name)
        missing = np.flatnonzero(np.isnan(rows).any(axis=1)).tolist()
        found = {k: row for k, row in enumerate(rows) if k not in set(missing)}

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
