"""Tiles as tasks of a Dask cluster: workers read the cohort and write the store themselves."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from repshape._parallel import progress_bar
from repshape._version import package_version
from repshape.errors import InputError, MissingDependencyError, RepshapeError
from repshape.io.cohort import Cohort
from repshape.pairwise.engine import Bench, Metric, run_works
from repshape.pairwise.plan import Tile
from repshape.pairwise.polish import Polish
from repshape.pairwise.store import Store
from repshape.pairwise.tiles import Ledger

if TYPE_CHECKING:
    from repshape.pairwise.job import Job, Settings, Task

# A scheduler that does not answer for this long is not there.
CONNECT_SECONDS = 30


@dataclass(frozen=True)
class Errand:
    """All that a worker needs to know: where things are, never the things."""

    cohort: str
    stores: tuple[str, ...]
    metrics: tuple[Metric, ...]
    capacity: int
    version: str


class DaskExecutor:
    """Tiles over a Dask cluster, on this machine or at an address."""

    def __init__(
        self, job: Job, ledgers: Sequence[Ledger], settings: Settings, capacity: int
    ) -> None:
        if not isinstance(job.networks, Cohort) or job.networks.path is None:
            raise InputError(
                "Dask needs a cohort on disk, which its workers can read: see Cohort.save."
            )
        try:
            import distributed
        except ImportError:
            raise MissingDependencyError(
                "engine='dask' needs distributed: pip install 'repshape[dask]'."
            ) from None
        self._dask: Any = distributed
        self._ledgers = ledgers
        self._settings = settings
        self._errand = Errand(
            str(job.networks.path.resolve()),
            tuple(str(one.path.resolve()) for one in ledgers if isinstance(one, Store)),
            tuple(job.metrics.values()),
            capacity,
            package_version(),
        )
        self._cluster: Any = None
        self._client: Any = None

    def __enter__(self) -> DaskExecutor:
        scheduler = self._settings.scheduler
        if isinstance(scheduler, self._dask.Client):
            self._client = scheduler
            return self
        if scheduler is None:
            self._cluster = scheduler = self._dask.LocalCluster(
                n_workers=self._settings.workers, threads_per_worker=1, dashboard_address=None
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
        if self._client is not self._settings.scheduler:
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def run(self, what: str, layer: int, tasks: list[Task]) -> None:
        """Have tiles of a layer solved and written by the workers."""
        sizes = {}
        total = sum(self._ledgers[k].plan.n_pairs(tile) for tile, k in tasks)
        with progress_bar(what, total, self._settings.progress) as advance:
            for order, (tile, k) in enumerate(tasks):
                future = self._client.submit(
                    solve_tile, self._errand, layer, tile, k, pure=False, priority=-order
                )
                sizes[future] = self._ledgers[k].plan.n_pairs(tile)
            try:
                for future in self._dask.as_completed(list(sizes), loop=self._client.loop):
                    future.result()  # the first failure ends the run
                    advance(sizes[future])
            except self._dask.KilledWorker as error:
                raise RepshapeError(
                    f"Several Dask workers died over the same tile, of memory perhaps: {error}"
                ) from None
            finally:
                self._client.cancel(list(sizes))


def solve_tile(errand: Errand, layer: int, tile: Tile, number: int) -> None:
    """Solve and write one tile, in a worker."""
    desk = _desk(errand)
    ledger, polish = desk.ledgers[number], desk.polishes[number]
    if ledger.has(layer, tile):  # it was written, and the worker lost before it could say so
        return
    from repshape.pairwise.job import make_work  # which knows of this module

    run_works([make_work(ledger, polish, layer, tile, number)], desk.bench, 1, lambda _: None)


class _Desk:
    """What one thread of a worker keeps between tiles: networks made ready, and open stores."""

    def __init__(self, errand: Errand) -> None:
        if errand.version != package_version():
            raise InputError(
                f"The worker has repshape {package_version()} and the client {errand.version}."
            )
        threadpool_limits(limits=1, user_api="blas")  # for good: threads share this setting
        cohort = Cohort.open(errand.cohort)
        self.errand = errand
        capacity = errand.capacity // _threads()
        self.bench = Bench(cohort, cohort.labels, errand.metrics, capacity)
        self.ledgers = [Store(Path(path)) for path in errand.stores]
        self.polishes = [Polish(ledger, k) for k, ledger in enumerate(self.ledgers)]


def _threads() -> int:
    """Return among how many threads this worker's memory is shared."""
    import distributed

    return max(int(distributed.get_worker().state.nthreads), 1)


_here = threading.local()


def _desk(errand: Errand) -> _Desk:
    desk: _Desk | None = getattr(_here, "desk", None)
    if desk is None or (desk.errand.stores, desk.errand.cohort) != (errand.stores, errand.cohort):
        desk = _here.desk = _Desk(errand)
    return desk
