"""The memory of the machine, and sizes as users write them."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from repshape.errors import InputError

DEFAULT_SHARE_OF_RAM = 0.25
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def total_memory() -> int:
    """Return the memory that this process may use, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # a queue may allow less than the machine has
        total = min(total, int(CGROUP_LIMIT.read_text()))
    return total


def default_memory() -> int:
    """Return a quarter of the memory that this process may use, in bytes."""
    return int(DEFAULT_SHARE_OF_RAM * total_memory())


def parse_memory(text: str | int | None, what: str = "Memory") -> int:
    """Read a number of bytes, such as ``"512M"`` or ``"4 GB"``; None is a quarter of the RAM.

    >>> parse_memory("1.5k")
    1536
    """
    if text is None:
        return default_memory()
    found = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)i?b?\s*", str(text).lower())
    try:
        size = int(float(found[1]) * UNITS[found[2]]) if found else 0
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise InputError(f"{what} must be a size such as 512M or 4G. Got {text!r}.")
    return size


def size_in_words(n_bytes: float) -> str:
    """Return a size in the largest unit of which there is at least one.

    >>> size_in_words(1536), size_in_words(12)
    ('1.5 kB', '12 bytes')
    """
    if n_bytes < UNITS["k"]:
        return f"{n_bytes:g} bytes"
    unit = max((one for one in UNITS if UNITS[one] <= n_bytes), key=UNITS.__getitem__)
    return f"{n_bytes / UNITS[unit]:.3g} {unit if unit == 'k' else unit.upper()}B"
