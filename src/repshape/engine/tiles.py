"""Results of tiles: where they are kept, what a tile still needs, and the matrix they make.

A matrix is computed in layers. Layer 0 holds every pair, solved from its own starts. Later layers
are made by the polish (`repshape.engine.polish`), each from the layers below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._native import PairResults
from repshape.engine.effort import INHERITING_LAYER, PLAIN, Effort, Stage
from repshape.engine.plan import Plan, Tile
from repshape.matrix.cross import CrossDistances
from repshape.matrix.distances import DistanceMatrix

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
# The numbers kept of each pair, in this order, and those of a network and itself.
QUANTITIES = ("distance", "lower_bound", "converged", "n_starts", "n_agreeing", "n_composed", "gap")
DIAGONAL = (0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class Entries:
    """The numbers of all pairs, each a symmetric matrix; NaN where a pair is not computed yet."""

    distance: FloatArray
    lower_bound: FloatArray
    converged: FloatArray
    n_starts: FloatArray
    n_agreeing: FloatArray
    n_composed: FloatArray
    gap: FloatArray

    def of_pairs(self, pairs: IndexArray) -> PairResults:
        """Return the numbers of some pairs."""
        i, j = pairs.T
        return results_of(np.stack([getattr(self, name)[i, j] for name in QUANTITIES]))


def numbers_of(found: PairResults) -> FloatArray:
    """Return the numbers that are kept of each pair, shape (7, P)."""
    count = len(found.distance)
    composed = np.zeros(count) if found.n_composed is None else found.n_composed
    gap = np.full(count, np.nan) if found.gap is None else found.gap
    counts = (found.n_starts, found.n_agreeing, composed)
    return np.stack([found.distance, found.lower_bound, found.converged, *counts, gap])


def results_of(numbers: FloatArray, transforms: list[FloatArray] | None = None) -> PairResults:
    """Return results from the numbers that `numbers_of` made of them, all of which are known."""
    distance, lower_bound, converged, *counts, gap = numbers
    n_starts, n_agreeing, n_composed = (one.astype(np.int64) for one in counts)
    return PairResults(
        distance,
        lower_bound,
        converged == 1.0,
        n_starts,
        n_agreeing,
        transforms=transforms,
        n_composed=n_composed,
        gap=gap,
    )


@dataclass(frozen=True)
class KnownPairs:
    """What is known of pairs from before networks were added or removed.

    Attributes
    ----------
    found : ndarray of bool, shape (P,)
        Which pairs are known.
    numbers : ndarray, shape (7, P)
        Their numbers; NaN where a pair is not known.
    transforms : list of P arrays or None
        Their transforms, if they are kept; empty arrays where a pair is not known.
    """

    found: BoolArray
    numbers: FloatArray
    transforms: list[FloatArray] | None

    def results(self) -> PairResults:
        """Return them as results; those of pairs that are not known mean nothing."""
        return results_of(np.where(self.found, self.numbers, 0.0), self.transforms)


class TileStore(Protocol):
    """Where the finished tiles of one matrix are kept, layer by layer.

    ``keeps`` says whether the transforms of the pairs are kept. ``bounded`` says whether the
    metric gives lower bounds, convergence and numbers of starts. ``effort`` says how pairs are
    searched. ``inherited`` are the networks whose pairs were polished before others were added.
    """

    plan: Plan
    keeps: bool
    bounded: bool
    effort: Effort
    inherited: IndexArray

    def has(self, layer: int, tile: Tile) -> bool:
        """Return whether a tile is finished."""

    def write(self, layer: int, tile: Tile, found: PairResults) -> None:
        """Keep a finished tile, whole or not at all."""

    def entries(self, layer: int) -> Entries:
        """Return the numbers of all pairs of a layer."""

    def latest(self) -> Entries:
        """Return the numbers of all pairs as far as they are known, polished if they were."""

    def transforms(self, layer: int, tile: Tile) -> list[FloatArray]:
        """Return the transforms of a tile, in the order of its pairs."""

    def finish_polish(self, layers: int, report: dict[str, float]) -> None:
        """Record that the polish is complete; ``layers`` is the number of the last layer."""

    def polished(self) -> tuple[int, dict[str, float]] | None:
        """Return what `finish_polish` recorded, or None."""

    def known(self, pairs: IndexArray, *, polished: bool) -> KnownPairs | None:
        """Return what is known of pairs from before networks were added or removed, or None.

        It is what the search of each pair alone found, or what the polish made of it.
        """


class MemoryTiles:
    """Tiles in memory, for a matrix without a store."""

    def __init__(
        self,
        plan: Plan,
        alignments: str | None = None,
        bounded: bool = True,
        effort: Effort = PLAIN,
    ) -> None:
        self.plan = plan
        self.keeps = alignments is not None
        self.bounded = bounded
        self.effort = effort
        self.inherited = np.zeros(0, dtype=np.intp)
        self.results: dict[tuple[int, Tile], PairResults] = {}
        self._dtype = alignments
        self._polished: tuple[int, dict[str, float]] | None = None

    def has(self, layer: int, tile: Tile) -> bool:
        """Return whether a tile is finished."""
        return (layer, tile) in self.results

    def write(self, layer: int, tile: Tile, found: PairResults) -> None:
        """Keep a finished tile."""
        if found.transforms is not None:  # rounded as a store would, for the same bits
            rounded = [one.astype(self._dtype) for one in found.transforms]
            found = replace(found, transforms=rounded)
        self.results[layer, tile] = found

    def entries(self, layer: int) -> Entries:
        """Return the numbers of all pairs of a layer."""
        numbers = np.full((len(QUANTITIES), self.plan.count, self.plan.count), np.nan)
        for tile in self.plan.tiles:
            found = self.results.get((layer, tile))
            if found is not None:
                i, j = tile.pairs.T
                numbers[:, i, j] = numbers_of(found)
        return mirror(numbers)

    def latest(self) -> Entries:
        """Return the numbers of all pairs as far as they are known, polished if they were."""
        return self.entries(self._polished[0] if self._polished else 0)

    def transforms(self, layer: int, tile: Tile) -> list[FloatArray]:
        """Return the transforms of a tile, from the last layer that changed it."""
        for at in range(layer, -1, -1):
            found = self.results[at, tile].transforms
            if found is not None:
                return [one.astype(np.float64) for one in found]
        raise AssertionError("layer 0 keeps the transforms of every tile")

    def finish_polish(self, layers: int, report: dict[str, float]) -> None:
        """Record that the polish is complete."""
        self._polished = (layers, report)

    def polished(self) -> tuple[int, dict[str, float]] | None:
        """Return what `finish_polish` recorded, or None."""
        return self._polished

    def known(self, pairs: IndexArray, *, polished: bool) -> KnownPairs | None:
        """Return None: nothing was computed before."""
        return None


@dataclass(frozen=True)
class Layer:
    """One layer of one matrix: 0 solves every pair from its own starts, later ones are the polish.

    ``metric`` is the number of the matrix's metric among those of the job.
    """

    tiles: TileStore
    metric: int
    number: int

    @property
    def stage(self) -> Stage:
        """What the layer does."""
        return self.tiles.effort.stage(self.number)

    @cached_property
    def below(self) -> Entries:
        """The numbers of the layer below, which must be complete."""
        return self.tiles.entries(self.number - 1)

    @cached_property
    def inherited(self) -> FloatArray | None:
        """The distances that an earlier polish found, infinite for pairs that it has not seen.

        None if there was none.
        """
        if not self.tiles.effort.inherits:
            return None
        old = np.zeros(self.tiles.plan.count, dtype=bool)
        old[self.tiles.inherited] = True
        found = self.tiles.entries(INHERITING_LAYER).distance
        return np.where(np.outer(old, old), found, np.inf)

    @cached_property
    def composed(self) -> FloatArray | None:
        """The distances from which the last composition before this layer started, if any.

        Only compositions with a leg that has changed since then are new.
        """
        number = self.tiles.effort.last_composition(self.number)
        return self.inherited if number is None else self.tiles.entries(number - 1).distance


@dataclass(frozen=True)
class Compositions:
    """Alignments of pairs that are composed from those of other pairs.

    Attributes
    ----------
    through : list of P int arrays
        The networks k through which each pair is composed.
    known : dict of (i, j) to array of shape (s_j, s_i)
        The transforms that take rows of j onto i, for all pairs and all legs of compositions.
    most : ndarray of int, shape (P,), or None
        How many compositions of each pair to solve, the best of all that are rated; None solves
        all of them.
    """

    through: list[IndexArray]
    known: dict[tuple[int, int], FloatArray]
    most: IndexArray | None

    def part(self, places: slice) -> Compositions:
        """Return the compositions of some of the pairs."""
        most = None if self.most is None else self.most[places]
        return replace(self, through=self.through[places], most=most)


@dataclass(frozen=True)
class TileTask:
    """The pairs of a tile that are to be solved, and how.

    Attributes
    ----------
    layer : Layer
        The layer that the tile belongs to.
    tile : Tile
    pairs : ndarray, shape (P, 2)
    brief : int or None
        Number of starts of a brief search; None searches as the metric does.
    compositions : Compositions or None
        What to start from instead of the metric's own starts.
    before : PairResults or None
        What the tile is known to be before. The polish replaces only pairs that become shorter.
    places : ndarray, shape (P,), or None
        The places of the pairs in ``before``.
    """

    layer: Layer
    tile: Tile
    pairs: IndexArray
    brief: int | None = None
    compositions: Compositions | None = None
    before: PairResults | None = None
    places: IndexArray | None = None


def mirror(numbers: FloatArray) -> Entries:
    """Return symmetric matrices from an array (7, K, K) of which the upper triangle is filled."""
    lower = np.tril_indices(numbers.shape[1], -1)
    numbers[:, lower[0], lower[1]] = numbers[:, lower[1], lower[0]]
    diagonal = np.arange(numbers.shape[1])
    numbers[:, diagonal, diagonal] = np.array(DIAGONAL)[:, None]
    return Entries(*numbers)


def read_matrix(
    tiles: TileStore,
    labels: Sequence[str],
    metadata: pd.DataFrame,
    description: dict[str, Any],
    sizes: dict[str, Any] | None = None,
) -> DistanceMatrix:
    """Return the matrix as far as it is computed, polished if the polish is complete."""
    polished, found = tiles.polished(), tiles.latest()
    more: dict[str, Any] = {"polish": polished[1]} if polished else {}
    return DistanceMatrix(
        found.distance,
        tuple(labels),
        metadata,
        description=description | _effort_words(tiles) | more,
        sizes=sizes,
        missing=True,
        **(_known(found) if tiles.bounded else {}),
    )


def read_block(
    tiles: TileStore, sides: tuple[pd.DataFrame, pd.DataFrame], description: dict[str, Any]
) -> CrossDistances:
    """Return the distances between two sets of networks as far as they are computed."""
    found, rows = tiles.latest(), len(sides[0])
    known = _known(found) if tiles.bounded else {}
    known.pop("n_composed", None)  # there are no compositions
    return CrossDistances(
        found.distance[:rows, rows:],
        row_labels=list(map(str, sides[0].index)),
        column_labels=list(map(str, sides[1].index)),
        row_metadata=sides[0],
        column_metadata=sides[1],
        description=description | _effort_words(tiles),
        missing=True,
        **{name: one[:rows, rows:] for name, one in known.items()},
    )


def _known(found: Entries) -> dict[str, npt.NDArray[Any]]:
    """Return what is known of pairs besides distances, by the names that results use."""
    counts = ("n_starts", "n_agreeing", "n_composed")
    known: dict[str, npt.NDArray[Any]] = {
        "lower_bounds": found.lower_bound,
        "converged": found.converged == 1.0,
        "gaps": found.gap,
    }
    return known | {name: np.nan_to_num(getattr(found, name)) for name in counts}  # 0: not computed


def _effort_words(tiles: TileStore) -> dict[str, str]:
    return {} if tiles.effort.brief is None else {"effort": tiles.effort.name}
