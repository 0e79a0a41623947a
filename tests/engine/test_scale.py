"""The same bits from threads, shards and killed runs, and nothing computed twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from repshape import Cohort, DistanceMatrix, GaussianShapeMetric, pairwise, pairwise_many
from repshape._parallel import thread_pool
from repshape.engine import threads
from repshape.engine.plan import Plan, Shard
from repshape.engine.store import Store
from repshape.errors import InputError
from scale_support import EDGE, METRIC, make_cohort, run_logged, start, written_twice

# Some pairs of these small networks are found once only.
pytestmark = pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    return make_cohort(tmp_path_factory.mktemp("scale") / "cohort")


@pytest.fixture(scope="module")
def expected(cohort: Cohort) -> DistanceMatrix:
    return pairwise(list(cohort), METRIC, labels=cohort.labels, workers=1)


def assert_same_bits(D: DistanceMatrix, expected: DistanceMatrix) -> None:
    np.testing.assert_array_equal(D.values, expected.values)
    np.testing.assert_array_equal(D.lower_bounds, expected.lower_bounds)
    for name in ("n_starts", "n_agreeing", "n_composed"):
        np.testing.assert_array_equal(getattr(D, name), getattr(expected, name))
    np.testing.assert_array_equal(D.converged, expected.converged)
    assert D.description["polish"] == expected.description["polish"]


def test_tiles_cover_every_pair_once() -> None:
    for count in (1, 2, 5, 8, 9):
        for edge in (1, 2, 3, 8, 20):
            plan = Plan(count, edge)
            pairs = [tuple(pair) for tile in plan.tiles for pair in tile.pairs.tolist()]
            assert sorted(pairs) == [(i, j) for i in range(count) for j in range(i + 1, count)]
            assert sum(tile.n_pairs for tile in plan.tiles) == count * (count - 1) // 2


def test_shards_cover_every_tile_once() -> None:
    tiles = list(Plan(30, 4).tiles)
    parts = [tile for k in range(1, 6) for tile in Shard(k, 5).mine(tiles)]
    assert sorted(parts) == tiles


@pytest.mark.parametrize("workers", [1, 2])
def test_threads_and_store_give_the_same_bits(
    cohort: Cohort, expected: DistanceMatrix, tmp_path: Path, workers: int
) -> None:
    stored = pairwise(cohort, METRIC, workers=workers, store=tmp_path / "store", tile=EDGE)
    assert_same_bits(stored, expected)
    opened = DistanceMatrix.load(tmp_path / "store")
    assert_same_bits(opened, expected)
    assert opened.labels == cohort.labels
    assert opened.metadata["neurons"].tolist() == cohort.metadata["neurons"].tolist()


def test_little_memory_gives_the_same_bits(
    cohort: Cohort, expected: DistanceMatrix, tmp_path: Path
) -> None:
    D = pairwise(cohort, METRIC, store=tmp_path / "store", memory="100k", workers=2)
    assert Store(tmp_path / "store").plan.edge < EDGE
    assert_same_bits(D, expected)


def test_little_memory_changes_no_setting_of_the_process(
    cohort: Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    class Library:
        def __init__(self, name: None) -> None:
            assert name is None  # the library that the process uses

        def __getattr__(self, name: str) -> Any:
            called.append(name)
            return lambda *arguments: 1

    monkeypatch.setattr(threads, "ctypes", SimpleNamespace(CDLL=Library))
    pairwise(cohort, METRIC, polish=False)
    assert called == []
    pairwise(cohort, METRIC, polish=False, memory="30k")
    assert set(called) == {"malloc_trim"}


def test_networks_beyond_the_memory_are_dropped_before_others_are_read() -> None:
    alive: list[int] = []
    most = 0

    class Network:
        def __init__(self, index: int) -> None:
            nonlocal most
            alive.append(index)
            most = max(most, len(alive))
            weakref.finalize(self, alive.remove, index)

    class Networks(list[Any]):
        def __getitem__(self, index: Any) -> Any:
            return Network(index)

    cache = threads.PreparedCache(Networks(), [str(k) for k in range(9)], [max], capacity=3)
    with thread_pool(1) as pool:
        for indices in ([0, 1, 2], [1, 2, 3], [4, 5], [6, 7, 8]):
            found = cache.request(indices, pool)
            assert list(found) == indices
            del found
    assert most == 3


def test_four_shards_at_once(cohort: Cohort, expected: DistanceMatrix, tmp_path: Path) -> None:
    store, log = tmp_path / "store", tmp_path / "log"
    shards = [
        start(run_logged, cohort.path, store, log, {"shard": f"{k}/4", "workers": 1})
        for k in range(1, 5)
    ]
    for shard in shards:
        shard.join(60)
        assert shard.exitcode == 0
    assert DistanceMatrix.load(store).complete
    assert "polish" not in DistanceMatrix.load(store).description
    assert_same_bits(pairwise(cohort, METRIC, store=store), expected)
    assert written_twice(log) == []


def test_two_processes_on_one_store(
    cohort: Cohort, expected: DistanceMatrix, tmp_path: Path
) -> None:
    store, log = tmp_path / "store", tmp_path / "log"
    both = [start(run_logged, cohort.path, store, log, {"workers": 1}) for _ in range(2)]
    for process in both:
        process.join(60)
        assert process.exitcode == 0
    assert_same_bits(DistanceMatrix.load(store), expected)


def test_killed_ten_times(cohort: Cohort, expected: DistanceMatrix, tmp_path: Path) -> None:
    store, log = tmp_path / "store", tmp_path / "log"
    rng = np.random.default_rng(0)
    killed = 0
    for moment in rng.uniform(0.05, 0.6, size=10):
        process = start(run_logged, cohort.path, store, log, {"workers": 2})
        process.join(moment)
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.join(60)
    assert killed >= 5
    last = start(run_logged, cohort.path, store, log, {"workers": 2})
    last.join(60)
    assert last.exitcode == 0
    assert_same_bits(DistanceMatrix.load(store), expected)
    assert written_twice(log) == []


def test_a_finished_store_is_only_read(cohort: Cohort, tmp_path: Path) -> None:
    D = pairwise(cohort, METRIC, store=tmp_path / "store", tile=8)
    log = tmp_path / "log"
    process = start(run_logged, cohort.path, tmp_path / "store", log, {})
    process.join(60)
    assert process.exitcode == 0
    assert not log.exists()
    np.testing.assert_array_equal(DistanceMatrix.load(tmp_path / "store").values, D.values)


def test_an_incomplete_matrix_knows(cohort: Cohort, tmp_path: Path) -> None:
    store = tmp_path / "store"
    D = pairwise(cohort, METRIC, store=store, shard="1/2", tile=EDGE)
    assert not D.complete
    missing = Store(store).missing()
    assert D.n_missing == sum(tile.n_pairs for tile in missing)
    assert f"{D.n_missing} of 190 pairs missing" in repr(D)
    for name in ("d.npz", "d.csv"):
        D.save(tmp_path / name)
        np.testing.assert_array_equal(DistanceMatrix.load(tmp_path / name).values, D.values)


def test_sweep_reads_every_network_once_a_tile(
    cohort: Cohort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = {f"alpha-{a:g}": GaussianShapeMetric(alpha=a) for a in (0.0, 1.0, 2.0)}
    alone = {name: pairwise(cohort, metric) for name, metric in metrics.items()}
    read: list[int] = []
    original = Cohort.__getitem__

    def counting(self: Cohort, index: int) -> object:
        read.append(index)
        return original(self, index)

    monkeypatch.setattr(Cohort, "__getitem__", counting)
    swept = pairwise_many(cohort, metrics, store=tmp_path / "sweep", tile=EDGE)
    assert sorted(read) == list(range(len(cohort)))
    for name, D in swept.items():
        np.testing.assert_array_equal(D.values, alone[name].values)
        stored = DistanceMatrix.load(tmp_path / "sweep" / name)
        np.testing.assert_array_equal(stored.values, D.values)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_alignments_are_kept_on_request(cohort: Cohort, tmp_path: Path, dtype: str) -> None:
    pairwise(cohort, METRIC, store=tmp_path / "s", polish=False, alignments=dtype, tile=EDGE)
    store = Store(tmp_path / "s")
    tile = next(tile for tile in store.plan.tiles if (tile.row, tile.column) == (1, 3))
    for (i, j), transform in zip(tile.pairs.tolist(), store.transforms(0, tile), strict=True):
        assert transform.shape == (cohort[j].n_neurons, cohort[i].n_neurons)
        small = transform if transform.shape[0] < transform.shape[1] else transform.T
        np.testing.assert_allclose(small @ small.T, np.eye(len(small)), atol=1e-6)


def test_shards_need_a_store(cohort: Cohort) -> None:
    with pytest.raises(InputError, match="need a store"):
        pairwise(cohort, METRIC, shard="1/2")


def test_interrupt_says_how_to_continue(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    cohort = Cohort()
    for k in range(16):
        cohort.add(str(k), rng.normal(size=(64, 30, 16)))
    cohort.save(tmp_path / "c")
    # Processes that a script starts in the background ignore Ctrl-C unless they say otherwise.
    obey = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = f"{obey}from repshape.cli import main; main()"
    command = [sys.executable, "-c", code, "pairwise"]
    command += [str(tmp_path / "c"), "-o", str(tmp_path / "d"), "--tile", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (tmp_path / "d" / "tiles" / "c").exists():
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=60)
    assert process.returncode == 1
    assert words.endswith(f"safe in {tmp_path / 'd'}: repeat the command to resume.\n")
    assert 0 < len(Store(tmp_path / "d").missing()) < len(Store(tmp_path / "d").plan.tiles)
