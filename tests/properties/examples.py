"""Networks for the tests of properties, and exact optima by exhaustive search."""

from itertools import permutations

import numpy as np
from scipy.optimize import minimize_scalar

from repshape.groups import GROUPS as ORACLES
from repshape.reference import gaussian as reference
from repshape.responses import Gaussians

ALPHAS = (0.0, 0.3, 1.0, 1.7, 2.0)
GROUPS = ("orthogonal", "rotation", "permutation", "identity")
ANGLES = np.linspace(0, 2 * np.pi, 720, endpoint=False)


def make_network(rng, M=4, n=3, rank=None):
    """Generic means and generic covariances of a given rank."""
    rank = n if rank is None else rank
    return Gaussians.from_factors(rng.normal(size=(M, n)), rng.normal(size=(M, n, rank)))


def element(rng, group, n):
    """A random element of the group, (n, n)."""
    return ORACLES[group](rng.normal(size=(n, n)))


def moved(network, T):
    """The network in other coordinates: T mu and T S T'."""
    return Gaussians.from_factors(network.means @ T.T, T @ network.factors)


def padded(network, n):
    """The network with neurons that never respond, up to n of them."""
    more = n - network.n_neurons
    means = np.pad(network.means, ((0, 0), (0, more)))
    return Gaussians.from_factors(means, np.pad(network.factors, ((0, 0), (0, more), (0, 0))))


def scale(*networks):
    """Root of the mean squared response of the largest network."""
    return max(np.sqrt(np.mean((x.means**2).sum(1) + (x.factors**2).sum((1, 2)))) for x in networks)


def equal(M):
    return np.full(M, 1 / M)


def distance_at(x, y, T, alpha, weights=None):
    """The distance (eq. 7) under a fixed T (n_x, n_y), from the reference."""
    w = equal(x.n_conditions) if weights is None else weights
    mean = reference.mean_gap(x.means, y.means, T, w)
    covariance = reference.covariance_gap(x.factors, y.factors, T, w)
    return np.sqrt(alpha * mean + (2 - alpha) * covariance)


def _turn(angle, mirror):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [s, -c]]) if mirror else np.array([[c, -s], [s, c]])


def _best_angle(x, y, alpha, mirror):
    def cost(angle):
        return distance_at(x, y, _turn(angle, mirror), alpha)

    costs = np.array([cost(a) for a in ANGLES])
    step = ANGLES[1]
    found = []
    for k in np.argsort(costs)[:3]:
        around = (ANGLES[k] - step, ANGLES[k] + step)
        result = minimize_scalar(cost, bounds=around, method="bounded", options={"xatol": 1e-11})
        found += [costs[k], result.fun]
    return min(found)


def exhaustive(x, y, alpha, group):
    """The distance by search over every transform: n = 2, or a finite group."""
    n = x.n_neurons
    if group == "permutation":
        elements = (np.eye(n)[list(order)] for order in permutations(range(n)))
        return min(distance_at(x, y, T, alpha) for T in elements)
    if group == "identity":
        return distance_at(x, y, np.eye(n), alpha)
    mirrors = (False, True) if group == "orthogonal" else (False,)
    return min(_best_angle(x, y, alpha, mirror) for mirror in mirrors)


def assert_metric(metric, networks):
    """Assert the axioms of a metric for the distances between a few networks."""
    D = np.array([[metric.distance(a, b) for b in networks] for a in networks])
    assert (D == D.T).all()
    assert np.diagonal(D).max() < 1e-7
    assert D[~np.eye(len(D), dtype=bool)].min() > 0.05
    for i, j, k in permutations(range(len(D)), 3):
        assert D[i, j] <= D[i, k] + D[k, j] + 1e-9
