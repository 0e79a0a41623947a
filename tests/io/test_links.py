"""Links inside cohorts and stores: nothing is read, written or deleted through one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort, DistanceMatrix, GaussianShapeMetric, pairwise
from repshape.analysis import neighbor_graph
from repshape.errors import StorageError
from repshape.io.links import list_folder, refuse_links, remove_folder
from repshape.io.zarr import read_attributes, write_attributes
from scale_support import contents

METRIC = GaussianShapeMetric(alpha=0.5)
NETWORKS = dict(zip("abcd", np.random.default_rng(0).normal(size=(4, 4, 5, 3)), strict=True))
FEWER = {name: NETWORKS[name] for name in "abc"}


def grow(store: Path) -> DistanceMatrix:
    return pairwise(NETWORKS, METRIC, store=store, workers=1, polish=False)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of somebody else, in the form of a group of Zarr."""
    folder = tmp_path / "victim"
    (folder / "tiles").mkdir(parents=True)
    (folder / "tiles" / "data").write_text("precious")
    write_attributes(folder, {"format": "precious"})
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    pairwise(FEWER, METRIC, store=tmp_path / "store", tile=2, workers=1, polish=False)
    return tmp_path / "store"


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    return Cohort.from_networks(FEWER).save(tmp_path / "cohort")


@pytest.mark.parametrize("name", ["generation-0", "generation-0123456789abcdef"])
def test_growing_a_store_deletes_nothing_through_a_link(
    store: Path, victim: Path, name: str
) -> None:
    (store / name).symlink_to(victim)
    before = contents(victim), contents(store)
    with pytest.raises(StorageError, match=rf"{name} is a link, and links inside"):
        grow(store)
    assert (contents(victim), contents(store)) == before


@pytest.mark.parametrize("place", ["tiles", "polish", "tiles/c", "tiles/zarr.json", "zarr.json"])
def test_a_link_in_a_store_is_refused(store: Path, place: str, tmp_path: Path) -> None:
    (store / place).rename(tmp_path / "elsewhere")
    (store / place).symlink_to(tmp_path / "elsewhere")
    for action in (
        lambda: DistanceMatrix.load(store),
        lambda: grow(store),
    ):
        with pytest.raises(StorageError, match="is a link, and links inside"):
            action()


@pytest.mark.parametrize("key", ["current", "sources"])
@pytest.mark.parametrize("name", ["../victim", "generation-0/../../victim", "/", 7, "tiles"])
def test_a_generation_is_inside_its_store(store: Path, victim: Path, key: str, name: Any) -> None:
    header = read_attributes(store) or {}
    write_attributes(store, header | {key: [name] if key == "sources" else name, "version": 4})
    before = contents(victim)
    with pytest.raises(StorageError, match=r"is damaged: it has no generation"):
        grow(store)
    assert contents(victim) == before


@pytest.mark.parametrize("name", ["e", ".batch-0", ".e.0.tmp"])
def test_a_link_in_a_cohort_is_refused(cohort: Cohort, victim: Path, name: str) -> None:
    Path(str(cohort.path), name).symlink_to(victim)
    before = contents(victim)
    for action in (
        lambda: Cohort.open(str(cohort.path)),
        lambda: cohort.remove("a"),
        lambda: cohort.replace("a", cohort["a"]),
    ):
        with pytest.raises(StorageError, match="is a link, and links inside"):
            action()
    assert contents(victim) == before


@pytest.mark.parametrize("place", ["trials", "trials/c", "n_trials/zarr.json", "zarr.json"])
def test_a_link_in_a_network_is_refused(cohort: Cohort, place: str, tmp_path: Path) -> None:
    linked = Path(str(cohort.path), "b", place)
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="is a link, and links inside"):
        Cohort.open(str(cohort.path))["b"]


@pytest.mark.parametrize("change", [{"revision": "/../../victim"}, {"name": "../victim"}])
def test_a_record_names_its_own_folder(cohort: Cohort, change: dict[str, Any]) -> None:
    file = Path(str(cohort.path), "b", "zarr.json")
    content = json.loads(file.read_text())
    content["attributes"] |= change
    content["attributes"].pop("seal")
    file.write_text(json.dumps(content))
    with pytest.raises(StorageError, match="b is damaged"):
        Cohort.open(str(cohort.path))


@pytest.mark.parametrize("place", ["pairs", "networks"])
def test_a_link_in_a_store_of_pairs_is_refused(tmp_path: Path, victim: Path, place: str) -> None:
    store = tmp_path / "pairs"
    neighbor_graph(FEWER, METRIC, k=1, store=store)
    if (store / place).exists():
        (store / place).rename(tmp_path / "elsewhere")
    (store / place).symlink_to(victim)
    before = contents(victim)
    with pytest.raises(StorageError, match=f"{place} is a link"):
        neighbor_graph(NETWORKS, METRIC, k=1, store=store)
    assert contents(victim) == before


def test_the_path_of_the_user_may_be_a_link(store: Path, cohort: Cohort, tmp_path: Path) -> None:
    (tmp_path / "other store").symlink_to(store)
    (tmp_path / "other cohort").symlink_to(str(cohort.path))
    D = grow(tmp_path / "other store")
    assert D.labels == tuple("abcd")
    assert Cohort.open(tmp_path / "other cohort").fingerprints == cohort.fingerprints


def test_folders_are_removed_without_what_their_links_name(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(victim)
    before = contents(victim)
    with pytest.raises(StorageError, match="is a link"):
        list_folder(tmp_path / "folder")
    with pytest.raises(StorageError, match="is a link"):
        remove_folder(tmp_path / "folder" / "link", tmp_path)
    remove_folder(tmp_path / "folder", tmp_path)
    assert contents(victim) == before
    assert not (tmp_path / "folder").exists()


def test_a_path_that_leaves_its_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is outside"):
        refuse_links(tmp_path / ".." / "other", tmp_path)
