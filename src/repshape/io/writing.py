"""Files and folders that are either complete or absent, and errors of one sentence."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

from repshape.errors import StorageError

# What renaming onto an existing folder may raise.
TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR)
TEMPORARY_SUFFIX = ".tmp"
# A disk flushes several files at once faster than one after the other.
SYNC_THREADS = 8
REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than this process may write",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes its name once it is complete, or raise one clear sentence."""
    with writable(Path(path)), atomic_write(path) as handle:
        yield handle


@contextmanager
def open_output_folder(
    path: str | os.PathLike[str], deciding: AbstractContextManager[None] | None = None
) -> Iterator[Path]:
    """Yield a folder that takes its name once it is complete, or raise one clear sentence."""
    with writable(Path(path)), atomic_folder(path, deciding) as folder:
        yield folder


@contextmanager
def writable(path: Path, remedy: str = "") -> Iterator[None]:
    """Turn the errors of a full or read-only disk into one sentence."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        reason = REASONS.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(f"Cannot write to {path}: {reason}.{remedy and ' ' + remedy}") from error


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``path`` that takes its name only once it is complete.

    A reader sees the old file or the new one, never half of either, even after a power failure. If
    the body raises, the old file stays and the temporary one is removed.
    """
    target = Path(path)
    temporary = _beside(target)
    try:
        with open(temporary, "xb") as handle:  # not tempfile, which would make it private (0600)
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):  # a read-only disk: the first failure is the one to report
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


@contextmanager
def atomic_folder(
    path: str | os.PathLike[str], deciding: AbstractContextManager[None] | None = None
) -> Iterator[Path]:
    """Yield a temporary folder beside ``path`` that takes its name only once it is complete.

    ``deciding`` is entered while it takes its name, if other processes must not interfere.

    Raises
    ------
    FileExistsError
        If ``path`` exists already, or was made by another process meanwhile.
    """
    target = Path(path)
    temporary = _beside(target)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        _sync_tree(temporary)
        with deciding or nullcontext():
            _rename(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _sync_folder(target.parent)


def _rename(temporary: Path, target: Path) -> None:
    # A rename silently replaces an empty folder, which may belong to somebody else.
    try:
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.rename(temporary, target)
    except OSError as error:
        if error.errno in TAKEN:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        raise


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")


def _sync_tree(folder: Path) -> None:
    """Make all files of a folder durable, and then their names."""
    walk = [(Path(parent), names) for parent, _, names in os.walk(folder)]
    with ThreadPoolExecutor(SYNC_THREADS) as pool:
        list(pool.map(_sync_file, (parent / name for parent, names in walk for name in names)))
        list(pool.map(_sync_folder, (parent for parent, _ in walk)))


def _sync_file(file: Path) -> None:
    handle = os.open(file, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError:  # some network file systems refuse to sync folders
        pass
    finally:
        os.close(handle)
