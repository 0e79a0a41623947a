"""Permutations of labels: all of them if there are few, a random sample otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from math import comb, factorial, prod

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError, check_integer

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

N_PERMUTATIONS = 9999
# Statistics that differ by less than this fraction of the largest count as equal.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Arrangements:
    """Ways to assign labels to networks.

    Attributes
    ----------
    rows : int array of shape (B, K)
        A label for each network; the first row is that of the data.
    exact : bool
        Whether these are all ways that the design allows.
    smallest_p_value : float
        The smallest p-value that is possible with this design and number of permutations.
    """

    rows: IntArray
    exact: bool
    smallest_p_value: float

    def p_value(self, statistics: FloatArray) -> float:
        """Return the fraction of rows whose statistic is at least that of the first row."""
        margin = ROUNDING * float(np.abs(statistics).max(initial=0.0))
        return float(np.mean(statistics >= statistics[0] - margin))


def arrange(
    codes: IntArray,
    strata: IntArray | None = None,
    *,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> Arrangements:
    """Return permutations of labels 0, 1, ... within strata; one stratum by default.

    If at most ``n_permutations + 1`` exist, all are returned. Otherwise the data come first, and
    ``n_permutations`` random ones follow. A statistic that treats all labels alike has the same
    value if labels that occur equally often in every stratum are exchanged, which limits the
    p-value from below.

    >>> found = arrange(np.array([0, 0, 0, 1, 1, 1]))
    >>> len(found.rows), found.exact, found.smallest_p_value
    (20, True, 0.1)
    """
    check_integer("n_permutations", n_permutations, 1)
    check_integer("random_state", random_state, 0)
    places = np.zeros(len(codes), dtype=np.intp) if strata is None else strata
    members = [np.flatnonzero(places == one) for one in np.unique(places)]
    table = np.array([np.bincount(codes[one], minlength=codes.max() + 1) for one in members])
    total = prod(_multinomial(row) for row in table.tolist())
    alike = Counter(tuple(column) for column in table.T.tolist())
    least = prod(factorial(times) for times in alike.values()) / total
    if total <= n_permutations + 1:
        return Arrangements(_every(codes, members), True, least)
    rng = np.random.default_rng(random_state)
    rows = np.tile(codes, (n_permutations + 1, 1))
    for one in members:
        rows[1:, one] = rng.permuted(rows[1:, one], axis=1)
    return Arrangements(rows, False, max(least, 1.0 / (n_permutations + 1)))


def _multinomial(counts: list[int]) -> int:
    """Return the number of different orders of a multiset."""
    return prod(comb(sum(counts[: k + 1]), counts[k]) for k in range(len(counts)))


def _every(codes: IntArray, members: list[IntArray]) -> IntArray:
    """Return all permutations within strata, with the data first."""
    parts = [np.array(list(_orders(sorted(codes[one].tolist())))) for one in members]
    rows = np.empty((prod(len(part) for part in parts), len(codes)), dtype=np.intp)
    for k, choice in enumerate(product(*(range(len(part)) for part in parts))):
        for one, part, c in zip(members, parts, choice, strict=True):
            rows[k, one] = part[c]
    here = int(np.flatnonzero((rows == codes).all(axis=1))[0])
    rows[[0, here]] = rows[[here, 0]]
    return rows


def _orders(values: list[int]) -> Iterator[list[int]]:
    """Yield the different orders of a sorted list."""
    if not values:
        yield []
        return
    first = values[0]
    times = values.count(first)
    for chosen in combinations(range(len(values)), times):
        for rest in _orders(values[times:]):
            others = iter(rest)
            yield [first if k in chosen else next(others) for k in range(len(values))]


@dataclass(frozen=True, eq=False)
class Design:
    """Groups of networks, and which permutations of their labels are allowed.

    Attributes
    ----------
    names : tuple of str
        Names of the groups, sorted.
    codes : int array of shape (K,)
        Index of the group of each network.
    blocks : int array of shape (K,) or None
        Index of the block of each network.
    whole : bool
        Whether blocks are permuted as a whole, because each belongs to one group.
    """

    names: tuple[str, ...]
    codes: IntArray
    blocks: IntArray | None
    whole: bool

    @property
    def words(self) -> str:
        """What is permuted."""
        if self.blocks is None:
            return "networks permuted freely"
        return "whole blocks permuted" if self.whole else "networks permuted within blocks"

    def arrange(self, n_permutations: int, random_state: int) -> Arrangements:
        """Return the allowed permutations of the labels."""
        draw = partial(arrange, n_permutations=n_permutations, random_state=random_state)
        if self.blocks is None or not self.whole:
            return draw(self.codes, self.blocks)
        _, first, inverse = np.unique(self.blocks, return_index=True, return_inverse=True)
        found = draw(self.codes[first])
        return Arrangements(found.rows[:, inverse], found.exact, found.smallest_p_value)

    def subset(self, groups: tuple[int, int]) -> tuple[IntArray, Design]:
        """Return the networks of two groups, and the design with these alone."""
        index = np.flatnonzero(np.isin(self.codes, groups))
        codes = (self.codes[index] == groups[1]).astype(np.intp)
        blocks = None if self.blocks is None else self.blocks[index]
        names = (self.names[groups[0]], self.names[groups[1]])
        return index, Design(names, codes, blocks, self.whole)


def make_design(labels: list[str], blocks: list[str] | None) -> Design:
    """Return the design of groups of at least two networks, or raise one clear sentence."""
    names, codes = np.unique(np.array(labels), return_inverse=True)
    if len(names) < 2:
        raise InputError(f"There must be at least two groups. Got only {names[0].item()!r}.")
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        alone = names[int(np.argmin(sizes))].item()
        raise InputError(f"Every group must have at least two networks. Group {alone!r} has one.")
    groups = tuple(str(name) for name in names)
    if blocks is None:
        return Design(groups, codes, None, False)
    units, places = np.unique(np.array(blocks), return_inverse=True)
    table = np.zeros((len(units), len(names)), dtype=int)
    np.add.at(table, (places, codes), 1)
    mixed = (table > 0).sum(axis=1) > 1
    if mixed.any():
        _check_mixed(groups, table[mixed])
    else:
        _check_whole(groups, [unit.item() for unit in units], table)
    return Design(groups, codes, places, not mixed.any())


def _check_mixed(groups: tuple[str, ...], mixed: IntArray) -> None:
    """Raise unless every group occurs in a block with another group, given the mixed blocks."""
    for g, times in enumerate(mixed.sum(axis=0).tolist()):
        if times == 0:
            raise InputError(
                f"Group {groups[g]!r} is never in a block with another group, although some "
                "blocks have several groups. Its labels can be exchanged neither within blocks "
                "nor with those of whole blocks. Compare it in a separate test."
            )


def _check_whole(groups: tuple[str, ...], units: list[str], table: IntArray) -> None:
    """Raise unless every group has at least two blocks."""
    counts = (table > 0).sum(axis=0)
    g = int(np.argmin(counts))
    if counts[g] < 2:
        block = units[int(np.argmax(table[:, g] > 0))]
        raise InputError(
            f"Every block has networks of one group only, and group {groups[g]!r} has only the "
            f"block {block!r}: its difference from other groups could be that of one block. "
            "Each group needs at least two blocks, or blocks with networks of several groups."
        )
