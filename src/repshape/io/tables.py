"""Tables with a row for each network, as CSV, NPZ or JSON."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._joins import match_rows
from repshape.errors import InputError, RepshapeError
from repshape.io.csv import check_columns, csv_bytes, csv_cells, unescape
from repshape.io.json import json_text
from repshape.io.npz import read_arrays
from repshape.io.paths import check_output_file, check_suffix, one_line, read_text
from repshape.io.writing import open_output
from repshape.matrix.distances import DistanceMatrix

SUFFIXES = (".csv", ".npz", ".json")
SUMMARY = "summary"  # where NPZ holds what is not a column


def write_table(path: Path, table: pd.DataFrame, summary: Mapping[str, Any]) -> None:
    """Write a table, whole or not at all; NPZ and JSON keep the summary too.

    The first column is the index, by its name or as ``network``; another column of that name is
    left out. NPZ holds an array for each column and the summary as JSON text, without pickles. CSV
    follows the rule of `repshape.io.csv` for text that a spreadsheet would take for a formula.
    """
    suffix = check_suffix(path, SUFFIXES)
    check_output_file(path)
    columns = _columns(table)
    with open_output(path) as handle:
        if suffix == ".csv":
            cells = [column_cells(column) for column in columns.values()]
            handle.write(csv_bytes([list(columns), *zip(*cells, strict=True)]))
        elif suffix == ".npz":
            _write_npz(handle, columns, summary)
        else:
            rows = {name: column_cells(column) for name, column in columns.items()}
            handle.write(json_text({**summary, "table": rows}).encode())


def column_cells(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column, dates as text and None for what is missing."""
    values = column.astype(str) if column.dtype.kind == "M" else column
    missing = column.isna().tolist()
    return [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers, integers included; truth values are not numbers.

    >>> is_numeric(pd.Series([4, 8])), is_numeric(pd.Series([True, False]))
    (True, False)
    """
    return column.dtype.kind in "iuf"


def read_points(path: Path, labels: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the columns ``x0``, ``x1``, ... of an embedding, with its rows in a given order."""
    readers = {".csv": _read_csv, ".npz": _read_npz, ".json": _read_json}
    read = readers[check_suffix(path, SUFFIXES)]
    try:
        table = read(path).set_index("network")
        axes = [name for name in table.columns if name[:1] == "x" and name[1:].isdecimal()]
        points = table.loc[list(labels), axes].to_numpy(dtype=np.float64)
        # A table of several embeddings has several rows for a network.
        if points.size and len(points) == len(labels) and np.isfinite(points).all():
            return points
    except RepshapeError:
        raise
    except Exception:  # whatever a damaged file makes its reader raise
        pass
    raise InputError(f"{path} is not an embedding of the same networks.")


def read_metadata(path: Path, labels: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a CSV table that describe the given networks, in their order.

    The first column names the networks; the table may have rows for others too.
    """
    try:
        table = parse_csv(read_text(path))
    except ValueError as error:
        if isinstance(error, InputError):
            raise InputError(f"In {path}: {error}") from None
        raise InputError(f"{path} cannot be read as a table: {one_line(error)}.") from None
    return rows_of(table.set_index(table.columns[0]), labels, str(path), keys=True)


def rows_of(
    table: pd.DataFrame, labels: Sequence[str], what: str, keys: bool = False
) -> pd.DataFrame:
    """Return the row of each network, by the rule of `repshape._joins`; others may be there too.

    With ``keys``, numbers in the index are names too, never positions.
    """
    rows = match_rows(
        list(table.index), labels, len(labels), what, entry="row", keys=keys, others=True
    )
    return table.iloc[rows].set_axis(pd.Index(list(labels)), axis=0)


def join_metadata(D: DistanceMatrix, path: Path | None) -> DistanceMatrix:
    """Return the matrix with the columns of a CSV table added; they replace those of the name."""
    if path is None:
        return D
    added = read_metadata(path, D.labels)
    kept = [name for name in D.metadata.columns if name not in added.columns]
    return D.replace(metadata=D.metadata[kept].join(added))


def with_metadata(table: pd.DataFrame, D: DistanceMatrix) -> pd.DataFrame:
    """Return a table with a row for each network, and the metadata of the networks in front."""
    columns = [name for name in D.metadata.columns if name not in table.columns]
    return D.metadata[columns].join(table)


def parse_csv(text: str, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a table, its text unescaped; columns of names, the first by default, are all text.

    A network may be called "NA" or "007", which pandas would read as a gap and a number. Older
    versions also read numbers with an error in the last digit, which Python does not.
    """
    check_columns(next(iter(csv_cells(text)), []), "The table")
    table = pd.read_csv(io.StringIO(text))
    written = pd.read_csv(io.StringIO(text), dtype=str, na_filter=False)
    for name in table.columns[table.dtypes == np.float64]:
        known = table[name].notna()
        entries = zip(written[name], known, strict=True)
        table[name] = [float(entry) if given else np.nan for entry, given in entries]
    for name in table.columns[:1] if names is None else names:
        if name in table:
            table[name] = written[name].fillna("").to_numpy()  # a row may be too short
    table.columns = pd.Index([unescape(str(name)) for name in table.columns])
    for name in table.columns:
        if table[name].dtype.kind == "O":
            table[name] = [unescape(v) if isinstance(v, str) else v for v in table[name]]
    return table


def _columns(table: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    index = str(table.index.name or "network")
    others = {str(name): table[name] for name in table.columns if str(name) != index}
    return {index: table.index.to_series()} | others


def _write_npz(
    handle: IO[bytes], columns: dict[str, pd.Series[Any]], summary: Mapping[str, Any]
) -> None:
    # `numpy.savez` takes names as keywords, and so refuses a column that is named "file".
    arrays = {name: _array(column) for name, column in columns.items()}
    arrays[SUMMARY] = np.array(json_text(summary))
    with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _array(column: pd.Series[Any]) -> npt.NDArray[Any]:
    if column.dtype.kind in "biuf":
        return column.to_numpy()
    return np.array(["" if value is None else str(value) for value in column_cells(column)])


def _read_csv(path: Path) -> pd.DataFrame:
    return parse_csv(read_text(path), ["network"])


def _read_npz(path: Path) -> pd.DataFrame:
    stored = read_arrays(path)
    return pd.DataFrame({name: array for name, array in stored.items() if name != SUMMARY})


def _read_json(path: Path) -> pd.DataFrame:
    return pd.DataFrame(json.loads(read_text(path))["table"])
