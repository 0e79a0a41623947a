"""Pairs that a neighbour search has solved: in memory, or in a store."""

from __future__ import annotations

import json
import uuid
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._native import PairResults
from repshape.engine.identity import Identity, Permission
from repshape.engine.store import check_store_path
from repshape.errors import PROVEN, TELLING_STARTS, InputError, StorageError
from repshape.io.links import list_folder
from repshape.io.npz import read_arrays
from repshape.io.writing import open_output, writable
from repshape.io.zarr import new_group, read_attributes, readable

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
NamedFingerprint = tuple[str, str]
FORMAT = "repshape-neighbor-pairs"
FORMAT_VERSION = 2
# What is kept of each pair.
NUMBERS = ("distance", "lower_bound", "n_starts", "n_agreeing")
# Of a network in files: it fits an unsigned integer. Keys of one store are checked to be distinct.
KEY_BYTES = 8
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

    Files call a network by a hash of its name and its fingerprint. So pairs stay valid when
    networks are added, left out or sorted in another way, and those of a network whose responses
    have changed are not used. The attributes of the group list the networks with which the store
    was made, and files in the folder ``networks`` list those that came later.

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
        check_store_path(path)
        if not path.exists():
            _create(path, identity)
        self.path, self._count = path, len(identity.labels)
        list_folder(path)  # refuses links, also in the two folders below
        header = _checked_header(path, identity)
        known = _known_networks(path, header)
        _check_responses(path, known, identity, permission or Permission())
        mine = list(identity.networks.items())
        self._unlisted = [one for one in mine if one not in known]
        self._keys = _distinct_keys(mine, known)
        self._id = str(header["id"])
        self._seen: set[str] = set()
        self._places = np.zeros(0, dtype=np.int64)  # of all pairs in the upper triangle
        self.refresh()

    def add(self, pairs: IndexArray, found: PairResults) -> None:
        """Keep results durably."""
        numbers = np.stack([getattr(found, name) for name in NUMBERS]).astype(np.float64)
        name = f"{uuid.uuid4().hex}.npz"
        self._list_networks()
        with writable(self.path):
            (self.path / "pairs").mkdir(exist_ok=True)
        with open_output(self.path / "pairs" / name) as handle:
            np.savez(handle, id=np.array(self._id), keys=self._keys[pairs], numbers=numbers)
        self._seen.add(name)
        self._append_new(pairs, numbers)

    def _list_networks(self) -> None:
        """Note networks that the store has not seen before, ahead of their first pairs."""
        if not self._unlisted:
            return
        content = json.dumps(self._unlisted).encode()  # several shards may write the same file
        with writable(self.path):
            (self.path / "networks").mkdir(exist_ok=True)
        name = f"{sha256(content).hexdigest()[:16]}.json"
        with open_output(self.path / "networks" / name) as handle:
            handle.write(content)
        self._unlisted = []

    def refresh(self) -> None:
        """Read the files that other processes have added."""
        folder = self.path / "pairs"
        files = list_folder(folder) if folder.is_dir() else []
        names = {file.name for file in files if file.suffix == ".npz" and file.name[0] != "."}
        for name in sorted(names - self._seen):
            self._append_new(*self._read(folder / name))
            self._seen.add(name)

    def _read(self, file: Path) -> tuple[IndexArray, FloatArray]:
        """Return the pairs of a file whose networks are both part of this run."""
        with readable(file, REMEDY):
            content = read_arrays(file)
            keys, numbers = content["keys"], content["numbers"].astype(np.float64)
            fits = keys.shape == (numbers.shape[1], 2) and len(numbers) == len(NUMBERS)
            if str(content["id"]) != self._id or not fits:
                raise ValueError("it belongs to another store")
        order = np.argsort(self._keys)
        nearest = order[np.searchsorted(self._keys, keys, sorter=order).clip(max=len(order) - 1)]
        here = (self._keys[nearest] == keys).all(axis=1)
        return np.sort(nearest[here], axis=1), numbers[:, here]

    def _append_new(self, pairs: IndexArray, numbers: FloatArray) -> None:
        places = pairs[:, 0].astype(np.int64) * self._count + pairs[:, 1]
        new = ~np.isin(places, self._places)
        self._places = np.union1d(self._places, places[new])
        self._append(pairs[new], numbers[:, new])


def _create(path: Path, identity: Identity) -> None:
    """Make an empty store."""
    header = {"format": FORMAT, "version": FORMAT_VERSION, "id": uuid.uuid4().hex}
    header |= {"description": identity.description, "labels": list(identity.labels)}
    header |= {"fingerprints": list(identity.fingerprints)}
    try:
        with new_group(path, header):
            pass
    except StorageError:
        if not path.exists():  # else another shard was faster
            raise


def _checked_header(path: Path, identity: Identity) -> dict[str, Any]:
    """Return the attributes of a store, or raise if it is none or belongs to another metric."""
    header: dict[str, Any] = read_attributes(path) or {}
    if header.get("format") != FORMAT or header.get("version") != FORMAT_VERSION:
        raise StorageError(
            f"{path} does not hold solved pairs of this version of repshape; it is left as it is."
        )
    difference = Identity(header["description"], (), ()).metric_difference(identity)
    if difference:
        raise StorageError(
            f"{path} cannot be continued: {difference}. Choose another name for the store, or "
            "delete it."
        )
    return header


def _known_networks(path: Path, header: dict[str, Any]) -> set[NamedFingerprint]:
    """Return the names and fingerprints of all networks that a store has seen."""
    known = set(zip(header["labels"], header["fingerprints"], strict=True))
    folder = path / "networks"
    for file in list_folder(folder) if folder.is_dir() else ():
        if file.suffix != ".json" or file.name[0] == ".":
            continue
        with readable(file, REMEDY):
            known |= {(str(name), str(mark)) for name, mark in json.loads(file.read_bytes())}
    return known


def _check_responses(
    path: Path, known: set[NamedFingerprint], identity: Identity, permission: Permission
) -> None:
    """Raise if a network has other responses than those that the store knows by its name."""
    stored = dict(sorted(known))
    stored |= {name: mark for name, mark in identity.networks.items() if (name, mark) in known}
    old = {name: stored[name] for name in identity.labels if name in stored}
    try:
        permission.check(
            Identity(identity.description, tuple(old), tuple(old.values())), identity, frozenset()
        )
    except InputError as error:
        raise StorageError(f"{path} cannot be continued: {error}") from None


def _distinct_keys(
    mine: list[NamedFingerprint], known: set[NamedFingerprint]
) -> npt.NDArray[np.uint64]:
    """Return the keys of networks, or raise if two networks of the store share one."""
    keys = {network: _key(network) for network in {*mine, *known}}
    if len(set(keys.values())) < len(keys):
        raise StorageError("Two networks have the same key; choose another name for one of them.")
    return np.array([keys[network] for network in mine], dtype=np.uint64)


def _key(network: NamedFingerprint) -> int:
    return int.from_bytes(sha256(json.dumps(network).encode()).digest()[:KEY_BYTES])
