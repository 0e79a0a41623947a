"""Dask: the real scheduler and workers on loopback, a local cluster, and a worker that dies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort, DistanceMatrix, GaussianShapeMetric, pairwise
from repshape.engine.dask import WorkerJob, solve_tile
from repshape.engine.store import Store
from repshape.errors import InputError
from scale_support import EDGE, METRIC, make_cohort

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of distributed are not ours
HERE = str(Path(__file__).parent)


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Cohort:
    return make_cohort(tmp_path_factory.mktemp("dask") / "cohort")


@pytest.fixture(scope="module")
def expected(cohort: Cohort) -> DistanceMatrix:
    return pairwise(cohort, METRIC)


class LoopbackCluster:
    """One `dask scheduler` process and two `dask worker` processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self.file = folder / "scheduler.json"
        self.processes = [self._start(*scheduler, "--scheduler-file", str(self.file))]
        workers = ["worker", "--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny"]
        for _ in range(2):
            self.processes.append(self._start(*workers, "--no-dashboard"))

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *arguments]
        path = os.pathsep.join([HERE, *(one for one in sys.path if one)])
        with open(self._folder / f"{arguments[0]}.log", "ab") as log:
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=os.environ | {"PYTHONPATH": path},
            )

    def client(self) -> Any:
        client = distributed.Client(scheduler_file=str(self.file), timeout=60)
        client.wait_for_workers(2, timeout=60)
        return client

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LoopbackCluster]:
    running = LoopbackCluster(tmp_path)
    yield running
    running.stop()


def assert_same_bits(D: DistanceMatrix, expected: DistanceMatrix) -> None:
    np.testing.assert_array_equal(D.values, expected.values)
    np.testing.assert_array_equal(D.lower_bounds, expected.lower_bounds)
    for name in ("n_starts", "n_agreeing", "n_composed"):
        np.testing.assert_array_equal(getattr(D, name), getattr(expected, name))
    assert D.description["polish"] == expected.description["polish"]


def test_scheduler_and_two_workers_then_one_of_them_killed(
    cohort: Cohort, expected: DistanceMatrix, cluster: LoopbackCluster, tmp_path: Path
) -> None:
    with cluster.client() as client:
        address = client.scheduler.address
        D = pairwise(
            cohort, METRIC, store=tmp_path / "s", scheduler=address, engine="dask", tile=EDGE
        )
        assert_same_bits(D, expected)

        some = cohort[list(cohort.labels[4:16])]  # and eight more: as on threads
        for name in ("dask", "threads"):
            pairwise(some, METRIC, store=tmp_path / name, tile=EDGE)
        grown = pairwise(cohort, METRIC, store=tmp_path / "dask", scheduler=client, engine="dask")
        assert_same_bits(grown, pairwise(cohort, METRIC, store=tmp_path / "threads"))

        victim = cluster.processes[-1]
        client.run(kill_at_second_tile, pid=victim.pid)
        E = pairwise(
            cohort, METRIC, store=tmp_path / "t", scheduler=client, engine="dask", tile=EDGE
        )
        assert victim.wait(60) == -signal.SIGKILL
        assert_same_bits(E, expected)
        assert len(client.scheduler_info()["workers"]) == 1


def kill_at_second_tile(pid: int) -> None:
    """Make the worker with this process id die while it solves its second tile."""
    if os.getpid() != pid:
        return
    from repshape.engine.store import Store

    original, calls = Store.write, []

    def write(self: Any, layer: int, tile: Any, found: Any) -> None:
        calls.append(tile)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        original(self, layer, tile, found)

    Store.write = write  # type: ignore[method-assign]


def test_local_cluster(cohort: Cohort, expected: DistanceMatrix, tmp_path: Path) -> None:
    D = pairwise(cohort, METRIC, store=tmp_path / "s", engine="dask", workers=2, tile=EDGE)
    assert_same_bits(D, expected)


def test_a_selection_of_a_cohort(cohort: Cohort, expected: DistanceMatrix, tmp_path: Path) -> None:
    chosen = cohort[[*reversed(cohort.labels[3:6])]]
    D = pairwise(chosen, METRIC, store=tmp_path / "s", engine="dask", workers=1)
    assert_same_bits(D, pairwise(chosen, METRIC))
    assert D.labels == tuple(reversed(expected.labels[3:6]))


def test_a_cluster_keeps_nothing_of_a_store_that_was_made_again(
    cohort: Cohort, tmp_path: Path
) -> None:
    """Nor of a cohort that was."""
    store, path = tmp_path / "s", tmp_path / "c"

    def run(alpha: float, seed: int, client: Any = None) -> DistanceMatrix:
        for folder in (store, path):
            shutil.rmtree(folder, ignore_errors=True)
        made, metric = make_cohort(path, 6, seed), GaussianShapeMetric(alpha)
        if client is None:
            return pairwise(made, metric, store=store, tile=EDGE)
        options = {"engine": "dask", "scheduler": client}
        return pairwise(made, metric, store=store, tile=EDGE, **options)

    jobs = [(0.0, 0), (2.0, 0), (2.0, 1)]
    expected = [run(*job) for job in jobs]
    cluster = distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        for job, threads in zip(jobs, expected, strict=True):
            found = run(*job, client)
            assert found.description["parameters"]["alpha"] == job[0]
            assert_same_bits(found, threads)


def test_workers_refuse_another_store_than_the_client_sees(cohort: Cohort, tmp_path: Path) -> None:
    pairwise(cohort, METRIC, store=tmp_path / "s", tile=EDGE, shard="1/2")
    store = Store(tmp_path / "s")
    seen = str(cohort.path), cohort.labels
    job = WorkerJob((seen,), (str(store.path),), ("another id",), (METRIC,), 20)
    cluster = distributed.LocalCluster(1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        future = client.submit(solve_tile, job, 0, 0, store.missing()[0])
        with pytest.raises(InputError, match=r"The worker sees another store at .*s, or another"):
            future.result()


def test_dask_needs_what_workers_can_reach(cohort: Cohort, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Dask need a store"):
        pairwise(cohort, METRIC, engine="dask")
    with pytest.raises(InputError, match="Dask needs a cohort on disk"):
        pairwise(list(cohort), METRIC, store=tmp_path / "s", engine="dask")
    assert not (tmp_path / "s").exists()


def test_no_scheduler_is_one_sentence(
    cohort: Cohort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("repshape.engine.dask"), "CONNECT_SECONDS", 0.2)
    address = "tcp://127.0.0.1:9"
    with pytest.raises(InputError, match=f"no Dask scheduler at {address}"):
        pairwise(cohort, METRIC, store=tmp_path / "s", engine="dask", scheduler=address)
