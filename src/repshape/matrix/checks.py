"""Checks of what a matrix of distances is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._joins import match_rows
from repshape._labels import label_text
from repshape.errors import InputError, InputTypeError

FloatArray = npt.NDArray[np.float64]
# The first column of the tables that we write.
NETWORK = "network"
# Two halves of a matrix that were computed separately may differ by rounding errors.
SYMMETRY_TOLERANCE = 1e-10


def check_labels(labels: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return ``count`` unique labels, or raise one clear sentence."""
    if labels is None:
        return tuple(str(k) for k in range(count))
    names = tuple(str(label) for label in labels)
    if len(names) != count:
        raise InputError(f"There must be a label for each of {count} networks. Got {len(names)}.")
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError(f"Labels must be unique. Got {repeated[0]!r} more than once.")
    return names


def check_metadata(metadata: Any, labels: tuple[str, ...]) -> pd.DataFrame:
    """Return a copy of the metadata with a row for each label, in their order, or raise.

    ``metadata`` is a table or what `pandas.DataFrame` makes one of, or a dict of rows by name. Its
    index is joined with the labels by the rule of `repshape._joins`; so is a column named
    ``network`` of a table with the default index, if it holds labels.

    >>> table = pd.DataFrame({"area": ["V4", "V1"]}, index=["b", "a"])
    >>> check_metadata(table, ("a", "b"))["area"].tolist()
    ['V1', 'V4']
    """
    if metadata is None:
        return pd.DataFrame(index=list(labels))
    frame = _as_frame(metadata, labels)
    what = "The 'metadata' parameter"
    rows = _named_rows(frame, labels)
    keys = rows is not None
    found = match_rows(
        list(frame.index) if rows is None else rows,
        labels,
        len(labels),
        what,
        entry="row",
        keys=keys,
    )
    return frame.iloc[found].set_axis(pd.Index(list(labels)), axis=0)


def carried_metadata(networks: Any, labels: tuple[str, ...]) -> pd.DataFrame:
    """Return the metadata that networks carry themselves, which have their order."""
    own = None if isinstance(networks, Mapping) else getattr(networks, "metadata", None)
    return check_metadata(None if own is None else own.reset_index(drop=True), labels)


def _as_frame(metadata: Any, labels: Sequence[str]) -> pd.DataFrame:
    rows = isinstance(metadata, Mapping) and all(isinstance(v, Mapping) for v in metadata.values())
    try:
        if rows and not set(map(label_text, metadata)).isdisjoint(labels):
            return pd.DataFrame.from_dict(dict(metadata), orient="index")
        return pd.DataFrame(metadata)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            "The 'metadata' parameter must be a table with a row for each network. "
            f"Got {type(metadata).__name__}: {error}"
        ) from None


def _named_rows(frame: pd.DataFrame, labels: Sequence[str]) -> list[Any] | None:
    """Return the names in the column ``network`` of a table that has no other index, if any."""
    if NETWORK not in frame or not isinstance(frame.index, pd.RangeIndex):
        return None
    column = frame[NETWORK].tolist()
    is_key = not set(map(label_text, column)).isdisjoint(labels)
    return column if is_key and list(labels) != [str(k) for k in range(len(labels))] else None


def check_distances(values: npt.ArrayLike, missing: bool) -> FloatArray:
    """Return distances as a read-only symmetric matrix, or raise one clear sentence."""
    if np.iscomplexobj(values):
        raise InputError("Distances must be real numbers. Got complex ones.")
    distances = np.array(values, dtype=np.float64)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or not distances.size:
        raise InputError(f"Distances must form a square matrix. Got shape {distances.shape}.")
    absent = np.isnan(distances)
    if np.isinf(distances).any() or (absent.any() and not missing):
        raise InputError("Distances must be finite. Got NaN or infinity.")
    scale = np.abs(distances[~absent]).max(initial=0.0)
    gaps = np.abs(distances - distances.T)[~absent & ~absent.T]
    if gaps.max(initial=0.0) > SYMMETRY_TOLERANCE * scale:
        raise InputError("Distances must be symmetric.")
    if (absent != absent.T).any():
        raise InputError("Missing distances must be symmetric.")
    if np.abs(np.diag(distances)).max() > SYMMETRY_TOLERANCE * scale:
        raise InputError("The distance of a network to itself must be zero.")
    lower = np.tril_indices(len(distances), -1)
    distances[lower] = distances.T[lower]  # from here on, symmetric to the bit
    np.fill_diagonal(distances, 0.0)
    distances.setflags(write=False)
    return distances


def check_square(
    values: npt.ArrayLike | None, name: str, count: int, dtype: npt.DTypeLike
) -> npt.NDArray[Any] | None:
    """Return what is known of each pair as a read-only matrix, or raise one clear sentence."""
    return check_block(values, name, (count, count), dtype)


def check_block(
    values: npt.ArrayLike | None, name: str, shape: tuple[int, int], dtype: npt.DTypeLike
) -> npt.NDArray[Any] | None:
    """Return what is known of each pair as a read-only array of a shape, or raise."""
    if values is None:
        return None
    try:
        with np.errstate(invalid="raise"):
            array = np.array(values, dtype=dtype)
    except FloatingPointError:
        raise InputError(f"'{name}' must hold whole numbers. Got NaN or infinity.") from None
    if array.shape != shape:
        raise InputError(f"'{name}' must have shape {shape}. Got {array.shape}.")
    array.setflags(write=False)
    return array
