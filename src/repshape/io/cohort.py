"""Cohorts: many networks with names, metadata and shared conditions, in memory or on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, overload

import pandas as pd

from repshape._arrays import count
from repshape._labels import (
    find_label,
    find_labels,
    left_out,
    select_rows,
    shared_labels,
)
from repshape.errors import InputError, InputTypeError, StorageError
from repshape.io.records import (
    Network,
    Record,
    check_same_conditions,
    load_network,
    network_folders,
    read_record,
    save_network,
    stored_checksum,
)
from repshape.io.writing import atomic_folder, writable
from repshape.io.zarr import create_group, read_attributes, readable
from repshape.responses import NetworkLike
from repshape.responses.positions import as_any_network

FORMAT = "repshape-cohort"
FORMAT_VERSION = 1


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
    dropped : dict of str to tuple of str
        The conditions that `common_conditions` left out, by network.

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
    >>> cohort.select(area="V1").labels
    ('mouse',)
    """

    def __init__(self) -> None:
        self.path: Path | None = None
        self._records: list[Record] = []
        self._networks: dict[str, Network] = {}
        self._is_selection = False
        self.dropped: dict[str, tuple[str, ...]] = {}

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
        networks: Iterable[NetworkLike] | Mapping[str, NetworkLike],
        labels: Sequence[str] | None = None,
        metadata: pd.DataFrame | None = None,
    ) -> Cohort:
        """Make a cohort in memory.

        Parameters
        ----------
        networks : iterable of networks, or dict of networks by name
            Such as what `repshape.datasets.toy_networks` returns.
        labels : sequence of str, optional
            Names of the networks; by default the keys of the dict, or else 0, 1, ...
        metadata : pandas.DataFrame, optional
            A row for each network.
        """
        cohort = cls()
        for name, network, row in _rows(networks, labels, metadata):
            cohort.add(name, network, **row)
        return cohort

    def common_conditions(
        self: Cohort | Iterable[NetworkLike] | Mapping[str, NetworkLike],
    ) -> Cohort:
        """Return the networks with the conditions that all of them have, in one order.

        Conditions are matched by label and put in the order of the first network. A cohort has
        the same conditions for all of its networks, so call this on the networks themselves:
        ``Cohort.common_conditions(networks)`` takes a list, or a dict by name.

        Returns
        -------
        Cohort
            In memory. Its ``dropped`` lists the conditions that were left out, by network.

        Examples
        --------
        >>> from repshape import Trials
        >>> x = Trials([[[1.0]], [[2.0]], [[3.0]]], conditions=["a", "b", "c"])
        >>> y = Trials([[[4.0]], [[5.0]]], conditions=["c", "a"])
        >>> shared = Cohort.common_conditions({"x": x, "y": y})
        >>> shared
        Cohort(2 networks, 2 conditions, 1 neuron, in memory, 1 condition dropped)
        >>> shared["y"].means.ravel(), shared.dropped
        (array([5., 4.]), {'x': ('b',)})
        """
        if isinstance(self, Cohort):
            return self._selected(range(len(self)))
        rows = [
            (name, as_any_network(network, f"network {name!r}"), row)
            for name, network, row in _rows(self, None, None)
        ]
        own = {name: network.conditions for name, network, _ in rows}
        common = shared_labels(own)
        cohort = Cohort()
        for name, network, row in rows:
            cohort.add(name, network.select(common), **row)
        cohort.dropped = left_out(own, common)
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
        if self._is_selection and self.path is not None:
            raise InputError(
                "A network cannot be added to a selection of a cohort on disk. Add it to the "
                "cohort, or save the selection first."
            )
        if name in self.labels:
            raise InputError(f"The cohort already has a network named {name!r}.")
        network = as_any_network(responses, f"network {name!r}")
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
        records = [read_record(folder) for folder in network_folders(self.path)]
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

    def select(self, **where: Any) -> Cohort:
        """Return the networks whose metadata match; those on disk stay there.

        Parameters
        ----------
        **where
            For each column of the metadata a value, a list of values, or a function of a value
            that returns True or False, which is not called where the value is missing.

        Examples
        --------
        >>> cohort = Cohort()
        >>> for k, depth in enumerate([4, 8, 16]):
        ...     cohort.add(f"net{k}", [[float(k)]], depth=depth)
        >>> cohort.select(depth=[4, 16]).labels, cohort.select(depth=lambda d: d > 4).labels
        (('net0', 'net2'), ('net1', 'net2'))
        """
        return self._selected(select_rows(self.metadata, where))

    def _selected(self, index: Iterable[int]) -> Cohort:
        """Return a cohort of some of the networks, which are neither copied nor read."""
        chosen = Cohort()
        chosen.path = self.path
        chosen._is_selection = True
        chosen._records = [self._records[k] for k in index]
        if self.path is None:
            chosen._networks = {name: self._networks[name] for name in chosen.labels}
        chosen.dropped = {
            name: self.dropped[name] for name in chosen.labels if name in self.dropped
        }
        return chosen

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int | str) -> Network: ...
    @overload
    def __getitem__(self, index: slice) -> list[Network]: ...
    @overload
    def __getitem__(self, index: list[str]) -> Cohort: ...
    def __getitem__(self, index: int | str | slice | list[str]) -> Network | list[Network] | Cohort:
        if isinstance(index, list):
            return self._selected(find_labels(index, self.labels, "network"))
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if isinstance(index, str):
            index = find_label(index, self.labels, "network")
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
        if self.dropped:
            dropped = {one for left_out in self.dropped.values() for one in left_out}
            parts.append(f"{count(len(dropped), 'condition')} dropped")
        return f"Cohort({', '.join(parts)})"

    def _repr_html_(self) -> str:
        table = self.metadata.to_html(max_rows=12, max_cols=12)
        return f"<p>{escape(repr(self))}</p>{table}"


def _rows(
    networks: Any, labels: Sequence[str] | None, metadata: pd.DataFrame | None
) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield name, network and metadata of each network."""
    items = list(networks.values() if isinstance(networks, Mapping) else networks)
    own = networks if isinstance(networks, Mapping) else getattr(networks, "labels", None)
    names = next((one for one in (labels, own) if one is not None), range(len(items)))
    frame = metadata if metadata is not None else getattr(networks, "metadata", None)
    for k, (name, network) in enumerate(zip(names, items, strict=True)):
        row = {} if frame is None else {str(c): frame[c].iloc[k] for c in frame.columns}
        yield str(name), network, row


def save_networks(
    networks: Iterable[tuple[str, NetworkLike, Mapping[str, Any]]], path: str | os.PathLike[str]
) -> Cohort:
    """Write networks with names and metadata as a new cohort, all of them or nothing.

    Only one network is in memory at a time. The conditions must be the same for all networks, and
    the names unique.
    """
    target = check_new(path)  # before any network is read; checked again when the folder is named
    try:
        with writable(target), atomic_folder(target) as folder:
            create_group(folder, {"format": FORMAT, "version": FORMAT_VERSION})
            growing = Cohort.open(folder)
            for name, network, metadata in networks:
                growing._add(name, network, metadata, save_network)
    except StorageError as error:
        if isinstance(error.__cause__, FileExistsError):
            raise _exists(target) from None
        raise
    return Cohort.open(target)


def check_new(path: str | os.PathLike[str]) -> Path:
    """Return the path of a cohort to make, or raise if there is something already."""
    target = Path(path)
    if target.exists():
        raise _exists(target)
    return target


def _exists(target: Path) -> StorageError:
    return StorageError(f"{target} exists already; choose another name for the cohort.")


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
