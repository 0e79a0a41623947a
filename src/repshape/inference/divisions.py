"""Ways to divide groups of trials into halves, or into quarters that are joined to halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

PartPairs = tuple[tuple[int, int], ...]

# Number of ways in which the groups are divided into quarters, and for how many of them each group
# is deleted in turn. A division into halves alone has a third of the pairs, so there are more.
N_QUARTERINGS, N_HALVINGS = 6, 18
DELETED_SHARE = 3
# The quarters of each half, for the three ways to join four quarters.
JOINED = ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))


@dataclass(frozen=True)
class Division:
    """One way to divide groups into parts.

    Attributes
    ----------
    sides : tuple of tuple of int
        The groups of each part.
    halves, quarters : tuples of pairs of parts
        Halves, and adjacent quarters, that have no group in common.
    """

    sides: tuple[tuple[int, ...], ...]
    halves: PartPairs
    quarters: PartPairs

    @property
    def within(self) -> PartPairs:
        """The pairs of parts whose distances are needed within a network; halves first."""
        return *self.halves, *self.quarters

    @property
    def between(self) -> PartPairs:
        """The pairs of parts of two networks: those of one, in both orders.

        If the networks are equal, exchanging part i of x with part i of y then turns distances
        within networks into distances between them.
        """
        return tuple((a, b) for i, j in self.within for a, b in ((i, j), (j, i)))

    @classmethod
    def in_halves(cls, first: tuple[int, ...], n_groups: int) -> Division:
        """Return two halves of the groups, given the first."""
        rest = tuple(g for g in range(n_groups) if g not in first)
        return cls((first, rest), ((0, 1),), ())

    @classmethod
    def in_quarters(cls, quarters: Sequence[tuple[int, ...]]) -> Division:
        """Return four quarters, and the halves of the three ways to join them."""
        joined = tuple((*quarters[i], *quarters[j]) for i, j in JOINED)
        return cls((*quarters, *joined), ((4, 5), (6, 7), (8, 9)), ((0, 1), (1, 2), (2, 3), (3, 0)))


def divide_in_quarters(n_groups: int, rng: np.random.Generator) -> list[Division]:
    """Return different ways to divide groups into quarters, at random.

    Groups differ by one trial if the trials cannot be divided equally; the larger ones come first.
    Each quarter has a group from each run of four consecutive groups, so that quarters differ by
    as little as possible.
    """
    runs = [range(a, a + 4) for a in range(0, n_groups, 4)]
    orders = list(permutations(range(4)))
    ways = len(orders) ** (len(runs) - 1)
    out = []
    for way in rng.choice(ways, size=min(N_QUARTERINGS, ways), replace=False).tolist():
        columns: list[list[int]] = [list(runs[0])]
        for run in runs[1:]:
            way, order = divmod(way, len(orders))
            columns.append([run[a] for a in orders[order]])
        out.append(Division.in_quarters(list(zip(*columns, strict=True))))
    return out


def divide_in_halves(n_groups: int, rng: np.random.Generator) -> list[Division]:
    """Return different ways to divide groups into halves; group 0 is in the first, so none repeats.

    >>> sorted(one.sides for one in divide_in_halves(4, np.random.default_rng(0)))
    [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]
    """
    every = list(combinations(range(1, n_groups), n_groups // 2 - 1))
    chosen = rng.choice(len(every), size=min(N_HALVINGS, len(every)), replace=False)
    return [Division.in_halves((0, *every[k]), n_groups) for k in chosen]
