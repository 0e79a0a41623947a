"""Solving tiles over the threads of one machine."""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from repshape._parallel import Advance
from repshape.errors import InputError
from repshape.metrics.base import PairResults, ShapeMetric
from repshape.pairwise.plan import Tile
from repshape.pairwise.tiles import Ledger

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
Metric: TypeAlias = "ShapeMetric[Any] | Callable[[Any, Any], float]"

# Chunks depend on the number of pairs alone, never on the number of workers, so that a solver that
# shares work within a chunk gives the same bits however many there are. About 256 chunks keep
# every core busy to the end; at most 64 pairs keep a chunk short.
TARGET_CHUNKS = 256
MAX_CHUNK = 64
# What mallopt calls the size from which memory is mapped, and unmapped when it is freed.
M_MMAP_THRESHOLD = -3
SMALLEST_MAPPED = 2**20
# Steps after which the starts of a pair are compared, and how far above the present distance the
# best may then be. On five macaque V1 populations no such limit at all gave the same distances.
TRIAL_STEPS = 12
HOPE = 0.02


@dataclass(frozen=True)
class Work:
    """What is to be done for one tile of one metric's matrix.

    ``pairs`` are those to solve, from ``starts`` if given, to get below ``limits``. ``finish``
    makes the results of the whole tile of theirs.
    """

    ledger: Ledger
    layer: int
    tile: Tile
    metric: int
    pairs: IndexArray
    starts: list[FloatArray] | None = None
    limits: FloatArray | None = None
    finish: Callable[[PairResults], PairResults] = lambda found: found


class Bench:
    """Networks that are ready for every metric, as many as memory allows, latest used last.

    Parameters
    ----------
    networks : sequence
        Networks, read when they are asked for.
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
        self._capacity = capacity
        self._ready: OrderedDict[int, Future[tuple[Any, ...]]] = OrderedDict()
        self._first: tuple[int, str] | None = None
        # Where networks come and go, one is made ready at a time, and leaves nothing behind.
        self._gate: threading.Lock | nullcontext[None] = nullcontext()
        if capacity < len(networks):
            self._gate = threading.Lock()
            return_freed_memory()

    def request(self, indices: Iterable[int], pool: Executor) -> dict[int, Future[tuple[Any, ...]]]:
        """Have networks made ready, unless they are, and forget those that were not used long."""
        asked = {}
        for index in indices:
            if index not in self._ready:
                self._ready[index] = pool.submit(self._load, index)
            self._ready.move_to_end(index)
            asked[index] = self._ready[index]
        while len(self._ready) > max(self._capacity, len(asked)):
            self._ready.popitem(last=False)
        return asked

    def check(self, index: int, ready: tuple[Any, ...]) -> None:
        """Raise unless a network has as many conditions as the others."""
        for prepared in ready:
            if not hasattr(prepared, "n_conditions"):
                continue
            if self._first is None:
                self._first = (prepared.n_conditions, self.names[index])
            conditions, name = self._first
            if prepared.n_conditions != conditions:
                raise InputError(
                    "All networks must have the same conditions in the same order. "
                    f"Got {conditions} in {name!r} "
                    f"and {prepared.n_conditions} in {self.names[index]!r}."
                )

    def validate(self, index: int) -> None:
        """Raise if a network or a parameter of a metric cannot be used."""
        with solving():
            self._load(index)

    def _load(self, index: int) -> tuple[Any, ...]:
        with self._gate:
            network = self._networks[index]
            return tuple(
                metric.prepare(network) if isinstance(metric, ShapeMetric) else network
                for metric in self.metrics
            )


def return_freed_memory() -> None:
    """Have the C library give large arrays back to the system as soon as they are freed.

    Otherwise glibc keeps more and more of them for later, in pools of every thread, and memory
    grows far beyond what is in use.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, SMALLEST_MAPPED)


@contextmanager
def solving() -> Iterator[None]:
    """Pin BLAS to one thread: pairs are what runs side by side, and bits must not depend on it."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def run_works(works: Iterable[Work], bench: Bench, workers: int, advance: Advance) -> None:
    """Do all work, each tile written as soon as it is solved.

    With several workers the next tile is under way before the last is done, so that no core
    waits for the end of a tile, for a network to be read, or for the disk.
    """
    pool: Executor = _Inline() if workers == 1 else ThreadPoolExecutor(workers, "repshape")
    running: deque[_Running] = deque()
    depth = 0 if workers == 1 else 1
    with solving(), pool:
        try:
            for work in works:
                started = _Running(work, bench, pool)
                while len(running) > depth:
                    running.popleft().conclude(bench, advance)
                running.append(started)
                started.launch(bench, pool)
            while running:
                running.popleft().conclude(bench, advance)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _Running:
    """One tile on its way: networks are made ready, then pairs solved, then all is written."""

    def __init__(self, work: Work, bench: Bench, pool: Executor) -> None:
        self._work = work
        self._indices = np.unique(work.pairs).tolist()
        self._networks = bench.request(self._indices, pool)
        self._chunks: list[Future[PairResults]] = []

    def launch(self, bench: Bench, pool: Executor) -> None:
        """Wait for the networks and hand out the pairs in chunks."""
        work, prepared = self._work, []
        for index in self._indices:
            ready = self._networks[index].result()
            bench.check(index, ready)
            prepared.append(ready[work.metric])
        self._networks = {}
        local = np.searchsorted(self._indices, work.pairs).reshape(-1, 2)
        size = min(max(len(local) // TARGET_CHUNKS, 1), MAX_CHUNK)
        for start in range(0, len(local), size):
            part = slice(start, start + size)
            metric, keep = bench.metrics[work.metric], work.ledger.keeps
            if work.starts is None:
                task = pool.submit(solve, metric, prepared, local[part], keep)
            else:
                limits = None if work.limits is None else work.limits[part]
                given = (work.starts[part], limits)
                task = pool.submit(restart, metric, prepared, local[part], *given)
            self._chunks.append(task)

    def conclude(self, bench: Bench, advance: Advance) -> None:
        """Wait for the pairs, check them and write the tile."""
        found = []
        for chunk in self._chunks:
            found.append(chunk.result())  # the first failure ends the run
            advance(len(found[-1].distance))
        work, joined = self._work, join(found)
        check_finite(joined.distance, work.pairs, bench.names)
        work.ledger.write(work.layer, work.tile, work.finish(joined))


def solve(metric: Metric, prepared: Sequence[Any], pairs: IndexArray, keep: bool) -> PairResults:
    """Solve pairs, given as rows of two indices into ``prepared``."""
    if not isinstance(metric, ShapeMetric):
        distance = np.array([float(metric(prepared[i], prepared[j])) for i, j in pairs])
        nothing = np.full(len(pairs), np.nan)
        return PairResults(distance, lower_bound=nothing, converged=np.ones(len(pairs), dtype=bool))
    options = {"keep": True} if keep else {}  # which only metrics that can be polished take
    return metric.solve_pairs(prepared, pairs, **options)


def restart(
    metric: Any,  # a shape metric whose solver takes starts and keeps transforms
    prepared: Sequence[Any],
    pairs: IndexArray,
    starts: Sequence[FloatArray],
    limits: FloatArray | None,
) -> PairResults:
    """Solve pairs again from given starts (S, s_y, s_x), where they promise to get below a limit.

    Each start gets a few steps. The best one of a pair is finished, unless it is then still so far
    above the limit that it will hardly get below. Without limits all starts are finished.
    """
    counts = [len(one) for one in starts]
    if limits is None:
        finished: PairResults = metric.solve_pairs(prepared, pairs, starts=starts, keep=True)
        return finished
    trial = clone(metric).set_params(max_iter=TRIAL_STEPS)
    every = np.repeat(pairs, counts, axis=0)
    single = [start[None] for one in starts for start in one]
    tried = trial.solve_pairs(prepared, every, starts=single, keep=True)
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    best = [
        int(f + np.argmin(tried.distance[f : f + c])) for f, c in zip(firsts, counts, strict=True)
    ]
    kept = tried.transforms or []
    found = PairResults(
        tried.distance[best],
        tried.lower_bound[best],
        tried.converged[best],
        [kept[b] for b in best],
    )
    hope = np.flatnonzero(found.distance < (1 + HOPE) * limits)
    if not hope.size:
        return found
    seeds = [(found.transforms or [])[k][None] for k in hope]
    return _replaced(
        found, hope, metric.solve_pairs(prepared, pairs[hope], starts=seeds, keep=True)
    )


def _replaced(found: PairResults, at: IndexArray, new: PairResults) -> PairResults:
    """Put new results in their places."""
    found.distance[at], found.lower_bound[at] = new.distance, new.lower_bound
    found.converged[at] = new.converged
    transforms = list(found.transforms or [])
    for place, transform in zip(at.tolist(), new.transforms or [], strict=True):
        transforms[place] = transform
    return replace(found, transforms=transforms)


def join(found: Sequence[PairResults]) -> PairResults:
    """Return results one after the other."""
    kept = [result.transforms for result in found]
    return PairResults(
        distance=np.concatenate([r.distance for r in found] or [np.zeros(0)]),
        lower_bound=np.concatenate([r.lower_bound for r in found] or [np.zeros(0)]),
        converged=np.concatenate([r.converged for r in found] or [np.zeros(0, dtype=bool)]),
        transforms=None if None in kept else [one for part in kept for one in part or ()],
    )


def check_finite(distance: FloatArray, pairs: IndexArray, names: Sequence[str]) -> None:
    """Raise one sentence unless all distances are finite."""
    bad = np.flatnonzero(~np.isfinite(distance))
    if bad.size:
        x, y = (names[k] for k in pairs[bad[0]])
        raise InputError(
            f"The metric gave {distance[bad[0]]} for networks {x!r} and {y!r}; "
            "distances must be finite."
        )


class _Inline(Executor):
    """Runs what it is given at once, in the calling thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run, and return the result as if it had been waited for; a failure ends the run here."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future
