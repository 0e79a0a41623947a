"""Distances between two sets of networks on disk: NPZ with a JSON header."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape.errors import InputError, RepshapeError
from repshape.io.expansion import MaxBytes
from repshape.io.json import json_text
from repshape.io.matrices import check_version, metadata_from_json, metadata_to_json
from repshape.io.npz import read_arrays
from repshape.io.paths import check_output_file, check_suffix
from repshape.io.writing import open_output

FORMAT = "repshape-cross-distances"
FORMAT_VERSION = 1
SUFFIXES = (".npz",)
ARRAYS = ("values", "lower_bounds", "converged", "n_starts", "n_agreeing", "gaps")
SIDES = ("row", "column")


def write_cross(path: str | os.PathLike[str], fields: dict[str, Any]) -> None:
    """Write the fields of `repshape.CrossDistances`, whole or not at all."""
    check_suffix(path, SUFFIXES)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "labels": [list(fields[f"{side}_labels"]) for side in SIDES],
        "metadata": [metadata_to_json(fields[f"{side}_metadata"]) for side in SIDES],
        "description": fields["description"],
    }
    arrays = {name: fields[name] for name in ARRAYS if fields[name] is not None}
    with open_output(check_output_file(path)) as handle:
        np.savez_compressed(handle, header=np.array(json_text(header, strict=True)), **arrays)


def read_cross(path: str | os.PathLike[str], max_bytes: MaxBytes = None) -> dict[str, Any]:
    """Return the fields that `write_cross` wrote, or raise one clear sentence."""
    file = Path(path)
    check_suffix(file, SUFFIXES)
    try:
        return _read(file, max_bytes)
    except RepshapeError:
        raise
    except Exception as error:  # whatever a damaged file makes its reader raise
        raise _foreign(file) from error


def _read(path: Path, max_bytes: MaxBytes) -> dict[str, Any]:
    stored = read_arrays(path, max_bytes, {"header", *ARRAYS})
    header = json.loads(str(stored["header"]))
    if header["format"] != FORMAT:
        raise _foreign(path)
    check_version(path, header["version"], FORMAT_VERSION)
    fields: dict[str, Any] = {name: stored[name] for name in ARRAYS if name in stored}
    for side, labels, table in zip(SIDES, header["labels"], header["metadata"], strict=True):
        fields[f"{side}_labels"] = labels
        frame = metadata_from_json(table, len(labels))
        fields[f"{side}_metadata"] = frame.set_axis(pd.Index(labels), axis=0)
    return fields | {"description": dict(header["description"])}


def _foreign(path: Path) -> InputError:
    return InputError(
        f"{path} does not hold distances between two sets that repshape saved, or is damaged."
    )
