"""Checks of what a matrix of distances is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.errors import InputError

FloatArray = npt.NDArray[np.float64]
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


def check_metadata(metadata: pd.DataFrame | None, labels: tuple[str, ...]) -> pd.DataFrame:
    """Return a copy of the metadata indexed by label, or raise one clear sentence."""
    if metadata is None:
        return pd.DataFrame(index=list(labels))
    frame = pd.DataFrame(metadata).copy()
    if len(frame) != len(labels):
        raise InputError(
            f"The metadata must have a row for each of {len(labels)} networks. Got {len(frame)}."
        )
    frame.index = pd.Index(list(labels))
    return frame


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
    if values is None:
        return None
    array = np.array(values, dtype=dtype)
    if array.shape != (count, count):
        raise InputError(f"'{name}' must have shape ({count}, {count}). Got {array.shape}.")
    array.setflags(write=False)
    return array
