"""Networks that are kept with a study, many in one file.

An archive is a zip file that `numpy.load` opens, too: arrays are ``NETWORK/FILE/ARRAY.npy``, and
JSON is kept as it was written, as ``NETWORK/record.json``. ``provenance.json`` says which study,
round, seeds and settings the networks belong to, and has a fingerprint of each. Equal networks make
equal bytes, so that an archive which is written again does not change.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.common import files
from experiments.common.rounds import PILOT
from repshape.errors import InputError

Arrays = dict[str, npt.NDArray[Any]]
# What is kept of a network: arrays by the name of their .npz file, texts by the name of theirs.
Contents = Mapping[str, Arrays | bytes]

PROVENANCE = "provenance.json"
SUFFIX = ".zip"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file can state


def write_archive(
    path: Path, networks: Mapping[str, Contents], provenance: Mapping[str, Any]
) -> None:
    """Write networks to an archive, with what they belong to."""
    _write(path, _all_members(networks), sorted(networks), provenance)


def add_to_archive(
    path: Path, networks: Mapping[str, Contents], provenance: Mapping[str, Any]
) -> None:
    """Write networks to an archive beside those that it has, if it is there.

    Networks that it already has are replaced. Raises if the others do not belong to the same study,
    round and settings.
    """
    members, names = _all_members(networks), set(networks)
    if path.exists():
        archive = Archive(path)
        if not _agrees(archive.provenance, json.loads(json.dumps(provenance))):
            raise InputError(f"{path} has networks of another study, round or settings.")
        names |= set(archive.networks)
        members = archive.members(archive.networks, but=networks) | members
    _write(path, members, sorted(names), provenance)


def _all_members(networks: Mapping[str, Contents]) -> dict[str, bytes]:
    return {
        f"{network}/{name}": content
        for network, contents in networks.items()
        for file, stored in contents.items()
        for name, content in _members(file, stored)
    }


def _write(
    path: Path, members: Mapping[str, bytes], names: list[str], provenance: Mapping[str, Any]
) -> None:
    fingerprints = {network: _fingerprint(network, members) for network in names}
    stated = json.dumps({**provenance, "sha256": fingerprints}, indent=1, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.write_whole(path) as handle, zipfile.ZipFile(handle, "w") as archive:
        for name, content in ((PROVENANCE, stated.encode()), *sorted(members.items())):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def archive_name(scale: str, dataset: str, part: str) -> str:
    """Return the name of an archive.

    >>> archive_name("small", "mnist", "pilot"), archive_name("small", "mnist", "confirmation")
    ('small-mnist.zip', 'small-mnist-confirmation.zip')
    """
    words = [scale, dataset] if part == PILOT else [scale, dataset, part]
    return "-".join(words) + SUFFIX


def require_finished(finished: Mapping[str, bool]) -> None:
    """Raise unless all networks are finished: an archive has whole seeds."""
    missing = [name for name, done in finished.items() if not done]
    if missing or not finished:
        raise InputError(
            f"{len(missing)} of {len(finished)} networks are not finished"
            + (f", {missing[0]} among them." if missing else ".")
        )


def _members(file: str, stored: Arrays | bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of what becomes of one file of a network."""
    if isinstance(stored, bytes):
        yield file, stored
        return
    for name, values in stored.items():
        handle = io.BytesIO()
        np.lib.format.write_array(handle, np.asarray(values, order="C"), allow_pickle=False)
        yield f"{file.removesuffix('.npz')}/{name}.npy", handle.getvalue()


def _fingerprint(network: str, members: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(name for name in members if name.startswith(f"{network}/")):
        digest.update(name.encode())
        digest.update(members[name])
    return digest.hexdigest()


class Archive:
    """An archive, open for reading.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.zipped = zipfile.ZipFile(path)
            self.provenance: dict[str, Any] = json.loads(self.zipped.read(PROVENANCE))
        except (zipfile.BadZipFile, KeyError) as error:
            raise InputError(f"{path} is not an archive of networks: {error}.") from None
        self.names = frozenset(self.zipped.namelist())
        self.networks = sorted(self.provenance["sha256"])
        self._by_folder: dict[str, list[str]] = {}  # of all arrays, in their order
        for name in self.zipped.namelist():
            if name.endswith(".npy"):
                self._by_folder.setdefault(name.rpartition("/")[0], []).append(name)

    def has(self, network: str, file: str) -> bool:
        """Return whether there is such a file of a network."""
        return bool(self._arrays_of(network, file)) or f"{network}/{file}" in self.names

    def read(self, network: str, file: str) -> bytes:
        """Return a text as it was written."""
        return self.zipped.read(f"{network}/{file}")

    def arrays(self, network: str, file: str) -> Arrays:
        """Return the arrays of a file."""
        found = {}
        for name in self._arrays_of(network, file):
            handle = io.BytesIO(self.zipped.read(name))
            array = np.lib.format.read_array(handle, allow_pickle=False)
            found[name.rpartition("/")[2].removesuffix(".npy")] = array
        return found

    def _arrays_of(self, network: str, file: str) -> list[str]:
        return self._by_folder.get(f"{network}/{file.removesuffix('.npz')}", [])

    def members(self, networks: Iterable[str], but: Container[str] = ()) -> dict[str, bytes]:
        """Return name and content of everything that is kept of some networks."""
        chosen = {network for network in networks if network not in but}
        return {
            name: self.zipped.read(name)
            for name in self.names - {PROVENANCE}
            if name.partition("/")[0] in chosen
        }

    def check(self) -> None:
        """Raise unless every network is what its fingerprint says."""
        members = self.members(self.networks)
        for network, fingerprint in self.provenance["sha256"].items():
            if _fingerprint(network, members) != fingerprint:
                raise InputError(f"{network} in {self.path} is not what its fingerprint says.")


@lru_cache(maxsize=64)
def _open(path: Path, changed: int) -> Archive:
    return Archive(path)


def open_archive(path: Path) -> Archive:
    """Open an archive, once for each process as long as the file is the same."""
    return _open(path, path.stat().st_mtime_ns)


@dataclass(frozen=True)
class NetworkFiles:
    """What is stored of one network: in its folder, or else in an archive.

    Attributes
    ----------
    folder : Path
        Where new files are written; what is there is read first.
    archive : Path or None
    """

    folder: Path
    archive: Path | None = None

    @property
    def name(self) -> str:
        """Name of the network."""
        return self.folder.name

    def has(self, file: str) -> bool:
        """Return whether there is such a file."""
        return (self.folder / file).exists() or self._kept(file)

    def _kept(self, file: str) -> bool:
        return self.archive is not None and open_archive(self.archive).has(self.name, file)

    def json(self, file: str) -> Any:
        """Return what a JSON file says."""
        return json.loads(self.read(file))

    def read(self, file: str) -> bytes:
        """Return a text as it was written."""
        path = self.folder / file
        if self.archive is not None and not path.exists():
            return open_archive(self.archive).read(self.name, file)
        return path.read_bytes()

    def arrays(self, file: str) -> Arrays:
        """Return the arrays of an .npz file."""
        path = self.folder / file
        if self.archive is not None and not path.exists():
            return open_archive(self.archive).arrays(self.name, file)
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)


def find_archives(folder: Path, **provenance: Any) -> tuple[Path, ...]:
    """Return the archives of a folder that agree with the provenance, as far as they state it.

    Settings are compared one by one. Those that an archive does not state are taken to agree: they
    were added later, with a default that changes nothing.
    """
    wanted = json.loads(json.dumps(provenance))  # as it is read: with lists
    return tuple(
        path
        for path in sorted(folder.glob(f"*{SUFFIX}"))
        if _agrees(open_archive(path).provenance, wanted)
    )


def _agrees(stated: Any, wanted: Any) -> bool:
    if isinstance(stated, dict) and isinstance(wanted, dict):
        return all(_agrees(stated[key], wanted[key]) for key in stated.keys() & wanted.keys())
    return bool(stated == wanted)


def archive_of(network: str, archives: Iterable[Path]) -> Path | None:
    """Return the first archive that has a network, or None."""
    for path in archives:
        if network in open_archive(path).provenance["sha256"]:
            return path
    return None


def read_records(networks: Iterable[NetworkFiles]) -> Iterator[dict[str, Any]]:
    """Yield the records of all networks that are finished."""
    for network in networks:
        if network.has(files.RECORD):
            yield network.json(files.RECORD)
