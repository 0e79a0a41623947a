"""Comparisons of models with brains on disk: one JSON file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from repshape.errors import InputError, RepshapeError
from repshape.io.json import json_text
from repshape.io.matrices import check_version, metadata_from_json, metadata_to_json
from repshape.io.paths import check_output_file, check_suffix, read_text
from repshape.io.writing import open_output
from repshape.matrix.cross import CrossDistances
from repshape.matrix.distances import DistanceMatrix

FORMAT = "repshape-model-comparison"
FORMAT_VERSION = 1
SUFFIXES = (".json",)
# Columns of the table of differences, which has no rows if there is one model.
DIFFERENCES = (
    "first",
    "second",
    "difference",
    "squared_difference",
    "low",
    "high",
    "p_value",
    "holm_p_value",
    "max_p_value",
    "smallest_p_value",
)


def write_comparison(
    path: str | os.PathLike[str],
    summary: Mapping[str, Any],
    distances: CrossDistances,
    between_brains: DistanceMatrix,
) -> None:
    """Write the summary of a comparison with its distances, whole or not at all."""
    check_suffix(path, SUFFIXES)
    content = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        **summary,
        "distances": {
            "values": distances.values,
            "labels": [distances.row_labels, distances.column_labels],
            "metadata": [
                metadata_to_json(table)
                for table in (distances.row_metadata, distances.column_metadata)
            ],
            "description": distances.description,
        },
        "between_brains": between_brains.values,
    }
    with open_output(check_output_file(path)) as handle:
        handle.write(json_text(content, indent=1).encode())


def read_comparison(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `write_comparison` wrote, its distances and tables as objects.

    Raises one clear sentence if the file is something else.
    """
    file = Path(path)
    check_suffix(file, SUFFIXES)
    try:
        return _read(file)
    except RepshapeError:
        raise
    except Exception as error:  # whatever a damaged file makes its reader raise
        raise _foreign(file) from error


def is_comparison(path: Path) -> bool:
    """Return whether a file is called as comparisons are; what it holds is not looked at."""
    return path.suffix.lower() in SUFFIXES


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(read_text(path))
    if found["format"] != FORMAT:
        raise _foreign(path)
    check_version(path, found["version"], FORMAT_VERSION)
    block = found["distances"]
    tables = [
        metadata_from_json(table, len(labels)).set_axis(pd.Index(labels), axis=0)
        for table, labels in zip(block["metadata"], block["labels"], strict=True)
    ]
    distances = CrossDistances(
        block["values"],
        *block["labels"],
        row_metadata=tables[0],
        column_metadata=tables[1],
        description=block["description"],
    )
    between = DistanceMatrix(
        found["between_brains"],
        distances.row_labels,
        metadata=distances.row_metadata,
        description=distances.description,
    )
    frames = {name: _numbers(pd.DataFrame(found[name])) for name in ("models", "ceilings")}
    frames["differences"] = _numbers(pd.DataFrame(found["differences"], columns=list(DIFFERENCES)))
    parts = {name: _known(found[name]) for name in ("chance", "neurons")}
    return found | frames | parts | {"distances": distances, "between_brains": between}


def _numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which null, which JSON writes for NaN, is NaN again."""
    for name in table.columns:
        column = table[name]
        if column.dtype.kind == "O" and not any(isinstance(value, str) for value in column):
            table[name] = column.astype(float)
    return table


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: math.nan if value is None else value for name, value in values.items()}


def _foreign(path: Path) -> InputError:
    return InputError(
        f"{path} does not hold a comparison of models that repshape saved, or is damaged."
    )
