"""Networks of a cohort that take the place of others, in one step that one process only can make.

The new network is written into a folder that is no part of the cohort. Then the folder of the old
network is moved into it: of several processes that replace or remove the old one, one succeeds, and
from then on the new network belongs to the cohort. If the process is killed before it is at its
place, the next one that reads the cohort moves it there.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from repshape.errors import StorageError
from repshape.io.links import list_folder
from repshape.io.writing import TAKEN, TEMPORARY_SUFFIX, writable

SWAP = ".swap-"
OLD = ".old"  # begins as no folder of a network does


@contextmanager
def taking_the_place_of(
    old: Path, name: str, deciding: AbstractContextManager[None]
) -> Iterator[Path]:
    """Yield a folder for the network that replaces another one, and then swap them.

    ``deciding`` is entered for the swap itself; see `repshape.io.changes`.
    Raises StorageError if another process has replaced or removed the old one meanwhile.
    """
    list_folder(old.parent)  # refuses links before anything is changed
    swap = old.with_name(f"{SWAP}{uuid.uuid4().hex}{TEMPORARY_SUFFIX}")
    try:
        with writable(old.parent):
            swap.mkdir()
        yield swap
        with deciding:
            move_away(old, swap / OLD, name)
            with writable(old.parent):
                settle_swap(swap)
    except BaseException:
        if not (swap / OLD).exists():  # an interrupt may come right after the decision
            shutil.rmtree(swap, ignore_errors=True)
        raise


def move_away(folder: Path, target: Path, name: str) -> None:
    """Take a network out of a cohort in one step, or raise if another process has done so."""
    with writable(folder.parent):
        try:
            folder.rename(target)
        except FileNotFoundError:
            raise changed_meanwhile(folder.parent, name) from None


def changed_meanwhile(path: Path, name: str) -> StorageError:
    """Return the error that a network of a cohort is not what it was."""
    return StorageError(
        f"Network {name!r} of {path} has been replaced or removed by another process meanwhile. "
        "Open the cohort again."
    )


def settle_swap(swap: Path) -> bool:
    """Finish a swap if it has been decided; return whether the cohort must be listed again.

    Another process may be doing the same at the same time.
    """
    try:
        found = list_folder(swap)
    except FileNotFoundError:
        return True
    if not any(one.name == OLD for one in found):
        return not found  # it is finished, or only begun
    for one in found:
        if not one.name.startswith("."):
            _move_in(one, swap.parent / one.name)
    shutil.rmtree(swap, ignore_errors=True)
    return True


def _move_in(network: Path, target: Path) -> None:
    try:
        network.rename(target)
    except FileNotFoundError:  # another process has moved it
        pass
    except OSError as error:
        # Where there are no locks, an import of the same network may have been faster.
        if error.errno not in TAKEN:
            raise
