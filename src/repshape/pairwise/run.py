"""All distances between many networks: in memory or in a store, over threads or a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._parallel import available_cores
from repshape.errors import InputError, InputTypeError, check_choice, check_integer
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix, check_labels, check_metadata
from repshape.metrics.base import ShapeMetric
from repshape.pairwise.block import run_block
from repshape.pairwise.engine import Metric
from repshape.pairwise.job import Job, Settings

FloatArray = npt.NDArray[np.float64]
PathLike = str | os.PathLike[str]
ENGINES = ("threads", "dask")


def pairwise(
    networks: Cohort | Iterable[Any],
    metric: Metric,
    *,
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
    killed and continued.

    Parameters
    ----------
    networks : Cohort, or iterable of K networks
        Anything that ``metric`` takes. Labels and metadata are taken from its attributes of
        those names if it has them. The networks of a cohort on disk are read when needed.
    metric : ShapeMetric or callable
        A shape metric, or any symmetric ``metric(x, y) -> float``.
    labels : sequence of str, optional
        Unique names of the networks.
    metadata : pandas.DataFrame, optional
        A row for each network.
    workers : int, optional
        Number of threads, or of processes of a local Dask cluster. By default all cores for a
        shape metric, and one for another callable, which may not be safe to run in threads.
    store : path, optional
        A folder (Zarr) that keeps every finished tile at once. If it exists, of the same metric
        and networks, only what is missing is computed.
    engine : {"threads", "dask"}
        Dask needs a cohort on disk and a store, which all its workers can reach.
    polish : bool
        Restart every pair from the compositions of the alignments of others, until no triangle
        is violated; see `repshape.pairwise.polish`. Only where the ground metric is a metric.
    progress : bool, optional
        Show a progress bar on stderr. By default only if that is a terminal.
    memory : str or int, optional
        Budget for networks and alignments, such as ``"2G"``. Default: a quarter of the memory.
    shard : str, optional
        ``"i/N"``: compute only every N-th tile from the i-th on; needs a store. The polish is
        left to a last run without a shard.
    alignments : {"float32", "float64"}, optional
        Keep the best transform of every pair in the store. The polish keeps them anyway.
    scheduler : str or distributed.Client, optional
        Address of a Dask scheduler; by default a cluster of processes on this machine.
    tile : int, optional
        Edge of a tile of a new store, in networks. By default it follows from K and ``memory``.

    Returns
    -------
    DistanceMatrix
        With lower bounds and convergence if the metric is a shape metric.

    Examples
    --------
    >>> points = [[[0.0, 0.0]], [[3.0, 4.0]], [[0.0, 4.0]]]
    >>> D = pairwise(points, lambda x, y: float(np.hypot(*np.subtract(x, y)[0])))
    >>> D.values
    array([[0., 5., 4.],
           [5., 0., 3.],
           [4., 3., 0.]])
    """
    _check_metric(metric)
    job = _job(networks, {"": metric}, labels, metadata)
    settings = Settings.checked(
        workers=_workers(workers, [metric]),
        engine=check_choice("engine", engine, ENGINES),
        polish=polish,
        progress=progress,
        memory=memory,
        shard=shard,
        alignments=alignments,
        scheduler=scheduler,
        tile=tile,
    )
    return job.run({"": None if store is None else Path(store)}, settings)[""]


def pairwise_many(
    networks: Cohort | Iterable[Any],
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
        Such as ``{f"alpha-{a}": GaussianShapeMetric(a) for a in (0, 1, 2)}``.
    store : path, optional
        A folder; the store of each metric is inside, under the metric's name.
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
        _check_metric(metric)
    check_choice("engine", options.get("engine", "threads"), ENGINES)
    job = _job(networks, metrics, labels, metadata)
    settings = Settings.checked(workers=_workers(workers, list(metrics.values())), **options)
    return job.run({n: None if store is None else Path(store, n) for n in metrics}, settings)


def cross(
    xs: Iterable[Any],
    ys: Iterable[Any],
    metric: Metric,
    *,
    workers: int | None = None,
    progress: bool | None = None,
    memory: str | int | None = None,
) -> FloatArray:
    """Return the distances of each network of one set to each of another.

    Parameters
    ----------
    xs, ys : cohorts or iterables of networks
        The two sets; all networks share the same conditions.
    metric, workers, progress, memory
        As in `pairwise`.

    Returns
    -------
    ndarray, shape (len(xs), len(ys))

    Examples
    --------
    >>> cross([1.0, 2.0], [4.0, 6.0, 8.0], lambda x, y: abs(x - y))
    array([[3., 5., 7.],
           [2., 4., 6.]])
    """
    _check_metric(metric)
    first, second = as_sequence(xs, "xs"), as_sequence(ys, "ys")
    names = tuple(f"xs[{i}]" for i in range(len(first)))
    names += tuple(f"ys[{j}]" for j in range(len(second)))
    settings = Settings.checked(
        workers=_workers(workers, [metric]), progress=progress, memory=memory
    )
    return run_block(first, second, names, metric, settings)


def _job(
    networks: Any,
    metrics: Mapping[str, Metric],
    labels: Sequence[str] | None,
    metadata: pd.DataFrame | None,
) -> Job:
    items = as_sequence(networks, "networks")
    names = check_labels(_own(networks, "labels", labels), len(items))
    frame = check_metadata(_own(networks, "metadata", metadata), names)
    return Job(items, names, frame, dict(metrics))


def _check_metric(metric: Any) -> None:
    if not callable(metric):
        raise InputTypeError(
            "The 'metric' parameter must be a shape metric or a callable of two networks. "
            f"Got {metric!r} instead."
        )


def as_sequence(networks: Any, name: str) -> Sequence[Any]:
    """Return networks as a sequence; a cohort stays one, so that it is read when needed."""
    try:
        items = networks if isinstance(networks, Cohort) else list(networks)
    except TypeError:
        raise InputTypeError(
            f"The '{name}' parameter must be a sequence of networks. "
            f"Got {type(networks).__name__} instead."
        ) from None
    if not items:
        raise InputError(f"The '{name}' parameter must hold at least one network. Got none.")
    return items


def _own(networks: Any, name: str, given: Any) -> Any:
    """Return what the caller gave, or else what the networks carry themselves."""
    return getattr(networks, name, None) if given is None else given


def _workers(workers: int | None, metrics: Sequence[Metric]) -> int:
    if workers is not None:
        return check_integer("workers", workers, 1)
    if not all(isinstance(metric, ShapeMetric) for metric in metrics):
        return 1
    return available_cores()
