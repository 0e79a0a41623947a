"""Results of a study: numbers are in ``results.json``, arrays for figures in ``arrays.npz``."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import repshape as rs
from repshape.errors import InputError

Arrays = dict[str, npt.NDArray[Any]]

PACKAGES = ("numpy", "scipy", "scikit-learn")
RESULTS = "results.json"
ARRAYS = "arrays.npz"
TINY = "tiny"
TINY_NOTE = "A test of the programs with networks that are hardly trained. It decides no claim."


def analysis_versions() -> dict[str, str]:
    """Return the versions that decide the results."""
    found = {"repshape": rs.__version__, "python": platform.python_version()}
    return found | {name: version(name) for name in PACKAGES}


def read_round(folder: Path, name: str) -> tuple[dict[str, Any], Arrays] | None:
    """Return another round of a study, from a folder within that of the first, if it is there."""
    return read_results(folder / name) if (folder / name / RESULTS).exists() else None


def read_results(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the numbers and arrays of a study, from the two files of its results."""
    try:
        numbers = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
        with np.load(folder / ARRAYS, allow_pickle=False) as stored:
            return numbers, dict(stored)
    except FileNotFoundError as error:
        name = Path(str(error.filename)).name
        raise InputError(f"{folder} has no {name}. Run the step 'measure' first.") from None
