"""Solving tiles on the threads of one machine."""

from __future__ import annotations

import ctypes
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from repshape._labels import HasConditions, find_difference
from repshape._native import PairResults
from repshape._parallel import Advance, InlinePool, progress_bar, thread_pool
from repshape.engine.compositions import solve_composed
from repshape.engine.plan import Tile
from repshape.engine.polish import keep_better, make_task
from repshape.engine.tiles import QUANTITIES, Layer, TileTask, numbers_of, results_of
from repshape.errors import InputError, InputTypeError
from repshape.metrics.base import ShapeMetric

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
Metric: TypeAlias = "ShapeMetric[Any] | Callable[[Any, Any], float]"
# A tile of a layer that is to be solved.
Request: TypeAlias = tuple[Layer, Tile]

# Chunks depend on the number of pairs alone, never on the number of workers, so that a solver that
# shares work within a chunk gives the same bits however many there are. About 256 chunks keep
# every core busy to the end; at most 64 pairs keep a chunk short.
TARGET_CHUNKS = 256
MAX_CHUNK = 64


@dataclass(frozen=True)
class ThreadSolver:
    """Solves tiles on the threads of this process.

    Attributes
    ----------
    cache : PreparedCache
    workers : int
        Number of threads.
    progress : bool or None
        Whether to show a progress bar; None shows it in a terminal or a notebook.
    """

    cache: PreparedCache
    workers: int
    progress: bool | None

    def run(self, what: str, requests: Iterable[Request]) -> None:
        """Solve the tiles that are missing, and write each one as soon as it is solved."""

        def is_missing(request: Request) -> bool:
            layer, tile = request
            return not layer.tiles.has(layer.number, tile)

        missing = list(filter(is_missing, requests))
        total = sum(tile.n_pairs for _, tile in missing)
        # Another process may solve some of them meanwhile.
        tasks = (make_task(*request) for request in missing if is_missing(request))
        with progress_bar(what, total, self.progress) as advance:
            solve_tasks(tasks, self.cache, self.workers, advance)


class PreparedCache:
    """Networks prepared for every metric of a job, as many as memory allows.

    The networks that were not used for the longest time are dropped first.

    Parameters
    ----------
    networks : sequence
        Networks; those of a cohort on disk are read when needed.
    names : sequence of str
    metrics : sequence of metrics
    capacity : int
        How many networks to keep.
    """

    def __init__(
        self,
        networks: Sequence[Any],
        names: Sequence[str],
        metrics: Sequence[Metric],
        capacity: int,
    ) -> None:
        self.names = names
        self.metrics = metrics
        self._networks = networks
        self.capacity = capacity
        self._ready: OrderedDict[int, Future[tuple[Any, ...]]] = OrderedDict()
        self._first: tuple[HasConditions, str] | None = None
        self._short_of_memory = capacity < len(names)
        self._here = InlinePool()

    def request(self, indices: Iterable[int], pool: Executor) -> dict[int, Future[tuple[Any, ...]]]:
        """Have networks prepared, unless they are already, and drop those beyond the capacity.

        Where memory is short they are prepared in this thread, one after the other, while the pool
        solves the tile before: the C library returns the memory of the main thread best.
        """
        wanted = list(indices)
        for index in wanted:
            if index in self._ready:
                self._ready.move_to_end(index)
        absent = [index for index in wanted if index not in self._ready]
        room = max(self.capacity, len(wanted)) - len(absent)
        while len(self._ready) > room:
            self._ready.popitem(last=False)
        for index in absent:
            if self._short_of_memory:
                return_free_memory()
            where = self._here if self._short_of_memory else pool
            self._ready[index] = where.submit(self._prepare, index)
        return {index: self._ready[index] for index in wanted}

    def check(self, index: int, ready: tuple[Any, ...]) -> None:
        """Raise unless a network has the same conditions as the others."""
        for prepared in ready:
            if not hasattr(prepared, "n_conditions"):
                continue
            if self._first is None:
                self._first = (prepared, self.names[index])
            first, name = self._first
            difference = find_difference(first, prepared, (repr(name), repr(self.names[index])))
            if difference is not None:
                raise InputError(
                    f"All networks must have the same conditions in the same order. {difference}"
                )

    def _prepare(self, index: int) -> tuple[Any, ...]:
        network = self._networks[index]
        for metric in self.metrics:
            if isinstance(metric, ShapeMetric):
                metric._validate_parameters()  # before a network could be blamed
        try:
            return tuple(
                metric.prepare(network) if isinstance(metric, ShapeMetric) else network
                for metric in self.metrics
            )
        except InputError as error:
            raise InputError(f"In network {self.names[index]!r}: {error}") from None
        except InputTypeError as error:
            raise InputTypeError(f"In network {self.names[index]!r}: {error}") from None


def return_free_memory() -> None:
    """Return memory that was freed to the operating system, where the C library can (glibc).

    Otherwise glibc keeps what large arrays leave behind, for every thread, and memory grows far
    beyond what is in use.
    """
    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def solve_tasks(
    tasks: Iterable[TileTask], cache: PreparedCache, workers: int, advance: Advance
) -> None:
    """Solve tasks; each tile is written as soon as it is solved.

    With several workers the next tile is begun before the last one is finished, so that no core
    waits for the end of a tile, for a network to be read, or for the disk.
    """
    running: deque[_RunningTile] = deque()
    depth = 0 if workers == 1 else 1
    with thread_pool(workers) as pool:
        for task in tasks:
            started = _RunningTile(task, cache, pool, advance)
            while len(running) > depth:
                running.popleft().finish()
            running.append(started)
            started.submit_pairs()
        while running:
            running.popleft().finish()


class _RunningTile:
    """One tile on its way: networks are prepared, then pairs are solved, then all is written."""

    def __init__(
        self, task: TileTask, cache: PreparedCache, pool: Executor, advance: Advance
    ) -> None:
        self._task, self._cache, self._pool, self._advance = task, cache, pool, advance
        self._indices = np.unique(task.pairs).tolist()
        self._networks = cache.request(self._indices, pool)
        self._chunks: list[tuple[Future[PairResults], int]] = []

    def submit_pairs(self) -> None:
        """Wait for the networks and submit the pairs in chunks."""
        task, prepared = self._task, []
        for index in self._indices:
            ready = self._networks[index].result()
            self._cache.check(index, ready)
            prepared.append(ready[task.layer.metric])
        self._networks = {}
        local = np.searchsorted(self._indices, task.pairs).reshape(-1, 2)
        size = min(max(len(local) // TARGET_CHUNKS, 1), MAX_CHUNK)
        metric, keep = self._cache.metrics[task.layer.metric], task.layer.tiles.keeps
        for start in range(0, len(local), size):
            part = slice(start, start + size)
            solve: Callable[[], PairResults]
            if task.compositions is None:
                solve = partial(
                    solve_chunk, metric, prepared, local[part], keep=keep, brief=task.brief
                )
            else:
                given = task.compositions.part(part)
                solve = partial(
                    solve_composed, metric, prepared, local[part], task.pairs[part], given
                )
            chunk = self._pool.submit(solve)
            uncounted = len(local[part])
            if chunk.done():  # by a pool of one worker, which solves in this thread
                self._advance(uncounted)
                uncounted = 0
            self._chunks.append((chunk, uncounted))

    def finish(self) -> None:
        """Wait for the pairs, check them and write the tile."""
        found = []
        for chunk, uncounted in self._chunks:
            found.append(chunk.result())  # the first failure ends the run
            self._advance(uncounted)
        task, joined = self._task, join(found)
        self._advance(task.tile.n_pairs - len(task.pairs))  # what needed no work
        if task.compositions is None:  # compositions that are not solved have no distance
            check_finite(joined.distance, task.pairs, self._cache.names)
        task.layer.tiles.write(task.layer.number, task.tile, keep_better(task, joined))


def solve_chunk(
    metric: Metric,
    prepared: Sequence[Any],
    pairs: IndexArray,
    *,
    keep: bool = False,
    brief: int | None = None,
) -> PairResults:
    """Solve pairs, given as rows of two indices into ``prepared``, from starts of their own."""
    if not isinstance(metric, ShapeMetric):
        distance = np.array([float(metric(prepared[i], prepared[j])) for i, j in pairs])
        nothing, once = np.full(len(pairs), np.nan), np.ones(len(pairs), dtype=np.int64)
        return PairResults(distance, nothing, np.ones(len(pairs), dtype=bool), once, once.copy())
    # Only metrics that can be polished, or searched briefly, know these options.
    options: dict[str, Any] = {"keep": True} if keep else {}
    options |= {} if brief is None else {"brief": brief}
    return metric.solve_pairs(prepared, pairs, **options)


def join(found: Sequence[PairResults]) -> PairResults:
    """Return results one after the other."""
    kept = [result.transforms for result in found]
    numbers = [numbers_of(result) for result in found] or [np.zeros((len(QUANTITIES), 0))]
    transforms = None if None in kept else [one for part in kept for one in part or ()]
    return results_of(np.concatenate(numbers, axis=1), transforms)


def check_finite(distance: FloatArray, pairs: IndexArray, names: Sequence[str]) -> None:
    """Raise one sentence unless all distances are finite."""
    bad = np.flatnonzero(~np.isfinite(distance))
    if bad.size:
        x, y = (names[k] for k in pairs[bad[0]])
        raise InputError(
            f"The metric gave {distance[bad[0]]} for networks {x!r} and {y!r}; "
            "distances must be finite."
        )
