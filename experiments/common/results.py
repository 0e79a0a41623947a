"""Results of a study: numbers are in ``results.json``, arrays for figures in ``arrays.npz``."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import repshape as rs
from experiments.common.rounds import CONFIRMATION
from repshape.errors import InputError

Arrays = dict[str, npt.NDArray[Any]]

PACKAGES = ("numpy", "scipy", "scikit-learn")
RESULTS = "results.json"
ARRAYS = "arrays.npz"
COMMIT = "commit"  # among the versions
TINY = "tiny"
TINY_NOTE = "A test of the programs with networks that are hardly trained. It decides no claim."


def analysis_versions() -> dict[str, str]:
    """Return the versions that decide the results, and the commit if this is a checkout."""
    found = {"repshape": rs.__version__, "python": platform.python_version()}
    commit = source_commit()
    found |= {COMMIT: commit} if commit else {}
    return found | {name: version(name) for name in PACKAGES}


def source_commit() -> str:
    """Return the commit of the checkout that the studies run from; empty if there is none."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=10", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def is_whole(results: Mapping[str, Any]) -> bool:
    """Return whether everything that was planned has been measured.

    >>> is_whole({"networks": {"a": {"planned": 2, "measured": 2}}})
    True
    >>> is_whole({"networks": {"planned": 4, "measured": 2}})
    False
    """
    networks = results["networks"]
    groups = [networks] if "planned" in networks else networks.values()
    return all(one["measured"] == one["planned"] for one in groups)


def read_round(folder: Path, name: str) -> tuple[dict[str, Any], Arrays] | None:
    """Return another round of a study, from a folder within that of the first, if it is there."""
    return read_results(folder / name) if (folder / name / RESULTS).exists() else None


def read_shown(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the round of a study that figures show: the confirmation once it is whole."""
    later = read_round(folder, CONFIRMATION)
    return later if later is not None and is_whole(later[0]) else read_results(folder)


def read_results(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the numbers and arrays of a study, from the two files of its results."""
    try:
        numbers = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
        with np.load(folder / ARRAYS, allow_pickle=False) as stored:
            return numbers, dict(stored)
    except FileNotFoundError as error:
        name = Path(str(error.filename)).name
        raise InputError(f"{folder} has no {name}. Run the step 'measure' first.") from None
