"""Leases: which runs are working on a store, so that none takes it away from another.

A run that writes to a store holds a lease of it, as long as it lasts: an empty file in the folder
``leases``, whose name says which process it is. Any number of runs may *share* a store, as long as
none changes what it is: they add pieces to the same generation. A run that begins a generation, or
deletes earlier ones, needs the store *alone*, for a moment.

Each run creates its file first, in one step that fails if the file exists, and only then looks at
those of others. So of two runs at least one sees the other, and no other lock is needed. Names are
never used twice. So a file that a dead process has left can be deleted without harm to others.

A process of this machine is alive if the operating system has it; its start time tells it from a
later one with the same number. A process of another machine is believed dead if it has not touched
its file for `EXPIRY` seconds, by the clock of the file system. If it was only suspended, it notices
before its next piece of work is written, and ends with an error.
"""

from __future__ import annotations

import os
import random
import re
import socket
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote, unquote

from repshape.errors import StorageError
from repshape.io.writing import writable

Mode = Literal["shared", "alone"]
FOLDER = "leases"
# Of a file: a random token, the process, when it started, the machine, its name, and the mode.
NAME = re.compile(r"([0-9a-f]+)-(\d+)-(\d+)-([0-9a-f]+)-(.*)\.(shared|alone)", re.ASCII)
# A run shows that it is alive this often, in seconds, and is believed dead after this long.
HEARTBEAT = 30.0
EXPIRY = 600.0
# Seconds between two looks at a store that is held by another run.
PAUSE = 0.1
# A run needs a store alone for a moment only: one that takes longer is stuck.
MOMENT = 60.0
LOST = (
    "This run has lost its lease of {path}, because it gave no sign of life or the lease was "
    "deleted. Finished tiles are safe: run the same command again to continue."
)
# Leases of this process, which may have several.
_held: set[str] = set()


@dataclass(frozen=True)
class Holder:
    """A run that holds a lease, as the name of its file says."""

    token: str
    pid: int
    started: int
    machine: str
    host: str
    mode: str

    @classmethod
    def here(cls, mode: Mode) -> Holder:
        """Return a holder in this process."""
        pid = os.getpid()
        _, started = _state_of(pid) or ("", 0)
        host = quote(socket.gethostname(), safe="")[:64]
        return cls(uuid.uuid4().hex, pid, started, _machine(), host, mode)

    @classmethod
    def of(cls, name: str) -> Holder | None:
        """Read the name of a file, or return None if it is not the name of a lease.

        >>> Holder.of("ab-12-3456-cd-lab%2D1.shared")
        Holder(token='ab', pid=12, started=3456, machine='cd', host='lab%2D1', mode='shared')
        """
        found = NAME.fullmatch(name)
        if found is None:
            return None
        token, pid, started, machine, host, mode = found.groups()
        return cls(token, int(pid), int(started), machine, host, mode)

    @property
    def name(self) -> str:
        """The name of the file."""
        words = (self.token, self.pid, self.started, self.machine, self.host)
        return f"{'-'.join(map(str, words))}.{self.mode}"

    def __str__(self) -> str:
        return f"process {self.pid} on {unquote(self.host)}"

    def is_alive(self, silence: float) -> bool:
        """Return whether the run may still be working, ``silence`` seconds after its last sign."""
        if self.machine != _machine() or os.name != "posix":
            return silence < EXPIRY
        if self.pid == os.getpid():
            return self.token in _held
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # it is of another user
            pass
        found = _state_of(self.pid)
        if found is None:  # a system that does not say when processes started
            return silence < EXPIRY
        return found[0] not in "ZX" and found[1] == self.started


class Lease:
    """The lease of one run; a context manager that gives it back.

    Parameters
    ----------
    path : pathlib.Path
        The store, which exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mine = Holder.here("shared")
        self._failure: OSError | None = None
        self._ended = threading.Event()
        self._heart: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def share(self) -> Holder | None:
        """Hold the store together with others, or return the run that has it alone for a moment.

        Where nothing can be written, the lease is not held, and `check` says so before a write.
        """
        try:
            self._create("shared")
            busy = self._others(self._file("shared"), "alone")
        except OSError as error:
            self._failure = error
            return None
        if busy:
            self._delete("shared")
            return busy[0]
        self._keep()
        return None

    def take(self) -> Holder | None:
        """Hold the store alone, or return a run that holds it, too."""
        with writable(self.path):
            self._create("alone")
            others = self._others(self._file("alone"), "shared", "alone")
        if others:
            self._delete("alone")
            return others[0]
        return None

    def settle(self) -> None:
        """Share the store that was held alone: others have seen that, and do not hold it."""
        with writable(self.path):
            self._create("shared")
        self._keep()
        self._delete("alone")

    def give_back(self) -> None:
        """Stop holding the store alone; a shared lease stays."""
        self._delete("alone")

    def withdraw(self) -> None:
        """Stop holding the store at all, for the moment."""
        for mode in ("alone", "shared"):
            self._delete(mode)

    def check(self, remedy: str = "") -> None:
        """Raise unless the run may write: it holds its lease, and no other run took it over."""
        if self._failure is not None:
            with writable(self.path, remedy):
                raise self._failure
        if not self._file("shared").exists():
            raise StorageError(LOST.format(path=self.path))

    def release(self) -> None:
        """Give the lease back."""
        self._ended.set()
        if self._heart is not None:
            self._heart.join()
        self.withdraw()
        _held.discard(self._mine.token)
        with suppress(OSError):  # other leases are in it
            (self.path / FOLDER).rmdir()

    def _others(self, mine: Path, *modes: str) -> list[Holder]:
        """Return other runs that are alive, those that have the store alone last.

        What dead ones have left is deleted. The file ``mine`` was made just now.
        """
        now, found = mine.stat().st_mtime, []
        for file in mine.parent.iterdir():
            holder = Holder.of(file.name)
            if holder is None or holder.token == self._mine.token:
                continue
            if not holder.is_alive(now - _last_sign(file)):
                with suppress(OSError):
                    file.unlink()
            elif holder.mode in modes:
                found.append(holder)
        return sorted(found, key=lambda one: one.mode, reverse=True)

    def _file(self, mode: str) -> Path:
        return self.path / FOLDER / Holder(**(vars(self._mine) | {"mode": mode})).name

    def _create(self, mode: Mode) -> None:
        _held.add(self._mine.token)
        file = self._file(mode)
        for _ in range(100):  # another run may delete the empty folder
            with suppress(FileExistsError):
                file.parent.mkdir()
            with suppress(FileNotFoundError):
                os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                return
        raise StorageError(f"Cannot write to {file.parent}: it is deleted again and again.")

    def _delete(self, mode: str) -> None:
        with suppress(OSError):  # a read-only disk: the lease ends with the process
            self._file(mode).unlink()

    def _keep(self) -> None:
        """Show from now on that the run is alive."""
        self._failure = None
        if self._heart is None:
            self._heart = threading.Thread(target=self._beat, daemon=True)
            self._heart.start()

    def _beat(self) -> None:
        """Touch the file from time to time."""
        while not self._ended.wait(HEARTBEAT):
            with suppress(OSError):
                os.utime(self._file("shared"))


@cache
def _machine() -> str:
    """Return what tells the processes of this machine, since it was started, from all others."""
    known = [socket.gethostname()]
    with suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        known.append(os.readlink("/proc/self/ns/pid"))  # containers number their processes
    return sha256("\n".join(known).encode()).hexdigest()[:12]


def _last_sign(file: Path) -> float:
    """Return when a file was last touched; a long time ago if it is gone."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _state_of(pid: int) -> tuple[str, int] | None:
    """Return the state of a process and when it started, or None where that is not known."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return words[0], int(words[19])


def is_held(path: Path) -> bool:
    """Return whether a run is working on a store."""
    folder, now = path / FOLDER, time.time()
    files = list(folder.iterdir()) if folder.is_dir() else []
    found = ((Holder.of(file.name), now - _last_sign(file)) for file in files)
    return any(holder is not None and holder.is_alive(silence) for holder, silence in found)


def pause() -> None:
    """Wait before a look at a store that another run holds, not all runs equally long."""
    time.sleep(PAUSE * random.uniform(0.5, 1.5))
