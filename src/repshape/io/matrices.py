"""Matrices of distances on disk: NPZ with a JSON header, or CSV with the metadata on the right."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._doubt import PROVEN
from repshape.errors import InputError, RepshapeError
from repshape.io.csv import check_columns, csv_bytes, csv_cells, typed_cells
from repshape.io.expansion import MaxBytes
from repshape.io.json import json_text, plain
from repshape.io.npz import read_arrays
from repshape.io.paths import check_output_file, check_suffix, read_text
from repshape.io.tables import column_cells
from repshape.io.writing import open_output
from repshape.matrix.distances import PAIR_FIELDS
from repshape.matrix.error_bars import ARRAYS as BARS
from repshape.matrix.error_bars import ErrorBars
from repshape.matrix.sizes import sizes_from_json, sizes_to_json

FloatArray = npt.NDArray[np.float64]
FORMAT = "repshape-distances"
FORMAT_VERSION = 1
ARRAYS = ("values", *PAIR_FIELDS)
SUFFIXES = (".npz", ".csv")


def write_matrix(path: str | os.PathLike[str], fields: dict[str, Any]) -> None:
    """Write the fields of a matrix, whole or not at all, in the format that the name ends in.

    CSV has labels on both sides and columns of metadata on the right, by the rule of
    `repshape.io.csv` for text that a spreadsheet would take for a formula, and numbers that read
    back to the same bits.
    """
    write = _write_npz if check_suffix(path, SUFFIXES) == ".npz" else _write_csv
    with open_output(check_output_file(path)) as handle:
        write(handle, fields)


def read_matrix(path: str | os.PathLike[str], max_bytes: MaxBytes = None) -> dict[str, Any]:
    """Return the fields that `write_matrix` wrote, or raise one clear sentence.

    ``max_bytes`` is how much an NPZ file may expand to, by default a quarter of the memory.
    """
    file = Path(path)
    suffix = check_suffix(file, SUFFIXES)
    try:
        return _read_npz(file, max_bytes) if suffix == ".npz" else _read_csv(file)
    except RepshapeError:
        raise
    except Exception as error:  # whatever a damaged file makes its reader raise
        raise _foreign(file) from error


def metadata_to_json(metadata: pd.DataFrame) -> list[dict[str, Any]]:
    """Return columns as name, dtype and values that JSON can hold."""
    return [
        {
            "name": str(name),
            # Columns of other kinds read back as what JSON holds.
            "dtype": str(column.dtype) if column.dtype.kind in "biufM" else None,
            "values": plain(list(map(_infinity_as_text, column_cells(column)))),
        }
        for name, column in metadata.items()
    ]


def metadata_from_json(columns: list[dict[str, Any]], count: int) -> pd.DataFrame:
    """Return the table that `metadata_to_json` described."""
    frame = pd.DataFrame(index=range(count))
    check_columns([column["name"] for column in columns], "The table of metadata")
    for column in columns:
        series = pd.Series(column["values"], index=frame.index)
        frame[column["name"]] = series.astype(column["dtype"]) if column["dtype"] else series
    return frame


def _infinity_as_text(value: Any) -> Any:
    """Return "inf" for infinity, which JSON cannot hold and which reads back as a number."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _write_npz(handle: IO[bytes], fields: dict[str, Any]) -> None:
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "labels": list(fields["labels"]),
        "metadata": metadata_to_json(fields["metadata"]),
        "description": fields["description"],
        "sizes": sizes_to_json(fields["sizes"]),
    }
    arrays = {name: fields[name] for name in ARRAYS if fields[name] is not None}
    bars = fields["error_bars"]
    if bars is not None:
        header["error_bars"] = bars.header()
        arrays |= bars.arrays()
    np.savez_compressed(handle, header=np.array(json_text(header, strict=True)), **arrays)


def _write_csv(handle: IO[bytes], fields: dict[str, Any]) -> None:
    labels, values = list(fields["labels"]), fields["values"].tolist()
    metadata = fields["metadata"]
    columns = [column_cells(metadata.iloc[:, k]) for k in range(metadata.shape[1])]
    rows = [
        [label, *distances, *(cells[k] for cells in columns)]
        for k, (label, distances) in enumerate(zip(labels, values, strict=True))
    ]
    handle.write(csv_bytes([["", *labels, *map(str, metadata.columns)], *rows]))


def check_version(path: Path, found: object, known: int) -> None:
    """Raise one clear sentence if a file has another version of its format than the known one."""
    if found != known:
        raise InputError(f"{path} has format version {found}; this repshape reads version {known}.")


def _read_npz(path: Path, max_bytes: MaxBytes) -> dict[str, Any]:
    stored = read_arrays(path, max_bytes, {"header", *ARRAYS, *BARS})
    header = json.loads(str(stored["header"]))
    if header["format"] != FORMAT:
        raise _foreign(path)
    check_version(path, header["version"], FORMAT_VERSION)
    arrays: dict[str, Any] = {name: stored[name] for name in ARRAYS if name in stored}
    if "error_bars" in header:
        bars: dict[str, Any] = {name: stored[name] for name in BARS}
        arrays["error_bars"] = ErrorBars(**bars, **header["error_bars"])
    _check_bounds(path, arrays["values"], arrays.get("lower_bounds"))
    return {
        "values": arrays.pop("values"),
        **arrays,
        "labels": header["labels"],
        "metadata": metadata_from_json(header["metadata"], len(header["labels"])).set_axis(
            pd.Index(header["labels"]), axis=0
        ),
        "description": dict(header["description"]),
        "sizes": sizes_from_json(header),
    }


def _check_bounds(path: Path, values: FloatArray, bounds: FloatArray | None) -> None:
    """Raise one sentence if a distance is below its proven lower bound."""
    if bounds is None:
        return
    # False where a pair is missing. Estimates may be negative, and have no such bound.
    wrong = (values >= 0) & (bounds > values * (1 + PROVEN))
    if wrong.any():
        i, j = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"{path} is damaged: the distance of pair ({i}, {j}), {values[i, j]:.6g}, is below its "
            f"lower bound, {bounds[i, j]:.6g}."
        )


def _read_csv(path: Path) -> dict[str, Any]:
    header, *rows = csv_cells(read_text(path))
    end = len(rows) + 1  # columns of metadata come after those of distances
    check_columns(header[end:], str(path))
    labels = header[1:end]
    values = np.array([[float(cell) for cell in row[1:end]] for row in rows])
    if [row[0] for row in rows] != labels:
        raise InputError(f"{path} must have the same labels on its rows and columns.")
    columns = zip(*(row[end:] for row in rows), strict=True)
    metadata = pd.DataFrame(index=labels)
    for name, cells in zip(header[end:], columns, strict=True):
        metadata[name] = pd.Series(typed_cells(cells), index=labels)
    return {"values": values, "labels": labels, "metadata": metadata}


def _foreign(path: Path) -> InputError:
    return InputError(f"{path} is not a matrix of distances that repshape saved, or is damaged.")
