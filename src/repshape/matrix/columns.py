"""A value for each network of a matrix, and matrices in the order of other networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._joins import in_order, is_indexed
from repshape._labels import list_labels
from repshape.errors import InputError
from repshape.matrix.distances import DistanceMatrix

# A value for each network: by position, by name, or the name of a column of the metadata.
ValuesLike: TypeAlias = (
    "str | Sequence[Any] | npt.NDArray[Any] | pd.Series[Any] | Mapping[str, Any]"
)


def column_values(matrix: DistanceMatrix, values: Any, name: str) -> Any:
    """Return a value for each network, from the metadata if a column is named.

    Labelled values are joined by name, by the rule of `repshape._joins`.
    """
    if not isinstance(values, str):
        return in_order(values, matrix.labels, len(matrix), name)
    if values not in matrix.metadata:
        listed = ", ".join(map(repr, matrix.metadata.columns)) or "none"
        raise InputError(f"The metadata has no column {values!r}. Its columns: {listed}.")
    return matrix.metadata[values]


def find_column(matrix: DistanceMatrix, values: Any, name: str) -> pd.Series[Any]:
    """Return what `column_values` finds as a Series.

    >>> D = DistanceMatrix([[0, 1], [1, 0]], ["a", "b"])
    >>> find_column(D, {"b": "V4", "a": "V1"}, "target").tolist()
    ['V1', 'V4']
    """
    found = column_values(matrix, values, name)
    return found if is_indexed(found) else pd.Series(np.asarray(found).ravel())


def in_order_of(D: DistanceMatrix, labels: Sequence[str], name: str) -> DistanceMatrix:
    """Return a matrix with its networks in the order of the labels, or raise.

    A matrix without names of its own ("0", "1", ...), or labels that are none, go by position.

    >>> D = DistanceMatrix([[0, 1, 2], [1, 0, 3], [2, 3, 0]], ["a", "b", "c"])
    >>> in_order_of(D, ["c", "a", "b"], "D").values[0]
    array([0., 2., 3.])
    """
    numbered = [str(k) for k in range(len(D))]
    if len(labels) == len(D) and (numbered in (list(labels), list(D.labels))):
        return D
    absent = [one for one in labels if one not in set(D.labels)]
    extra = [one for one in D.labels if one not in set(labels)]
    if absent or extra or len(labels) != len(D):
        only = f"it has no {list_labels(absent)}" if absent else f"it has {list_labels(extra)}"
        raise InputError(
            f"The '{name}' parameter must be a distance matrix of the same {len(labels)} networks. "
            f"Got one of {len(D)}: {only}."
        )
    return D if tuple(labels) == D.labels else D[list(labels)]
