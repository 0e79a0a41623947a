"""Parts of an inference on disk: continued with the same identity, refused otherwise."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from repshape.errors import StorageError
from repshape.inference.part_store import PartStore
from repshape.io.zarr import write_attributes
from repshape.store.identity import Identity

METRIC = {"metric": "M", "parameters": {"alpha": 1.0}, "repshape": "0"}
IDENTITY = Identity(METRIC, ("a", "b"), ("1", "2"))


def opened(path: Path, identity: Identity = IDENTITY, **settings: int) -> PartStore:
    return PartStore(path, identity, {"n_splits": 2} | settings, {"splits": (3, 4)})


def test_finished_rows_are_kept_also_those_that_hold_nan(tmp_path: Path) -> None:
    store, row = opened(tmp_path / "s"), np.array([1.0, np.nan, 3.0, np.pi])
    store.write("splits", 1, row)
    (found,) = opened(tmp_path / "s").rows("splits").items()
    assert found[0] == 1
    np.testing.assert_array_equal(found[1], row)


def test_others_are_refused_and_told_what_differs(tmp_path: Path) -> None:
    opened(tmp_path / "s")
    other = METRIC | {"parameters": {"alpha": 0.5}}
    for identity, settings, words in [
        (IDENTITY, {"n_splits": 3}, "'n_splits' was 2 and is 3"),
        (Identity(other, *list(vars(IDENTITY).values())[1:]), {}, "'alpha' was 1.0 and is 0.5"),
        (Identity(METRIC, ("a", "b"), ("1", "3")), {}, "responses of network 'b' have changed"),
        (Identity(METRIC, ("a", "c"), ("1", "2")), {}, "network 1 was 'b' and is 'c'"),
    ]:
        with pytest.raises(StorageError, match=rf"s cannot be continued: .*{words}"):
            opened(tmp_path / "s", identity, **settings)


def test_moved_and_damaged_rows_are_refused(tmp_path: Path) -> None:
    store = opened(tmp_path / "s")
    store.write("splits", 0, np.zeros(4))
    chunks = tmp_path / "s" / "splits" / "c"
    shutil.copytree(chunks / "0", chunks / "1")
    with pytest.raises(StorageError, match="belongs to another part or another store"):
        opened(tmp_path / "s").rows("splits")
    (chunks / "1" / "0").write_bytes(b"")
    with pytest.raises(StorageError, match=r"c/1/0 is damaged .* Delete that file and run the sa"):
        opened(tmp_path / "s").rows("splits")


def test_a_store_of_an_earlier_release_names_the_command_that_computes_it_again(
    tmp_path: Path,
) -> None:
    write_attributes(tmp_path / "s", {"format": "repshape-estimates", "version": 1})
    words = r"format of repshape 0\.2.* Delete that folder and compute them again: rs.inference.ma"
    with pytest.raises(StorageError, match=words):
        opened(tmp_path / "s")
