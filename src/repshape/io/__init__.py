"""Reading and writing: cohorts, networks in files, tables and matrices of distances."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repshape.io.allen import ALLEN_FILTERS, read_allen
    from repshape.io.importing import import_cohort, import_nwb, read_network
    from repshape.io.nwb import open_nwb, read_nwb
    from repshape.io.nwb_recording import Recording, SpikeCounts

__all__ = [
    "ALLEN_FILTERS",
    "Recording",
    "SpikeCounts",
    "import_cohort",
    "import_nwb",
    "open_nwb",
    "read_allen",
    "read_network",
    "read_nwb",
]


if not TYPE_CHECKING:  # imported when they are first used: to save a matrix, Zarr is not needed
    _HOME = {
        "ALLEN_FILTERS": "allen",
        "Recording": "nwb_recording",
        "SpikeCounts": "nwb_recording",
        "import_cohort": "importing",
        "import_nwb": "importing",
        "open_nwb": "nwb",
        "read_allen": "allen",
        "read_network": "importing",
        "read_nwb": "nwb",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"repshape.io.{_HOME[name]}"), name)
