"""Distances of one set of networks to another, tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._parallel import progress_bar
from repshape.metrics.base import PairResults
from repshape.pairwise.engine import Bench, Metric, Work, run_works
from repshape.pairwise.job import Job, Settings
from repshape.pairwise.plan import EDGES_IN_MEMORY, Plan, Tile
from repshape.pairwise.tiles import MemoryLedger

FloatArray = npt.NDArray[np.float64]


class Chain(Sequence[Any]):
    """Two sequences one after the other, of which nothing is read before it is asked for."""

    def __init__(self, first: Sequence[Any], second: Sequence[Any]) -> None:
        self._first, self._second = first, second

    def __len__(self) -> int:
        return len(self._first) + len(self._second)

    def __getitem__(self, index: Any) -> Any:
        count = len(self._first)
        return self._first[index] if index < count else self._second[index - count]

    @property
    def records(self) -> list[Any]:
        """What tells the sizes of the networks: their records, where they have some."""
        return [
            one for part in (self._first, self._second) for one in getattr(part, "records", part)
        ]


class Block(MemoryLedger):
    """The distances of rows to columns, filled tile by tile."""

    def __init__(self, plan: Plan, shape: tuple[int, int]) -> None:
        super().__init__(plan, alignments=None)
        self.values = np.full(shape, np.nan)

    def pairs(self, tile: Tile) -> npt.NDArray[np.intp]:
        """Return the pairs of a tile: rows of the first set, and of the second behind it."""
        edge, (rows, columns) = self.plan.edge, self.values.shape
        i = np.arange(tile.row * edge, min((tile.row + 1) * edge, rows))
        j = np.arange(tile.column * edge, min((tile.column + 1) * edge, columns))
        grid = np.meshgrid(i, rows + j, indexing="ij")
        return np.stack(grid, axis=-1).reshape(-1, 2).astype(np.intp)

    def write(self, layer: int, tile: Tile, found: PairResults) -> None:
        """Keep the distances of a tile."""
        i, j = self.pairs(tile).T
        self.values[i, j - len(self.values)] = found.distance

    def works(self) -> Iterator[Work]:
        """Return all there is to do, row by row of tiles."""
        rows, columns = (range(-(-size // self.plan.edge)) for size in self.values.shape)
        for tile in (Tile(r, c) for r in rows for c in columns):
            yield Work(self, 0, tile, 0, self.pairs(tile))


def run_block(
    first: Sequence[Any],
    second: Sequence[Any],
    names: tuple[str, ...],
    metric: Metric,
    settings: Settings,
) -> FloatArray:
    """Return the distances of each network of ``first`` to each of ``second``."""
    both = Chain(first, second)
    demand = Job(both, names, pd.DataFrame(index=list(names)), {"": metric}).demand(keeps=False)
    edge = demand.edge(len(both), settings.memory, stored=False)
    capacity = max(demand.capacity(settings.memory), EDGES_IN_MEMORY * edge)
    bench = Bench(both, names, [metric], capacity)
    block = Block(Plan(len(both), edge), (len(first), len(second)))
    with progress_bar("pairs", block.values.size, settings.progress) as advance:
        run_works(block.works(), bench, settings.workers, advance)
    return block.values
