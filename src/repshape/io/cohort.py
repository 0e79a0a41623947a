"""Cohorts: many networks with names, metadata and shared conditions, in memory or on disk."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import pandas as pd

from repshape._arrays import count
from repshape.errors import InputError, InputTypeError, StorageError
from repshape.io.records import (
    Network,
    Record,
    load_network,
    save_network,
    stored_checksum,
)
from repshape.io.writing import TEMPORARY_SUFFIX, atomic_folder
from repshape.io.zarr import create_group, read_attributes, readable, writable
from repshape.responses import NetworkLike, as_network

FORMAT = "repshape-cohort"
FORMAT_VERSION = 1
# A temporary folder that nobody touched for a day belongs to a process that was killed.
STALE_SECONDS = 86400.0


class Cohort(Sequence[Network]):
    """Networks with names, a row of metadata each, and the same conditions.

    A cohort is a sequence of `Trials` and `Gaussians`. ``Cohort()`` is an empty cohort in memory.
    `Cohort.create` and `Cohort.open` give one in a folder on disk (Zarr v3); its networks are
    read whenever they are accessed, and not kept in memory.

    Attributes
    ----------
    path : pathlib.Path or None
        The folder; None in memory.
    records : tuple of Record
        Name, kind, sizes, fingerprint and metadata of every network, without its responses.

    Examples
    --------
    >>> import numpy as np
    >>> cohort = Cohort()
    >>> cohort.add("mouse", np.zeros((5, 10, 3)), area="V1")
    >>> cohort.add("vae", (np.zeros((5, 2)), np.ones((5, 2))), layers=3)
    >>> cohort
    Cohort(2 networks, 5 conditions, 2-3 neurons, in memory)
    >>> cohort["vae"]
    Gaussians(5 conditions, 2 neurons, diagonal covariances)
    >>> cohort.metadata["area"].tolist()
    ['V1', None]
    """

    def __init__(self) -> None:
        self.path: Path | None = None
        self._records: list[Record] = []
        self._networks: dict[str, Network] = {}

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Cohort:
        """Make an empty cohort on disk; ``path`` must not exist."""
        return save_networks((), path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Cohort:
        """Open a cohort on disk."""
        cohort = cls()
        cohort.path = Path(path)
        cohort._refresh()
        return cohort

    @classmethod
    def from_networks(
        cls,
        networks: Iterable[NetworkLike],
        labels: Sequence[str] | None = None,
        metadata: pd.DataFrame | None = None,
    ) -> Cohort:
        """Make a cohort in memory, for example from `repshape.datasets.toy_networks`."""
        cohort = cls()
        items = list(networks)
        names = labels if labels is not None else getattr(networks, "labels", range(len(items)))
        frame = metadata if metadata is not None else getattr(networks, "metadata", None)
        for k, (name, network) in enumerate(zip(names, items, strict=True)):
            row = {} if frame is None else {str(c): frame[c].iloc[k] for c in frame.columns}
            cohort.add(str(name), network, **row)
        return cohort

    def save(self, path: str | os.PathLike[str]) -> Cohort:
        """Write a copy to disk, all of it or nothing, and open it."""
        rows = ((one.name, self[k], one.metadata) for k, one in enumerate(self._records))
        return save_networks(rows, path)

    def add(self, name: str, responses: NetworkLike, /, **metadata: Any) -> None:
        """Add a network, all of it or nothing.

        Parameters
        ----------
        name : str
            Unique in the cohort.
        responses : Trials, Gaussians or anything that `repshape.as_network` accepts
            With the same conditions as the other networks, in the same order.
        **metadata : number, str, bool or None
            Its row of the table.
        """
        self._add(name, responses, metadata, _write_atomically)

    def _add(
        self,
        name: str,
        responses: NetworkLike,
        metadata: Mapping[str, Any],
        write: Callable[[Path, Network, Record], Record],
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InputTypeError(f"The name of a network must be text. Got {name!r} instead.")
        if name in self.labels:
            raise InputError(f"The cohort already has a network named {name!r}.")
        network = as_network(responses, f"network {name!r}")
        order = self._records[-1].order + 1 if self._records else 0
        record = Record.of(name, network, dict(metadata), order)
        for other in self._records[:1]:
            check_same_conditions(other, record)
        if self.path is None:
            self._networks[name] = network
        else:
            record = write(self.path / record.key, network, record)
        self._records.append(record)

    def _refresh(self) -> None:
        """Read the records of all networks on disk."""
        assert self.path is not None
        if not self.path.exists():
            raise StorageError(f"There is no cohort at {self.path}.")
        header = read_attributes(self.path) or {}
        if header.get("format") != FORMAT:
            raise StorageError(f"{self.path} is not a repshape cohort.")
        if header.get("version") != FORMAT_VERSION:
            raise StorageError(
                f"{self.path} has format version {header.get('version')}; "
                f"this repshape reads version {FORMAT_VERSION}."
            )
        records = [_record(folder) for folder in _folders(self.path)]
        self._records = sorted(records, key=lambda record: (record.order, record.name))

    @property
    def records(self) -> tuple[Record, ...]:
        """What is known about each network without reading its responses."""
        return tuple(self._records)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the networks."""
        return tuple(record.name for record in self._records)

    @property
    def metadata(self) -> pd.DataFrame:
        """A row for each network, a column for each piece of metadata."""
        columns = list(dict.fromkeys(key for record in self._records for key in record.metadata))
        rows: list[Mapping[str, Any]] = [record.metadata for record in self._records]
        frame = pd.DataFrame(index=list(self.labels))
        for column in columns:
            cells = [row.get(column) for row in rows]
            words = any(isinstance(cell, str) for cell in cells)  # what is absent stays None
            frame[column] = pd.Series(cells, index=frame.index, dtype=object if words else None)
        return frame

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """SHA-256 of the responses of every network."""
        return tuple(record.fingerprint for record in self._records)

    def verify(self) -> tuple[str, ...]:
        """Return the fingerprints, or raise unless the responses on disk are those of them.

        Only the checksums of their files are read, unless one of them differs.
        """
        for k, record in enumerate(self._records):
            if self.path is None or record.checksum == stored_checksum(self.path / record.key):
                continue
            if self[k].fingerprint != record.fingerprint:
                raise StorageError(
                    f"The responses of network {record.name!r} in {self.path} are not those that "
                    "were added: their files have changed since."
                )
        return self.fingerprints

    @property
    def n_conditions(self) -> int:
        """Number of conditions that all networks share; 0 if there are none."""
        return self._records[0].n_conditions if self._records else 0

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int | str) -> Network: ...
    @overload
    def __getitem__(self, index: slice) -> list[Network]: ...
    def __getitem__(self, index: int | str | slice) -> Network | list[Network]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if isinstance(index, str):
            if index not in self.labels:
                raise InputError(f"The cohort has no network named {index!r}.")
            index = self.labels.index(index)
        record = self._records[index]
        if self.path is None:
            return self._networks[record.name]
        folder = self.path / record.key
        with readable(folder):
            return load_network(folder, record)

    def __iter__(self) -> Iterator[Network]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        parts = [count(len(self), "network")]
        if self._records:
            sizes = [record.n_neurons for record in self._records]
            low, high = min(sizes), max(sizes)
            neurons = count(low, "neuron") if low == high else f"{low}-{high} neurons"
            parts += [count(self.n_conditions, "condition"), neurons]
        parts.append("in memory" if self.path is None else str(self.path))
        return f"Cohort({', '.join(parts)})"


def save_networks(
    networks: Iterable[tuple[str, NetworkLike, Mapping[str, Any]]], path: str | os.PathLike[str]
) -> Cohort:
    """Write networks with names and metadata as a new cohort, all of them or nothing.

    Only one network is in memory at a time. The conditions must be the same for all networks, and
    the names unique.
    """
    target = Path(path)
    if target.exists():  # before any network is read; checked again when the folder is named
        raise StorageError(f"{target} exists already; choose another name for the cohort.")
    try:
        with writable(target), atomic_folder(target) as folder:
            create_group(folder, {"format": FORMAT, "version": FORMAT_VERSION})
            growing = Cohort.open(folder)
            for name, network, metadata in networks:
                growing._add(name, network, metadata, save_network)
    except StorageError as error:
        if isinstance(error.__cause__, FileExistsError):
            raise StorageError(
                f"{target} exists already; choose another name for the cohort."
            ) from None
        raise
    return Cohort.open(target)


def check_same_conditions(first: Record, second: Record) -> None:
    """Raise unless two networks have the same conditions, by number and by name."""
    if first.n_conditions != second.n_conditions:
        raise InputError(
            "All networks must have the same conditions in the same order. "
            f"Got {first.n_conditions} in {first.name!r} and {second.n_conditions} "
            f"in {second.name!r}."
        )
    if first.conditions and second.conditions and first.conditions != second.conditions:
        pairs = zip(first.conditions, second.conditions, strict=True)
        k = next(k for k, (a, b) in enumerate(pairs) if a != b)
        raise InputError(
            "All networks must have the same conditions in the same order. Condition "
            f"{k} is {first.conditions[k]!r} in {first.name!r} and {second.conditions[k]!r} "
            f"in {second.name!r}."
        )


def _write_atomically(target: Path, network: Network, record: Record) -> Record:
    try:
        with writable(target.parent), atomic_folder(target) as folder:
            return save_network(folder, network, record)
    except StorageError as error:
        if isinstance(error.__cause__, FileExistsError):
            raise InputError(
                f"{target.parent} already has a network named {record.name!r}."
            ) from None
        raise


def _folders(path: Path) -> list[Path]:
    """Return the folders of networks, and delete what killed processes left unfinished."""
    found = [Path(entry.path) for entry in os.scandir(path) if entry.is_dir()]
    for folder in found:
        temporary = folder.name.startswith(".") and folder.name.endswith(TEMPORARY_SUFFIX)
        if temporary and time.time() - folder.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
    return [folder for folder in found if not folder.name.startswith(".")]


def _record(folder: Path) -> Record:
    with readable(folder):
        return Record.from_attributes(read_attributes(folder) or {})
