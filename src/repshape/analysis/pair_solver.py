"""Solving chosen pairs of a cohort, on the threads of this machine or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._native import PairResults
from repshape._parallel import thread_pool
from repshape.engine import dask
from repshape.engine.plan import Settings, Sizes
from repshape.engine.sides import records_of
from repshape.engine.threads import Metric, PreparedCache, check_finite, join, solve_chunk
from repshape.io.cohort import Cohort

IndexArray = npt.NDArray[np.intp]
Keep = Callable[[IndexArray, PairResults], None]
# Pairs that are kept together: what an interruption may lose, and what a Dask worker is given.
BATCH = 1024
DASK_BATCH = 64
# Pairs that a thread solves at once.
CHUNK = 8


class ThreadPairs:
    """Solves pairs on the threads of this process.

    Attributes
    ----------
    cache : PreparedCache
    workers : int
    edge : int
        Networks are numbered in runs of this length; pairs of the same two runs are solved
        together, so that few networks are in memory at once.
    """

    def __init__(self, cache: PreparedCache, workers: int, edge: int) -> None:
        self.cache, self.workers, self.edge = cache, workers, edge

    def solve(self, pairs: IndexArray, keep: Keep) -> None:
        """Solve pairs, and call ``keep`` with each batch as soon as it is solved."""
        with thread_pool(self.workers) as pool:
            for batch in batches(pairs, self.edge, BATCH):
                keep(batch, solve_batch(self.cache, batch, pool))


class DaskPairs(dask.DaskCluster):
    """Solves pairs on a Dask cluster, whose workers read the cohort themselves."""

    def solve(self, pairs: IndexArray, keep: Keep) -> None:
        """Have the workers solve pairs, and keep each batch as soon as it is solved."""
        parts = [pairs[start : start + DASK_BATCH] for start in range(0, len(pairs), DASK_BATCH)]
        with closing(self.compute(solve_remotely, [(part,) for part in parts])) as finished:
            for number, found in finished:
                keep(parts[number], found)


def solve_remotely(job: dask.WorkerJob, pairs: IndexArray) -> PairResults:
    """Solve pairs in a worker."""
    with thread_pool(1) as pool:
        return solve_batch(dask.worker_state(job).cache, pairs, pool)


def solve_batch(cache: PreparedCache, pairs: IndexArray, pool: Any) -> PairResults:
    """Prepare the networks of some pairs and solve them, from starts of their own."""
    indices = np.unique(pairs).tolist()
    requested = cache.request(indices, pool)
    prepared = []
    for index in indices:
        ready = requested[index].result()
        cache.check(index, ready)
        prepared.append(ready[0])
    local = np.searchsorted(indices, pairs).reshape(-1, 2)
    parts = [local[start : start + CHUNK] for start in range(0, len(local), CHUNK)]
    chunks = [pool.submit(solve_chunk, cache.metrics[0], prepared, part) for part in parts]
    found = join([chunk.result() for chunk in chunks])
    check_finite(found.distance, pairs, cache.names)
    return found


def batches(pairs: IndexArray, edge: int, size: int) -> Iterator[IndexArray]:
    """Yield pairs in batches of at most ``size``, each between two runs of ``edge`` networks.

    >>> [part.tolist() for part in batches(np.array([[0, 1], [0, 4], [1, 2]]), 3, 2)]
    [[[0, 1], [1, 2]], [[0, 4]]]
    """
    places = pairs // edge
    order = np.lexsort((places[:, 1], places[:, 0]))
    pairs, places = pairs[order], places[order]
    ends = np.flatnonzero(np.any(np.diff(places, axis=0), axis=1)) + 1
    for run in np.split(pairs, ends):
        for start in range(0, len(run), size):
            yield run[start : start + size]


def pair_solver(
    networks: Sequence[Any], names: Sequence[str], metric: Metric, settings: Settings
) -> AbstractContextManager[ThreadPairs | DaskPairs]:
    """Return what solves pairs of networks with these settings."""
    sizes = Sizes.of(records_of(networks), [metric])
    edge = sizes.edge(len(names), settings.memory, stored=False, keeps=False)
    capacity = sizes.capacity(settings.memory, edge)
    if settings.engine == "dask":
        assert isinstance(networks, Cohort)
        return DaskPairs(
            networks,
            [],
            [metric],
            capacity,
            scheduler=settings.scheduler,
            workers=settings.workers,
            progress=settings.progress,
        )
    cache = PreparedCache(networks, names, [metric], capacity)
    return nullcontext(ThreadPairs(cache, settings.workers, edge))
