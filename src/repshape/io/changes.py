"""Changes of a cohort by several processes, of which one at a time decides.

Responses are first written to where they are no part of the cohort, which may take long. Then a
process looks at what the cohort has become meanwhile, and makes its change or is refused. This last
part takes a moment, and is done under a lock of the operating system, which ends with the process.
Readers do not wait: each change is decided by one rename. Where there are no locks, on Windows and
in some network folders, that rename still lets only one process replace or remove a network.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from repshape.errors import InputError, StorageError
from repshape.io.links import list_folder, refuse_links
from repshape.io.records import (
    REVISION,
    Record,
    check_joins,
    discard_earlier,
    hidden,
    network_folders,
    read_record,
)
from repshape.io.swaps import changed_meanwhile, move_away
from repshape.io.writing import writable

# Seconds between two looks at a cohort that another process changes, and after which it is stuck.
PAUSE, PATIENCE = 0.01, 60.0
# What opening a file for writing raises if this process may only read it.
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other processes from changing a cohort."""
    begin = time.monotonic()
    while True:
        with writable(path):
            handle = _opened(path)
        try:
            if _lock(handle):
                try:
                    yield
                finally:
                    _unlock(handle)
                return
        finally:
            os.close(handle)
        if time.monotonic() - begin >= PATIENCE:
            raise StorageError(
                f"Another process has been changing {path} for {PATIENCE:g} seconds. Try again "
                "once it has finished."
            )
        time.sleep(PAUSE)


def _opened(path: Path) -> int:
    """Open a file that every cohort has, and that is never replaced."""
    file = path / "zarr.json"
    refuse_links(file, path)
    try:
        return os.open(file, os.O_RDWR)  # which locks of network folders need
    except OSError as error:
        if error.errno not in READ_ONLY:
            raise
        return os.open(file, os.O_RDONLY)


def _lock(handle: int) -> bool:
    """Return whether a file is locked now, or cannot be; False if another process has locked it."""
    if sys.platform == "win32":
        return True
    import fcntl  # Windows has no such module

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # this file system has no locks
        pass
    return True


def _unlock(handle: int) -> None:
    """Give a lock back; closing the file would not if a process was forked meanwhile."""
    if sys.platform != "win32":
        import fcntl

        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def joining(path: Path, made: Iterable[Record], known: Collection[str]) -> Iterator[None]:
    """Let networks join a cohort, unless another process has changed what they depend on.

    Parameters
    ----------
    path : pathlib.Path
        The cohort.
    made : iterable of Record
        The new networks, or new revisions of networks.
    known : collection of str
        The folders of the networks with which they were compared.
    """
    with alone(path):
        present = network_folders(path)
        own = {_stem(record.key) for record in made}
        others = [one for one in present if _stem(one.name) not in own and one.name not in known]
        fresh = [read_record(folder) for folder in others]
        for record in made:
            check_revision(path, present, record)
            check_joins(fresh, record)
        yield


def check_revision(path: Path, present: Iterable[Path], record: Record) -> None:
    """Raise unless a cohort has the revision of a network before this one, and no later one."""
    found = {one.name for one in present if _stem(one.name) == _stem(record.key)}
    if record.revision > 0:
        earlier = replace(record, revision=record.revision - 1).key
        if earlier not in found or record.key in found:
            raise changed_meanwhile(path, record.name)
    elif found:
        raise InputError(
            f"{path} already has a network named {record.name!r}, which another process added "
            "meanwhile. Open the cohort again."
        )


def discard_network(path: Path, record: Record) -> None:
    """Delete a network, or raise if another process has replaced or removed it."""
    list_folder(path)  # refuses links before anything is changed
    target = hidden(path)
    with alone(path):
        check_revision(path, network_folders(path), replace(record, revision=record.revision + 1))
        discard_earlier(path, record)
        move_away(path / record.key, target, record.name)
    shutil.rmtree(target, ignore_errors=True)


def _stem(key: str) -> str:
    """Return the name of a folder without the number of the revision."""
    return key.partition(REVISION)[0]
