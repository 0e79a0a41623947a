"""Networks with additional neurons that never respond."""

from __future__ import annotations

import numpy as np

from repshape.responses.gaussians import Gaussians
from repshape.responses.trials import Trials


def with_silent_neurons(network: Trials | Gaussians, n_neurons: int) -> Trials | Gaussians:
    """Return the network with silent neurons after its own."""
    more = n_neurons - network.n_neurons
    if more == 0:
        return network
    if isinstance(network, Trials):
        rows = np.pad(network.pooled, ((0, 0), (0, more)))
        return Trials._trusted(rows, network.n_trials, network.n_dropped, network.conditions)
    means = np.pad(network.means, ((0, 0), (0, more)))
    sides = {"full": 2, "diagonal": 1, "factors": 1}[network.kind]
    widths = [(0, 0)] + sides * [(0, more)] + (network.stored.ndim - 1 - sides) * [(0, 0)]
    stored = np.pad(network.stored, widths)
    return Gaussians._trusted(means, stored, network.kind, network.conditions)
