"""Records of the networks of a cohort, and the folders they are in."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from repshape._compact import compact_repr
from repshape._labels import find_difference, list_labels
from repshape.errors import InputError, InputTypeError, StorageError
from repshape.io.links import list_folder
from repshape.io.swaps import OLD, SWAP, settle_swap
from repshape.io.writing import TAKEN, TEMPORARY_SUFFIX, writable
from repshape.io.zarr import (
    read_attributes,
    readable,
    sealed,
)
from repshape.responses import Gaussians, Trials
from repshape.responses.doubts import (
    Sizes,
    sizes_of,
    warn_if_silent,
    warn_if_transposed,
    warn_of_copy,
)
from repshape.responses.windows import window_words

Network = Trials | Gaussians
# Fields of a record that JSON holds as lists.
TUPLES = ("conditions", "neurons", "positions", "window")
# Fields that must be whole numbers.
NUMBERS = ("n_conditions", "n_neurons", "n_bytes", "order", "revision")
# Characters that the name of a folder may have, besides letters, digits and "_.-~".
SAFE = " +,=()@"
# Precedes the number of a revision in the name of a folder; no name of a network has it there.
REVISION = "#"
# A folder of networks that are added together begins with this, from the moment it is complete.
BATCH = ".batch-"
# A temporary folder that nobody touched for a day belongs to a process that was killed.
STALE_SECONDS = 86400.0
OTHER_NAME = "choose another name for the cohort"
BEING_REPLACED = (
    "Another process is replacing a network, or was killed meanwhile. Try again in a moment, or "
    "open the cohort where it can be written."
)


@compact_repr
@dataclass(frozen=True)
class Record:
    """What a cohort knows about a network without reading its responses.

    ``fingerprint`` is a hash of the responses. ``checksum`` is a hash of the files that hold them,
    None in memory: it is cheaper to compare, but may differ for the same responses. ``revision``
    counts how often the network was replaced. ``window`` is that of spike counts. ``n_trials`` is
    the number of trials of the condition with fewest, and ``estimator`` how moments were estimated
    from trials; None if unknown.
    """

    name: str
    kind: str
    n_conditions: int
    n_neurons: int
    n_bytes: int
    fingerprint: str
    conditions: tuple[str, ...] | None = None
    neurons: tuple[str, ...] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    order: int = 0
    checksum: str | None = None
    positions: tuple[int, ...] | None = None
    revision: int = 0
    window: tuple[float, float] | None = None
    n_trials: int | None = None
    estimator: str | None = None

    @classmethod
    def of(cls, name: str, network: Network, metadata: dict[str, Any], order: int) -> Record:
        """Describe a network."""
        flat: Network = getattr(network, "flat", network)  # of a network with positions
        trials = isinstance(flat, Trials)
        window = getattr(flat, "window", None)
        if window is not None and metadata.get("window") == window_words(window):
            metadata = {key: value for key, value in metadata.items() if key != "window"}
        stored = flat.pooled if isinstance(flat, Trials) else flat.stored
        return cls(
            name=name,
            kind="trials" if isinstance(flat, Trials) else flat.kind,
            n_conditions=network.n_conditions,
            n_neurons=network.n_neurons,
            n_bytes=stored.nbytes + (0 if trials else flat.means.nbytes),
            fingerprint=network.fingerprint,
            conditions=network.conditions,
            neurons=network.neurons,
            metadata={key: plain(key, value) for key, value in metadata.items()},
            order=order,
            positions=getattr(network, "positions", None),
            window=window,
            n_trials=None if flat.n_trials is None else int(flat.n_trials.min()),
            estimator=None if isinstance(flat, Trials) else flat.estimator,
        )

    @classmethod
    def from_attributes(cls, attributes: dict[str, Any]) -> Record:
        """Read what `save_network` wrote."""
        optional = ("checksum", "neurons", "positions", "window", "n_trials", "estimator")
        fields: dict[str, Any] = dict.fromkeys(optional) | {"revision": 0} | attributes
        fields = {key: fields[key] for key in cls.__dataclass_fields__}
        for noun in TUPLES:
            fields[noun] = None if fields[noun] is None else tuple(fields[noun])
        for noun in NUMBERS:
            if type(fields[noun]) is not int:
                raise ValueError(f"its {noun} must be a whole number, not {fields[noun]!r}")
        return cls(**fields)

    @property
    def row(self) -> dict[str, Any]:
        """Its row of the table of metadata: what was given, and the window of spike counts."""
        window = {} if self.window is None else {"window": window_words(self.window)}
        return window | self.metadata

    @cached_property
    def key(self) -> str:
        """The name of its folder."""
        quoted = quote(self.name, safe=SAFE)
        quoted = quoted if not quoted.startswith(".") else "%2E" + quoted[1:]
        return quoted if not self.revision else f"{quoted}{REVISION}{self.revision}"

    @property
    def sizes(self) -> Sizes | None:
        """Trials per condition and neurons, or None without trials or if their number varies."""
        n_trials, rest = divmod(self.n_bytes, 8 * self.n_conditions * self.n_neurons)
        if self.kind != "trials" or self.positions is not None or rest:
            return None
        named = self.conditions is not None or self.neurons is not None
        return Sizes(n_trials, self.n_neurons, named)

    def attributes(self) -> dict[str, Any]:
        """Return the record as JSON can hold it, with a seal."""
        values = {key: getattr(self, key) for key in self.__dataclass_fields__}
        for noun in TUPLES:
            values[noun] = None if values[noun] is None else list(values[noun])
        return sealed(values)


def plain(key: str, value: Any) -> Any:
    """Return a piece of metadata as a number, text, True, False or None, as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    raise InputTypeError(
        f"The metadata {key!r} must be a number, text, True, False or None. "
        f"Got {type(value).__name__} instead."
    )


def install_batch(batch: Path) -> None:
    """Move the networks of a complete batch to their places in the cohort.

    Another process may be doing the same at the same time.
    """
    with suppress(FileNotFoundError):
        for folder in list_folder(batch):
            with suppress(FileNotFoundError):
                _install(folder, batch.parent / folder.name)
        batch.rmdir()


def _install(folder: Path, target: Path) -> None:
    """Move a network to its place, unless there is one, as may happen where there are no locks."""
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno not in TAKEN:
            raise
        shutil.rmtree(folder, ignore_errors=True)


def network_folders(path: Path) -> list[Path]:
    """Return the folders of networks, and deal with what killed processes left.

    Batches that are complete and swaps that are decided are installed; what is unfinished is
    deleted once it is old.
    """
    found = _settled(path)
    for folder in found:
        temporary = folder.name.startswith(".") and folder.name.endswith(TEMPORARY_SUFFIX)
        with suppress(OSError):  # another process has finished it, or only reading is allowed
            if temporary and time.time() - folder.stat().st_mtime > STALE_SECONDS:
                _forget(folder)
    return [folder for folder in found if not folder.name.startswith(".")]


def _forget(folder: Path) -> None:
    """Delete what a killed process has left; one that was only suspended cannot use it any more."""
    moved = folder.rename(hidden(folder.parent))
    if folder.name.startswith(SWAP) and (moved / OLD).exists():  # it woke up just before
        moved.rename(folder)
    else:
        shutil.rmtree(moved, ignore_errors=True)


def _settled(path: Path) -> list[Path]:
    """Return the folders of a cohort after what was to be installed has been.

    A large folder is listed in parts, between which a network may move from one part to another.
    So the last two lists must agree.
    """
    settled: set[str] = set()
    before: list[str] | None = None
    while True:
        found, again = list_folder(path), False
        for one in found:
            if one.name.startswith((BATCH, SWAP)) and one.name not in settled and _settle(one):
                settled.add(one.name)
                again = True
        names = [one.name for one in found if not one.name.startswith(".")]
        if not again and names == before:
            return [one for one in found if one.is_dir()]
        before = names


def _settle(folder: Path) -> bool:
    """Install a batch or a swap; return whether the cohort must be listed again."""
    if folder.name.startswith(SWAP):
        with writable(folder.parent, BEING_REPLACED):
            return settle_swap(folder)
    with suppress(OSError):  # where nothing can be written, the batch is not there yet
        install_batch(folder)
    return True


def read_record(folder: Path) -> Record:
    """Read the record of one network on disk."""
    with readable(folder):
        record = Record.from_attributes(read_attributes(folder) or {})
        if record.key != folder.name:
            raise ValueError(f"it holds the network {record.name!r}")
        return record


def _read_all(path: Path) -> list[Record]:
    while True:
        folders = network_folders(path)
        try:
            return [read_record(folder) for folder in folders]
        except StorageError:
            if all(folder.exists() for folder in folders):
                raise
            # Another process has replaced or removed one of them since they were listed.


def read_records(path: Path) -> list[Record]:
    """Read the records of all networks of a cohort, in their order.

    Of a network that was being replaced when its process was killed, the latest revision counts.
    """
    found = sorted(_read_all(path), key=lambda record: record.revision)
    latest = {record.name: record for record in found}
    return sorted(latest.values(), key=lambda record: (record.order, record.name))


def discard_earlier(path: Path, record: Record) -> None:
    """Delete the revisions of a network before this one, the earliest first."""
    for revision in range(record.revision):
        folder = path / replace(record, revision=revision).key
        with writable(path), suppress(FileNotFoundError):
            shutil.rmtree(folder.rename(hidden(path)), ignore_errors=True)


def hidden(path: Path) -> Path:
    """Return a name for what is deleted: in one step, and what follows may be interrupted."""
    return path / f".{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"


def new_record(
    records: Sequence[Record], name: str, network: Network, metadata: Mapping[str, Any]
) -> Record:
    """Return the record of a network that joins others, or replaces the one of the same name.

    Without metadata, those of the replaced network are kept. All others must have its conditions.
    """
    old = next((one for one in records if one.name == name), None)
    if old is None:
        order = records[-1].order + 1 if records else 0
        record = Record.of(name, network, dict(metadata), order)
    else:
        made = Record.of(name, network, dict(metadata) or old.metadata, old.order)
        record = replace(made, revision=old.revision + 1)
    others = [one for one in records if one is not old]
    check_joins(others, record)
    if others:
        _warn_of_doubts(others, record, network)
    warn_if_silent(getattr(network, "flat", network), f"network {name!r}")
    return record


def check_joins(others: Sequence[Record], record: Record) -> None:
    """Raise unless a network has the conditions of the others, if any, and names if they have."""
    if not others:
        return
    check_same_conditions(others[0], record)
    named = next((one for one in others if one.conditions is not None), None)
    if named is None:
        return
    if record.conditions is None:
        raise InputError(
            f"The conditions of {named.name!r} have names ({list_labels(named.conditions or ())}), "
            f"and those of {record.name!r} have none, so that their order cannot be checked. If it "
            "is the same, name them: Trials(responses, conditions=[...])."
        )
    check_same_conditions(named, record)


def _warn_of_doubts(others: Sequence[Record], record: Record, network: Network) -> None:
    names = f"network {others[0].name!r}", f"network {record.name!r}"
    warn_if_transposed(others[0].sizes, sizes_of(network), names)
    same = (record.fingerprint, record.conditions)
    copied = next((one for one in others if (one.fingerprint, one.conditions) == same), None)
    if copied is not None:
        warn_of_copy(record.name, copied.name)


def check_same_conditions(first: Record, second: Record) -> None:
    """Raise unless two networks have the same conditions, by number and by name."""
    difference = find_difference(first, second, (repr(first.name), repr(second.name)))
    if difference is not None:
        raise InputError(
            f"All networks must have the same conditions in the same order. {difference}"
        )


def check_new(path: str | os.PathLike[str]) -> Path:
    """Return the path of a cohort to make, or raise if there is something already."""
    target = Path(path)
    if target.exists():
        raise already_there(target)
    return target


def already_there(target: Path) -> StorageError:
    """Return the error that there is something where a cohort should be."""
    return StorageError(f"{target} exists already; {OTHER_NAME}.")


def check_header(path: Path, form: str, version: int) -> None:
    """Raise one clear sentence unless a folder is a cohort of the given format."""
    if not path.exists():
        raise StorageError(f"There is no cohort at {path}.")
    header = read_attributes(path) or {}
    if header.get("format") != form:
        raise StorageError(f"{path} is not a repshape cohort.")
    if header.get("version") != version:
        raise StorageError(
            f"{path} has format version {header.get('version')}; "
            f"this repshape reads version {version}."
        )
