"""What to compute in which order: tiles of the upper triangle, their pairs, shards and memory."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError

IndexArray = npt.NDArray[np.intp]
T = TypeVar("T")

# On disk a tile is what a killed run loses, what a shard takes and what a worker gets: about this
# many tiles to a side share work well, and a tile of 64 x 64 pairs takes a minute or so.
TILES_TO_A_SIDE = 8
SMALLEST_EDGE = 16
LARGEST_EDGE = 64
# Networks in memory at once: a row of tiles, the column being solved and the one being read.
EDGES_IN_MEMORY = 3
# While a network is made ready it takes several times its size; where memory is short this is done
# to one at a time.
COPIES_BEING_READY = 8
# The starts of a tile's polish, besides its transforms.
TRANSFORM_COPIES = 5
DEFAULT_SHARE_OF_RAM = 0.25
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


@dataclass(frozen=True, order=True)
class Tile:
    """A block of pairs: networks of one row of tiles with networks of one column."""

    row: int
    column: int


@dataclass(frozen=True)
class Plan:
    """The upper triangle of ``count`` networks, cut into tiles of ``edge`` x ``edge`` pairs.

    >>> plan = Plan(count=5, edge=2)
    >>> plan.tiles[:3]
    (Tile(row=0, column=0), Tile(row=0, column=1), Tile(row=0, column=2))
    >>> plan.pairs(Tile(0, 1)).tolist()
    [[0, 2], [0, 3], [1, 2], [1, 3]]
    """

    count: int
    edge: int

    @property
    def side(self) -> int:
        """Number of tiles to a side."""
        return -(-self.count // self.edge)

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """All tiles that hold a pair, row by row."""
        every = (Tile(r, c) for r in range(self.side) for c in range(r, self.side))
        return tuple(tile for tile in every if self.n_pairs(tile))

    @property
    def total_pairs(self) -> int:
        """Number of pairs."""
        return self.count * (self.count - 1) // 2

    def span(self, index: int) -> range:
        """Return the networks of one row or column of tiles."""
        return range(index * self.edge, min((index + 1) * self.edge, self.count))

    def n_pairs(self, tile: Tile) -> int:
        """Return the number of pairs of a tile."""
        rows, columns = len(self.span(tile.row)), len(self.span(tile.column))
        return rows * (rows - 1) // 2 if tile.row == tile.column else rows * columns

    def pairs(self, tile: Tile) -> IndexArray:
        """Return the pairs i < j of a tile, shape (P, 2), row by row."""
        rows, columns = np.array(self.span(tile.row)), np.array(self.span(tile.column))
        grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
        return np.asarray(grid[grid[:, 0] < grid[:, 1]], dtype=np.intp)


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
        """Return every N-th item, from the i-th on."""
        return items[self.index - 1 :: self.count]


WHOLE = Shard()


@dataclass(frozen=True)
class Demand:
    """What a job needs of memory: bytes of one network ready to be solved, and of a transform."""

    network: int
    transform: int

    def capacity(self, memory: int) -> int:
        """Return how many networks fit into the budget besides the one being made ready."""
        return int(memory / max(self.network, 1)) - COPIES_BEING_READY

    def edge(self, count: int, memory: int, *, stored: bool) -> int:
        """Return the edge of the tiles that keeps memory within the budget.

        In memory there is nothing to lose, and one large tile shares most.
        """
        edge = count
        if stored:
            edge = min(max(-(-count // TILES_TO_A_SIDE), SMALLEST_EDGE), LARGEST_EDGE)
        capacity = self.capacity(memory)
        if capacity < count:
            edge = min(edge, capacity // EDGES_IN_MEMORY)
        if self.transform:
            edge = min(edge, int((0.25 * memory / (TRANSFORM_COPIES * self.transform)) ** 0.5))
        return max(min(edge, count), 1)


def default_memory() -> int:
    """Return a quarter of the memory that this process may use, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # a queue may have given us less than the machine has
        total = min(total, int(CGROUP_LIMIT.read_text()))
    return int(DEFAULT_SHARE_OF_RAM * total)


def parse_memory(text: str | int | None) -> int:
    """Read a number of bytes, such as ``"512M"`` or ``"4 GB"``; None is a quarter of the RAM.

    >>> parse_memory("1.5k")
    1536
    """
    if text is None:
        return default_memory()
    found = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)i?b?\s*", str(text).lower())
    try:
        size = int(float(found[1]) * UNITS[found[2]]) if found else 0
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise InputError(f"Memory must be a size such as 512M or 4G. Got {text!r}.")
    return size
