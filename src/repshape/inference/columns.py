"""What a user gives: the networks of a cohort, and a label for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from repshape._arrays import check_moderate
from repshape.errors import InputError
from repshape.io.cohort import Cohort
from repshape.matrix.columns import ValuesLike, column_values
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import check_same_conditions
from repshape.responses import Gaussians, Trials, as_network


def read_networks(
    cohort: Cohort | Iterable[Any],
) -> tuple[list[Trials | Gaussians], dict[str, Any]]:
    """Return the networks of a cohort, at least two, and their labels and metadata if any."""
    names: dict[str, Any] = {
        "labels": getattr(cohort, "labels", None),
        "metadata": getattr(cohort, "metadata", None),
    }
    if isinstance(cohort, Mapping):
        names = {"labels": [str(key) for key in cohort]}
        cohort = list(cohort.values())
    networks = [as_network(one, f"network {k}") for k, one in enumerate(cohort)]
    if len(networks) < 2:
        raise InputError(f"There must be at least two networks. Got {len(networks)}.")
    for k, one in enumerate(networks):
        check_same_conditions(networks[0], one)
        check_moderate(one.pooled if isinstance(one, Trials) else one.means, f"network {k}")
    return networks, names


def text_column(matrix: DistanceMatrix, values: ValuesLike, name: str) -> list[str]:
    """Return a label as text for every network, or raise one clear sentence.

    >>> D = DistanceMatrix([[0, 1], [1, 0]], metadata=pd.DataFrame({"area": ["V1", "V4"]}))
    >>> text_column(D, "area", "labels"), text_column(D, [1, 2], "labels")
    (['V1', 'V4'], ['1', '2'])
    """
    column = list(column_values(matrix, values, name))
    for network, value in zip(matrix.labels, column, strict=True):
        if pd.isna(value):
            raise InputError(
                f"The '{name}' parameter must have an entry for every network. "
                f"Network {network!r} has none."
            )
    return [str(value) for value in column]
