"""Functions that the baselines share: checks of pairs, and accurate cosines."""

from __future__ import annotations

import numpy as np

from repshape._arrays import FloatArray, extreme_unit
from repshape.errors import InputError
from repshape.metrics.base import check_same_conditions
from repshape.responses import Gaussians, NetworkLike, Trials, as_network

ROUNDING = 1e-14
"""Responses that differ by less than this fraction of the largest are equal up to rounding."""


def check_pair(
    x: NetworkLike, y: NetworkLike, *, measure: str, at_least: int
) -> tuple[Trials | Gaussians, Trials | Gaussians]:
    """Return two networks, and raise unless they have the same and enough conditions."""
    first, second = as_network(x, "x"), as_network(y, "y")
    check_same_conditions(first, second)
    if first.n_conditions < at_least:
        raise InputError(
            f"{measure} needs at least {at_least} conditions. Got {first.n_conditions}."
        )
    return first, second


def centred_means(network: Trials | Gaussians, name: str, *, measure: str) -> FloatArray:
    """Return the mean responses (M, n) minus their mean over conditions, in a unit of their own."""
    means = network.means
    if np.ptp(means, axis=0).max() <= ROUNDING * np.abs(means).max():
        raise InputError(
            f"{measure} needs mean responses that differ between conditions. "
            f"Got the same response to every condition in {name}."
        )
    unit = extreme_unit(means)
    return np.asarray(means / unit - (means / unit).mean(axis=0))


def unit(array: FloatArray) -> FloatArray:
    """Scale a non-zero array to norm 1."""
    return np.asarray(array / np.linalg.norm(array))


def separation(u: FloatArray, v: FloatArray, *, angular: bool) -> float:
    """Return 1 - <u, v>, or the angle, of arrays of norm 1.

    1 - <u, v> = |u - v|^2 / 2 and tan(angle / 2) = |u - v| / |u + v|. Both are accurate for nearly
    equal u and v, where 1 minus the product, or its arccos, would lose digits.
    """
    gap = float(np.linalg.norm(u - v))
    if angular:
        return float(2 * np.arctan2(gap, np.linalg.norm(u + v)))
    return gap**2 / 2
