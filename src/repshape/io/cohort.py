"""Cohorts: many networks with names, metadata and shared conditions, in memory or on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._arrays import count
from repshape._labels import (
    find_label,
    find_labels,
    left_out,
    select_rows,
    shared_labels,
)
from repshape.errors import InputError, InputTypeError, StorageError, check_integer
from repshape.io.changes import discard_network
from repshape.io.network_arrays import (
    add_network,
    load_network,
    replace_network,
    save_network,
    stored_checksum,
)
from repshape.io.records import (
    Network,
    Record,
    already_there,
    check_header,
    check_new,
    new_record,
    read_records,
)
from repshape.io.rows import chosen_rows, metadata_table, network_rows, sizes_in_words
from repshape.io.writing import atomic_folder, writable
from repshape.io.zarr import create_group
from repshape.responses import NetworkLike
from repshape.responses.drawing import draw_part
from repshape.responses.positions import as_any_network

FORMAT = "repshape-cohort"
FORMAT_VERSION = 1


class Cohort(Sequence[Network]):
    """Networks with names, a row of metadata each, and the same conditions.

    A cohort is a sequence of `Trials` and `Gaussians`. ``Cohort()`` is an empty cohort in memory,
    and ``Cohort({"mouse": x, "vae": y})`` is `from_networks`.
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
    >>> cohort.add("mouse", np.ones((5, 10, 3)), area="V1")
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

    def __init__(
        self,
        networks: Iterable[NetworkLike] | Mapping[str, NetworkLike] = (),
        labels: Sequence[str] | None = None,
        metadata: pd.DataFrame | Mapping[str, Any] | None = None,
    ) -> None:
        self.path: Path | None = None
        self._records: list[Record] = []
        self._networks: dict[str, Network] = {}
        self.dropped: dict[str, tuple[str, ...]] = {}
        self._is_selection = False
        if isinstance(networks, str | os.PathLike):
            raise InputTypeError(f"A cohort on disk is opened with Cohort.open({str(networks)!r}).")
        for name, network, row in network_rows(networks, labels, metadata):
            self.add(name, network, **row)

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
        metadata: pd.DataFrame | Mapping[str, Any] | None = None,
    ) -> Cohort:
        """Make a cohort in memory.

        Parameters
        ----------
        networks : iterable of networks, or dict of networks by name
            Such as what `repshape.datasets.toy_networks` returns.
        labels : sequence of str, optional
            Names of the networks; by default the keys of the dict, or else 0, 1, ...
        metadata : pandas.DataFrame, or dict of dicts by name, optional
            A row for each network, matched by name or by position as in `repshape.pairwise`.
        """
        return cls(networks, labels, metadata)

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
            for name, network, row in network_rows(self, None, None)
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
        self._add(name, responses, metadata, partial(add_network, self._keys()))

    def replace(self, name: str, responses: NetworkLike, /, **metadata: Any) -> None:
        """Give a network other responses, all of it or nothing; it keeps its place.

        A store of distances refuses the new responses unless the name is in the ``replace`` of
        `repshape.pairwise`.

        Parameters
        ----------
        name : str
            A network of the cohort.
        responses
            As in `add`.
        **metadata
            Its new row of the table; without any, the old row is kept.

        Examples
        --------
        >>> cohort = Cohort.from_networks({"mouse": [[1.0]], "vae": [[2.0]]})
        >>> cohort.replace("mouse", [[3.0]], day=2)
        >>> cohort["mouse"].means.item(), cohort.labels
        (3.0, ('mouse', 'vae'))
        """
        self._check_whole("replaced in")
        index = find_label(name, self.labels, "network")
        network = as_any_network(responses, f"network {name!r}")
        record = new_record(self._records, name, network, metadata)
        old = self._records[index]
        write = partial(replace_network, old, self._keys())
        self._records[index] = self._keep(network, record, write)

    def remove(self, name: str) -> None:
        """Remove a network.

        A store of distances keeps it until its name is in the ``remove`` of `repshape.pairwise`.
        """
        self._check_whole("removed from")
        record = self._records[find_label(name, self.labels, "network")]
        if self.path is not None:
            discard_network(self.path, record)
        self._records.remove(record)
        self._networks.pop(name, None)

    def _check_whole(self, change: str) -> None:
        if self._is_selection and self.path is not None:
            raise InputError(
                f"A network cannot be {change} a selection of a cohort on disk. Use the cohort "
                "itself, or save the selection first."
            )

    def _add(
        self,
        name: str,
        responses: NetworkLike,
        metadata: Mapping[str, Any],
        write: Callable[[Path, Network, Record], Record],
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InputTypeError(f"The name of a network must be text. Got {name!r} instead.")
        self._check_whole("added to")
        if name in self.labels:
            raise InputError(
                f"The cohort already has a network named {name!r}: see Cohort.replace."
            )
        network = as_any_network(responses, f"network {name!r}")
        record = new_record(self._records, name, network, metadata)
        self._records.append(self._keep(network, record, write))

    def _keys(self) -> frozenset[str]:
        """Return the folders of its networks, with which new ones are compared."""
        return frozenset(record.key for record in self._records)

    def _keep(
        self, network: Network, record: Record, write: Callable[[Path, Network, Record], Record]
    ) -> Record:
        if self.path is not None:
            return write(self.path / record.key, network, record)
        self._networks[record.name] = network
        return record

    def _refresh(self) -> None:
        assert self.path is not None
        check_header(self.path, FORMAT, FORMAT_VERSION)
        self._records = read_records(self.path)

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
        return metadata_table(self._records)

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """SHA-256 of the responses of every network."""
        return tuple(record.fingerprint for record in self._records)

    def verify(self) -> tuple[str, ...]:
        """Return the fingerprints, or raise unless the responses on disk are those of them.

        Only the checksums of their files are read, unless one of them differs.
        """
        if self.path is not None:
            for record in self._records:
                folder = self.path / record.key
                if record.checksum != stored_checksum(folder):
                    load_network(folder, record)  # raises unless its responses are the same
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

    def draw(
        self,
        neurons: int | None = None,
        trials: int | npt.ArrayLike | None = None,
        *,
        random_state: int = 0,
    ) -> Cohort:
        """Return a random part of every network, in memory; see `Trials.draw`.

        The draws of the networks are independent. Metadata are kept.
        """
        seeds = np.random.SeedSequence(check_integer("random_state", random_state, 0))
        drawn = Cohort()
        for record, seed in zip(self._records, seeds.spawn(len(self)), strict=True):
            try:
                part = draw_part(self[record.name], neurons, trials, seed)
            except (InputError, InputTypeError) as error:
                raise type(error)(f"In network {record.name!r}: {error}") from None
            drawn.add(record.name, part, **record.metadata)
        return drawn

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
    def __getitem__(
        self, index: list[str] | list[bool] | npt.NDArray[Any] | pd.Series[Any]
    ) -> Cohort: ...
    def __getitem__(self, index: Any) -> Network | list[Network] | Cohort:
        if np.ndim(index):
            chosen = chosen_rows(index, self.labels)
            return self._selected(find_labels(chosen, self.labels, "network"))
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if isinstance(index, str):
            index = find_label(index, self.labels, "network")
        record = self._records[index]
        if self.path is None:
            return self._networks[record.name]
        return load_network(self.path / record.key, record)

    def __iter__(self) -> Iterator[Network]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        parts = sizes_in_words(self._records)
        parts.append("in memory" if self.path is None else str(self.path))
        if self.dropped:
            dropped = {one for left_out in self.dropped.values() for one in left_out}
            parts.append(f"{count(len(dropped), 'condition')} dropped")
        return f"Cohort({', '.join(parts)})"

    def _repr_html_(self) -> str:
        table = self.metadata.to_html(max_rows=12, max_cols=12)
        return f"<p>{escape(repr(self))}</p>{table}"


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
            raise already_there(target) from None
        raise
    return Cohort.open(target)
