"""Trials as the solvers need them: in few well-chosen coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape._arrays import extreme_unit
from repshape.coordinates.factors import as_rotation, axis_signs, span_of_rows
from repshape.groups import FREE_COORDINATES, Group
from repshape.responses import Trials

FloatArray = npt.NDArray[np.float64]

# If the ratio of the extreme eigenvalues of the second moment is below this, the rank is determined
# from the trials themselves by QR, because squaring loses half of the digits.
CLEARLY_FULL_RANK = 1e-8


@dataclass(frozen=True)
class Coordinates:
    """The trials of a network in other coordinates.

    Attributes
    ----------
    rows : array of shape (sum of trials, s)
        All trials, condition after condition.
    means : array of shape (M, s)
    basis : array of shape (n, s) or None
        Orthonormal columns: neurons = basis @ coordinates. None if the coordinates are the neurons.
    """

    rows: FloatArray
    means: FloatArray
    basis: FloatArray | None = None


def coordinates_for(group: str | Group, trials: Trials, weights: FloatArray) -> Coordinates:
    """Return the trials in the coordinates in which a group is searched."""
    if group not in FREE_COORDINATES:
        return Coordinates(trials.pooled, trials.means)
    return in_principal_axes(trials, weights, oriented=group == "rotation")


def in_principal_axes(
    trials: Trials, weights: FloatArray, *, oriented: bool = False
) -> Coordinates:
    """Return the trials in coordinates along the principal axes of the pooled noise.

    This drops every dimension in which the network never responds, and makes the identity a good
    first guess of an alignment; see `repshape.coordinates.factors.in_principal_axes`, also for
    ``oriented``.
    """
    near_one = trials.in_unit(extreme_unit(trials.pooled))  # which changes no direction
    Q = _span(near_one.pooled)
    rows, means = near_one.pooled, near_one.means
    if Q is not None:
        rows, means = rows @ Q, means @ Q
    V = _axes(rows, means, trials.n_trials, weights)
    if oriented and Q is None:
        V = as_rotation(V)
    if near_one is trials:
        return Coordinates(rows @ V, means @ V, V if Q is None else Q @ V)
    basis = V if Q is None else np.asarray(Q @ V)
    return Coordinates(trials.pooled @ basis, trials.means @ basis, basis)


def _span(rows: FloatArray) -> FloatArray | None:
    """Return an orthonormal basis of all responses, or None if they span the whole space."""
    N, n = rows.shape
    if n <= N:
        values = np.linalg.eigvalsh(rows.T @ rows)
        if values[0] > CLEARLY_FULL_RANK * values[-1]:
            return None
    return span_of_rows(rows)


def _axes(
    rows: FloatArray, means: FloatArray, counts: npt.NDArray[np.int_], weights: FloatArray
) -> FloatArray:
    centred = rows - np.repeat(means, counts, axis=0)
    centred *= np.repeat(np.sqrt(weights / counts), counts)[:, None]
    signal = (means * weights[:, None]).T @ means
    # The means only matter for axes with equal noise.
    _, V = np.linalg.eigh(centred.T @ centred + 1e-6 * signal)
    V = V[:, ::-1]
    return np.asarray(V * axis_signs(means @ V))
