"""The distances at a fixed transform in plain NumPy, of responses that are divided by a unit."""

from __future__ import annotations

from math import lcm

import numpy as np
from scipy.optimize import linear_sum_assignment

from repshape.reference import energy, gaussian, process

from .draws import Array
from .networks import Net


def completed(T: Array) -> Array:
    """Return T (n_x, n_y), n_x >= n_y, with a row for every neuron of y that is not matched."""
    alone = np.flatnonzero(~T.any(axis=0))
    return np.vstack([T, np.eye(T.shape[1])[alone]])


def widened(rows: Array, n: int) -> Array:
    """Return responses (..., n_x) with silent neurons."""
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, n - rows.shape[-1])])


class Pair:
    """Two networks in a unit, with the larger one first, and T (n_x, n_y) between them."""

    def __init__(self, x: Net, y: Net, T: Array, unit: float) -> None:
        if x.n_neurons < y.n_neurons:
            x, y, T = y, x, T.T
        self.T, n = completed(T), len(completed(T))
        self.means = widened(x.means / unit, n), y.means / unit
        A, C = x.factors(unit), y.factors(unit)
        self.factors = np.swapaxes(widened(np.swapaxes(A, 1, 2), n), 1, 2), C
        self.trials = [widened(one, n) for one in in_unit(x, unit)], in_unit(y, unit)


class SoftPair:
    """Two networks as functions on the pairs of neurons that a plan (n_x, n_y) matches."""

    def __init__(self, x: Net, y: Net, plan: Array, unit: float) -> None:
        i, j = np.nonzero(plan > 1e-14)
        root = np.sqrt(plan[i, j])
        self.T = np.eye(len(i))
        self.means = x.means[:, i] / unit * root, y.means[:, j] / unit * root
        A, C = x.factors(unit)[:, i], y.factors(unit)[:, j]
        self.factors = A * root[:, None], C * root[:, None]
        self.trials = (
            [one[:, i] * root for one in in_unit(x, unit)],
            [one[:, j] * root for one in in_unit(y, unit)],
        )


def in_unit(net: Net, unit: float) -> list[Array]:
    """Return the trials of a network, or its points as one trial each."""
    if net.trials is None:
        return list(net.means[:, None] / unit)
    return [one / unit for one in net.trials]


def gaussian_parts(pair: Pair | SoftPair, weights: Array) -> tuple[float, float]:
    """Return the squared distances of means and of covariances."""
    means = gaussian.mean_gap(*pair.means, pair.T, weights)
    return means, gaussian.covariance_gap(*pair.factors, pair.T, weights)


def energy_squared(pair: Pair | SoftPair, q: float, weights: Array, estimator: str) -> float:
    """Return the squared energy distance."""
    return energy.energy_squared(*pair.trials, pair.T, q, weights, estimator)


def wasserstein_squared(pair: Pair, p: float, weights: Array) -> float:
    """Return the sum of w W_p^2: copies of the trials make their numbers equal."""
    total = 0.0
    for w, x, y in zip(weights, *pair.trials, strict=True):
        each = lcm(len(x), len(y))
        moved = np.repeat(y @ pair.T.T, each // len(y), axis=0)
        still = np.repeat(x, each // len(x), axis=0)
        costs = energy.squared_gaps(still, moved) ** (p / 2)
        rows, columns = linear_sum_assignment(costs)
        total += w * float(costs[rows, columns].mean()) ** (2 / p)
    return total


def position_parts(
    x: Net, y: Net, T: Array, unit: float, mode: str, weights: Array
) -> tuple[float, float]:
    """Return the squared distances of means and covariances of marginal or joint positions."""
    M, n_x, n_y = len(x.means), x.n_neurons, y.n_neurons
    if n_x < n_y:
        x, y, T, n_x, n_y = y, x, T.T, n_y, n_x
    T = completed(T)
    mu, nu = (net.means.reshape(M, -1, net.n_neurons) / unit for net in (x, y))
    P = mu.shape[1]
    each = np.repeat(weights, P)
    gap = gaussian.mean_gap(widened(mu.reshape(-1, n_x), len(T)), nu.reshape(-1, n_y), T, each)
    A, C = (net.factors(unit).reshape(M, P, net.n_neurons, -1) for net in (x, y))
    A = np.moveaxis(widened(np.moveaxis(A, 2, 3), len(T)), 3, 2)
    if mode == "marginal":
        A, C = (one.reshape(M * P, 1, *one.shape[2:]) for one in (A, C))
        return gap, process.covariance_gap(A, C, T, each)
    return gap, process.covariance_gap(A, C, T, weights)
