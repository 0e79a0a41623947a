"""Neighbour searches that keep solved pairs: resumed, shared, refused; and those on Dask."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from neighbor_support import check_equal, count_solved, families, whole_matrix

import repshape as rs
from repshape.analysis import pair_solver
from repshape.engine import threads
from repshape.errors import StorageError
from repshape.io.zarr import write_attributes


def test_store_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    networks, metric = families(), rs.GaussianShapeMetric(1.0)
    solved = count_solved(monkeypatch)
    store = tmp_path / "pairs"
    first = rs.analysis.neighbor_graph(networks, metric, 4, store=store)
    assert sum(solved) == first.n_solved
    again = rs.analysis.neighbor_graph(networks, metric, 4, store=store)
    assert sum(solved) == first.n_solved  # nothing more
    assert np.array_equal(again.distances, first.distances)
    more = rs.analysis.neighbor_graph(networks, metric, 6, store=store)
    assert sum(solved) == more.n_solved
    check_equal(more, whole_matrix(networks, metric), 6)


def test_interrupted_search_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    networks, metric = families(), rs.GaussianShapeMetric(1.0)
    monkeypatch.setattr(pair_solver, "BATCH", 8)
    calls = []

    def failing(*arguments: Any, **options: Any) -> Any:
        calls.append(len(arguments[2]))
        if len(calls) == 6:
            raise KeyboardInterrupt
        return threads.solve_chunk(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pair_solver, "solve_chunk", failing)
        with pytest.raises(KeyboardInterrupt):
            rs.analysis.neighbor_graph(networks, metric, 4, store=tmp_path / "p", workers=1)
    solved = count_solved(monkeypatch)
    found = rs.analysis.neighbor_graph(networks, metric, 4, store=tmp_path / "p", workers=1)
    check_equal(found, whole_matrix(networks, metric), 4)
    assert sum(solved) == found.n_solved - sum(calls[:5])


def test_shards_share_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    networks, metric = families(), rs.GaussianShapeMetric(1.0)
    parts = [
        rs.analysis.neighbor_graph(networks, metric, 4, store=tmp_path / "p", shard=f"{i}/3")
        for i in (2, 1, 3)
    ]
    values = whole_matrix(networks, metric)
    assert [len(part.of) for part in parts] == [8, 8, 8]
    assert [part.n_pairs for part in parts] == [28 + 8 * 16] * 3
    assert all(part.n_solved <= part.n_pairs for part in parts)
    check_equal(parts[0], values[8:16], 4)
    assert parts[0].graph[0, 8] == 0.0
    assert parts[0].graph.indices[0] == 8  # itself
    solved = count_solved(monkeypatch)
    check_equal(rs.analysis.neighbor_graph(networks, metric, 4, store=tmp_path / "p"), values, 4)
    assert not solved


def test_store_refuses_others(tmp_path: Path) -> None:
    networks, metric = families(2, 3), rs.GaussianShapeMetric(1.0)
    store = tmp_path / "p"
    rs.analysis.neighbor_graph(networks, metric, 2, store=store)
    with pytest.raises(StorageError, match=r"'alpha' was 1\.0 and is 0\.5"):
        rs.analysis.neighbor_graph(networks, rs.GaussianShapeMetric(0.5), 2, store=store)
    others = [*networks[:5], families(1, 1, seed=9)[0]]
    with pytest.raises(StorageError, match="responses of network '5' have changed"):
        rs.analysis.neighbor_graph(others, metric, 2, store=store)
    other = tmp_path / "q"
    rs.analysis.neighbor_graph(networks, metric, 2, store=other)
    moved, mine = (next((one / "pairs").iterdir()) for one in (other, store))
    foreign = "belongs to another batch or another store"
    shutil.copytree(moved, store / "pairs" / moved.name)  # all that a run has added
    with pytest.raises(StorageError, match=foreign):
        rs.analysis.neighbor_graph(networks, metric, 2, store=store)
    shutil.rmtree(store / "pairs" / moved.name)
    shutil.copytree(moved / "batches", mine / "batches", dirs_exist_ok=True)
    with pytest.raises(StorageError, match=foreign):
        rs.analysis.neighbor_graph(networks, metric, 2, store=store)
    for name in ("batches/zarr.json", "batches/c/0/0/0", "zarr.json"):
        damaged = moved / name
        damaged.write_bytes(b"x")
        words = "is damaged .* Delete that file and run the same command again"
        with pytest.raises(StorageError, match=rf"{name} {words}"):
            rs.analysis.neighbor_graph(networks, metric, 2, store=other)
        damaged.unlink()
        found = rs.analysis.neighbor_graph(networks, metric, 2, store=other)
        check_equal(found, whole_matrix(networks, metric), 2)
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(StorageError, match="does not hold solved pairs"):
        rs.analysis.neighbor_graph(networks, metric, 2, store=plain)


def test_a_store_of_an_earlier_release_names_the_command_that_computes_it_again(
    tmp_path: Path,
) -> None:
    networks, metric, store = families(2, 3), rs.GaussianShapeMetric(1.0), tmp_path / "p"
    write_attributes(store, {"format": "repshape-neighbor-pairs", "version": 2})
    words = r"format of repshape 0\.2.* Delete that folder and .*rs.analysis.neighbor_graph\("
    with pytest.raises(StorageError, match=words):
        rs.analysis.neighbor_graph(networks, metric, 2, store=store)


def test_dask_gives_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    networks, metric = families(2, 5), rs.GaussianShapeMetric(1.0)
    cohort = rs.Cohort.from_networks(networks).save(tmp_path / "c.zarr")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        found = rs.analysis.neighbor_graph(cohort, metric, 3, engine="dask", scheduler=client)
    check_equal(found, whole_matrix(networks, metric), 3)
