"""How a matrix of distances lies on disk: NPZ with a JSON header, or plain CSV."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape.errors import InputError
from repshape.io.writing import atomic_write

FORMAT = "repshape-distances"
FORMAT_VERSION = 1
ARRAYS = ("values", "lower_bounds", "converged")


def write_npz(path: Path, fields: dict[str, Any]) -> None:
    """Write all fields; text and metadata go into one JSON string."""
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "labels": list(fields["labels"]),
        "metadata": metadata_to_json(fields["metadata"]),
        "description": fields["description"],
    }
    arrays = {name: fields[name] for name in ARRAYS if fields[name] is not None}
    text = json.dumps(header)
    with atomic_write(path) as handle:
        np.savez_compressed(handle, header=np.array(text), **arrays)


def read_npz(path: Path) -> dict[str, Any]:
    """Read what `write_npz` wrote, or raise one clear sentence."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as stored:
            header = json.loads(str(stored["header"]))
            fields = {name: stored[name] for name in ARRAYS if name in stored.files}
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise _foreign(path) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise _foreign(path)
    if header["version"] != FORMAT_VERSION:
        raise InputError(
            f"{path.name} has format version {header['version']}; "
            f"this repshape reads version {FORMAT_VERSION}."
        )
    return fields | {
        "labels": header["labels"],
        "metadata": metadata_from_json(header["metadata"], len(header["labels"])),
        "description": header["description"],
    }


def write_csv(path: Path, fields: dict[str, Any]) -> None:
    """Write labels on both sides, and numbers that read back to the same bits."""
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["", *fields["labels"]])
    for label, row in zip(fields["labels"], fields["values"].tolist(), strict=True):
        rows.writerow([label, *map(repr, row)])
    with atomic_write(path) as handle:
        handle.write(text.getvalue().encode("utf-8"))


def read_csv(path: Path) -> dict[str, Any]:
    """Read what `write_csv` wrote, or raise one clear sentence."""
    try:
        with open(path, newline="", encoding="utf-8") as handle:
            header, *rows = list(csv.reader(handle))
        labels = header[1:]
        values = np.array([[float(cell) for cell in row[1:]] for row in rows])
    except (ValueError, IndexError) as error:
        raise _foreign(path) from error
    if [row[0] for row in rows] != labels:
        raise InputError(f"{path.name} must have the same labels on rows and columns.")
    return {"values": values, "labels": labels}


def _foreign(path: Path) -> InputError:
    return InputError(f"{path.name} is not a matrix of distances that repshape saved.")


def metadata_to_json(metadata: pd.DataFrame) -> list[dict[str, Any]]:
    """Return columns as name, dtype and values that JSON can hold without loss."""
    columns = []
    for name in metadata.columns:
        column = metadata[name]
        restore = column.dtype.kind in "biufM"  # other kinds read back as what JSON holds
        values = column.astype(str) if column.dtype.kind == "M" else column
        columns.append(
            {
                "name": str(name),
                "dtype": str(column.dtype) if restore else None,
                "values": [_plain(value) for value in values.tolist()],
            }
        )
    return columns


def metadata_from_json(columns: list[dict[str, Any]], count: int) -> pd.DataFrame:
    """Return the table that `metadata_to_json` described."""
    frame = pd.DataFrame(index=range(count))
    for column in columns:
        series = pd.Series(column["values"], index=frame.index)
        frame[column["name"]] = series.astype(column["dtype"]) if column["dtype"] else series
    return frame


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
