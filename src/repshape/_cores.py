"""How many cores there are to use."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Return the number of cores this process may use, which a queue may limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
