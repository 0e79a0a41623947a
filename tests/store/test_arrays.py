"""Arrays of a store: each chunk is complete and sealed, or absent."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from repshape.errors import StorageError
from repshape.io.zarr import DurableStore
from repshape.store.arrays import SealedArray, array_form, seal_of

FORM = array_form((5, 3), (2, 3))


@pytest.fixture
def array(tmp_path: Path) -> SealedArray:
    made = SealedArray(tmp_path / "a", FORM, "row", tmp_path)
    made.describe()
    return made


def block(place: int, value: float, store: str = "id") -> Any:
    """Return a chunk whose last column is its seal."""
    rows = np.full((2 if place < 2 else 1, 3), value)
    rows[:, -1] = seal_of(store, place)
    return rows


def read(array: SealedArray, place: int, store: str = "id") -> Any:
    return array.read((place, 0), lambda one: bool((one[:, -1] == seal_of(store, place)).all()))


def test_chunks_are_written_and_read_also_at_the_edge(array: SealedArray) -> None:
    for place in (0, 2):
        array.write((place, 0), block(place, float(place)))
    assert [array.has((place, 0)) for place in range(3)] == [True, False, True]
    np.testing.assert_array_equal(read(array, 2), block(2, 2.0))
    assert read(array, 2).shape == (1, 3)


def test_a_moved_chunk_and_one_of_another_store_are_refused(array: SealedArray) -> None:
    array.write((0, 0), block(0, 1.0))
    array.write((1, 0), block(1, 1.0))
    shutil.copy(array.file((0, 0)), array.file((1, 0)))
    with pytest.raises(StorageError, match=r"c/1/0 is damaged \(it belongs to another row or anot"):
        read(array, 1)
    with pytest.raises(StorageError, match="Delete that file and run the same command again"):
        read(array, 0, store="other")


def test_a_lost_description_is_written_again_and_another_one_refused(array: SealedArray) -> None:
    array.write((0, 0), block(0, 1.0))
    (array.folder / "zarr.json").unlink()
    again = SealedArray(array.folder, FORM, "row", array.folder.parent)
    again.describe()
    np.testing.assert_array_equal(read(again, 0), block(0, 1.0))
    shutil.rmtree(array.folder)
    zarr.create_array(DurableStore(array.folder), **array_form((5, 3), (1, 3)))
    with pytest.raises(StorageError, match="it describes another array"):
        read(SealedArray(array.folder, FORM, "row", array.folder.parent), 0)
