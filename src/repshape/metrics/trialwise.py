"""What metrics on single trials share: how networks are read, and the checks of the search."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from repshape.coordinates.trials import Coordinates, in_neurons, in_principal_axes
from repshape.errors import InputError
from repshape.metrics.gaussian import FREE_COORDINATES
from repshape.responses import Gaussians, Trials

FloatArray = npt.NDArray[np.float64]


def as_trials(network: Trials | Gaussians, owner: str) -> Trials:
    """Return the trials of a network; points are one trial for each condition.

    >>> as_trials(Gaussians.points(np.eye(2)), "EnergyShapeMetric")
    Trials(2 conditions, 1 trial each, 2 neurons)
    """
    if isinstance(network, Trials):
        return network
    if network.stored.any():
        raise InputError(
            f"{owner} compares single trials, and Gaussians have none. Pass Trials or a 3-D array "
            "(conditions, trials, neurons), or use GaussianShapeMetric."
        )
    ones = np.ones(network.n_conditions, dtype=np.intp)
    return Trials._trusted(network.means, ones, 0 * ones, network.conditions)


def coordinates_for(group: str, trials: Trials, weights: FloatArray) -> Coordinates:
    """Return the trials in the coordinates in which a group is searched."""
    if group not in FREE_COORDINATES:
        return in_neurons(trials)
    return in_principal_axes(trials, weights, oriented=group == "rotation")
