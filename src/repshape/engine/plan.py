"""What to compute in which order: settings, tiles of pairs, shards, and what fits into memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from repshape._memory import parse_memory
from repshape._parallel import available_cores
from repshape.engine.effort import EFFORTS
from repshape.errors import (
    InputError,
    check_boolean,
    check_choice,
    check_integer,
    check_real,
)
from repshape.io.records import Record
from repshape.responses import Gaussians, Trials
from repshape.responses.positions import PositionNetwork

IndexArray = npt.NDArray[np.intp]
T = TypeVar("T")
ENGINES = ("threads", "dask")

# In a store, a tile is what an interrupted run loses, what a shard takes and what a Dask worker is
# given. About this many tiles per side share the work well, and a tile of 64 x 64 pairs takes about
# a minute.
TILES_PER_SIDE = 8
SMALLEST_EDGE = 16
LARGEST_EDGE = 64
# Networks in memory at once: a row of tiles, the column being solved and the column being read.
EDGES_IN_MEMORY = 3
# Preparing a network takes several times its size; where memory is short, this is done to one
# network at a time.
COPIES_WHILE_PREPARING = 8
# A polished tile needs its transforms before and after, its starts, and the legs of compositions.
TRANSFORM_COPIES = 5
SHARE_OF_MEMORY_FOR_TRANSFORMS = 0.25
ITEM_BYTES = 8


@dataclass(frozen=True, order=True)
class Tile:
    """A block of pairs: the networks ``rows``, each with the networks ``columns``.

    ``row`` and ``column`` are the tile's place in the grid of tiles, and identify it.
    """

    row: int
    column: int
    rows: range = field(compare=False)
    columns: range = field(compare=False)

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        count = len(self.rows)
        return count * (count - 1) // 2 if self.rows == self.columns else count * len(self.columns)

    @property
    def pairs(self) -> IndexArray:
        """The pairs i < j, row by row, shape (P, 2)."""
        grid = np.stack(np.meshgrid(self.rows, self.columns, indexing="ij"), axis=-1).reshape(-1, 2)
        return np.asarray(grid[grid[:, 0] < grid[:, 1]], dtype=np.intp)

    def places(self, pairs: IndexArray) -> IndexArray:
        """Return the places of some of its pairs, shape (P, 2), among `pairs`."""
        i, j = pairs[:, 0] - self.rows.start, pairs[:, 1] - self.columns.start
        if self.rows != self.columns:
            return np.asarray(i * len(self.columns) + j)
        return np.asarray(i * len(self.rows) - i * (i + 1) // 2 + j - i - 1)


@dataclass(frozen=True)
class Plan:
    """The pairs of ``count`` networks, cut into tiles of ``edge`` x ``edge`` pairs.

    They are the upper triangle or, if ``rows`` is given, the pairs of the first ``rows`` networks
    with all others.

    >>> plan = Plan(count=5, edge=2)
    >>> [(tile.row, tile.column) for tile in plan.tiles]
    [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
    >>> plan.tiles[1].pairs.tolist()
    [[0, 2], [0, 3], [1, 2], [1, 3]]
    >>> [tile.pairs.tolist() for tile in Plan(count=4, edge=2, rows=1).tiles]
    [[[0, 1], [0, 2]], [[0, 3]]]
    """

    count: int
    edge: int
    rows: int | None = None

    @property
    def n_pairs(self) -> int:
        """Number of pairs.

        >>> Plan(count=5, edge=2).n_pairs, Plan(count=5, edge=2, rows=2).n_pairs
        (10, 6)
        """
        if self.rows is None:
            return self.count * (self.count - 1) // 2
        return self.rows * (self.count - self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of networks along the rows and the columns of the tiles."""
        return (
            (self.count, self.count) if self.rows is None else (self.rows, self.count - self.rows)
        )

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """All tiles that hold a pair, row by row."""
        rows = _spans(0, self.rows or self.count, self.edge)
        columns = _spans(self.rows or 0, self.count, self.edge)
        every = (
            Tile(r, c, of_rows, of_columns)
            for r, of_rows in enumerate(rows)
            for c, of_columns in enumerate(columns)
            if self.rows is not None or c >= r
        )
        return tuple(tile for tile in every if tile.n_pairs)

    @cached_property
    def by_place(self) -> dict[tuple[int, int], Tile]:
        """The same tiles, by row and column."""
        return {(tile.row, tile.column): tile for tile in self.tiles}

    def places(self, pairs: IndexArray) -> IndexArray:
        """Return the row and the column of the tile of each pair i < j, or -1, shape (P, 2).

        >>> Plan(count=4, edge=2, rows=1).places(np.array([[0, 3], [1, 2]])).tolist()
        [[0, 1], [-1, -1]]
        """
        i, j = pairs.T
        here = (i < (self.rows or self.count)) & (j >= (self.rows or 0))
        return np.where(here[:, None], (pairs - (0, self.rows or 0)) // self.edge, -1)


def _spans(start: int, stop: int, edge: int) -> list[range]:
    return [range(first, min(first + edge, stop)) for first in range(start, stop, edge)]


@dataclass(frozen=True)
class Shard:
    """One of several jobs that share the tiles: number ``index`` of ``count``, from 1.

    >>> Shard.parse("2/4").mine([10, 11, 12, 13, 14, 15])
    [11, 15]
    """

    index: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``"2/4"``."""
        found = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise InputError(f"A shard must be i/N with 1 <= i <= N, as in 2/8. Got {text!r}.")
        return cls(int(found[1]), int(found[2]))

    def mine(self, items: list[T]) -> list[T]:
        """Return every N-th item, starting with the i-th."""
        return items[self.index - 1 :: self.count]


WHOLE = Shard()


@dataclass(frozen=True)
class Sizes:
    """How large the largest network of a job is.

    Attributes
    ----------
    prepared : int
        Upper bound of its bytes once it is prepared for all metrics.
    dimensions : int
        Number of dimensions in which it is aligned.
    transform : int
        Bytes of one transform.
    """

    prepared: int
    dimensions: int
    transform: int

    @classmethod
    def of(cls, networks: Iterable[Any], metrics: Sequence[Any]) -> Sizes:
        """Measure networks, or the records of a cohort, without preparing them.

        >>> Sizes.of([np.zeros((5, 10, 3))], [None])
        Sizes(prepared=1200, dimensions=3, transform=72)
        """
        found = [_sizes(network, metrics) for network in networks]
        prepared, dimensions = (max(sizes) for sizes in zip(*found, strict=True))
        return cls(prepared, dimensions, ITEM_BYTES * dimensions**2)

    def capacity(self, memory: int, edge: int) -> int:
        """Return how many prepared networks to keep, for tiles of the given edge."""
        return max(self._fitting(memory), EDGES_IN_MEMORY * edge)

    def edge(self, count: int, memory: int, *, stored: bool, keeps: bool) -> int:
        """Return the edge of the tiles that keeps memory within the budget.

        ``keeps`` says whether transforms are kept. Without a store there is nothing to lose, and
        one large tile shares most.
        """
        edge = count
        if stored:
            edge = min(max(-(-count // TILES_PER_SIDE), SMALLEST_EDGE), LARGEST_EDGE)
        fitting = self._fitting(memory)
        if fitting < count:
            edge = min(edge, fitting // EDGES_IN_MEMORY)
        if keeps and self.transform:
            # edge^2 times the copies, and the legs between 2 edge networks and all others.
            budget = SHARE_OF_MEMORY_FOR_TRANSFORMS * memory / self.transform
            half = count / TRANSFORM_COPIES
            edge = min(edge, int((half**2 + budget / TRANSFORM_COPIES) ** 0.5 - half))
        return max(min(edge, count), 1)

    def _fitting(self, memory: int) -> int:
        """Return how many prepared networks fit into memory besides the one being prepared."""
        return int(memory / max(self.prepared, 1)) - COPIES_WHILE_PREPARING


def _sizes(network: Any, metrics: Sequence[Any]) -> tuple[int, int]:
    shape = _shape(network)
    if shape is None:  # whatever a callable takes: its size is unknown, and it is in memory anyway
        return 0, 0
    M, n, stored = shape
    kind = network.kind if isinstance(network, Record | Gaussians) else "trials"
    prepared, dimensions = 0, 1
    for metric in metrics:
        kept = getattr(getattr(metric, "preprocess", None), "n_components", None)
        size = n if kept is None else min(n, kept)
        # Prepared: means, and factors that may be as large as full covariances.
        full = M * size * (size + 1) if kind in ("trials", "full") or kept else stored
        prepared += ITEM_BYTES * max(full, stored)
        dimensions = max(dimensions, size)
    return prepared, dimensions


def _shape(network: Any) -> tuple[int, int, int] | None:
    """Return conditions, neurons and numbers of a network, or None if its kind is unknown."""
    if isinstance(network, Record):
        return network.n_conditions, network.n_neurons, network.n_bytes // ITEM_BYTES
    if isinstance(network, PositionNetwork):
        return network.n_conditions, network.n_neurons, (_shape(network.flat) or (0, 0, 0))[2]
    if isinstance(network, Trials):
        return network.n_conditions, network.n_neurons, network.pooled.size
    if isinstance(network, Gaussians):
        return network.n_conditions, network.n_neurons, network.means.size + network.stored.size
    try:
        if isinstance(network, tuple):
            shape = np.shape(network[0])
            return shape[0], shape[-1], np.size(network[0]) + np.size(network[1])
        if isinstance(network, list) and 2 <= np.ndim(network[0]) <= 4:
            sizes = [np.size(one) for one in network]
            return len(network), np.shape(network[0])[-1], sum(sizes)
        shape = np.shape(network)
    except (ValueError, TypeError, IndexError):
        return None
    return (shape[0], shape[-1], int(np.prod(shape))) if 2 <= len(shape) <= 5 else None


@dataclass(frozen=True)
class Settings:
    """How a job is run; only ``polish`` and ``effort`` change distances."""

    workers: int
    engine: str
    polish: bool
    progress: bool | None
    memory: int
    shard: Shard
    alignments: str | None
    scheduler: Any
    tile: int | None
    wait: float
    effort: str

    @classmethod
    def checked(
        cls,
        *,
        workers: int | None = None,
        thread_safe: bool = True,
        engine: str = "threads",
        polish: bool = True,
        progress: bool | None = None,
        memory: str | int | None = None,
        shard: str | None = None,
        alignments: str | None = None,
        scheduler: Any = None,
        tile: int | None = None,
        wait: float = 0.0,
        effort: str = "full",
    ) -> Settings:
        """Return the settings that a user gives, or raise one clear sentence.

        ``thread_safe`` says whether more than one worker may be the default.
        """
        if workers is None:
            workers = available_cores() if thread_safe else 1
        if alignments is not None:
            check_choice("alignments", alignments, ("float32", "float64"))
        return cls(
            workers=check_integer("workers", workers, 1),
            engine=check_choice("engine", engine, ENGINES),
            polish=check_boolean("polish", polish),
            progress=progress,
            memory=parse_memory(memory),
            shard=WHOLE if shard is None else Shard.parse(shard),
            alignments=alignments,
            scheduler=scheduler,
            tile=None if tile is None else check_integer("tile", tile, 1),
            wait=check_real("wait", wait, low=0.0),
            effort=check_choice("effort", effort, EFFORTS),
        )
