"""Tests run against the installed package, or against a sanitized build of it."""

import gc
import os
import sys

if sanitized := os.environ.get("REPSHAPE_SANITIZED"):
    # Before the finder of an editable install, which would answer first.
    sys.path.insert(0, sanitized)
    sys.meta_path[:] = [f for f in sys.meta_path if "Editable" not in type(f).__name__]

# They hold fixtures and no examples; as modules their names would clash.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]


def pytest_collection_finish() -> None:
    """Keep what lives as long as the run, such as ten thousand tests, out of collections."""
    gc.collect()
    gc.freeze()
