"""Damage that the stateful test found to be overlooked: refused in one sentence, or repaired."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort, DistanceMatrix, Gaussians, GaussianShapeMetric, pairwise
from repshape.engine.store import Store
from repshape.errors import StorageError
from repshape.io import writing
from repshape.io.zarr import write_attributes
from scale_support import contents

# One start ends in poor optima, which the polish improves.
METRIC = GaussianShapeMetric(alpha=0.0, n_starts=1)


def relatives() -> dict[str, Any]:
    """Return networks that share their covariances up to noise and rotation."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(4, 3, 6))
    made = {}
    for name in "abcde":
        factors = base + 0.3 * rng.normal(size=base.shape)
        factors = np.linalg.qr(rng.normal(size=(3, 3)))[0] @ factors
        made[name] = Gaussians.from_factors(rng.normal(size=(4, 3)), factors)
    return made


NETWORKS = relatives()
FEWER = {name: NETWORKS[name] for name in "abcd"}


def run(networks: Any, store: Path, **options: Any) -> DistanceMatrix:
    return pairwise(networks, METRIC, store=store, tile=2, workers=1, **options)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("damage") / "store"
    assert run(FEWER, store).description["polish"]["pairs_improved"] > 0
    return store


@pytest.fixture
def store(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "store"))


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    trials = np.random.default_rng(1).normal(size=(4, 5, 6, 3))
    return Cohort.from_networks(trials, "abcd").save(tmp_path / "cohort")


def edit(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def fewer_starts(content: dict[str, Any]) -> None:
    content["attributes"]["effort"]["hubs"] = 1


def fewer_layers(content: dict[str, Any]) -> None:
    content["attributes"]["layers"] = 1


@pytest.mark.parametrize(
    ("file", "change"), [("zarr.json", fewer_starts), ("polish/zarr.json", fewer_layers)]
)
def test_changed_attributes_are_refused(
    store: Path, file: str, change: Callable[[dict[str, Any]], None]
) -> None:
    edit(store / file, change)
    before = contents(store)
    for action in (lambda: run(FEWER, store), lambda: DistanceMatrix.load(store)):
        with pytest.raises(StorageError, match="attributes are not those that were written"):
            action()
    assert contents(store) == before


def test_the_record_of_the_polish_of_another_store_is_refused(store: Path, tmp_path: Path) -> None:
    run(NETWORKS, tmp_path / "other")
    undisturbed = contents(store)
    shutil.copy(tmp_path / "other" / "polish" / "zarr.json", store / "polish" / "zarr.json")
    with pytest.raises(StorageError, match=r"belongs to another store\)\. Delete that file"):
        DistanceMatrix.load(store)
    (store / "polish" / "zarr.json").unlink()
    run(FEWER, store)
    assert contents(store) == undisturbed


@pytest.mark.parametrize("layer", [".", "polish/1"])
@pytest.mark.parametrize("name", ["tiles", "alignments"])
def test_a_damaged_description_of_an_array_costs_no_tile(
    store: Path, layer: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advice was to delete the whole layer; for the first one, that was the whole store."""
    undisturbed = contents(store)
    file = store / layer / name / "zarr.json"

    def separate(content: dict[str, Any]) -> None:
        content["chunk_key_encoding"]["configuration"]["separator"] = "."

    edit(file, separate)
    with pytest.raises(StorageError, match=rf"{name}/zarr.json is damaged .* Delete that file"):
        assert Store(store)._array(0 if layer == "." else 1, name)._opened
    file.unlink()

    def never(*_: Any) -> None:
        raise AssertionError("a tile is computed again")

    monkeypatch.setattr(Store, "write", never)
    run(FEWER, store)
    assert contents(store).keys() == undisturbed.keys()


def refuse_to_write(path: Any) -> Any:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))


@pytest.mark.parametrize("leftover", [False, True])
def test_a_finished_store_that_has_grown_is_read_from_a_read_only_disk(
    store: Path, monkeypatch: pytest.MonkeyPatch, leftover: bool
) -> None:
    D = run(NETWORKS, store)
    if leftover:  # of an earlier generation, by a process that was killed
        (store / "generation-0").mkdir()
    monkeypatch.setattr(writing, "atomic_write", refuse_to_write)
    monkeypatch.setattr("repshape.io.zarr.atomic_write", refuse_to_write)
    monkeypatch.setattr(shutil, "rmtree", refuse_to_write)
    again = run(NETWORKS, store)
    np.testing.assert_array_equal(again.values, D.values)
    assert again.description == D.description


def begin_to_grow(store: Path) -> Store:
    """Begin a generation with another network, and compute nothing of it."""
    run(NETWORKS, store, shard="999/999")
    return Store(store).generations[1]


def test_a_lost_tile_of_an_earlier_polish_is_not_forgotten(store: Path, tmp_path: Path) -> None:
    """Its pairs were taken from the search before the polish, and stayed longer than before."""
    undisturbed = run(NETWORKS, Path(shutil.copytree(store, tmp_path / "undisturbed")))
    earlier = begin_to_grow(store)
    layers = (earlier.polished() or (0, {}))[0]
    file = earlier._file(layers, "tiles", earlier.plan.tiles[0])
    kept = file.read_bytes()
    file.unlink()
    with pytest.raises(StorageError, match=r"A tile of the polish .* is missing.* from a copy"):
        run(NETWORKS, store)
    file.write_bytes(kept[:-9])
    with pytest.raises(StorageError, match=r"is damaged .* restore it from a copy"):
        run(NETWORKS, store)
    file.write_bytes(kept)
    record = earlier.folder / "polish" / "zarr.json"
    words = record.read_bytes()
    record.unlink()
    with pytest.raises(StorageError, match=r"The polish in .* is missing"):
        run(NETWORKS, store)
    record.write_bytes(words)
    np.testing.assert_array_equal(run(NETWORKS, store).values, undisturbed.values)


def test_networks_without_a_common_pair_take_over_no_polish(store: Path) -> None:
    options = {"remove": ["b", "c", "d"]}
    two = {name: NETWORKS[name] for name in "ae"}
    run(two, store, shard="1/1", **options)
    (Store(store).folder / "polish" / "zarr.json").unlink()  # as if it was killed before that
    assert DistanceMatrix.load(store).complete


def test_lost_responses_are_refused_without_a_store_too(cohort: Cohort) -> None:
    """Zarr would read zeros instead."""
    folder = Path(str(cohort.path), "b")
    next(file for file in (folder / "trials" / "c").rglob("*") if file.is_file()).unlink()
    words = "The responses of network 'b' .* have changed since"
    for action in (lambda: cohort["b"], lambda: pairwise(cohort, METRIC)):
        with pytest.raises(StorageError, match=words):
            action()
    assert cohort["a"].fingerprint == cohort.fingerprints[0]


def test_an_array_that_is_described_as_shorter_is_refused(cohort: Cohort) -> None:
    """Its checksums are still right, and some trials would be left out."""
    folder = Path(str(cohort.path), "b")

    def shorten(content: dict[str, Any]) -> None:
        content["shape"][1] -= 1

    edit(folder / "trials" / "zarr.json", shorten)
    with pytest.raises(StorageError, match="network 'b'"):
        cohort["b"]
    with pytest.raises(StorageError, match="network 'b'"):
        Cohort.open(str(cohort.path)).verify()


def test_a_changed_record_of_a_network_is_refused(cohort: Cohort) -> None:
    def rename(content: dict[str, Any]) -> None:
        content["attributes"]["name"] = "z"

    edit(Path(str(cohort.path), "b", "zarr.json"), rename)
    with pytest.raises(StorageError, match="attributes are not those that were written"):
        Cohort.open(str(cohort.path))


def test_a_removed_network_is_gone_even_if_its_files_stay(
    cohort: Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    rmtree = shutil.rmtree

    def fail(path: Any, ignore_errors: bool = False, **_: Any) -> None:
        if not ignore_errors:
            refuse_to_write(path)

    monkeypatch.setattr(shutil, "rmtree", fail)
    cohort.remove("b")
    monkeypatch.setattr(shutil, "rmtree", rmtree)
    assert cohort.labels == Cohort.open(str(cohort.path)).labels == ("a", "c", "d")


def test_attributes_without_a_seal_are_read(store: Path) -> None:
    """Earlier versions wrote none."""
    file = store / "zarr.json"
    edit(file, lambda content: content["attributes"].pop("seal"))
    D = DistanceMatrix.load(store)
    write_attributes(store, json.loads(file.read_text())["attributes"])
    assert "seal" in json.loads(file.read_text())["attributes"]
    np.testing.assert_array_equal(DistanceMatrix.load(store).values, D.values)
