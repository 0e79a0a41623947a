"""One network on disk: a Zarr group with its arrays, and its record as attributes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from repshape._arrays import frozen
from repshape.errors import InputError, StorageError
from repshape.io.changes import joining
from repshape.io.links import list_folder
from repshape.io.records import Network, Record, discard_earlier, read_record
from repshape.io.swaps import taking_the_place_of
from repshape.io.writing import atomic_folder, writable
from repshape.io.zarr import add_array, create_group, read_array, readable
from repshape.responses import Gaussians, Kind, Trials
from repshape.responses.positions import PositionNetwork

# The array that holds the covariances of each kind.
COVARIANCES: dict[Kind, str] = {
    "full": "covariances",
    "diagonal": "variances",
    "factors": "factors",
}
# Precedes the names of the arrays of two halves of the trials.
HALVES = ("first_half_", "second_half_")
# Every chunk on disk ends in its CRC-32C, of this many bytes.
CHECKSUM_BYTES = 4


def save_network(folder: Path, network: Network, record: Record) -> Record:
    """Write one network into a folder of its own, and return its record with the checksum."""
    group = create_group(folder, {})
    _save_arrays(group, getattr(network, "flat", network))
    record = replace(record, checksum=stored_checksum(folder))
    group.update_attributes(record.attributes())
    return record


def _save_arrays(group: zarr.Group, network: Network) -> None:
    if isinstance(network, Gaussians):
        _save_moments(group, network, "")
        for prefix, half in zip(HALVES, network.halves or (), strict=False):
            _save_moments(group, half, prefix)
        return
    stacked = network.stacked
    add_array(group, "trials", network.pooled if stacked is None else stacked, compress=True)
    add_array(group, "n_trials", network.n_trials.astype(np.int64))
    add_array(group, "n_dropped", network.n_dropped.astype(np.int64))


def _save_moments(group: zarr.Group, network: Gaussians, prefix: str) -> None:
    add_array(group, f"{prefix}means", network.means)
    if network.stored.size:
        add_array(group, prefix + COVARIANCES[network.kind], network.stored)
    if network.n_trials is not None:
        add_array(group, f"{prefix}n_trials", network.n_trials.astype(np.int64))


def stored_checksum(folder: Path) -> str:
    """Return a hash of what describes the arrays of a network, and of all of their chunks.

    A chunk ends in its own checksum, so that its name, its size and a few bytes of it are enough.
    """
    found = sha256()
    try:
        for file in _array_files(folder):
            with open(file, "rb") as handle:
                size = handle.seek(0, os.SEEK_END)
                read = size if file.name == "zarr.json" else CHECKSUM_BYTES
                handle.seek(max(size - read, 0))
                ending = handle.read().hex()
            found.update(f"{file.relative_to(folder).as_posix()} {size} {ending}\n".encode())
    except FileNotFoundError as error:
        raise _disappeared(folder) from error
    return found.hexdigest()


def _state(folder: Path) -> tuple[int, int] | None:
    """Return what changes when another process replaces a folder, even by one of the same name."""
    try:
        found = folder.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def _is_replaced(folder: Path, record: Record, before: tuple[int, int] | None) -> bool:
    """Return whether a folder has gone, or has another network than the one of a record."""
    if before is None or _state(folder) != before:
        return True
    with suppress(StorageError):  # a damaged record says nothing
        return read_record(folder).fingerprint != record.fingerprint
    return False


def _disappeared(folder: Path) -> StorageError:
    """Return the error that the folder of a network was there, and is no longer."""
    return StorageError(
        f"{folder} disappeared while it was read: another process replaced or removed this "
        "network. Open the cohort again."
    )


def _array_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a network in a fixed order, without its record, which has its own seal."""
    for parent, folders, files in os.walk(folder):
        list_folder(Path(parent))  # refuses links
        folders.sort()
        if Path(parent) != folder:
            yield from (Path(parent, name) for name in sorted(files))


def load_network(folder: Path, record: Record) -> Network:
    """Read one network, or raise one clear sentence unless it is the one that was written.

    Files that have not changed need no closer look: each chunk has a checksum, which is compared
    when it is read.
    """
    before = _state(folder)
    whole = record.checksum == stored_checksum(folder)
    try:
        with readable(folder):
            network = _read_network(folder, record)
    except StorageError as error:
        if _is_replaced(folder, record, before):
            raise _disappeared(folder) from error
        raise
    if _state(folder) != before:  # what was read may be of another network
        raise _disappeared(folder)
    if not whole and network.fingerprint != record.fingerprint:
        if _is_replaced(folder, record, before):
            raise _disappeared(folder)
        raise StorageError(
            f"The responses of network {record.name!r} in {folder.parent} are not those that "
            "were added: their files have changed since."
        )
    return network


def _read_network(folder: Path, record: Record) -> Network:
    if record.positions is not None:
        columns = record.n_neurons * prod(record.positions)
        flat = replace(record, n_neurons=columns, neurons=None, positions=None)
        network: Any = _read_network(folder, flat)
        return PositionNetwork._trusted(network, record.positions, record.neurons)  # type: ignore[return-value]
    root = folder.parent  # the cohort
    if record.kind == "trials":
        trials = frozen(read_array(folder / "trials", root))
        counts = read_array(folder / "n_trials", root).astype(np.intp)
        dropped = read_array(folder / "n_dropped", root).astype(np.intp)
        rows = trials.reshape(-1, record.n_neurons)
        labels = (record.conditions, record.neurons)
        return Trials._trusted(rows, counts, dropped, *labels, record.window)
    halves = partial(_read_halves, folder, record)
    kept = all((folder / f"{prefix}means").exists() for prefix in HALVES)
    return _read_moments(folder, record, "", halves if kept else None)


def _read_moments(folder: Path, record: Record, prefix: str, halves: Any = None) -> Gaussians:
    root = folder.parent  # the cohort
    means = frozen(read_array(folder / f"{prefix}means", root))
    kind: Kind = record.kind  # type: ignore[assignment]
    if record.n_bytes > means.nbytes:
        stored = frozen(read_array(folder / (prefix + COVARIANCES[kind]), root))
    else:
        stored = frozen(np.zeros((*means.shape, 0)))
    known = (folder / f"{prefix}n_trials").exists()
    return Gaussians._trusted(
        means,
        stored,
        kind,
        record.conditions,
        record.estimator,
        neurons=record.neurons,
        n_trials=read_array(folder / f"{prefix}n_trials", root).astype(np.intp) if known else None,
        halves=halves,
    )


def _read_halves(folder: Path, record: Record) -> tuple[Gaussians, Gaussians]:
    """Read the moments of two halves of the trials, which few functions need."""
    with readable(folder):
        first, second = (_read_moments(folder, record, prefix) for prefix in HALVES)
    return first, second


def save_network_whole(
    folder: Path,
    network: Network,
    record: Record,
    deciding: AbstractContextManager[None] | None = None,
) -> Record:
    """Write one network into a folder that takes its name once it is complete."""
    try:
        with writable(folder.parent), atomic_folder(folder, deciding) as temporary:
            return save_network(temporary, network, record)
    except StorageError as error:
        if isinstance(error.__cause__, FileExistsError):
            raise InputError(
                f"{folder.parent} already has a network named {record.name!r}."
            ) from None
        raise


def add_network(known: Collection[str], folder: Path, network: Network, record: Record) -> Record:
    """Write one network that joins a cohort, unless another process was faster.

    ``known`` are the folders of the networks with which it was compared.
    """
    return save_network_whole(folder, network, record, joining(folder.parent, [record], known))


def replace_network(
    old: Record, known: Collection[str], folder: Path, network: Network, record: Record
) -> Record:
    """Write one network that takes the place of another one, unless another process was faster."""
    path = folder.parent

    @contextmanager
    def deciding() -> Iterator[None]:
        with joining(path, [record], known):
            yield
            discard_earlier(path, old)

    with taking_the_place_of(path / old.key, old.name, deciding()) as swap:
        return save_network_whole(swap / record.key, network, record)
