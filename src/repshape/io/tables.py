"""Tables with a row for each network, as CSV, NPZ or JSON."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape.errors import InputError, check_choice
from repshape.io.writing import atomic_write

SUFFIXES = (".csv", ".npz", ".json")


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return how the name ends, or raise a sentence that lists the choices."""
    return check_choice("path", Path(path).suffix, SUFFIXES)


def write_table(path: Path, table: pd.DataFrame, summary: dict[str, Any]) -> None:
    """Write a table, whole or not at all; all but CSV keep the summary too.

    NPZ holds an array for each column, the index by its name (``network`` if it has none) and the
    summary as JSON text, and no pickle.
    """
    suffix = check_suffix(path)
    table = table.rename_axis(str(table.index.name or "network")).reset_index()
    with atomic_write(path) as handle:
        if suffix == ".csv":
            handle.write(table.to_csv(index=False, lineterminator="\n").encode())
        elif suffix == ".npz":
            np.savez_compressed(handle, summary=np.array(json_text(summary)), **_arrays(table))
        else:
            rows = {str(name): table[name].tolist() for name in table.columns}
            handle.write(json_text(summary | {"table": rows}).encode())


def json_text(value: Any) -> str:
    """Return JSON in which what is not finite is null: JSON has no word for it.

    >>> json_text({"spread": float("nan")})
    '{"spread": null}'
    """
    return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def read_points(path: Path, labels: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the columns ``x0``, ``x1``, ... of a table that `write_table` wrote, in our order."""
    readers = {".csv": _read_csv, ".npz": _read_npz, ".json": _read_json}
    try:
        table = readers[check_suffix(path)](path)
        axes = [name for name in table.columns if name[:1] == "x" and name[1:].isdigit()]
        points = table.loc[list(labels), axes].to_numpy(dtype=np.float64)
    except (KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path.name} is not an embedding of the same networks.") from error
    return points


def _arrays(table: pd.DataFrame) -> dict[str, Any]:
    arrays = {}
    for name in table.columns:
        column = table[name].to_numpy()
        known = column.dtype.kind in "biuf"
        arrays[str(name)] = column if known else np.array([str(value) for value in column])
    return arrays


def _read_csv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"network": str}).set_index("network")


def _read_npz(path: Path) -> pd.DataFrame:
    with np.load(path, allow_pickle=False) as stored:
        columns = {name: stored[name] for name in stored.files if name != "summary"}
    return pd.DataFrame(columns).set_index("network")


def _read_json(path: Path) -> pd.DataFrame:
    return pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))["table"]).set_index("network")
