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
COMMIT, VERSION = "commit", "repshape"  # among the versions
TINY = "tiny"
TINY_NOTE = "A test of the programs with networks that are hardly trained. It decides no claim."


def analysis_versions() -> dict[str, str]:
    """Return the versions that decide the results, and the commit if this is a checkout."""
    found = {VERSION: rs.__version__, "python": platform.python_version()}
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


def is_shown(later: Mapping[str, Any], first: Mapping[str, Any]) -> bool:
    """Return whether figures show the later round: a whole one, with no fewer seeds in any group.

    >>> first = {"networks": {"a": {"planned": 20, "measured": 20, "seeds": 10}}}
    >>> later = {"networks": {"a": {"planned": 8, "measured": 8, "seeds": 4}}}
    >>> is_whole(later), is_shown(later, first), is_shown(first, later)
    (True, False, True)
    """
    counts = _seeds(first)
    return is_whole(later) and all(n >= counts.get(name, 0) for name, n in _seeds(later).items())


def _seeds(results: Mapping[str, Any]) -> dict[str, int]:
    networks = results["networks"]
    groups = {"": networks} if "planned" in networks else networks
    return {name: one["seeds"] for name, one in groups.items()}


def read_round(folder: Path, name: str) -> tuple[dict[str, Any], Arrays] | None:
    """Return another round of a study, from a folder within that of the first, if it is there."""
    return read_results(folder / name) if (folder / name / RESULTS).exists() else None


def read_shown(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the round of a study that figures show (`is_shown`): the confirmation or the pilot."""
    first, later = read_results(folder), read_round(folder, CONFIRMATION)
    return later if later is not None and is_shown(later[0], first[0]) else first


def read_results(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the numbers and arrays of a study, from the two files of its results."""
    try:
        numbers = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
        with np.load(folder / ARRAYS, allow_pickle=False) as stored:
            return numbers, dict(stored)
    except FileNotFoundError as error:
        name = Path(str(error.filename)).name
        raise InputError(f"{folder} has no {name}. Run the step 'measure' first.") from None
