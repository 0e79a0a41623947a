"""Faults of the disk and of processes, injected where files are opened, renamed and removed.

Python announces every such operation to audit hooks, before it happens and whoever asks for it. One
hook counts them, and kills the process or raises the error of a full or read-only disk.
"""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from unittest import mock

from repshape.errors import RepshapeError

Kind = Literal["none", "kill", "full", "read-only", "too large"]
CODES = {"full": errno.ENOSPC, "read-only": errno.EROFS}
# Operations that take space, which a full disk refuses, and all that a read-only one refuses.
GROWING = ("open", "mkdir", "fsync")
WRITING = (*GROWING, "rename", "remove", "rmdir", "reopen")
CREATING = os.O_CREAT | os.O_TRUNC
# A child that takes longer than this hangs.
PATIENCE = 60.0


@dataclass
class Fault:
    """What goes wrong, and when: at the ``at``-th operation on files and, but for a kill, after it.

    A disk on which files are ``too large`` refuses to let any of them grow beyond ``at`` bytes,
    which the operating system itself sees to, in the middle of a write.
    """

    kind: Kind = "none"
    at: int = 0
    met: int = 0

    @property
    def struck(self) -> bool:
        return self.met > 0 and self.met >= self.at

    def meet(self, operation: str, path: Any) -> None:
        if self.kind == "full" and operation not in GROWING:
            return
        if operation == "mkdir" and os.path.isdir(path):
            return  # as a disk of either kind says that it exists
        self.met += 1
        if not self.struck:
            return
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        code = CODES[self.kind]
        raise OSError(code, os.strerror(code), os.fspath(path))


_present: Fault | None = None
_installed = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _present is None:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, int) or not flags & (os.O_WRONLY | os.O_RDWR):
            return
        _present.meet("open" if flags & CREATING else "reopen", path)
    elif event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir"):
        _present.meet(event.removeprefix("os."), arguments[0])


@contextmanager
def injected(fault: Fault) -> Iterator[None]:
    """Let a fault happen in this process."""
    global _present, _installed
    if fault.kind == "none":
        yield
        return
    if fault.kind == "too large":
        with _largest_file(fault.at):
            yield
        return
    if not _installed:  # a hook stays for good
        sys.addaudithook(_hook)
        _installed = True
    sync = os.fsync

    def meeting(handle: int) -> None:
        fault.meet("fsync", "a file")
        sync(handle)

    _present = fault
    try:
        with mock.patch.object(os, "fsync", meeting):
            yield
    finally:
        _present = None


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@dataclass(frozen=True)
class Outcome:
    """How an operation ended: done, refused with a sentence, or killed."""

    end: Literal["done", "refused", "killed"]
    words: str = ""


def refusal(error: RepshapeError) -> Outcome:
    """Return the outcome of an error, which must be one clear sentence, or a few."""
    words = str(error)
    assert "\n" not in words, words
    assert words.endswith("."), words
    assert 10 < len(words) < 600, words
    return Outcome("refused", words)


def attempt(action: Callable[[], Any], fault: Fault) -> Outcome:
    """Do something here, or in a process of its own if that is to be killed."""
    if fault.kind == "kill":
        return Child(action, fault).join()
    try:
        with injected(fault):
            action()
    except RepshapeError as error:
        return refusal(error)
    return Outcome("done")


class Child:
    """An action in a process of its own, which may be killed by a fault or from outside."""

    def __init__(self, action: Callable[[], Any], fault: Fault | None = None) -> None:
        self._answer, answer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Zarr has threads, and a way to fork in spite of them
            self.id = os.fork()
        if self.id == 0:
            os.close(self._answer)
            _answer(action, fault or Fault(), answer)
        os.close(answer)

    def kill_after(self, seconds: float) -> None:
        """Kill the process after a time, unless it ends before."""
        select.select([self._answer], [], [], seconds)
        os.kill(self.id, signal.SIGKILL)

    def join(self) -> Outcome:
        """Wait for the end."""
        if not select.select([self._answer], [], [], PATIENCE)[0]:
            os.kill(self.id, signal.SIGKILL)
            os.waitpid(self.id, 0)
            os.close(self._answer)
            raise AssertionError("a process hangs")
        words = b"".join(iter(lambda: os.read(self._answer, 65536), b"")).decode()
        os.close(self._answer)
        status = os.waitstatus_to_exitcode(os.waitpid(self.id, 0)[1])
        if status == -signal.SIGKILL:
            return Outcome("killed")
        assert status == 0, words
        return Outcome("refused", words) if words else Outcome("done")


def _answer(action: Callable[[], Any], fault: Fault, answer: int) -> None:
    """Do what a child process is for, and end it without whatever its parent does at its end."""
    status = 1
    try:
        words = ""
        try:
            with injected(fault):
                action()
        except RepshapeError as error:
            words = refusal(error).words
        os.write(answer, words.encode())
        status = 0
    except BaseException:
        os.write(answer, traceback.format_exc().encode())
    finally:
        os._exit(status)
