"""Labels of networks: a column of the metadata by its name, or a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from repshape.errors import InputError
from repshape.matrix.distances import DistanceMatrix


def text_column(matrix: DistanceMatrix, values: str | Sequence[Any], name: str) -> list[str]:
    """Return a label as text for every network, or raise one clear sentence.

    >>> D = DistanceMatrix([[0, 1], [1, 0]], metadata=pd.DataFrame({"area": ["V1", "V4"]}))
    >>> text_column(D, "area", "labels"), text_column(D, [1, 2], "labels")
    (['V1', 'V4'], ['1', '2'])
    """
    if isinstance(values, str):
        if values not in matrix.metadata:
            listed = ", ".join(map(repr, matrix.metadata.columns)) or "none"
            raise InputError(f"The metadata has no column {values!r}. Its columns: {listed}.")
        column = list(matrix.metadata[values])
    else:
        column = list(values)
    if len(column) != len(matrix):
        raise InputError(
            f"The '{name}' parameter must have an entry for each of {len(matrix)} networks. "
            f"Got {len(column)}."
        )
    for network, value in zip(matrix.labels, column, strict=True):
        if pd.isna(value):
            raise InputError(
                f"The '{name}' parameter must have an entry for every network. "
                f"Network {network!r} has none."
            )
    return [str(value) for value in column]
