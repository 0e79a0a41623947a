"""Pairs that a neighbour search has solved: in memory, or in a store."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._native import PairResults
from repshape.errors import PROVEN, TELLING_STARTS, StorageError
from repshape.io.writing import open_output, writable
from repshape.io.zarr import new_group, read_attributes, readable
from repshape.pairwise.identity import Identity
from repshape.pairwise.store import check_store_path

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
FORMAT = "repshape-neighbor-pairs"
FORMAT_VERSION = 1
# What is kept of each pair.
NUMBERS = ("distance", "lower_bound", "n_starts", "n_agreeing")
REMEDY = "Delete that file and run the same command again to compute its pairs anew."


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
        """Their distances, lower bounds and numbers of starts and of agreeing starts, (4, P)."""
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
        """Number of pairs whose best alignment was found once only, and is not proven minimal."""
        distance, bound, starts, agreeing = self.numbers
        proven = bound >= (1 - PROVEN) * distance
        return int(np.sum((agreeing == 1) & (starts >= TELLING_STARTS) & ~proven))


class PairStore(SolvedPairs):
    """Solved pairs on disk: a Zarr group with a file for each batch of pairs.

    A file takes its name once it is complete. It carries the random id of its store, so that a file
    of another store is refused. Several processes may add files at the same time; a pair that two
    of them solved counts once.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        super().__init__()
        check_store_path(path)
        count = len(identity.labels)
        if not path.exists():
            header = {"format": FORMAT, "version": FORMAT_VERSION, "id": uuid.uuid4().hex}
            header |= {"description": identity.description, "labels": list(identity.labels)}
            header |= {"fingerprints": list(identity.fingerprints)}
            try:
                with new_group(path, header):
                    pass
            except StorageError:
                if not path.exists():  # else another shard was faster
                    raise
        self.path, self._count = path, count
        self._id = _checked_id(path, identity)
        self._seen: set[str] = set()
        self._keys = np.zeros(0, dtype=np.int64)
        self.refresh()

    def add(self, pairs: IndexArray, found: PairResults) -> None:
        """Keep results durably."""
        numbers = np.stack([getattr(found, name) for name in NUMBERS]).astype(np.float64)
        name = f"{uuid.uuid4().hex}.npz"
        with writable(self.path):
            (self.path / "pairs").mkdir(exist_ok=True)
        with open_output(self.path / "pairs" / name) as handle:
            np.savez(handle, id=np.array(self._id), pairs=pairs, numbers=numbers)
        self._seen.add(name)
        self._append_new(pairs, numbers)

    def refresh(self) -> None:
        """Read the files that other processes have added."""
        folder = self.path / "pairs"
        names = {file.name for file in folder.glob("*.npz")} if folder.is_dir() else set()
        for name in sorted(names - self._seen):
            self._append_new(*self._read(folder / name))
            self._seen.add(name)

    def _read(self, file: Path) -> tuple[IndexArray, FloatArray]:
        with readable(file, REMEDY), np.load(file, allow_pickle=False) as content:
            pairs, numbers = content["pairs"], content["numbers"]
            fits = pairs.ndim == 2 and numbers.shape == (len(NUMBERS), len(pairs))
            if str(content["id"]) != self._id or not fits:
                raise ValueError("it belongs to another store")
            if len(pairs) and not (pairs.min() >= 0 and pairs.max() < self._count):
                raise ValueError("it holds pairs of other networks")
        return pairs.astype(np.intp), numbers.astype(np.float64)

    def _append_new(self, pairs: IndexArray, numbers: FloatArray) -> None:
        keys = pairs[:, 0].astype(np.int64) * self._count + pairs[:, 1]
        new = ~np.isin(keys, self._keys)
        self._keys = np.union1d(self._keys, keys[new])
        self._append(pairs[new], numbers[:, new])


def _checked_id(path: Path, identity: Identity) -> str:
    """Return the id of a store, or raise if it is none or belongs to other networks."""
    header: dict[str, Any] = read_attributes(path) or {}
    if header.get("format") != FORMAT or header.get("version") != FORMAT_VERSION:
        raise StorageError(
            f"{path} does not hold solved pairs of this version of repshape; it is left as it is."
        )
    labels, fingerprints = tuple(header["labels"]), tuple(header["fingerprints"])
    difference = Identity(header["description"], labels, fingerprints).difference(identity)
    if difference:
        raise StorageError(
            f"{path} cannot be continued: {difference}. Choose another name for the store, or "
            "delete it."
        )
    return str(header["id"])
