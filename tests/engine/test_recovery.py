"""Chunks that are damaged, lost or exchanged: noticed, and recomputed to the same bits."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort, DistanceMatrix, GaussianShapeMetric, pairwise
from repshape.engine.store import Store
from repshape.errors import StorageError
from scale_support import contents

# One start ends in poor optima, which the polish improves: its layers have alignments.
METRIC = GaussianShapeMetric(alpha=0.0, n_starts=1)
EDGE = 3


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    """Networks that share their covariances up to noise and rotation."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(5, 4, 8))
    cohort = Cohort()
    for k in range(9):
        factors = base + 0.2 * rng.normal(size=base.shape)
        factors = np.linalg.qr(rng.normal(size=(4, 4)))[0] @ factors
        S = factors @ factors.transpose(0, 2, 1)
        cohort.add(str(k), (rng.normal(size=(5, 4)), (S + S.transpose(0, 2, 1)) / 2))
    return cohort


def run(cohort: Cohort, store: Path, **options: Any) -> DistanceMatrix:
    return pairwise(cohort, METRIC, store=store, tile=EDGE, workers=1, **options)


@pytest.fixture(scope="module")
def finished(cohort: Cohort, tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("recovery") / "store"
    assert run(cohort, store).description["polish"]["pairs_improved"] > 0
    return store


@pytest.fixture
def store(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "store"))


def chunks(store: Path, folder: str) -> list[Path]:
    """Return the files of the chunks in a folder of a store."""
    return [path for path in sorted((store / folder / "c").rglob("*")) if path.is_file()]


def test_any_lost_chunk_comes_back_with_the_same_bits(cohort: Cohort, store: Path) -> None:
    undisturbed = contents(store)
    folders = ["tiles", "alignments", "polish/1/tiles", "polish/1/alignments"]
    lost = [chunk for folder in folders for chunk in chunks(store, folder)[:2]]
    assert len(lost) == 8
    for chunk in lost:
        chunk.unlink()
        D = run(cohort, store)
        assert D.complete
        assert contents(store) == undisturbed


def test_a_damaged_chunk_of_a_polished_layer(cohort: Cohort, store: Path, finished: Path) -> None:
    layers = (Store(store).polished() or (0, {}))[0]
    chunk = chunks(store, f"polish/{layers}/tiles")[1]
    chunk.write_bytes(chunk.read_bytes()[:-100])
    with pytest.raises(StorageError, match=rf"{chunk} is damaged .* Delete that file"):
        run(cohort, store)
    chunk.unlink()
    D = run(cohort, store)
    assert D.n_missing == 0
    np.testing.assert_array_equal(D.values, DistanceMatrix.load(finished).values)
    assert D.description == DistanceMatrix.load(finished).description


def test_damaged_alignments_before_the_polish(
    cohort: Cohort, finished: Path, tmp_path: Path
) -> None:
    store = tmp_path / "raw"
    run(cohort, store, polish=False, alignments="float32")
    chunk = chunks(store, "alignments")[2]
    chunk.write_bytes(chunk.read_bytes()[:-20])
    with pytest.raises(StorageError, match=rf"{chunk} is damaged .* Delete that file"):
        run(cohort, store)
    chunk.unlink()
    D = run(cohort, store)
    np.testing.assert_array_equal(D.values, DistanceMatrix.load(finished).values)
    assert D.description == DistanceMatrix.load(finished).description


def test_a_lost_record_of_the_polish(cohort: Cohort, store: Path) -> None:
    undisturbed = contents(store)
    (store / "polish" / "zarr.json").unlink()
    run(cohort, store)
    assert contents(store) == undisturbed


def test_lost_alignments_of_a_polished_tile_are_not_taken_from_below(store: Path) -> None:
    opened = Store(store)
    changed = next(t for t in opened.plan.tiles if opened._is_aligned(1, t))
    opened._file(1, "alignments", changed).unlink()
    with pytest.raises(StorageError, match=r"is missing\. Run the same command again"):
        opened.transforms(1, changed)


def exchange(first: Path, second: Path) -> None:
    other = first.with_name("other")
    first.rename(other)
    second.rename(first)
    other.rename(second)


@pytest.mark.parametrize("last", [False, True])
def test_exchanged_tiles_are_noticed(
    cohort: Cohort, store: Path, finished: Path, last: bool
) -> None:
    layers = (Store(store).polished() or (0, {}))[0]
    files = chunks(store, f"polish/{layers}/tiles" if last else "tiles")
    first, second = files[1:3]  # of the same size, off the diagonal
    assert first.stat().st_size == second.stat().st_size
    exchange(first, second)
    if last:  # the matrix is read from the last layer
        with pytest.raises(StorageError, match=rf"{first} is damaged .*belongs to another tile"):
            DistanceMatrix.load(store)
    (store / "polish" / "zarr.json").unlink()  # so that the polish reads all of its layers again
    with pytest.raises(StorageError, match=r"is damaged \(it belongs to another tile"):
        run(cohort, store)
    first.unlink()
    second.unlink()
    D = run(cohort, store)
    np.testing.assert_array_equal(D.values, DistanceMatrix.load(finished).values)


def test_exchanged_alignments_are_noticed(store: Path) -> None:
    opened = Store(store)
    first, second = opened.plan.tiles[1:3]
    exchange(*(opened._file(0, "alignments", tile) for tile in (first, second)))
    for tile in (first, second):
        with pytest.raises(StorageError, match=r"is damaged \(it belongs to another tile"):
            opened.transforms(0, tile)


def test_a_chunk_of_another_store_is_noticed(cohort: Cohort, store: Path, tmp_path: Path) -> None:
    other = pairwise(cohort, GaussianShapeMetric(alpha=1.0), store=tmp_path / "other", tile=EDGE)
    assert other.complete
    at = Path("tiles", "c", "0", "0", "1")
    shutil.copy(tmp_path / "other" / at, store / at)
    with pytest.raises(StorageError, match="belongs to another tile or another store"):
        Store(store).entries(0)


def test_a_store_can_be_moved(cohort: Cohort, store: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    os.rename(store, moved)
    before = contents(moved)
    assert run(cohort, moved).complete
    assert contents(moved) == before
