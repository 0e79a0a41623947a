"""The distances from one set of networks to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.engine.inputs import as_sequence, records_of
from repshape.engine.plan import Plan, Settings, Sizes
from repshape.engine.threads import Metric, PreparedCache, ThreadSolver
from repshape.engine.tiles import Layer, MemoryTiles
from repshape.metrics.base import ShapeMetric, in_one_space
from repshape.metrics.few_trials import warn_of_few_trials
from repshape.metrics.registry import check_callable

FloatArray = npt.NDArray[np.float64]


def cross(
    xs: Iterable[Any],
    ys: Iterable[Any],
    metric: Metric,
    *,
    workers: int | None = None,
    progress: bool | None = None,
    memory: str | int | None = None,
) -> FloatArray:
    """Return the distances from each network of one set to each network of another.

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
    check_callable(metric)
    first, second = as_sequence(xs, "xs"), as_sequence(ys, "ys")
    metric = in_one_space(metric, [*records_of(first), *records_of(second)])
    names = [f"xs[{i}]" for i in range(len(first))] + [f"ys[{j}]" for j in range(len(second))]
    warn_of_few_trials([metric], [*records_of(first), *records_of(second)], names)
    safe = isinstance(metric, ShapeMetric)
    settings = Settings.checked(workers=workers, thread_safe=safe, progress=progress, memory=memory)
    sizes = Sizes.of([*records_of(first), *records_of(second)], [metric])
    edge = sizes.edge(len(names), settings.memory, stored=False, keeps=False)
    capacity = sizes.capacity(settings.memory, edge)
    cache = PreparedCache(Chain(first, second), names, [metric], capacity)
    found = MemoryTiles(Plan(len(names), edge, rows=len(first)))
    solver = ThreadSolver(cache, settings.workers, progress)
    layer = Layer(found, metric=0, number=0)
    solver.run("pairs", [(layer, tile) for tile in found.plan.tiles])
    values = np.empty((len(first), len(second)))
    for tile in found.plan.tiles:
        i, j = tile.pairs.T
        values[i, j - len(first)] = found.results[0, tile].distance
    return values


class Chain(Sequence[Any]):
    """Two sequences one after the other; their networks are read when needed."""

    def __init__(self, first: Sequence[Any], second: Sequence[Any]) -> None:
        self._first, self._second = first, second

    def __len__(self) -> int:
        return len(self._first) + len(self._second)

    def __getitem__(self, index: Any) -> Any:
        count = len(self._first)
        return self._first[index] if index < count else self._second[index - count]
