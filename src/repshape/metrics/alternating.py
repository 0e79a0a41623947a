"""Pairs under a group that is an object: alternation in Python over compiled objectives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape._arrays import check_moderate
from repshape.errors import InputError
from repshape.groups import Group, Oracle
from repshape.reference.gaussian import mean_term
from repshape.responses import Gaussians, Trials
from repshape.solvers.alternation import Problem
from repshape.solvers.correspondence import Correspondence, Moments, spread_conditions
from repshape.solvers.search import Policy, suggest
from repshape.solvers.starts import tie_broken

FloatArray = npt.NDArray[np.float64]
# In a discrete group, alternation stops at many points, and starts agree more easily by chance: of
# 200 pairs under signed permutations of three neurons, 4 hits of 8 starts missed the best 16 times,
# and this policy 3 times.
GROUP_OBJECTS = Policy(hits=8, fewest=24, always_move=True)


@dataclass(frozen=True)
class Statistics:
    """What the search needs besides the handles: all means (M, n), and moments of some conditions.

    ``moments`` are those of the conditions that `spread_conditions` chooses.
    """

    means: FloatArray
    moments: Moments


def check_units(network: Trials | Gaussians) -> None:
    """Raise if the search, which works in the units of the responses, would overflow or vanish."""
    if isinstance(network, Trials):
        parts = [network.pooled]
    else:
        parts = [network.means, network.variances**0.5]
    check_moderate(np.concatenate(parts), "a network", "Groups that are given as objects")


class Objective(Problem, Protocol):
    """The squared distance of a pair at a transform (n_x, n_y), for n_x >= n_y."""

    def parts(self, T: FloatArray) -> tuple[float, float]:
        """Return the distances between means and between covariances; NaN without such parts."""


@dataclass(frozen=True)
class GaussianObjective:
    """Squared Gaussian distance of two handles; ``gain`` is the sum of w mu_x mu_y'."""

    x: Any
    y: Any
    weights: FloatArray
    alpha: float
    gain: FloatArray
    bounded = True

    def at(self, T: FloatArray) -> tuple[float, FloatArray]:
        """Return the squared distance and the gradient of the objective."""
        slope = _native.gradient(self.x, self.y, T, self.weights)
        means, covariances = (part**2 for part in self.parts(T))
        value = self.alpha * means + (2 - self.alpha) * covariances
        return value, self.alpha * self.gain + (2 - self.alpha) * slope.gradient

    def parts(self, T: FloatArray) -> tuple[float, float]:
        """Return the distances between means and between covariances."""
        found = _native.evaluate(self.x, self.y, np.ascontiguousarray(T.T), self.weights)
        return float(np.sqrt(found.means)), float(np.sqrt(found.covariances))


@dataclass(frozen=True)
class EnergyObjective:
    """Squared energy distance, over all pairs of trials, of two handles."""

    x: Any
    y: Any
    weights: FloatArray
    q: float
    bounded = True

    def at(self, T: FloatArray) -> tuple[float, FloatArray]:
        """Return the squared distance and the gradient of minus the loss."""
        slope = _native.energy_gradient(self.x, self.y, T, self.weights, self.q)
        within = 0.5 * float((self.x.within[0] + self.y.within[0]) @ self.weights)
        return max(-slope.value - within, 0.0), slope.gradient

    def parts(self, T: FloatArray) -> tuple[float, float]:
        """Return NaN: the distance has no parts."""
        return float("nan"), float("nan")


def group_starts(
    nearest: Oracle, x: Statistics, y: Statistics, weights: FloatArray, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield starts for x, the larger network, and y: means, matching conditions, and random."""
    yield nearest(tie_broken(mean_term(x.means, y.means, weights)))
    kept = weights[spread_conditions(len(weights))]
    yield from suggest(nearest, Correspondence(x.moments, y.moments, kept, rng), rng)


def check_sizes(group: Group, n_x: int, n_y: int) -> None:
    """Raise unless a group accepts networks of these sizes."""
    if n_x != n_y and not group.takes_unequal_sizes:
        raise InputError(
            f"{group!r} needs networks with the same number of neurons. Got {n_x} and {n_y}."
        )
