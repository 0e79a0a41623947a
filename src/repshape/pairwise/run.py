"""All distances between many networks, over all cores of one machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from repshape.errors import InputError, InputTypeError, check_integer
from repshape.metrics.base import PairResults, ShapeMetric
from repshape.pairwise.describe import describe
from repshape.pairwise.matrix import DistanceMatrix, check_labels, check_metadata

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
Metric: TypeAlias = "ShapeMetric[Any] | Callable[[Any, Any], float]"
Solve: TypeAlias = Callable[[IndexArray], PairResults]

# Chunks depend on the number of pairs alone, never on the number of workers, so that a solver that
# shares work within a chunk gives the same bits however many there are. About 256 chunks keep
# every core busy to the end; at most 64 pairs keep a chunk short.
TARGET_CHUNKS = 256
MAX_CHUNK = 64


def pairwise(
    networks: Iterable[Any],
    metric: Metric,
    *,
    labels: Sequence[str] | None = None,
    metadata: pd.DataFrame | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> DistanceMatrix:
    """Return the distances between all pairs of networks.

    Every network is validated and prepared once, before any pair is solved. Each pair is solved
    once: the matrix is symmetric and its diagonal zero by construction. The result has the same
    bits for any number of workers.

    Parameters
    ----------
    networks : iterable of K networks
        Anything that ``metric`` takes. Labels and metadata are taken from its attributes of
        those names if it has them, as `repshape.datasets.ToyNetworks` does.
    metric : ShapeMetric or callable
        A shape metric, or any symmetric ``metric(x, y) -> float``.
    labels : sequence of str, optional
        Unique names of the networks.
    metadata : pandas.DataFrame, optional
        A row for each network.
    workers : int, optional
        Number of threads. By default all cores for a shape metric, and one for another callable,
        which may not be safe to run in threads.
    progress : bool, optional
        Show a progress bar on stderr. By default only if that is a terminal.

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
    items = _as_list(networks, "networks")
    names = check_labels(_own(networks, "labels", labels), len(items))
    frame = check_metadata(_own(networks, "metadata", metadata), names)
    solve = _solver(metric, items, names)
    pairs = np.column_stack(np.triu_indices(len(items), 1))
    found = _solve_all(solve, pairs, _workers(workers, metric), progress)
    _check_finite(found.distance, pairs, names)
    bounded = isinstance(metric, ShapeMetric)
    return DistanceMatrix(
        _fill(found.distance, len(items), 0.0),
        names,
        frame,
        _fill(found.lower_bound, len(items), 0.0) if bounded else None,
        _fill(found.converged, len(items), True) if bounded else None,
        describe(metric),
    )


def cross(
    xs: Iterable[Any],
    ys: Iterable[Any],
    metric: Metric,
    *,
    workers: int | None = None,
    progress: bool | None = None,
) -> FloatArray:
    """Return the distances of each network of one set to each of another.

    Parameters
    ----------
    xs, ys : iterables of networks
        The two sets; all networks share the same conditions.
    metric, workers, progress
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
    first, second = _as_list(xs, "xs"), _as_list(ys, "ys")
    names = tuple(f"xs[{i}]" for i in range(len(first)))
    names += tuple(f"ys[{j}]" for j in range(len(second)))
    solve = _solver(metric, first + second, names)
    rows, columns = np.indices((len(first), len(second))).reshape(2, -1)
    pairs = np.column_stack([rows, columns + len(first)])
    found = _solve_all(solve, pairs, _workers(workers, metric), progress)
    _check_finite(found.distance, pairs, names)
    return found.distance.reshape(len(first), len(second))


def _check_metric(metric: Any) -> None:
    if not callable(metric):
        raise InputTypeError(
            "The 'metric' parameter must be a shape metric or a callable of two networks. "
            f"Got {metric!r} instead."
        )


def _as_list(networks: Iterable[Any], name: str) -> list[Any]:
    try:
        items = list(networks)
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


def _workers(workers: int | None, metric: Metric) -> int:
    if workers is not None:
        return check_integer("workers", workers, 1)
    if not isinstance(metric, ShapeMetric):
        return 1
    if hasattr(os, "sched_getaffinity"):  # the cores we may use, which a queue may limit
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _solver(metric: Metric, networks: list[Any], names: tuple[str, ...]) -> Solve:
    """Return a function from rows of two indices to their results, ready to be called."""
    if not isinstance(metric, ShapeMetric):
        return lambda pairs: _call_pairs(metric, networks, pairs)
    prepared = [metric.prepare(network) for network in networks]
    for name, network in zip(names, prepared, strict=True):
        if network.n_conditions != prepared[0].n_conditions:
            raise InputError(
                "All networks must have the same conditions in the same order. "
                f"Got {prepared[0].n_conditions} in {names[0]!r} "
                f"and {network.n_conditions} in {name!r}."
            )
    return lambda pairs: metric.solve_pairs(prepared, pairs)


def _call_pairs(
    metric: Callable[[Any, Any], float], networks: list[Any], pairs: IndexArray
) -> PairResults:
    distance = np.array([float(metric(networks[i], networks[j])) for i, j in pairs])
    nothing = np.full(len(pairs), np.nan)
    return PairResults(distance, lower_bound=nothing, converged=np.ones(len(pairs), dtype=bool))


def _solve_all(solve: Solve, pairs: IndexArray, workers: int, progress: bool | None) -> PairResults:
    """Solve all pairs in chunks over threads, and return the results in the order of the pairs."""
    size = min(max(len(pairs) // TARGET_CHUNKS, 1), MAX_CHUNK)
    chunks = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    with threadpool_limits(limits=1, user_api="blas"), _progress(len(pairs), progress) as advance:
        if workers == 1:
            found = [_tell(solve(chunk), chunk, advance) for chunk in chunks]
        else:
            found = _in_threads(solve, chunks, workers, advance)
    return PairResults(
        distance=np.concatenate([r.distance for r in found] or [np.zeros(0)]),
        lower_bound=np.concatenate([r.lower_bound for r in found] or [np.zeros(0)]),
        converged=np.concatenate([r.converged for r in found] or [np.zeros(0, dtype=bool)]),
    )


def _tell(result: PairResults, chunk: IndexArray, advance: Callable[[int], None]) -> PairResults:
    advance(len(chunk))
    return result


def _in_threads(
    solve: Solve, chunks: list[IndexArray], workers: int, advance: Callable[[int], None]
) -> list[PairResults]:
    with ThreadPoolExecutor(workers, thread_name_prefix="repshape") as pool:
        futures = [pool.submit(solve, chunk) for chunk in chunks]
        sizes = {future: len(chunk) for future, chunk in zip(futures, chunks, strict=True)}
        pending: set[Future[PairResults]] = set(futures)
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()  # the first failure ends the run
                    advance(sizes[future])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


@contextmanager
def _progress(total: int, show: bool | None) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances a bar on stderr, or does nothing."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda _: None
        return
    columns = (TextColumn("pairs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    # A terminal is left clean; a log keeps the last state of the bar.
    with Progress(*columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task("pairs", total=total)
        yield lambda count: bar.advance(task, count)


def _check_finite(distance: FloatArray, pairs: IndexArray, names: tuple[str, ...]) -> None:
    bad = np.flatnonzero(~np.isfinite(distance))
    if bad.size:
        x, y = (names[k] for k in pairs[bad[0]])
        raise InputError(
            f"The metric gave {distance[bad[0]]} for networks {x!r} and {y!r}; "
            "distances must be finite."
        )


def _fill(upper: npt.NDArray[Any], count: int, diagonal: float | bool) -> npt.NDArray[Any]:
    """Return the symmetric matrix with a given upper triangle and diagonal."""
    full = np.full((count, count), diagonal, dtype=upper.dtype)
    rows, columns = np.triu_indices(count, 1)
    full[rows, columns] = full[columns, rows] = upper
    return full
