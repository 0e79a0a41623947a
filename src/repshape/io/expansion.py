"""How much a file may expand to: a small compressed file can fill any memory."""

from __future__ import annotations

import os
from pathlib import Path

from repshape._memory import default_memory, parse_memory, size_in_words, total_memory
from repshape.errors import InputError

MaxBytes = int | str | None
# Objects in one file, such as the cells of a cell array: each costs time, even if it is empty.
MOST_OBJECTS = 2**20


class Expansion:
    """Counts the bytes and the objects that a file expands to, and stops at a limit.

    Parameters
    ----------
    file : pathlib.Path
    max_bytes : int, str or None
        Such as ``"4 GB"``; by default a quarter of the memory, or the size of the file itself if
        that is more.
    """

    def __init__(self, file: Path, max_bytes: MaxBytes = None) -> None:
        self._file = file
        if max_bytes is None:
            self.limit = max(default_memory(), os.path.getsize(file))
            self._of_what = "by default a quarter of the memory"
        else:
            self.limit = parse_memory(max_bytes, "The 'max_bytes' parameter")
            self._of_what = "as given by max_bytes"
        self.left = self.limit
        self._objects = 0

    def take(self, n_bytes: int) -> None:
        """Count bytes, or raise one sentence if they are too many."""
        self.left -= n_bytes
        if self.left < 0:
            raise InputError(
                f"{self._file} expands to more than {size_in_words(self.limit)}, "
                f"{self._of_what}. If you trust the file, pass a larger max_bytes."
            )

    def take_object(self) -> None:
        """Count an object, or raise one sentence if there are too many."""
        self._objects += 1
        if self._objects > MOST_OBJECTS:
            raise InputError(f"{self._file} holds more than {MOST_OBJECTS} objects.")


def check_fits(n_bytes: int, what: str) -> None:
    """Raise one sentence if something is larger than the memory; it may have no values on disk."""
    total = total_memory()
    if n_bytes > total:
        raise InputError(
            f"{what} takes {size_in_words(n_bytes)}, more than the memory ({size_in_words(total)})."
        )
