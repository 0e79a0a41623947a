"""How large a network is, as far as can be told without preparing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from repshape.io.records import Record
from repshape.responses import Gaussians, Trials

ITEM = 8  # bytes of a number


@dataclass(frozen=True)
class Needs:
    """Bytes of a network that is ready for all metrics, and dimensions of its transforms."""

    ready: int
    size: int


def needs(network: Any, metrics: Sequence[Any]) -> Needs:
    """Return what a network, or the record of one, needs at most.

    >>> needs(np.zeros((5, 10, 3)), [None])
    Needs(ready=1200, size=3)
    """
    shape = _shape(network)
    if shape is None:  # whatever a callable takes: its size is unknown, and it is in memory anyway
        return Needs(0, 0)
    M, n, stored = shape
    ready, largest = 0, 1
    for metric in metrics:
        kept = getattr(getattr(metric, "preprocess", None), "n_components", None)
        size = n if kept is None else min(n, kept)
        # Prepared: means, and factors that may be as large as full covariances.
        full = M * size * (size + 1) if _may_be_full(network) or kept else stored
        ready += ITEM * max(full, stored)
        largest = max(largest, size)
    return Needs(ready, largest)


def _may_be_full(network: Any) -> bool:
    kind = network.kind if isinstance(network, Record | Gaussians) else "trials"
    return kind in ("trials", "full")


def _shape(network: Any) -> tuple[int, int, int] | None:
    """Return conditions, neurons and numbers of a network, or None if it is no known kind."""
    if isinstance(network, Record):
        return network.n_conditions, network.n_neurons, network.n_bytes // ITEM
    if isinstance(network, Trials):
        return network.n_conditions, network.n_neurons, network.pooled.size
    if isinstance(network, Gaussians):
        return (network.n_conditions, network.n_neurons, network.means.size + network.stored.size)
    try:
        if isinstance(network, tuple):
            M, n = np.shape(network[0])
            return M, n, M * n + np.size(network[1])
        if isinstance(network, list) and np.ndim(network[0]) == 2:
            sizes = [np.size(one) for one in network]
            return len(network), np.shape(network[0])[1], sum(sizes)
        shape = np.shape(network)
    except (ValueError, TypeError, IndexError):
        return None
    return (shape[0], shape[-1], int(np.prod(shape))) if len(shape) in (2, 3) else None
