"""Cohorts from files: NumPy arrays, HDF5 and a manifest that names them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repshape.errors import InputError, MissingDependencyError, RepshapeError
from repshape.io.cohort import Cohort, save_networks
from repshape.responses import Gaussians, NetworkLike, Trials, as_network

PathLike = str | os.PathLike[str]
SUFFIXES = (".npz", ".npy", ".h5", ".hdf5")
COVARIANCES = ("covariances", "variances", "factors")


def read_network(path: PathLike) -> Trials | Gaussians:
    """Read one network from a file.

    Parameters
    ----------
    path : path
        ``.npy`` holds trials (conditions, trials, neurons) or points (conditions, neurons).
        ``.npz`` and HDF5 hold an array ``trials``, and ``n_trials`` if these are pooled (all
        trials, neurons); or ``means`` and one of ``covariances``, ``variances`` and ``factors``;
        or one array of any name, as ``.npy``. What follows ``#`` names an array or a group inside
        the file, as in ``mice.h5#mouse3``.
    """
    name, _, inside = str(path).partition("#")
    file = Path(name)
    if file.suffix.lower() not in SUFFIXES:
        listed = ", ".join(SUFFIXES)
        raise InputError(f"{file.name} must be one of {listed}. Got {file.suffix!r} instead.")
    if not file.exists():
        raise InputError(f"There is no file {file}.")
    try:
        arrays = (
            _read_hdf5(file, inside)
            if file.suffix in (".h5", ".hdf5")
            else _read_numpy(file, inside)
        )
        return as_network(_interpret(arrays, str(path)))
    except RepshapeError as error:
        if isinstance(error, MissingDependencyError) or str(path) in str(error):
            raise
        raise type(error)(f"In {path}: {error}") from None


def import_cohort(
    sources: Sequence[PathLike],
    out: PathLike,
    *,
    name_column: str = "name",
    file_column: str = "file",
) -> Cohort:
    """Build a cohort on disk, whole or not at all.

    Parameters
    ----------
    sources : sequence of paths
        Files of networks, each named after its file; and manifests: ``.csv`` tables with a row
        for each network, its name and file (relative to the manifest) and columns of metadata.
    out : path
        The cohort to make; it must not exist.
    """
    rows = [row for source in sources for row in _rows(Path(source), name_column, file_column)]
    if not rows:
        raise InputError("There is nothing to import: the manifest has no rows.")
    return save_networks(((name, read_network(file), meta) for name, file, meta in rows), out)


def _rows(
    source: Path, name_column: str, file_column: str
) -> list[tuple[str, str, dict[str, Any]]]:
    """Return name, file and metadata of every network of a manifest, or of the file itself."""
    if source.suffix.lower() != ".csv":
        file, _, inside = str(source).partition("#")
        return [(inside or Path(file).stem, str(source), {})]
    try:
        table = pd.read_csv(source, dtype={name_column: str, file_column: str})
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{source} cannot be read as a manifest: {reason}") from None
    for column in (name_column, file_column):
        if column not in table.columns:
            listed = ", ".join(map(repr, table.columns))
            raise InputError(f"{source} needs a column {column!r}. It has {listed}.")
        if table[column].isna().any():
            row = int(table[column].isna().to_numpy().argmax()) + 2  # the header is line 1
            raise InputError(f"{source} has no {column!r} in line {row}.")
    others = [column for column in table.columns if column not in (name_column, file_column)]
    return [
        (str(row[name_column]), str(source.parent / row[file_column]), _metadata(row, others))
        for _, row in table.iterrows()
    ]


def _metadata(row: pd.Series[Any], columns: Sequence[str]) -> dict[str, Any]:
    cells = {str(column): row[column] for column in columns}
    return {column: None if pd.isna(cell) else cell for column, cell in cells.items()}


def _interpret(arrays: Mapping[str, Any], path: str) -> NetworkLike:
    """Return the network that named arrays describe."""
    labels = arrays.get("conditions")
    conditions = None if labels is None else [_text(label) for label in np.asarray(labels).tolist()]
    if "trials" in arrays:
        trials = np.asarray(arrays["trials"])
        if "n_trials" not in arrays:
            return Trials(trials, conditions=conditions)
        ends = np.cumsum(np.asarray(arrays["n_trials"], dtype=np.intp))[:-1]
        return Trials(np.split(trials.reshape(-1, trials.shape[-1]), ends), conditions=conditions)
    found = [name for name in COVARIANCES if name in arrays]
    if "means" in arrays and not found:
        return Gaussians.points(arrays["means"], conditions=conditions)
    if "means" in arrays and found[0] == "factors":
        return Gaussians.from_factors(arrays["means"], arrays["factors"], conditions=conditions)
    if "means" in arrays:
        return Gaussians(arrays["means"], arrays[found[0]], conditions=conditions)
    if len(arrays) == 1:
        return np.asarray(next(iter(arrays.values())))
    listed = ", ".join(map(repr, arrays)) or "nothing"
    raise InputError(
        f"{path} must hold 'trials', or 'means' and one of 'covariances', 'variances' and "
        f"'factors', or a single array. It holds {listed}."
    )


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _read_hdf5(file: Path, inside: str) -> dict[str, Any]:
    try:
        import h5py
    except ImportError:
        raise MissingDependencyError(
            "HDF5 files need h5py: pip install 'repshape[hdf5]'."
        ) from None
    try:
        with h5py.File(file, "r") as opened:
            node = opened[inside] if inside else opened
            if isinstance(node, h5py.Dataset):
                return {"": node[...]}
            return {name: one[...] for name, one in node.items() if isinstance(one, h5py.Dataset)}
    except KeyError:
        raise InputError(f"{file} has no array or group {inside!r}.") from None
    except OSError as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{file} cannot be read as HDF5: {reason}") from None


def _read_numpy(file: Path, inside: str) -> dict[str, Any]:
    try:
        with open(file, "rb") as handle:
            loaded = np.load(handle, allow_pickle=False)
            if not isinstance(loaded, Mapping):
                return {"": loaded}
            names = [inside] if inside else list(loaded.keys())
            return {"" if inside else name: loaded[name] for name in names}
    except KeyError:
        raise InputError(f"{file} has no array {inside!r}.") from None
    except (ValueError, EOFError, zipfile.BadZipFile, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{file} cannot be read as NumPy arrays: {reason}") from None
