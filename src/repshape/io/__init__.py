"""Reading and writing: cohorts, networks in files, and everything that must be whole on disk."""

from repshape.io.importing import import_cohort, read_network

__all__ = ["import_cohort", "read_network"]
