"""Tiles as tasks of a Dask cluster: workers read the cohort and write the store themselves."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from threadpoolctl import threadpool_limits

from repshape._parallel import progress_bar
from repshape._version import package_version
from repshape.engine.plan import Tile
from repshape.engine.polish import make_task
from repshape.engine.sides import Chain
from repshape.engine.store import Store
from repshape.engine.threads import Metric, PreparedCache, Request, solve_tasks
from repshape.engine.tiles import Layer
from repshape.errors import InputError, MissingDependencyError, RepshapeError
from repshape.io.cohort import Cohort

# A scheduler that does not answer within this time is considered absent.
CONNECT_SECONDS = 30


@dataclass(frozen=True)
class WorkerJob:
    """What a worker needs to know of a job: where the data are, not the data.

    ``run`` is unique to each run, so that a worker that outlives a run keeps nothing of it.
    """

    cohorts: tuple[tuple[str, tuple[str, ...]], ...]
    stores: tuple[str, ...]
    store_ids: tuple[str, ...]
    metrics: tuple[Metric, ...]
    capacity: int
    version: str = field(default_factory=package_version)
    run: str = field(default_factory=lambda: uuid.uuid4().hex)


class DaskCluster:
    """A Dask cluster that works on one job, on this machine or at an address.

    Parameters
    ----------
    cohort : Cohort or Chain
        One or two cohorts on disk, where the workers can read them.
    stores : sequence of Store
        A store for each metric.
    metrics : sequence of metrics
    capacity : int
        How many prepared networks a worker may keep.
    scheduler : str, distributed.Client or None
        None starts a cluster of ``workers`` processes on this machine.
    workers : int
    progress : bool, optional
    """

    def __init__(
        self,
        cohort: Cohort | Chain,
        stores: Sequence[Store],
        metrics: Sequence[Metric],
        capacity: int,
        *,
        scheduler: Any,
        workers: int,
        progress: bool | None,
    ) -> None:
        cohorts = cohort.cohorts if isinstance(cohort, Chain) else (cohort,)
        try:
            import distributed
        except ImportError:
            raise MissingDependencyError(
                "engine='dask' needs distributed: pip install 'repshape[dask]'."
            ) from None
        self._dask: Any = distributed
        self._scheduler = scheduler
        self._workers = workers
        self._progress = progress
        self._job = WorkerJob(
            tuple((_place(one), one.labels) for one in cohorts),
            tuple(str(store.path.resolve()) for store in stores),
            tuple(store.id for store in stores),
            tuple(metrics),
            capacity,
        )
        self._cluster: Any = None
        self._client: Any = None

    def __enter__(self) -> Self:
        scheduler = self._scheduler
        if isinstance(scheduler, self._dask.Client):
            self._client = scheduler
            return self
        if scheduler is None:
            self._cluster = scheduler = self._dask.LocalCluster(
                n_workers=self._workers, threads_per_worker=1, dashboard_address=None
            )
        try:
            self._client = self._dask.Client(
                scheduler, timeout=CONNECT_SECONDS, set_as_default=False
            )
        except OSError:
            raise InputError(f"There is no Dask scheduler at {scheduler}.") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._client is not self._scheduler:
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def compute(
        self, function: Callable[..., Any], parts: Sequence[tuple[Any, ...]]
    ) -> Generator[tuple[int, Any], None, None]:
        """Have the workers call ``function(job, *part)`` for each part, the first parts first.

        Yields the number and the result of each part as soon as it is finished. The first failure
        ends the run. Close the generator to cancel the parts that are left.
        """
        numbers = {}
        for order, part in enumerate(parts):
            future = self._client.submit(function, self._job, *part, pure=False, priority=-order)
            numbers[future] = order
        try:
            for future in self._dask.as_completed(list(numbers), loop=self._client.loop):
                yield numbers[future], future.result()
        except self._dask.KilledWorker as error:
            raise RepshapeError(
                "Several Dask workers died while solving the same pairs, perhaps because they "
                f"ran out of memory: {error}"
            ) from None
        finally:
            self._client.cancel(list(numbers))


class DaskSolver(DaskCluster):
    """Solves tiles on a Dask cluster."""

    def run(self, what: str, requests: Iterable[Request]) -> None:
        """Have the workers solve and write the tiles that are missing."""
        missing = [(at, tile) for at, tile in requests if not at.tiles.has(at.number, tile)]
        parts = [(layer.metric, layer.number, tile) for layer, tile in missing]
        total = sum(tile.n_pairs for _, tile in missing)
        with (
            progress_bar(what, total, self._progress) as advance,
            closing(self.compute(solve_tile, parts)) as finished,
        ):
            for number, _ in finished:
                advance(missing[number][1].n_pairs)


def solve_tile(job: WorkerJob, metric: int, layer: int, tile: Tile) -> None:
    """Solve and write one tile, in a worker."""
    state = worker_state(job)
    of_tile = state.layer(metric, layer)
    if of_tile.tiles.has(layer, tile):  # written by a worker that died before it could say so
        return
    solve_tasks([make_task(of_tile, tile)], state.cache, 1, lambda _: None)


class WorkerState:
    """What one thread of a worker keeps between tiles: prepared networks and open stores."""

    def __init__(self, job: WorkerJob) -> None:
        if job.version != package_version():
            raise InputError(
                f"The worker has repshape {package_version()} and the client {job.version}."
            )
        threadpool_limits(limits=1, user_api="blas")  # not undone: threads share this setting
        cohort = open_cohorts(job)
        self.run = job.run
        self.cache = PreparedCache(cohort, cohort.labels, job.metrics, job.capacity // _threads())
        self._stores = [Store(path) for path in job.stores]
        for store, expected in zip(self._stores, job.store_ids, strict=True):
            same = store.id == expected and store.identity.fingerprints == cohort.fingerprints
            if not same:
                raise InputError(
                    f"The worker sees another store at {store.path}, or another cohort at "
                    f"{' or '.join(path for path, _ in job.cohorts)}, than the client."
                )
        self._layer: Layer | None = None

    def layer(self, metric: int, number: int) -> Layer:
        """Return a layer; the last one is kept, with what it read of the layer below."""
        if self._layer is None or (self._layer.metric, self._layer.number) != (metric, number):
            self._layer = Layer(self._stores[metric], metric, number)
        return self._layer


def _place(cohort: Cohort) -> str:
    assert cohort.path is not None
    return str(cohort.path.resolve())


def open_cohorts(job: WorkerJob) -> Cohort | Chain:
    """Return the networks of a job: of one cohort, or of two."""
    found = [Cohort.open(path)[list(names)] for path, names in job.cohorts]
    return found[0] if len(found) == 1 else Chain(*found)


def _threads() -> int:
    """Return how many threads share this worker's memory."""
    import distributed

    return max(int(distributed.get_worker().state.nthreads), 1)


_here = threading.local()


def worker_state(job: WorkerJob) -> WorkerState:
    """Return what this thread of a worker keeps for a job."""
    state: WorkerState | None = getattr(_here, "state", None)
    if state is None or state.run != job.run:
        state = _here.state = WorkerState(job)
    return state
