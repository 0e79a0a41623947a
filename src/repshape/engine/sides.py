"""Networks of a run: one cohort or sequence, or two whose distances to each other are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from repshape.io.cohort import Cohort

# What the labels of the two sets begin with in a store.
SIDES = ("rows/", "columns/")


def side_labels(rows: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of two sets of networks as labels that are unique.

    >>> side_labels(["a"], ["a", "b"])
    ('rows/a', 'columns/a', 'columns/b')
    """
    return (*(SIDES[0] + one for one in rows), *(SIDES[1] + one for one in columns))


def split_sides(labels: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of two sets, given the labels that `side_labels` made."""
    rows, columns = (
        tuple(one.removeprefix(side) for one in labels if one.startswith(side)) for side in SIDES
    )
    return rows, columns


class Chain(Sequence[Any]):
    """Two sequences one after the other; their networks are read when needed.

    Two cohorts have labels and fingerprints together, and some of them can be chosen by label. The
    labels say which of the two a network belongs to, because both may use the same names.
    """

    def __init__(self, first: Sequence[Any], second: Sequence[Any]) -> None:
        self.first, self.second = first, second

    def __len__(self) -> int:
        return len(self.first) + len(self.second)

    def __getitem__(self, index: Any) -> Any:
        count = len(self.first)
        return self.first[index] if index < count else self.second[index - count]

    @property
    def cohorts(self) -> tuple[Cohort, Cohort]:
        """The two sequences, which are cohorts."""
        assert isinstance(self.first, Cohort)
        assert isinstance(self.second, Cohort)
        return self.first, self.second

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of both cohorts, with their sides."""
        return side_labels(*(one.labels for one in self.cohorts))

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprints of both cohorts."""
        first, second = self.cohorts
        return (*first.fingerprints, *second.fingerprints)

    def select(self, labels: Sequence[str]) -> Chain:
        """Return some networks, or all in another order, by their labels."""
        rows, columns = split_sides(labels)
        first, second = self.cohorts
        return Chain(first[list(rows)], second[list(columns)])


def records_of(networks: Sequence[Any]) -> Sequence[Any]:
    """Return the records of a cohort, which are known without reading it, or the networks."""
    if isinstance(networks, Chain):
        return [*records_of(networks.first), *records_of(networks.second)]
    return networks.records if isinstance(networks, Cohort) else networks
