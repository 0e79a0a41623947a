"""Files of networks that ship with the package: arrays, and a header with names and metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape.errors import InputError
from repshape.io.matrices import metadata_from_json, metadata_to_json
from repshape.io.writing import open_output


def write_dataset(
    path: Path, arrays: dict[str, Any], metadata: pd.DataFrame, **header: Any
) -> None:
    """Write arrays, a table with a row for each network, and further entries of the header."""
    text = json.dumps(
        header | {"labels": list(map(str, metadata.index)), "metadata": metadata_to_json(metadata)}
    )
    with open_output(path) as handle:
        np.savez_compressed(handle, header=np.array(text), **arrays)


def read_dataset(path: Path, how: str) -> tuple[dict[str, Any], pd.DataFrame, dict[str, Any]]:
    """Return what `write_dataset` wrote; ``how`` says how to make a file that is not there."""
    if not path.exists():
        raise InputError(f"This copy of repshape does not have {path.name}. To make it, {how}.")
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files if name != "header"}
        header = json.loads(str(stored["header"]))
    return arrays, metadata_from_json(header.pop("metadata"), len(header["labels"])), header
