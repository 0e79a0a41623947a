"""Pairs under a group that is an object: alternation in Python over compiled objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape._arrays import check_moderate
from repshape.errors import InputError
from repshape.groups import Group
from repshape.responses import Gaussians, Trials
from repshape.solvers.alternation import Descent, Exploration, Problem, suggest
from repshape.solvers.correspondence import Correspondence, Moments, spread_conditions
from repshape.solvers.policy import GROUP_OBJECTS, Found
from repshape.solvers.starts import mean_gain, tie_broken

FloatArray = npt.NDArray[np.float64]


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


@dataclass(frozen=True)
class GroupSearch:
    """The search over a group for one pair in canonical order: x is the larger network.

    Attributes
    ----------
    group : Group
    objective : Objective
    x, y : Statistics
    weights : array of shape (M,)
    """

    group: Group
    objective: Objective
    x: Statistics
    y: Statistics
    weights: FloatArray

    def run(self, n_starts: int | str, tol: float, max_iter: int, seed: int) -> Found[Descent]:
        """Search from the means, from matching conditions and at random."""
        gain, nearest = mean_gain(self.x.means, self.y.means, self.weights), self.group.nearest
        rng = np.random.default_rng([seed, len(gain)])
        kept = self.weights[spread_conditions(len(self.weights))]
        suggestions = Correspondence(self.x.moments, self.y.moments, kept, rng)
        first = nearest(tie_broken(gain))
        starts = chain([first], suggest(nearest, suggestions, rng))
        search = Exploration(self.objective, nearest, tol, max_iter, GROUP_OBJECTS)
        if n_starts == "auto":
            return search.run(starts, rng)
        return search.finish_all(islice(starts, int(n_starts)))

    def improve(self, starts: Sequence[FloatArray], tol: float, max_iter: int) -> Found[Descent]:
        """Search from given starts (n_x, n_y) only."""
        search = Exploration(self.objective, self.group.nearest, tol, max_iter, GROUP_OBJECTS)
        return search.finish_all(self.group.nearest(start) for start in starts)


def check_sizes(group: Group, n_x: int, n_y: int) -> None:
    """Raise unless a group accepts networks of these sizes."""
    if n_x != n_y and not group.takes_unequal_sizes:
        raise InputError(
            f"{group!r} needs networks with the same number of neurons. Got {n_x} and {n_y}."
        )
