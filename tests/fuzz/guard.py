"""Watches a case that reads a hostile file: no code is run, and nothing outside is changed."""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from repshape.io import expansion

from .checks import demand

# What Python reports before it runs a program or code that is not its own.
CODE = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.startfile")
CODE += ("subprocess.Popen", "pickle.find_class", "socket.connect", "urllib.Request", "pty.spawn")
# What it reports before it changes a file: which arguments are a path and its folder, if any.
CHANGES: dict[str, list[tuple[int, int | None]]] = {
    "os.remove": [(0, 1)],
    "os.rmdir": [(0, 1)],
    "os.mkdir": [(0, 2)],
    "os.rename": [(0, 2), (1, 3)],
    "os.link": [(0, 2), (1, 3)],
    "os.symlink": [(1, 2)],
    "os.truncate": [(0, None)],
    "os.chmod": [(0, 2)],
    "shutil.rmtree": [(0, None)],
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# A machine with this memory: what does not fit is refused, and a case may grow by this much.
MEMORY = 2**29
PATIENCE = 90.0  # seconds after which the process ends; the case counts as failed
ADDRESS_SPACE = 2**32  # beyond what is taken when the first case begins


class Watch:
    """The folder that a case may change, and what it did elsewhere."""

    def __init__(self) -> None:
        self.allowed: Path | None = None
        self.seen: list[str] = []
        self._installed = False

    def install(self) -> None:
        """Listen to what Python does, from now on until the process ends."""
        if not self._installed:
            self._installed = True
            sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.allowed is None:
            return
        if event in CODE:
            self.seen.append(f"{event} {arguments}")
        elif event in CHANGES:
            for path, within in CHANGES[event]:
                self._judge(event, arguments[path], -1 if within is None else arguments[within])
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
            self._judge("open for writing", arguments[0])

    def _judge(self, event: str, path: Any, within: int = -1) -> None:
        if isinstance(path, int) or path is None:
            return
        folder = os.getcwd() if within < 0 else os.readlink(f"/proc/self/fd/{within}")
        place = os.path.normpath(os.path.join(folder, os.fsdecode(path)))
        inside = self.allowed is not None and Path(place).is_relative_to(self.allowed)
        if not inside and place != os.devnull and "__pycache__" not in place:
            self.seen.append(f"{event} {place}")


WATCH = Watch()


def contents(folder: Path) -> dict[str, bytes | str]:
    """Return all files, links and folders below a folder, without following links."""
    found: dict[str, bytes | str] = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = f"link to {os.readlink(path)}"
            else:
                found[key] = "folder" if path.is_dir() else path.read_bytes()
    return found


@contextmanager
def guarded(allowed: Path, outside: Path, memory: int = MEMORY) -> Iterator[None]:
    """Raise if the block runs code, changes something but the allowed folder, or takes memory."""
    WATCH.install()
    before, peak = contents(outside), _peak()
    sizes = expansion.total_memory, expansion.default_memory
    expansion.total_memory = expansion.default_memory = lambda: MEMORY
    WATCH.allowed, WATCH.seen = allowed, []
    faulthandler.dump_traceback_later(PATIENCE, exit=True)  # also out of a loop in a C library
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        WATCH.allowed = None
        expansion.total_memory, expansion.default_memory = sizes
        demand(not WATCH.seen, f"does more than to read: {WATCH.seen}")
        demand(contents(outside) == before, "changes files outside the given folder")
        demand(_peak() - peak < memory, f"takes {(_peak() - peak) / 2**20:.0f} MB of memory")


def limit_memory() -> None:
    """Let this process take some memory more than it has, so that none of it is swapped."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ADDRESS_SPACE,) * 2)


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
