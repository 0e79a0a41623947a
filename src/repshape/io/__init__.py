"""Reading and writing: cohorts, networks in files, tables and matrices of distances."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repshape.io.importing import import_cohort, read_network

__all__ = ["import_cohort", "read_network"]


if not TYPE_CHECKING:  # imported when they are first used: to save a matrix, Zarr is not needed

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("repshape.io.importing"), name)
