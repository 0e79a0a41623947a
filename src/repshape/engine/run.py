"""All distances between many networks: in memory or in a store, on threads or on a cluster.

Every run takes the same path: `repshape.engine.job.Job.run` opens what is there, solves the
missing tiles, polishes the matrix layer by layer, and reads it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from repshape.engine.inputs import (
    as_sequence,
    check_store,
    in_space_of,
    is_identified,
    own,
    recognised,
)
from repshape.engine.job import Job, Run, plan_run
from repshape.engine.plan import Settings
from repshape.engine.polish import keeps_transforms
from repshape.engine.sides import records_of
from repshape.engine.threads import Metric
from repshape.errors import InputError, one_warning_each
from repshape.io.cohort import Cohort
from repshape.io.matched import N_DRAWS, Matching
from repshape.matrix.averages import average_draws
from repshape.matrix.checks import carried_metadata, check_labels, check_metadata
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import ShapeMetric
from repshape.metrics.few_trials import warn_of_few_trials
from repshape.metrics.identity import describe
from repshape.metrics.registry import check_callable
from repshape.preprocess import check_sizes
from repshape.responses.doubts import warn_of_doubts
from repshape.store.identity import Permission

PathLike = str | os.PathLike[str]


def pairwise(
    networks: Cohort | Iterable[Any] | Mapping[str, Any],
    metric: Metric,
    *,
    name: str | None = None,
    labels: Sequence[str] | None = None,
    metadata: pd.DataFrame | Mapping[str, Any] | None = None,
    match: str | Sequence[str] | None = None,
    n_draws: int = N_DRAWS,
    random_state: int = 0,
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
    replace: Iterable[str] | None = None,
    remove: Iterable[str] | None = None,
    wait: float = 0.0,
    effort: Literal["full", "brief"] = "full",
) -> DistanceMatrix:
    """Return the distances between all pairs of networks.

    Every network is validated and prepared once, as long as memory allows, and each pair is
    solved once: the matrix is symmetric and its diagonal zero by construction. The result has the
    same bits for any number of workers, shards and machines of one kind, and for a run that was
    interrupted and resumed.

    The parameters are in three groups. What to compare: ``networks``, ``metric``, ``name``,
    ``labels``, ``metadata``, ``match``, ``n_draws`` and ``random_state``. How to run: ``workers``,
    ``engine``, ``scheduler``, ``memory``, ``shard``, ``polish``, ``effort`` and ``progress``. Where
    to keep the result: ``store``, ``tile``, ``alignments``, ``replace``, ``remove`` and ``wait``.

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
    metadata : pandas.DataFrame, or dict of dicts by name, optional
        A row for each network. An index, or a column ``network``, that holds the names of the
        networks is matched with them, in any order; rows with the default index 0, 1, ... are in
        the order of the networks. Any other index is refused.
    match : {"neurons", "trials"}, or both, optional
        Compare networks of the same size: draw as many neurons, or trials of each condition, from
        every network as the smallest one has, ``n_draws`` times, and return the root mean square
        of the distances. ``draw_deviations`` of the result is their standard deviation over draws.
        A single draw is made if all networks are equally large. It is refused with a store, which
        keeps single distances: store draws of `repshape.draw_matched` instead.
    n_draws : int
        Number of draws if ``match`` is given.
    random_state : int
        Seed of the draws.
    workers : int, optional
        Number of threads, or of processes of a local Dask cluster. By default all cores for a
        shape metric, and one for another callable, which may not be thread-safe.
    engine : {"threads", "dask"}
        Dask needs a cohort on disk and a store that all its workers can reach.
    scheduler : str or distributed.Client, optional
        Address of a Dask scheduler; by default a cluster of processes on this machine.
    memory : str or int, optional
        Budget for networks and alignments, such as ``"2G"``. Default: a quarter of the memory.
    shard : str, optional
        ``"i/N"``: compute only every N-th tile, starting with the i-th; needs a store. Shards do
        not polish: that is left to a last run without ``shard``.
    polish : bool
        Solve pairs again from compositions of the alignments of other pairs, until no triangle is
        violated; see `repshape.engine.polish`. Done only if the distance is a metric. No pair
        becomes longer.
    effort : {"full", "brief"}
        How each pair is searched. ``"full"`` searches it as ``metric.distance`` does, in the space
        of the largest network, so that no distance is longer than that of the pair alone; without
        the polish it has the same bits. ``"brief"`` makes four starts and leaves the rest to the
        polish. This is up to three times as fast for many networks that are much alike, and
        misses the optimum of more pairs otherwise. It applies to metrics with ``n_starts="auto"``
        whose group is orthogonal or rotation; others are always searched in full. A store can be
        continued only with the effort that it was made with.
    progress : bool, optional
        Show a progress bar on stderr. By default only in a terminal or a notebook.
    store : path, optional
        A folder (Zarr) in which every finished tile is saved at once. If it exists already, it
        must belong to the same metric, and only what it lacks is computed. It may have fewer
        networks, which are added, or more, of which those that are asked for are read.
    tile : int, optional
        Edge of the tiles of a new store, in networks; at most K. By default it follows from K and
        ``memory``.
    alignments : {"float32", "float64"}, optional
        Keep the best transform of every pair in the store. The polish keeps them anyway.
    replace : iterable of str, optional
        Names of networks whose responses differ from those in the store. Their distances are
        dropped and computed again. Without this, such a network is refused.
    remove : iterable of str, optional
        Names of networks in the store that ``networks`` no longer has. Their distances are
        dropped. Without this, such networks stay in the store if there is nothing to add, and
        raise an error otherwise.
    wait : float
        Seconds to wait if another run is working on the same store with other networks; then, or
        at once by default, an error names that run. Runs with the same networks share the store,
        and do not wait for each other.

    Returns
    -------
    DistanceMatrix
        In the order of ``networks``; with lower bounds, convergence and numbers of starts if the
        metric is a shape metric.

    Warns
    -----
    SearchWarning
        If some pairs may be longer than necessary; see `DistanceMatrix.n_doubtful`. There is one
        warning for the whole matrix.
    FewTrialsWarning
        If covariances are estimated from fewer than two trials per dimension, once for all
        networks.

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
    matching = None if match is None else Matching.checked(match, n_draws, random_state, store)
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
        wait=wait,
        effort=effort,
    )
    changes = {"replace": replace, "remove": remove}

    def solve(given: Any) -> DistanceMatrix:
        run = plan_pairwise(
            given, {"": metric}, {"": name}, labels, metadata, store, settings, **changes
        )
        D: DistanceMatrix = run.run()[""]
        return D

    return solve(networks) if matching is None else _average(networks, labels, matching, solve)


def _average(
    networks: Any,
    labels: Sequence[str] | None,
    matching: Matching,
    solve: Callable[[Any], DistanceMatrix],
) -> DistanceMatrix:
    """Return the root mean square of distances over draws of networks of the same size."""
    items = as_sequence(networks, "networks")
    names = check_labels(own(networks, "labels", labels), len(items))
    cohort = items if isinstance(items, Cohort) else Cohort.from_networks(items, names)
    metadata = carried_metadata(networks, names)
    drawn, about = matching.draw(cohort)
    with one_warning_each():
        found = average_draws([solve(one) for one in drawn], about)
    return found if len(found.metadata.columns) else found.replace(metadata=metadata)


def pairwise_many(
    networks: Cohort | Iterable[Any] | Mapping[str, Any],
    metrics: Mapping[str, Metric],
    *,
    labels: Sequence[str] | None = None,
    metadata: pd.DataFrame | Mapping[str, Any] | None = None,
    store: PathLike | None = None,
    workers: int | None = None,
    replace: Iterable[str] | None = None,
    remove: Iterable[str] | None = None,
    **options: Any,
) -> dict[str, DistanceMatrix]:
    """Return a matrix for each of several metrics, reading every network once for all of them.

    Parameters
    ----------
    networks, labels, metadata, workers, replace, remove
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
    names = {name: None if is_identified(one) else name or None for name, one in metrics.items()}
    safe = all(isinstance(metric, ShapeMetric) for metric in metrics.values())
    settings = Settings.checked(workers=workers, thread_safe=safe, **options)
    changes = {"replace": replace, "remove": remove}
    run = plan_pairwise(networks, metrics, names, labels, metadata, store, settings, **changes)
    return run.run()


def plan_pairwise(
    networks: Any,
    metrics: Mapping[str, Metric],
    names: Mapping[str, str | None],
    labels: Sequence[str] | None,
    metadata: pd.DataFrame | Mapping[str, Any] | None,
    store: PathLike | None,
    settings: Settings,
    *,
    replace: Iterable[str] | None = None,
    remove: Iterable[str] | None = None,
) -> Run:
    """Return what a user asks for, or raise one clear sentence before any work.

    ``names`` are the names of callables that need one; all else is as in `pairwise_many`.
    """
    changes = not (replace is None and remove is None)
    _check_request(metrics, names, store, settings, changes=changes)
    items = as_sequence(networks, "networks")
    own_labels = check_labels(own(networks, "labels", labels), len(items))
    frame = (
        carried_metadata(networks, own_labels)
        if metadata is None
        else check_metadata(metadata, own_labels)
    )
    if store is None and not isinstance(items, Cohort):  # a cohort is checked as it is made
        named = labels is not None or isinstance(networks, Mapping)
        warn_of_doubts(items, own_labels, named)
    permission = Permission.of(replace, remove, own_labels)
    _check_cohort(items, metrics, settings)
    paths = {name: None if store is None else Path(store, name) for name in metrics}
    fingerprints: tuple[str, ...] = ()
    if store is not None:
        items = recognised(items, own_labels)
        fingerprints = items.verify()
    metrics = {name: in_space_of(one, items, paths[name]) for name, one in metrics.items()}
    warn_of_few_trials(metrics.values(), records_of(items), own_labels)
    descriptions = {name: describe(one, names[name]) for name, one in metrics.items()}
    return plan_run(
        Job(
            items,
            own_labels,
            frame,
            fingerprints,
            dict(metrics),
            descriptions,
            paths,
            settings,
            permission,
        )
    )


def _check_request(
    metrics: Mapping[str, Metric],
    names: Mapping[str, str | None],
    store: PathLike | None,
    settings: Settings,
    *,
    changes: bool,
) -> None:
    """Raise one clear sentence if settings need a store or a metric that was not given."""
    if store is None and (settings.shard.count > 1 or settings.engine == "dask"):
        raise InputError("Shards and Dask need a store, in which the finished tiles are collected.")
    if store is None and changes:
        raise InputError("The 'replace' and 'remove' parameters need a store.")
    if store is not None:
        check_store(Path(store), metrics, names)
    for metric in metrics.values():
        if settings.alignments is not None and not keeps_transforms(metric):
            raise InputError(
                f"The 'alignments' parameter needs a metric that keeps transforms. Got {metric!r}."
            )


def _check_cohort(items: Any, metrics: Mapping[str, Metric], settings: Settings) -> None:
    """Raise one clear sentence if networks are too small for a metric, or Dask cannot read them."""
    if isinstance(items, Cohort):  # the sizes of others are known once they are read
        check_sizes(metrics.values(), [(one.name, one.n_neurons) for one in items.records])
    if settings.engine == "dask" and not (isinstance(items, Cohort) and items.path is not None):
        raise InputError(
            "Dask needs a cohort on disk, which its workers can read: see Cohort.save."
        )
