"""Exact nearest neighbours of a cohort without all of its distances."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from repshape.analysis.neighbor_job import NeighborJob, check_limits, own_names
from repshape.analysis.neighbor_result import NeighborGraph
from repshape.engine.inputs import as_sequence
from repshape.engine.plan import Settings
from repshape.engine.threads import Metric
from repshape.errors import InputError, check_boolean, check_integer
from repshape.io.cohort import Cohort
from repshape.metrics.base import ShapeMetric
from repshape.metrics.identity import check_identity
from repshape.metrics.registry import check_callable
from repshape.store.header import check_store_path

PathLike = str | os.PathLike[str]


def neighbor_graph(
    cohort: Cohort | Iterable[Any] | Mapping[str, Any],
    metric: Metric,
    k: int | None = 5,
    *,
    radius: float | None = None,
    pivots: int | None = None,
    exact: bool = False,
    name: str | None = None,
    store: PathLike | None = None,
    replace: Iterable[str] | None = None,
    workers: int | None = None,
    engine: Literal["threads", "dask"] = "threads",
    scheduler: Any = None,
    shard: str | None = None,
    memory: str | int | None = None,
    progress: bool | None = None,
) -> NeighborGraph:
    r"""Return the nearest neighbours of every network, solving as few pairs as possible.

    A pair is solved only if lower bounds of its distance do not exclude it. The neighbours and
    their distances are those of ``pairwise(cohort, metric, polish=False)``: lower bounds are
    proven, and pairs are searched in the same way. Of equal distances, the network that comes first
    in the cohort is the nearer one, also for the last place.

    Parameters
    ----------
    cohort : Cohort, or iterable or dict of networks
        As in `repshape.pairwise`.
    metric : ShapeMetric or callable
        A shape metric, or any symmetric ``metric(x, y) -> float``. Lower bounds are known for the
        Gaussian, covariance and Procrustes metrics; with others, every pair is solved unless
        ``exact`` is True.
    k : int or None
        Number of neighbours of each network. None needs ``radius``.
    radius : float, optional
        Largest distance of a neighbour. With both, the nearest ``k`` within the radius.
    pivots : int, optional
        Number of networks whose distances to all others are solved first, for bounds by the
        triangle inequality: the lower bound of one leg less the distance of the other. By default,
        the cube root of the number of networks if the lower bounds of legs are their distances
        (the group "identity", and ``exact=True``), else 0. See Notes.
    exact : bool
        Declare that solved distances are exact and satisfy the triangle inequality, so that pivots
        can be used with any metric. If the search misses the minimum of a leg, a neighbour may be
        missed too.
    name : str, optional
        Identifies a callable that a store cannot recognise otherwise.
    store : path, optional
        A folder in which solved pairs are saved at once. An interrupted run resumes from it. The
        networks may be others than before: pairs of networks that the store knows, by name and by
        fingerprint of their responses, are not solved again.
    replace : iterable of str, optional
        Names of networks whose responses have changed since they were saved in the store. Their
        pairs are solved again. Without it, such a network is an error.
    workers, engine, scheduler, memory, progress
        As in `repshape.pairwise`.
    shard : str, optional
        ``"i/N"``: search only the i-th of N parts of the cohort; needs a store. A last run without
        ``shard`` collects all parts.

    Returns
    -------
    NeighborGraph

    Warns
    -----
    SearchWarning
        If the best alignment of some solved pairs was found by one start only.

    Notes
    -----
    The bounds of `GaussianShapeMetric` at weight a are

    .. math:: d^2 \ge a \min_T \sum_m w_m |\mu^x_m - T \mu^y_m|^2
              + (2-a) \sum_m w_m |\sigma(S^x_m)^{1/2} - \sigma(S^y_m)^{1/2}|^2,

    which is the exact distance at a = 2. They satisfy the triangle inequality themselves, so pivots
    whose legs have these bounds cannot improve them.

    Examples
    --------
    >>> import repshape as rs
    >>> toy = rs.datasets.toy_networks(random_state=0)
    >>> found = neighbor_graph(toy, rs.GaussianShapeMetric(), k=3)
    >>> found.indices.shape
    (99, 3)
    >>> found.share_solved < 0.2
    True
    >>> found.neighbors(0).labels
    ('c1s0', 'c0s1', 'c1s1')
    """
    limits = check_limits(k, radius)
    check_callable(metric, name)
    check_boolean("exact", exact)
    if pivots is not None:
        check_integer("pivots", pivots, 0)
    settings = Settings.checked(
        workers=workers,
        thread_safe=isinstance(metric, ShapeMetric),
        engine=engine,
        scheduler=scheduler,
        shard=shard,
        memory=memory,
        progress=progress,
    )
    items = as_sequence(cohort, "cohort")
    if store is not None:
        check_store_path(Path(store))
        check_identity(metric, name)
    elif settings.shard.count > 1:
        raise InputError("Shards need a store, in which the solved pairs are collected.")
    labels, frame = own_names(cohort, len(items))
    job = NeighborJob(items, labels, frame, metric, limits, settings)
    job.prepare(name, None if store is None else Path(store), replace)
    return job.run(job.rows_of_shard(), pivots, exact)


def query(
    cohort: Cohort | Iterable[Any] | Mapping[str, Any],
    x: Any,
    metric: Metric,
    k: int | None = 5,
    *,
    radius: float | None = None,
    workers: int | None = None,
    memory: str | int | None = None,
    progress: bool | None = None,
) -> NeighborGraph:
    """Return the nearest neighbours of a new network in a cohort, solving as few pairs as possible.

    Parameters
    ----------
    cohort : Cohort, or iterable or dict of networks
        Where to search.
    x : network, Cohort or dict of networks
        The new network, or several.
    metric, k, radius, workers, memory, progress
        As in `neighbor_graph`.

    Returns
    -------
    NeighborGraph
        With a row for each new network. `NeighborGraph.predict` predicts metadata of the new
        network from those of its neighbours.

    Examples
    --------
    >>> import repshape as rs
    >>> toy = rs.datasets.toy_networks(random_state=0)
    >>> found = query(toy[1:], toy[0], rs.GaussianShapeMetric(), k=2)
    >>> found.neighbors(0).indices
    array([8, 0])
    """
    limits = check_limits(k, radius)
    check_callable(metric)
    safe = isinstance(metric, ShapeMetric)
    settings = Settings.checked(workers=workers, thread_safe=safe, memory=memory, progress=progress)
    items = as_sequence(cohort, "cohort")
    labels, frame = own_names(cohort, len(items))
    new: list[Any] = [x]
    names: tuple[str, ...] = ("x",)
    if isinstance(x, Cohort | Mapping):
        new = list(as_sequence(x, "x"))
        names = own_names(x, len(new))[0]
    job = NeighborJob(items, labels, frame, metric, limits, settings, new, names)
    job.prepare()
    return job.run(range(len(items), len(items) + len(new)))
