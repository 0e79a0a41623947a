"""Pairs that a neighbour search has solved: in memory, or in a store."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from repshape._doubt import is_doubtful, possible_excess
from repshape._native import PairResults
from repshape.errors import InputError
from repshape.io.links import list_folder
from repshape.io.writing import writable
from repshape.io.zarr import read_attributes, readable
from repshape.matrix.summary import largest
from repshape.store.arrays import REWRITE, Place, SealedArray, array_form, seal_of
from repshape.store.header import identity_in, make_group, new_header, open_header, refusal
from repshape.store.identity import Identity, Permission

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
# What is kept of each pair.
NUMBERS = ("distance", "lower_bound", "n_starts", "n_agreeing", "gap")
# Pairs in a batch, and batches in a group; a run that solves more begins another group.
BATCH = 1024
MOST_BATCHES = 2**20
# Of a batch: the networks of each pair, its numbers, and the seal.
BATCHES = array_form(
    (MOST_BATCHES, len(NUMBERS) + 3, BATCH), (1, len(NUMBERS) + 3, BATCH), compress=True
)


class SolvedPairs:
    """Distances of pairs i < j, in the order in which they were solved, each pair once."""

    def __init__(self) -> None:
        self._pairs: list[IndexArray] = [np.zeros((0, 2), dtype=np.intp)]
        self._numbers: list[FloatArray] = [np.zeros((len(NUMBERS), 0))]

    def add(self, pairs: IndexArray, found: PairResults) -> None:
        """Keep the results of pairs that were not solved before."""
        self._append(pairs, np.stack([getattr(found, name) for name in NUMBERS]).astype(np.float64))

    def refresh(self) -> None:
        """Read what other processes have added."""

    def _append(self, pairs: IndexArray, numbers: FloatArray) -> None:
        self._pairs.append(pairs)
        self._numbers.append(numbers)

    @property
    def pairs(self) -> IndexArray:
        """All pairs, shape (P, 2)."""
        self._pairs = [np.concatenate(self._pairs)]
        return self._pairs[0]

    @property
    def numbers(self) -> FloatArray:
        """Their distances, bounds, numbers of starts and of agreeing starts, and gaps, (5, P)."""
        self._numbers = [np.concatenate(self._numbers, axis=1)]
        return self._numbers[0]

    def of(self, rows: range) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Return pairs (row, other) with their distances and lower bounds, for all known rows.

        A pair of two such rows appears in both orders.
        """
        pairs, numbers = self.pairs, self.numbers
        found, places = [], []
        for order in (pairs, pairs[:, ::-1]):
            at = np.flatnonzero((order[:, 0] >= rows.start) & (order[:, 0] < rows.stop))
            found.append(order[at])
            places.append(at)
        chosen = numbers[:, np.concatenate(places)]
        return np.concatenate(found), chosen[0], chosen[1]

    def count(self, rows: range) -> int:
        """Return the number of pairs of which at least one network is in ``rows``."""
        pairs = self.pairs
        return int(((pairs >= rows.start) & (pairs < rows.stop)).any(axis=1).sum())

    @property
    def n_doubtful(self) -> int:
        """Number of pairs that may be longer than necessary, by the rule of `is_doubtful`."""
        distance, bound, starts, agreeing, gap = self.numbers
        return int(is_doubtful(distance, bound, starts, agreeing, gap=gap).sum())

    @property
    def largest_excess(self) -> float | None:
        """By about what share a distance may at most be too long; None if that is not known."""
        distance, bound, starts, agreeing, gap = self.numbers
        return largest(possible_excess(distance, bound, starts, agreeing, gap=gap))


@dataclass
class Journal:
    """What one run has added to a store: batches of pairs, and the networks they are of.

    ``places`` are those of its networks among those of the present run, -1 where they differ.
    """

    array: SealedArray
    networks: dict[str, str]
    places: IndexArray
    seen: set[Place]


class PairStore(SolvedPairs):
    """Solved pairs on disk, in a group for each run that has added some.

    The group is called after a random number, names the networks of the run, and holds an array
    with a chunk for each batch of pairs. So several runs may add pairs at the same time; a pair
    that two of them solved counts once.

    Networks are recognised by their names and fingerprints. So pairs stay valid when networks are
    added, left out or sorted in another way, and those of a network whose responses have changed
    are not used.

    Parameters
    ----------
    path : pathlib.Path
    identity : Identity
        The metric, and the networks of this run.
    permission : Permission, optional
        Networks whose responses may differ from those that the store knows.
    """

    def __init__(
        self, path: Path, identity: Identity, permission: Permission | None = None
    ) -> None:
        super().__init__()
        header = open_header(path, new_header("pairs", identity), {})
        self.path, self._identity, self._id = path, identity, str(header["id"])
        self._journals: dict[str, Journal] = {}
        self._own: str | None = None
        self._known = np.zeros(0, dtype=np.int64)  # places of all pairs in the upper triangle
        self._find_journals()
        every = [identity_in(header).networks, *(one.networks for one in self._journals.values())]
        _check_responses(path, every, identity, permission or Permission())
        self.refresh()

    def add(self, pairs: IndexArray, found: PairResults) -> None:
        """Keep results durably."""
        numbers = np.stack([getattr(found, name) for name in NUMBERS]).astype(np.float64)
        with writable(self.path):
            for start in range(0, len(pairs), BATCH):
                part = slice(start, start + BATCH)
                self._write(np.concatenate([pairs[part].T, numbers[:, part]]))
        self._append_new(pairs, numbers)

    def _write(self, columns: FloatArray) -> None:
        if self._own is None or len(self._journals[self._own].seen) == MOST_BATCHES:
            self._own = self._begin()
        journal = self._journals[self._own]
        place = (len(journal.seen), 0, 0)
        block = np.full((1, len(columns) + 1, BATCH), np.nan)
        block[0, :-1, : columns.shape[1]] = columns
        block[0, -1] = seal_of(self._id, self._own, place[0])
        journal.array.write(place, block)
        journal.seen.add(place)

    def _begin(self) -> str:
        """Make the group of this run, and return its name."""
        name, networks = uuid.uuid4().hex, self._identity
        named = {"labels": list(networks.labels), "fingerprints": list(networks.fingerprints)}
        make_group(self.path / "pairs" / name, {"id": self._id} | named, {"batches": BATCHES})
        self._find_journals()
        return name

    def _find_journals(self) -> None:
        """Note the groups of all runs that are new."""
        folder = self.path / "pairs"
        names = {one.name for one in list_folder(folder)} if folder.is_dir() else set()
        for name in sorted(names - self._journals.keys()):
            noted = read_attributes(folder / name, REWRITE)
            if not noted:  # another run is about to make it, or the file was lost
                continue
            array = SealedArray(folder / name / "batches", BATCHES, "batch", self.path)
            array.describe()
            with readable(folder / name / "zarr.json", REWRITE):
                networks = identity_in(noted | {"description": {}})
                places = self._identity.places(networks)
            self._journals[name] = Journal(array, networks.networks, places, set())

    def refresh(self) -> None:
        """Read the batches that other processes have added."""
        self._find_journals()
        for name, journal in self._journals.items():
            chunks = journal.array.folder / "c"
            found = [one.name for one in chunks.iterdir()] if chunks.is_dir() else []
            numbers = [int(name) for name in found if name.isdecimal()]  # others are being written
            for place in sorted({(number, 0, 0) for number in numbers} - journal.seen):
                if journal.array.has(place):
                    self._append_new(*self._read(name, place))
                    journal.seen.add(place)

    def _read(self, name: str, place: Place) -> tuple[IndexArray, FloatArray]:
        """Return the pairs of a batch whose networks are both part of this run."""
        journal, seal = self._journals[name], seal_of(self._id, name, place[0])
        block = journal.array.read(place, lambda found: bool((found[0, -1] == seal).all()))[0]
        block = block[:-1, ~np.isnan(block[0])]
        pairs = journal.places[block[:2].astype(np.intp).T]
        here = (pairs >= 0).all(axis=1)
        return np.sort(pairs[here], axis=1), block[2:, here]

    def _append_new(self, pairs: IndexArray, numbers: FloatArray) -> None:
        places = pairs[:, 0].astype(np.int64) * len(self._identity.labels) + pairs[:, 1]
        new = ~np.isin(places, self._known)
        self._known = np.union1d(self._known, places[new])
        self._append(pairs[new], numbers[:, new])


def _check_responses(
    path: Path, every: list[dict[str, str]], identity: Identity, permission: Permission
) -> None:
    """Raise if a network has other responses than those that the store knows by its name."""
    known = {pair for networks in every for pair in networks.items()}
    stored = dict(sorted(known))
    stored |= {name: mark for name, mark in identity.networks.items() if (name, mark) in known}
    old = {name: stored[name] for name in identity.labels if name in stored}
    try:
        permission.check(
            Identity(identity.description, tuple(old), tuple(old.values())), identity, frozenset()
        )
    except InputError as error:
        raise refusal(path, str(error)) from None
