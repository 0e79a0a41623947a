"""Reading and writing: cohorts, networks in files, tables and matrices of distances."""

from repshape.io.importing import import_cohort, read_network

__all__ = ["import_cohort", "read_network"]
