"""All distances between many networks: in memory or in a store, on threads or on a cluster.

Every run takes the same path: `Job.run` opens what is there, solves the missing tiles, polishes the
matrix layer by layer, and reads it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import pandas as pd

from repshape._arrays import count
from repshape._parallel import thread_pool
from repshape.errors import InputError, InputTypeError, RepshapeError, SearchWarning
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix, check_labels, check_metadata
from repshape.metrics.base import ShapeMetric, in_one_space
from repshape.metrics.registry import check_callable, check_identity, describe
from repshape.pairwise.effort import Effort
from repshape.pairwise.plan import Plan, Settings, Sizes
from repshape.pairwise.polish import can_be_brief, can_polish, keeps_transforms, polish_layers
from repshape.pairwise.store import Identity, Store, check_store_path
from repshape.pairwise.threads import Metric, PreparedCache, Request, ThreadSolver
from repshape.pairwise.tiles import Layer, MemoryTiles, TileStore, read_matrix

PathLike = str | os.PathLike[str]
# Transforms that only the polish needs are starting points: seven digits are plenty.
POLISH_DTYPE = "float32"
# Alignments that need more bytes than this are kept only if the user asks for them.
LARGEST_STORE = 2**35


def pairwise(
    networks: Cohort | Iterable[Any] | Mapping[str, Any],
    metric: Metric,
    *,
    name: str | None = None,
    labels: Sequence[str] | None = None,
    metadata: pd.DataFrame | None = None,
    workers: int | None = None,
    store: PathLike | None = None,
    engine: Literal["threads", "dask"] = "threads",
    polish: bool = True,
    progress: bool | None = None,
    memory: str | int | None = None,
    shard: str | None = None,
    alignments: Literal["float32", "float64"] | None = None,
    scheduler: Any = None,
    tile: int | None = None,
) -> DistanceMatrix:
    """Return the distances between all pairs of networks.

    Every network is validated and prepared once, as long as memory allows, and each pair is
    solved once: the matrix is symmetric and its diagonal zero by construction. The result has the
    same bits for any number of workers, shards and machines of one kind, and for a run that was
    interrupted and resumed.

    Parameters
    ----------
    networks : Cohort, or iterable or dict of K networks
        Anything that ``metric`` takes. The keys of a dict are the labels. Otherwise labels and
        metadata are taken from its attributes of those names if it has them. The networks of a
        cohort on disk are read when needed.
    metric : ShapeMetric or callable
        A shape metric, or any symmetric ``metric(x, y) -> float``.
    name : str, optional
        Name of a callable. A store needs it to recognise a callable that cannot be imported,
        such as a lambda, or whose arguments cannot be compared.
    labels : sequence of str, optional
        Unique names of the networks.
    metadata : pandas.DataFrame, optional
        A row for each network.
    workers : int, optional
        Number of threads, or of processes of a local Dask cluster. By default all cores for a
        shape metric, and one for another callable, which may not be thread-safe.
    store : path, optional
        A folder (Zarr) in which every finished tile is saved at once. If it exists already, it
        must belong to the same metric and networks, and only missing tiles are computed.
    engine : {"threads", "dask"}
        Dask needs a cohort on disk and a store that all its workers can reach.
    polish : bool
        Solve pairs again from compositions of the alignments of other pairs, until no triangle is
        violated; see `repshape.pairwise.polish`. Done only if the distance is a metric. With eight
        networks or more and ``n_starts="auto"``, each pair is then searched briefly at first, and
        only pairs that are still doubtful after the compositions get the whole search.
    progress : bool, optional
        Show a progress bar on stderr. By default only in a terminal or a notebook.
    memory : str or int, optional
        Budget for networks and alignments, such as ``"2G"``. Default: a quarter of the memory.
    shard : str, optional
        ``"i/N"``: compute only every N-th tile, starting with the i-th; needs a store. Shards do
        not polish: that is left to a last run without ``shard``.
    alignments : {"float32", "float64"}, optional
        Keep the best transform of every pair in the store. The polish keeps them anyway.
    scheduler : str or distributed.Client, optional
        Address of a Dask scheduler; by default a cluster of processes on this machine.
    tile : int, optional
        Edge of the tiles of a new store, in networks; at most K. By default it follows from K and
        ``memory``.

    Returns
    -------
    DistanceMatrix
        With lower bounds, convergence and numbers of starts if the metric is a shape metric.

    Warns
    -----
    SearchWarning
        If the best alignment of some pairs was found once only, by one start or one composition,
        and is not proven to be minimal; see `DistanceMatrix.agreement`. There is one warning for
        the whole matrix.

    Examples
    --------
    >>> import numpy as np
    >>> points = [[[0.0, 0.0]], [[3.0, 4.0]], [[0.0, 4.0]]]
    >>> D = pairwise(points, lambda x, y: float(np.hypot(*np.subtract(x, y)[0])))
    >>> D.values
    array([[0., 5., 4.],
           [5., 0., 3.],
           [4., 3., 0.]])
    """
    check_callable(metric, name)
    settings = Settings.checked(
        workers=workers,
        thread_safe=isinstance(metric, ShapeMetric),
        engine=engine,
        polish=polish,
        progress=progress,
        memory=memory,
        shard=shard,
        alignments=alignments,
        scheduler=scheduler,
        tile=tile,
    )
    job = _job(networks, {"": metric}, {"": name}, labels, metadata, store, settings)
    return job.run()[""]


def pairwise_many(
    networks: Cohort | Iterable[Any] | Mapping[str, Any],
    metrics: Mapping[str, Metric],
    *,
    labels: Sequence[str] | None = None,
    metadata: pd.DataFrame | None = None,
    store: PathLike | None = None,
    workers: int | None = None,
    **options: Any,
) -> dict[str, DistanceMatrix]:
    """Return a matrix for each of several metrics, reading every network once for all of them.

    Parameters
    ----------
    networks, labels, metadata, workers
        As in `pairwise`.
    metrics : mapping of names to metrics
        Such as ``{f"alpha-{a}": GaussianShapeMetric(a) for a in (0, 1, 2)}``. The name also
        identifies a callable that cannot be recognised otherwise; see `pairwise`.
    store : path, optional
        A folder; the store of each metric is inside it, under the metric's name.
    **options
        The other keywords of `pairwise`.

    Examples
    --------
    >>> metrics = {"l1": lambda x, y: abs(x - y), "l2": lambda x, y: (x - y) ** 2}
    >>> found = pairwise_many([1.0, 4.0], metrics)
    >>> found["l1"].values[0, 1].item(), found["l2"].values[0, 1].item()
    (3.0, 9.0)
    """
    if not metrics:
        raise InputError("The 'metrics' parameter must hold at least one metric. Got none.")
    for metric in metrics.values():
        check_callable(metric)
    names = {name: None if _is_identified(one) else name or None for name, one in metrics.items()}
    safe = all(isinstance(metric, ShapeMetric) for metric in metrics.values())
    settings = Settings.checked(workers=workers, thread_safe=safe, **options)
    return _job(networks, metrics, names, labels, metadata, store, settings).run()


class Solver(Protocol):
    """Where tiles are solved."""

    def run(self, what: str, requests: Iterable[Request]) -> None:
        """Solve and write the tiles that are missing, and show the progress of ``what``."""


@dataclass(frozen=True)
class Job:
    """The distances between all pairs of networks, for each of several metrics.

    ``descriptions`` are the identities of the metrics and ``paths`` their stores, by name.
    ``fingerprints`` identify the networks, if there is a store.
    """

    networks: Sequence[Any]
    labels: tuple[str, ...]
    metadata: pd.DataFrame
    fingerprints: tuple[str, ...]
    metrics: dict[str, Metric]
    descriptions: dict[str, dict[str, Any]]
    paths: dict[str, Path | None]
    settings: Settings

    def run(self) -> dict[str, DistanceMatrix]:
        """Compute whatever is missing of the matrices and return them."""
        polished = list(map(self._is_polished, self.metrics))
        opened = list(map(self._open, self.metrics, polished))
        shard = self.settings.shard
        with self._solver(opened) as solver:
            layers = [Layer(tiles, k, 0) for k, tiles in enumerate(opened)]
            every = sorted((tile, k) for k, one in enumerate(opened) for tile in one.plan.tiles)
            solver.run("pairs", [(layers[k], tile) for tile, k in shard.mine(every)])
            for k, tiles in enumerate(opened):
                if polished[k] and shard.count == 1:
                    for layer in polish_layers(tiles, k):
                        requests = [(layer, tile) for tile in tiles.plan.tiles]
                        solver.run(f"polish {layer.number}", requests)
        found = {
            name: read_matrix(tiles, self.labels, self.metadata, self.descriptions[name])
            for name, tiles in zip(self.metrics, opened, strict=True)
        }
        if shard.count == 1:
            for D in found.values():
                _warn_of_doubt(D)
        return found

    @cached_property
    def _sizes(self) -> Sizes:
        return Sizes.of(records_of(self.networks), list(self.metrics.values()))

    def _is_polished(self, name: str) -> bool:
        """Return whether to polish: asked for, possible, and with alignments that can be kept."""
        if not (self.settings.polish and can_polish(self.metrics[name])):
            return False
        stored = self.paths[name] is not None
        total = self._sizes.transform * len(self.labels) ** 2 / 2
        limit = LARGEST_STORE if stored else 0.5 * self.settings.memory
        if total <= limit:
            return True
        advice = "" if stored else " A store would keep them on disk instead."
        warnings.warn(
            f"The polish is left out: its alignments would take {total / 2**30:.1f} GiB, and "
            f"{limit / 2**30:.1f} GiB are allowed.{advice} Pass polish=False to silence this "
            "warning.",
            stacklevel=4,  # the caller of pairwise
        )
        return False

    def _open(self, name: str, polish: bool) -> TileStore:
        """Return where the tiles of a matrix are kept, with those that are finished already."""
        path, settings, K = self.paths[name], self.settings, len(self.labels)
        metric = self.metrics[name]
        bounded = isinstance(metric, ShapeMetric)
        brief = polish and can_be_brief(metric)
        effort = Effort.of(metric, K, self._sizes.dimensions, polish=brief)
        alignments = settings.alignments or (POLISH_DTYPE if polish else None)
        edge = min(settings.tile or K, K)
        if settings.tile is None:
            edge = self._sizes.edge(
                K, settings.memory, stored=path is not None, keeps=alignments is not None
            )
        if path is None:
            return MemoryTiles(Plan(K, edge), alignments, bounded, effort)
        return Store.create(
            path,
            Identity(self.descriptions[name], self.labels, self.fingerprints),
            self.metadata,
            edge=edge,
            alignments=alignments,
            dimensions=self._sizes.dimensions,
            bounded=bounded,
            effort=effort,
        )

    def _solver(self, opened: Sequence[Any]) -> AbstractContextManager[Solver]:
        settings, metrics = self.settings, list(self.metrics.values())
        edge = max(tiles.plan.edge for tiles in opened)
        capacity = self._sizes.capacity(settings.memory, edge)
        if settings.engine == "dask":
            from repshape.pairwise.dask import DaskSolver  # an optional dependency

            assert isinstance(self.networks, Cohort)
            return DaskSolver(
                self.networks,
                opened,
                metrics,
                capacity,
                scheduler=settings.scheduler,
                workers=settings.workers,
                progress=settings.progress,
            )
        cache = PreparedCache(self.networks, self.labels, metrics, capacity)
        if len(self.labels) == 1:  # there are no pairs, but the network is validated all the same
            with thread_pool(1) as pool:
                cache.request([0], pool)
        return nullcontext(ThreadSolver(cache, settings.workers, settings.progress))


def _job(
    networks: Any,
    metrics: Mapping[str, Metric],
    names: Mapping[str, str | None],
    labels: Sequence[str] | None,
    metadata: pd.DataFrame | None,
    store: PathLike | None,
    settings: Settings,
) -> Job:
    """Return the job that a user asks for, or raise one clear sentence before any work."""
    if store is None and (settings.shard.count > 1 or settings.engine == "dask"):
        raise InputError("Shards and Dask need a store, in which the finished tiles are collected.")
    if store is not None:
        _check_store(Path(store), metrics, names)
    for metric in metrics.values():
        if settings.alignments is not None and not keeps_transforms(metric):
            raise InputError(
                f"The 'alignments' parameter needs a metric that keeps transforms. Got {metric!r}."
            )
    items = as_sequence(networks, "networks")
    own_labels = check_labels(_own(networks, "labels", labels), len(items))
    frame = check_metadata(_own(networks, "metadata", metadata), own_labels)
    on_disk = isinstance(items, Cohort) and items.path is not None
    if settings.engine == "dask" and not on_disk:
        raise InputError(
            "Dask needs a cohort on disk, which its workers can read: see Cohort.save."
        )
    paths = {name: None if store is None else Path(store, name) for name in metrics}
    fingerprints: tuple[str, ...] = ()
    if store is not None:
        items = _recognised(items, own_labels)
        fingerprints = items.verify()
    metrics = {name: in_one_space(one, records_of(items)) for name, one in metrics.items()}
    descriptions = {name: describe(one, names[name]) for name, one in metrics.items()}
    return Job(items, own_labels, frame, fingerprints, dict(metrics), descriptions, paths, settings)


def _warn_of_doubt(D: DistanceMatrix) -> None:
    """Warn if the best alignment of some pairs was found once only, once for all of them."""
    doubtful, total = D.n_doubtful, D.condensed().size
    if doubtful:
        warnings.warn(
            f"The best alignment of {doubtful} of {count(total, 'pair')} was found once only, so "
            "a better one may exist: see DistanceMatrix.agreement. A larger n_starts searches "
            "longer.",
            SearchWarning,
            stacklevel=4,  # the caller of pairwise
        )


def _check_store(
    store: Path, metrics: Mapping[str, Metric], names: Mapping[str, str | None]
) -> None:
    """Raise one clear sentence unless the store, and one of each metric inside it, can be used."""
    check_store_path(store)
    for name, metric in metrics.items():
        check_identity(metric, names[name])
        plain = isinstance(name, str) and Path(name).name == name and not set(name) & {"\\", "\0"}
        if not plain or name == ".." or (not name and len(metrics) > 1):
            raise InputError(
                "With a store, the name of a metric must be the name of a folder inside the "
                f"store. Got {name!r}."
            )
        if store.is_dir():
            check_store_path(store / name)


def _recognised(networks: Sequence[Any], labels: Sequence[str]) -> Cohort:
    """Return the networks as a cohort, which knows their fingerprints."""
    if isinstance(networks, Cohort):
        return networks
    try:
        return Cohort.from_networks(networks, labels)
    except RepshapeError as error:
        raise InputError(f"A store needs networks that it can recognise. {error}") from None


def _is_identified(metric: Metric) -> bool:
    try:
        check_identity(metric)
    except InputError:
        return False
    return True


def as_sequence(networks: Any, name: str) -> Sequence[Any]:
    """Return networks, or the values of a dict, as a sequence; a cohort is read when needed."""
    try:
        if isinstance(networks, Mapping):
            networks = networks.values()
        items = networks if isinstance(networks, Cohort) else list(networks)
    except TypeError:
        raise InputTypeError(
            f"The '{name}' parameter must be a sequence of networks. "
            f"Got {type(networks).__name__} instead."
        ) from None
    if not items:
        raise InputError(f"The '{name}' parameter must hold at least one network. Got none.")
    return items


def records_of(networks: Sequence[Any]) -> Sequence[Any]:
    """Return the records of a cohort, which are known without reading it, or the networks."""
    return networks.records if isinstance(networks, Cohort) else networks


def _own(networks: Any, name: str, given: Any) -> Any:
    """Return what the caller gave, or else what the networks carry themselves."""
    if isinstance(networks, Mapping):
        return list(networks) if given is None and name == "labels" else given
    return getattr(networks, name, None) if given is None else given
