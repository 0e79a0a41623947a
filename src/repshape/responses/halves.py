"""Random groups of the trials of a network, and halves."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.responses.trials import Trials

Groups = list[list[npt.NDArray[np.intp]]]  # trials of each group, by condition


def has_halves(network: Any) -> bool:
    """Whether a network is given by its moments, and by those of two halves of its trials."""
    return not isinstance(getattr(network, "flat", network), Trials) and network.halves is not None


def split_halves(network: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return random halves of a network's trials, or the halves that came with its moments."""
    if has_halves(network):
        found: tuple[Any, Any] = network.halves
        return found
    first, second = split_trials(network, 2, rng)
    return network._take_trials(first), network._take_trials(second)


def split_trials(network: Trials, n_groups: int, rng: np.random.Generator) -> Groups:
    """Divide the trials of each condition into random groups; return them by group."""
    orders = [rng.permutation(int(L)) for L in network.n_trials]
    parts = [np.array_split(order, n_groups) for order in orders]
    return [[part[g] for part in parts] for g in range(n_groups)]
