"""The distances from one set of networks to another, through the same engine as a matrix."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from repshape.engine.inputs import as_sequence, check_store, in_space_of, own, recognised
from repshape.engine.job import Job, Run, plan_run
from repshape.engine.plan import Settings
from repshape.engine.sides import Chain, records_of, side_labels
from repshape.engine.threads import Metric
from repshape.errors import InputError
from repshape.io.cohort import Cohort
from repshape.matrix.checks import carried_metadata, check_labels
from repshape.matrix.cross import CrossDistances
from repshape.metrics.base import ShapeMetric
from repshape.metrics.few_trials import warn_of_few_trials
from repshape.metrics.identity import describe
from repshape.metrics.registry import check_callable
from repshape.preprocess import check_sizes
from repshape.responses.doubts import warn_of_doubts
from repshape.store.identity import Permission

Networks = Cohort | Iterable[Any] | Mapping[str, Any]


def cross(
    rows: Networks,
    columns: Networks,
    metric: Metric,
    *,
    name: str | None = None,
    workers: int | None = None,
    store: str | os.PathLike[str] | None = None,
    engine: Literal["threads", "dask"] = "threads",
    progress: bool | None = None,
    memory: str | int | None = None,
    shard: str | None = None,
    scheduler: Any = None,
    tile: int | None = None,
    replace: Iterable[str] | None = None,
    remove: Iterable[str] | None = None,
    wait: float = 0.0,
    effort: Literal["full", "brief"] = "full",
) -> CrossDistances:
    """Return the distances from each network of one set to each network of another.

    The numbers are those of the block of a whole matrix, ``pairwise(..., polish=False)`` of both
    sets together, to the bit: each pair is searched as ``metric.distance`` does, in the space of
    the largest network of both sets. Pairs within a set are not computed, so there are no
    compositions of alignments, and no polish.

    Parameters
    ----------
    rows, columns : Cohort, or iterable or dict of networks
        The two sets; all networks share the same conditions. The keys of a dict are the labels. A
        row and a column may have the same name.
    metric : ShapeMetric or callable
        A shape metric, or any symmetric ``metric(x, y) -> float``.
    name, workers, engine, progress, memory, shard, scheduler, tile, wait, effort
        As in `pairwise`. Dask needs two cohorts on disk.
    store : path, optional
        A folder (Zarr) in which every finished tile is saved at once, as in `pairwise`: an
        interrupted run resumes, and both sets may grow.
    replace, remove : iterable of str, optional
        As in `pairwise`, with the side in front of each name: ``"rows/mouse 1"``.

    Returns
    -------
    CrossDistances
        In the order of ``rows`` and ``columns``.

    Warns
    -----
    SearchWarning
        If some pairs may be longer than necessary; see `CrossDistances.possible_excess`.

    Examples
    --------
    >>> C = cross({"a": 1.0, "b": 2.0}, [4.0, 6.0, 8.0], lambda x, y: abs(x - y))
    >>> C.values
    array([[3., 5., 7.],
           [2., 4., 6.]])
    >>> C["b", "2"]
    6.0
    """
    check_callable(metric, name)
    settings = Settings.checked(
        workers=workers,
        thread_safe=isinstance(metric, ShapeMetric),
        engine=engine,
        progress=progress,
        memory=memory,
        shard=shard,
        scheduler=scheduler,
        tile=tile,
        wait=wait,
        effort=effort,
    )
    path = None if store is None else Path(store)
    run = plan_cross(rows, columns, metric, name, path, settings, replace=replace, remove=remove)
    C: CrossDistances = run.run()[""]
    return C


def plan_cross(
    rows: Networks,
    columns: Networks,
    metric: Metric,
    name: str | None,
    store: Path | None,
    settings: Settings,
    *,
    replace: Iterable[str] | None = None,
    remove: Iterable[str] | None = None,
) -> Run:
    """Return what a user asks for, or raise one clear sentence before any work."""
    if store is None and (settings.shard.count > 1 or settings.engine == "dask"):
        raise InputError("Shards and Dask need a store, in which the finished tiles are collected.")
    if store is None and not (replace is None and remove is None):
        raise InputError("The 'replace' and 'remove' parameters need a store.")
    if store is not None:
        check_store(store, {"": metric}, {"": name})
    first, first_table = _read_side(rows, "rows", metric, stored=store is not None)
    second, second_table = _read_side(columns, "columns", metric, stored=store is not None)
    networks, sides = Chain(first, second), (first_table, second_table)
    labels = side_labels(*(list(map(str, table.index)) for table in sides))
    on_disk = all(isinstance(one, Cohort) and one.path is not None for one in (first, second))
    if settings.engine == "dask" and not on_disk:
        raise InputError(
            "Dask needs two cohorts on disk, which its workers can read: see Cohort.save."
        )
    permission = Permission.of(replace, remove, labels)
    fingerprints: tuple[str, ...] = ()
    if store is not None:
        fingerprints = tuple(mark for one in networks.cohorts for mark in one.verify())
    placed = in_space_of(metric, networks, store)
    warn_of_few_trials([placed], records_of(networks), labels)
    job = Job(
        networks,
        labels,
        pd.DataFrame(index=list(labels)),
        fingerprints,
        {"": placed},
        {"": describe(placed, name)},
        {"": store},
        settings,
        permission,
        sides,
    )
    return plan_run(job)


def _read_side(
    networks: Networks, side: str, metric: Metric, *, stored: bool
) -> tuple[Sequence[Any], pd.DataFrame]:
    """Return the networks of one set, and their metadata, whose index has their names."""
    items = as_sequence(networks, side)
    labels = check_labels(own(networks, "labels", None), len(items))
    table = carried_metadata(networks, labels)
    if isinstance(items, Cohort):
        check_sizes([metric], [(one.name, one.n_neurons) for one in items.records])
        return items, table
    if stored:
        return recognised(items, labels), table
    warn_of_doubts(items, labels, isinstance(networks, Mapping))
    return items, table
