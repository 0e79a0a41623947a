"""One run over all pairs: open what is there, solve what is missing, polish, read the result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from repshape._parallel import thread_pool
from repshape.engine.effort import Effort
from repshape.engine.growth import Form, StoreChangedError, discard_sources, open_store, relate
from repshape.engine.measures import with_measures
from repshape.engine.plan import Plan, Settings, Sizes
from repshape.engine.polish import can_polish, polish_layers
from repshape.engine.sides import Chain, records_of, split_sides
from repshape.engine.sources import Sources
from repshape.engine.store import Store, read_cross, read_steadily, read_store
from repshape.engine.threads import Metric, PreparedCache, Request, ThreadSolver
from repshape.engine.tiles import Layer, MemoryTiles, TileStore, read_block, read_matrix
from repshape.errors import SearchWarning, StorageError, warn_user
from repshape.io.cohort import Cohort
from repshape.matrix.cross import CrossDistances
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.sizes import sizes_of_networks
from repshape.matrix.summary import doubt_words
from repshape.metrics.base import ShapeMetric
from repshape.store.identity import Identity, Permission, Relation
from repshape.store.lease import is_held, pause

# Transforms that only the polish needs are starting points: seven digits are plenty.
POLISH_DTYPE = "float32"
# Alignments that need more bytes than this are kept only if the user asks for them.
LARGEST_STORE = 2**35


class Solver(Protocol):
    """Where tiles are solved."""

    def run(self, what: str, requests: Iterable[Request]) -> None:
        """Solve and write the tiles that are missing, and show the progress of ``what``."""


@dataclass(frozen=True)
class Job:
    """The distances between all pairs of networks, for each of several metrics.

    ``descriptions`` are the identities of the metrics and ``paths`` their stores, by name.
    ``fingerprints`` identify the networks, if there is a store, and ``permission`` says which of
    those that the store has may be replaced or removed.
    """

    networks: Sequence[Any]
    labels: tuple[str, ...]
    metadata: pd.DataFrame
    fingerprints: tuple[str, ...]
    metrics: dict[str, Metric]
    descriptions: dict[str, dict[str, Any]]
    paths: dict[str, Path | None]
    settings: Settings
    permission: Permission
    sides: tuple[pd.DataFrame, pd.DataFrame] | None = None

    def run(self) -> dict[str, Any]:
        """Compute whatever is missing of the matrices, or blocks, and return them."""
        opened = self._open_all()
        try:
            with self.solver(list(opened.values())) as solver:
                for _, what, requests in self.rounds(opened):
                    solver.run(what, requests)
            found = {name: self._read(name, tiles) for name, tiles in opened.items()}
            for tiles in opened.values():
                if isinstance(tiles, Store):
                    discard_sources(tiles)
        finally:
            _release(opened)
        if self.settings.shard.count == 1:
            for D in found.values():
                warn_of_doubt(D)
        return found

    @property
    def rows(self) -> int | None:
        """Number of networks of the first of two sets, or None for a matrix."""
        return None if self.sides is None else len(self.sides[0])

    def _read(self, name: str, tiles: TileStore) -> Any:
        if self.sides is not None:
            return read_block(tiles, self.sides, self.descriptions[name])
        known = self.labels, self.metadata, self.descriptions[name], self.known_sizes
        return read_matrix(tiles, *known)

    def rounds(self, stores: Mapping[str, TileStore]) -> Iterator[tuple[int, str, list[Request]]]:
        """Yield the number of each layer, what it does, and its tiles, in the order of solving.

        The caller solves the tiles of a layer before asking for the next.
        """
        opened, shard = list(stores.values()), self.settings.shard
        layers = [Layer(tiles, k, 0) for k, tiles in enumerate(opened)]
        every = sorted((tile, k) for k, one in enumerate(opened) for tile in one.plan.tiles)
        yield 0, "pairs", [(layers[k], tile) for tile, k in shard.mine(every)]
        for k, (name, tiles) in enumerate(stores.items()):
            if self.polished[name] and shard.count == 1:
                for layer in polish_layers(tiles, k):
                    requests = [(layer, tile) for tile in tiles.plan.tiles]
                    yield layer.number, f"polish {layer.number}", requests

    @cached_property
    def sizes(self) -> Sizes:
        """How large the largest network is."""
        return Sizes.of(records_of(self.networks), list(self.metrics.values()))

    @cached_property
    def known_sizes(self) -> dict[str, Any] | None:
        """Numbers of neurons and trials of the networks, as far as they are known."""
        return sizes_of_networks(records_of(self.networks))

    @cached_property
    def polished(self) -> dict[str, bool]:
        """Whether each matrix is polished."""
        return {name: self._is_polished(name) for name in self.metrics}

    def _open_all(self) -> dict[str, TileStore]:
        """Return where the tiles of each matrix are kept, with those that are finished already."""
        found: dict[str, TileStore] = {}
        try:
            for name in self.metrics:
                found[name] = self._open(name)
        except BaseException:
            _release(found)
            raise
        return found

    def polishes(self, name: str) -> bool:
        """Return whether the polish is asked for, and possible."""
        if self.sides is not None:  # compositions need the pairs of each set, too
            return False
        return self.settings.polish and can_polish(self.metrics[name])

    def _is_polished(self, name: str) -> bool:
        """Return whether to polish: asked for, possible, and with alignments that can be kept."""
        if not self.polishes(name):
            return False
        stored = self.paths[name] is not None
        total = self.sizes.transform * len(self.labels) ** 2 / 2
        limit = LARGEST_STORE if stored else 0.5 * self.settings.memory
        if total <= limit:
            return True
        advice = "" if stored else " A store would keep them on disk instead."
        warn_user(
            f"The polish is left out: its alignments would take {total / 2**30:.1f} GiB, and "
            f"{limit / 2**30:.1f} GiB are allowed.{advice} Pass polish=False to silence this "
            "warning.",
            UserWarning,
        )
        return False

    def form(self, name: str) -> Form:
        """Return the form of the tiles of a matrix."""
        settings, K, metric = self.settings, len(self.labels), self.metrics[name]
        polish = self.polished[name]
        alignments = settings.alignments or (POLISH_DTYPE if polish else None)
        edge = min(settings.tile or K, K)
        if settings.tile is None:
            stored = self.paths[name] is not None
            edge = self.sizes.edge(K, settings.memory, stored=stored, keeps=alignments is not None)
        return Form(
            edge=edge,
            alignments=alignments,
            dimensions=self.sizes.dimensions,
            bounded=isinstance(metric, ShapeMetric),
            sizes=self.known_sizes,
            effort=self.effort(name),
            rows=self.rows,
            sides=self.sides,
        )

    def effort(self, name: str) -> Effort:
        """Return how the pairs of a matrix are searched, unless its store says otherwise."""
        return Effort.of(self.metrics[name], self.sizes.dimensions, self.settings.effort)

    def identity(self, name: str) -> Identity:
        """Return what a store of a metric belongs to."""
        return Identity(self.descriptions[name], self.labels, self.fingerprints)

    def count_known(self, name: str) -> int:
        """Return how many pairs the store of a metric has already, without changing it."""
        path = self.paths[name]
        if path is None or not path.exists():
            return 0
        identity = self.identity(name)
        return read_steadily(path, lambda store: Sources(store.generations, identity).count())

    def _open(self, name: str) -> TileStore:
        path, form = self.paths[name], self.form(name)
        if path is None:
            plan = Plan(len(self.labels), form.edge, form.rows)
            return MemoryTiles(plan, form.alignments, form.bounded, form.effort)
        return open_store(
            path, self.identity(name), self.metadata, form, self.permission, self.settings.wait
        )

    def cache(self, edge: int) -> PreparedCache:
        """Return prepared networks, as many as memory allows, for tiles of the given edge."""
        capacity = self.sizes.capacity(self.settings.memory, edge)
        return PreparedCache(self.networks, self.labels, list(self.metrics.values()), capacity)

    def solver(self, opened: Sequence[Any]) -> AbstractContextManager[Solver]:
        """Return what solves the tiles."""
        settings = self.settings
        cache = self.cache(max(tiles.plan.edge for tiles in opened))
        if settings.engine == "dask":
            from repshape.engine.dask import DaskSolver  # an optional dependency

            assert isinstance(self.networks, Cohort | Chain)
            return DaskSolver(
                self.networks,
                opened,
                cache.metrics,
                cache.capacity,
                scheduler=settings.scheduler,
                workers=settings.workers,
                progress=settings.progress,
            )
        if len(self.labels) == 1:  # there are no pairs, but the network is validated all the same
            with thread_pool(1) as pool:
                cache.request([0], pool)
        return nullcontext(ThreadSolver(cache, settings.workers, settings.progress))


@dataclass(frozen=True)
class Run:
    """What a call of `pairwise` has to do.

    Attributes
    ----------
    names : tuple of str
        The names of the matrices.
    labels : tuple of str
    metadata : pandas.DataFrame
        The networks, in the order in which the user gave them.
    jobs : list of Job
        What to compute: one job for each order of networks, since a store keeps its own order.
    whole : Job
        What the jobs are parts of.
    selections : dict of str to pathlib.Path
        Stores that have all of the networks, and others. They are read only.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    metadata: pd.DataFrame
    jobs: list[Job]
    whole: Job
    selections: dict[str, Path]

    def run(self) -> dict[str, Any]:
        """Compute whatever is missing of the matrices, or blocks, and return them."""
        try:
            found = {name: D for job in self.jobs for name, D in job.run().items()}
        except StoreChangedError:
            return plan_run(self.whole).run()
        read = read_store if self.whole.sides is None else read_cross
        found |= {name: read(path) for name, path in self.selections.items()}
        return {name: self._measured(name, self._ordered(found[name])) for name in self.names}

    def _measured(self, name: str, D: Any) -> Any:
        """Return a matrix in memory with the norms of its networks; others as they are.

        Stores do not keep norms, and a matrix should be the same whether it is read again or not.
        """
        if not isinstance(D, DistanceMatrix) or self.whole.paths[name] is not None:
            return D
        return with_measures(D, self.whole.networks, self.whole.metrics[name])

    def _ordered(self, D: Any) -> Any:
        if isinstance(D, CrossDistances):
            rows, columns = split_sides(self.labels)
            assert self.whole.sides is not None
            return D[list(rows), list(columns)].replace(
                row_metadata=self.whole.sides[0], column_metadata=self.whole.sides[1]
            )
        if D.labels == self.labels:
            return D
        chosen: DistanceMatrix = D[list(self.labels)]
        return chosen.replace(metadata=self.metadata, sizes=self.whole.known_sizes)

    def count_pairs(self) -> tuple[int, int]:
        """Return how many pairs are known already, and how many there are, over all matrices."""
        every = Plan(len(self.labels), 1, self.whole.rows).n_pairs
        known = sum(job.count_known(name) for job in self.jobs for name in job.metrics)
        return known + every * len(self.selections), every * len(self.names)


def plan_run(job: Job) -> Run:
    """Return what to do for a job, given the stores that exist."""
    orders: dict[tuple[str, ...], list[str]] = {}
    selections = {}
    for name, path in job.paths.items():
        order = job.labels
        if path is not None and path.exists():
            relation = relate(path, job.identity(name), job.effort(name), job.permission)
            if relation is Relation.SELECTION:
                polish = job.polishes(name)
                _wait_until_finished(path, polish, job.settings.wait)
                selections[name] = path
                continue
            if relation is Relation.SAME:
                order = read_steadily(path, lambda store: store.identity.labels)
        orders.setdefault(order, []).append(name)
    jobs = [_part(job, order, names) for order, names in orders.items()]
    return Run(tuple(job.metrics), job.labels, job.metadata, jobs, job, selections)


def _part(job: Job, labels: tuple[str, ...], names: list[str]) -> Job:
    """Return a job for some of the metrics, with the networks in another order."""
    networks, fingerprints, sides = job.networks, job.fingerprints, job.sides
    if labels != job.labels:
        assert isinstance(networks, Cohort | Chain)
        if isinstance(networks, Chain):
            networks = networks.select(labels)
        else:
            networks = networks[list(labels)]
        fingerprints = networks.fingerprints
    if sides is not None:
        named = zip(sides, split_sides(labels), strict=True)
        first, second = (table.loc[list(names)] for table, names in named)
        sides = first, second
    return replace(
        job,
        networks=networks,
        labels=labels,
        metadata=job.metadata.loc[list(labels)],
        fingerprints=fingerprints,
        sides=sides,
        metrics={name: job.metrics[name] for name in names},
    )


def _wait_until_finished(path: Path, polish: bool, wait: float) -> None:
    """Raise unless a store is complete, or soon is, so that some of its networks can be read."""
    start = time.monotonic()
    while True:
        held = is_held(path)
        if read_steadily(path, lambda store: _is_finished(store, polish)):
            return
        if not held or time.monotonic() - start >= wait:
            raise StorageError(
                f"{path} is not finished, and has networks that the cohort lacks. Finish it with "
                "all of its networks first, or name those to drop in 'remove' (--remove)."
            )
        pause()


def _is_finished(store: Store, polish: bool) -> bool:
    return not store.missing() and not (polish and store.polished() is None)


def _release(opened: Mapping[str, TileStore]) -> None:
    """Let other runs change the networks of stores."""
    for tiles in opened.values():
        if isinstance(tiles, Store) and tiles.lease is not None:
            tiles.lease.release()


def warn_of_doubt(D: DistanceMatrix | CrossDistances) -> None:
    """Warn if some pairs may be longer than necessary, once for all of them."""
    words = doubt_words(D)
    if words:
        warn_user(
            f"{words}: too few starts agree on their best alignments; see "
            f"{type(D).__name__}.possible_excess. A larger n_starts searches longer.",
            SearchWarning,
        )
