"""One job: networks, metrics, where the tiles go and how they are solved."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._parallel import progress_bar
from repshape.errors import InputError, RepshapeError, check_boolean, check_choice, check_integer
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import ShapeMetric
from repshape.metrics.registry import describe
from repshape.pairwise.engine import Bench, Metric, Work, run_works
from repshape.pairwise.needs import needs
from repshape.pairwise.plan import EDGES_IN_MEMORY, WHOLE, Demand, Plan, Shard, Tile, parse_memory
from repshape.pairwise.polish import Polish, can_polish
from repshape.pairwise.store import Identity, Store, record_width
from repshape.pairwise.tiles import Ledger, MemoryLedger

FloatArray = npt.NDArray[np.float64]
# Transforms that only the polish needs are starts: seven digits are plenty.
POLISH_DTYPE = "float32"
# Alignments beyond this many bytes are kept only if they are asked for.
LARGEST_STORE = 2**35


@dataclass(frozen=True)
class Settings:
    """How a job is run; none of it changes a distance."""

    workers: int = 1
    engine: str = "threads"
    polish: bool = True
    progress: bool | None = None
    memory: int = 2**30
    shard: Shard = WHOLE
    alignments: str | None = None
    scheduler: Any = None
    tile: int | None = None

    @classmethod
    def checked(
        cls,
        *,
        memory: str | int | None = None,
        shard: str | None = None,
        alignments: str | None = None,
        tile: int | None = None,
        polish: bool = True,
        **others: Any,
    ) -> Settings:
        """Return settings as a user gives them, or raise one clear sentence."""
        if alignments is not None:
            check_choice("alignments", alignments, ("float32", "float64"))
        return cls(
            memory=parse_memory(memory),
            shard=WHOLE if shard is None else Shard.parse(shard),
            alignments=alignments,
            tile=None if tile is None else check_integer("tile", tile, 1),
            polish=check_boolean("polish", polish),
            **others,
        )


Task = tuple[Tile, int]  # a tile of the matrix of one of the metrics, by its number


class Executor(Protocol):
    """Where tiles are solved."""

    def run(self, what: str, layer: int, tasks: list[Task]) -> None:
        """Have tiles of a layer solved and written."""


class Threads:
    """Tiles over the threads of this process."""

    def __init__(
        self, bench: Bench, ledgers: Sequence[Ledger], workers: int, progress: bool | None
    ) -> None:
        self._bench = bench
        self._ledgers = ledgers
        self._workers = workers
        self._progress = progress
        self._polishes = [Polish(ledger, k) for k, ledger in enumerate(ledgers)]

    def run(self, what: str, layer: int, tasks: list[Task]) -> None:
        """Solve and write tiles of a layer."""
        total = sum(self._ledgers[k].plan.n_pairs(tile) for tile, k in tasks)
        with progress_bar(what, total, self._progress) as advance:
            run_works(self._works(layer, tasks), self._bench, self._workers, advance)

    def _works(self, layer: int, tasks: list[Task]) -> Iterator[Work]:
        for tile, k in tasks:
            if not self._ledgers[k].has(layer, tile):  # another process may have been faster
                yield make_work(self._ledgers[k], self._polishes[k], layer, tile, k)


def make_work(ledger: Ledger, polish: Polish, layer: int, tile: Tile, number: int) -> Work:
    """Return what is to be done for one tile of a layer."""
    if layer > 0:
        return polish.work(layer, tile)
    return Work(ledger, 0, tile, number, ledger.plan.pairs(tile))


@dataclass(frozen=True)
class Job:
    """Distances between all pairs of networks, for each of several metrics."""

    networks: Sequence[Any]
    labels: tuple[str, ...]
    metadata: pd.DataFrame
    metrics: dict[str, Metric]

    def run(self, paths: dict[str, Path | None], settings: Settings) -> dict[str, DistanceMatrix]:
        """Compute what is missing of every matrix and return them."""
        stored = any(path is not None for path in paths.values())
        if not stored and (settings.shard.count > 1 or settings.engine == "dask"):
            raise InputError("Shards and Dask need a store, where the finished tiles meet.")
        job = replace(self, networks=self._recognisable()) if stored else self
        polished = [job._polishes(metric, settings, stored) for metric in job.metrics.values()]
        ledgers = [
            job._ledger(name, path, settings, polish)
            for (name, path), polish in zip(paths.items(), polished, strict=True)
        ]
        with job._executor(ledgers, settings) as executor:
            every = sorted((tile, k) for k, one in enumerate(ledgers) for tile in one.plan.tiles)
            mine = settings.shard.mine(every)
            executor.run("pairs", 0, [(t, k) for t, k in mine if not ledgers[k].has(0, t)])
            for k, ledger in enumerate(ledgers):
                if polished[k] and settings.shard.count == 1:
                    _run_polish(executor, ledger, k)
        return {name: job.matrix(name, one) for name, one in zip(paths, ledgers, strict=True)}

    def matrix(self, name: str, ledger: Ledger) -> DistanceMatrix:
        """Return the matrix as far as it is known."""
        metric = self.metrics[name]
        noted = ledger.polished()
        found = ledger.entries(noted[0] if noted else 0)
        bounded = isinstance(metric, ShapeMetric)
        complete = not np.isnan(found.distance).any()
        return DistanceMatrix(
            found.distance,
            self.labels,
            self.metadata,
            found.lower_bound if bounded else None,
            found.converged == 1.0 if bounded else None,
            describe(metric) | ({"polish": noted[1]} if noted else {}),
            missing=not complete,
        )

    def demand(self, keeps: bool) -> Demand:
        """Return what one network and one transform take of memory."""
        metrics = list(self.metrics.values())
        found = [needs(network, metrics) for network in _described(self.networks)]
        largest = max(one.size for one in found)
        return Demand(max(one.ready for one in found), 8 * largest**2 if keeps else 0)

    def _polishes(self, metric: Metric, settings: Settings, stored: bool) -> bool:
        """Return whether to polish: asked for, possible, and alignments not too many to keep."""
        if not (settings.polish and can_polish(metric)):
            return False
        total = self.demand(True).transform * len(self.networks) ** 2 / 2
        limit = LARGEST_STORE if stored else 0.5 * settings.memory
        if total <= limit:
            return True
        way = "" if stored else " A store keeps them on the disk instead."
        warnings.warn(
            f"The polish is left out: its alignments would take {total / 2**30:.1f} GiB, and "
            f"{limit / 2**30:.1f} GiB are allowed.{way} With polish=False it is not asked for.",
            stacklevel=2,
        )
        return False

    def _recognisable(self) -> Cohort:
        """Return the networks as a cohort, which knows their fingerprints."""
        if isinstance(self.networks, Cohort):
            return self.networks
        try:
            return Cohort.from_networks(self.networks, self.labels)
        except RepshapeError as error:
            raise InputError(f"A store needs networks that it can recognise. {error}") from None

    def _ledger(self, name: str, path: Path | None, settings: Settings, polish: bool) -> Ledger:
        kind = settings.alignments or (POLISH_DTYPE if polish else None)
        demand = self.demand(kind is not None)
        count = len(self.networks)
        stored = path is not None
        edge = settings.tile or demand.edge(count, settings.memory, stored=stored)
        if path is None:
            return MemoryLedger(Plan(count, edge), kind)
        assert isinstance(self.networks, Cohort)
        identity = Identity(
            describe(self.metrics[name]), self.labels, tuple(self.networks.fingerprints)
        )
        width = record_width(edge, int(np.sqrt(demand.transform / 8)))
        return Store.create(path, identity, self.metadata, edge, kind, width)

    def _executor(
        self, ledgers: Sequence[Ledger], settings: Settings
    ) -> AbstractContextManager[Executor]:
        demand = self.demand(False)
        edge = max(ledger.plan.edge for ledger in ledgers)
        capacity = max(demand.capacity(settings.memory), EDGES_IN_MEMORY * edge)
        if settings.engine == "dask":
            from repshape.pairwise._dask import DaskExecutor  # an optional dependency

            return DaskExecutor(self, ledgers, settings, capacity)
        bench = Bench(self.networks, self.labels, list(self.metrics.values()), capacity)
        if not any(ledger.plan.tiles for ledger in ledgers):
            bench.validate(0)  # one network has no pairs
        return nullcontext(Threads(bench, ledgers, settings.workers, settings.progress))


def _run_polish(executor: Executor, ledger: Ledger, number: int) -> None:
    def execute(layer: int, tiles: list[Tile]) -> None:
        executor.run(f"polish {layer}", layer, [(tile, number) for tile in tiles])

    Polish(ledger, number).run(execute)


def _described(networks: Sequence[Any]) -> Sequence[Any]:
    """Return what tells the sizes of networks, without reading those of a cohort."""
    records: Sequence[Any] = getattr(networks, "records", networks)
    return records
