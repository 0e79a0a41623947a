"""How many neurons and trials the networks behind a matrix have, and how strongly they respond."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from repshape.errors import InputError
from repshape.matrix.checks import check_metadata

# What is counted. Trials are those of the condition that has fewest.
SIZES = ("neurons", "trials")
# What is measured, if that is cheap: the norm of Gaussian distances, and the overlap of the
# principal components of two halves of the trials.
MEASURED = ("norm", "overlap")


def check_sizes(sizes: Any, labels: Sequence[str]) -> pd.DataFrame | None:
    """Return a table of sizes with a row for each label, or raise one clear sentence.

    >>> check_sizes({"neurons": [9, 21]}, ["a", "b"])
       neurons  trials
    a      9.0     NaN
    b     21.0     NaN
    """
    if sizes is None:
        return None
    if isinstance(sizes, pd.DataFrame):
        sizes = check_metadata(sizes, tuple(labels))
    known = (*SIZES, *MEASURED)
    unknown = [name for name in dict(sizes) if name not in known]
    columns = {name: _column(sizes[name], name, len(labels)) for name in known if name in sizes}
    if unknown or not columns:
        raise InputError(
            f"'sizes' must have the columns {' and '.join(map(repr, SIZES))}, and may have "
            f"{' and '.join(map(repr, MEASURED))}. "
            f"Got {', '.join(map(repr, sizes)) or 'none'}."
        )
    kept = [*SIZES, *(name for name in MEASURED if name in columns)]
    return pd.DataFrame(columns, index=list(labels), columns=kept, dtype=float)


def _column(values: Any, name: str, count: int) -> Any:
    column = np.array([np.nan if one is None else one for one in values], dtype=np.float64)
    if column.shape != (count,):
        raise InputError(
            f"'sizes' must have {name} for each of {count} networks. Got {len(column)}."
        )
    known = column[~np.isnan(column)]
    if name in MEASURED:
        if (known < 0).any() or np.isinf(known).any():
            raise InputError(
                f"'sizes' must hold a {name} of at least 0, or NaN. Got {column.tolist()}."
            )
        return column
    if (known < 1).any() or np.isinf(known).any() or (known % 1).any():
        raise InputError(
            f"'sizes' must hold whole numbers of {name}, or NaN. Got {column.tolist()}."
        )
    return column


def sizes_of_networks(networks: Sequence[Any]) -> dict[str, list[int | None]] | None:
    """Return the sizes of networks, arrays or records of a cohort; None if nothing is known.

    >>> sizes_of_networks([np.zeros((5, 10, 3)), "what a callable compares"])
    {'neurons': [3, None], 'trials': [10, None]}
    """
    found = [_sizes(one) for one in networks]
    if not any(any(pair) for pair in found):
        return None
    return {name: [pair[k] for pair in found] for k, name in enumerate(SIZES)}


def _sizes(network: Any) -> tuple[int | None, int | None]:
    """Return the numbers of neurons and of trials, None where they are not known."""
    if isinstance(network, np.ndarray) and network.ndim > 2:  # conditions, trials, ..., neurons
        return network.shape[-1] or None, network.shape[1] or None
    neurons = getattr(network, "n_neurons", None)
    counts = getattr(getattr(network, "flat", network), "n_trials", None)
    if not isinstance(neurons, int | np.integer):
        return None, None
    return int(neurons), None if counts is None else int(np.min(counts))


def sizes_to_json(sizes: pd.DataFrame | None) -> dict[str, list[float | None]] | None:
    """Return the table as JSON can hold it: None stands for what is not known."""
    if sizes is None:
        return None
    return {str(name): [_number(name, one) for one in column] for name, column in sizes.items()}


def _number(name: Any, value: float) -> float | None:
    if math.isnan(value):
        return None
    return int(value) if name in SIZES else float(value)


def sizes_from_json(header: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the sizes that a file says; None if it is older than these, or says nothing."""
    found = header.get("sizes")
    if found is None:
        return None
    measured = [name for name in MEASURED if name in found]
    return {name: list(found[name]) for name in (*SIZES, *measured)}
