"""Shape metrics whose objective is compiled, and whose pairs the compiled core solves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape._arrays import condition_weights
from repshape.coordinates.factors import Factors, coordinates_for
from repshape.groups import Group
from repshape.metrics.alternating import GroupSearch, Objective, Statistics, check_sizes
from repshape.metrics.base import (
    Alignment,
    Prepared,
    ShapeMetric,
    check_same_conditions,
    prepared_transform,
    signed_root,
)
from repshape.moments import estimate_moments, estimate_without_warning
from repshape.responses import Gaussians, Trials
from repshape.solvers.starts import count_starts, make_starts

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PreparedNative(Prepared):
    """A network as a handle of the compiled core, with the number of coordinates as ``neurons``.

    Attributes
    ----------
    native : Network or Samples
    statistics : Statistics or None
        What a search over a group that is an object needs besides the handle.
    tiny : TinyTrials or None
        Trials that are so small that the core must get them in another unit.
    """

    native: Any
    statistics: Statistics | None = field(default=None, kw_only=True)
    tiny: Any = field(default=None, kw_only=True)


def spans_part(basis: FloatArray | None, padded: bool) -> bool:
    """Return whether coordinates span fewer dimensions than the space in which a group acts."""
    return padded or (basis is not None and basis.shape[0] != basis.shape[1])


def gaussian_moments(metric: Any, network: Trials | Gaussians) -> Gaussians:
    """Return the moments of a network, as a metric with alpha and covariance estimates them."""
    if isinstance(network, Gaussians):
        return network
    # At alpha = 2 the covariances have no weight.
    estimate = estimate_without_warning if metric.alpha == 2 else estimate_moments
    return estimate(network, metric.covariance, random_state=metric.random_state)


def gaussian_coordinates(metric: Any, network: Trials | Gaussians) -> Factors:
    """Return means and factors of a network, in the coordinates in which its pairs are solved."""
    weights = metric._weights(network.n_conditions)
    return coordinates_for(metric.group, gaussian_moments(metric, network), weights)


def gaussian_handle(net: Factors, padded: bool) -> _native.Network:
    """Return the handle of a network with Gaussian responses."""
    return _native.make_network(
        net.means,
        net.factors,
        net.spectrum,
        diagonal=net.diagonal,
        reduced=spans_part(net.basis, padded),
    )


class NativeShapeMetric(ShapeMetric[PreparedNative]):
    """A shape metric whose pairs are solved by the compiled core, without the interpreter lock.

    A group that is given as an object is searched in Python.
    """

    takes_starts = True
    n_starts: int | str
    tol: float
    max_iter: int
    random_state: int

    @abstractmethod
    def _options(self, search: _native.Search) -> _native.Options:
        """Return the options of the core for a search."""

    @abstractmethod
    def _objective(self, x: PreparedNative, y: PreparedNative) -> Objective:
        """Return the objective of two networks with statistics."""

    def _weights(self, n_conditions: int) -> FloatArray:
        return condition_weights(self.weights, n_conditions)

    def search_options(self, n_conditions: int, size: int) -> _native.Options:
        """Return the options for pairs whose larger network has ``size`` coordinates."""
        group = "orthogonal" if isinstance(self.group, Group) else self.group
        count = count_starts(self.n_starts, group)
        return self._options(
            _native.Search(
                group=group,
                weights=self._weights(n_conditions),
                tol=self.tol,
                max_iter=self.max_iter,
                starts=make_starts(size, count, int(self.random_state)),
                screen=self.n_starts == "auto",
                seed=int(self.random_state),
                pad_to=0 if self.pad_to is None else int(self.pad_to),
            )
        )

    def _align_prepared(self, x: PreparedNative, y: PreparedNative) -> Alignment:
        if isinstance(self.group, Group):
            found = self._search_group(self.group, x, y)
        else:
            size = max(x.native.neurons, y.native.neurons)
            found = _native.align(x.native, y.native, self.search_options(x.n_conditions, size))
        return Alignment(
            distance=found.distance,
            lower_bound=found.lower_bound,
            mean_distance=found.mean_distance,
            covariance_distance=found.covariance_distance,
            converged=found.converged,
            n_iterations=found.n_iterations,
            n_starts=found.n_starts,
            n_agreeing=found.n_agreeing,
            _map=prepared_transform(found.transform, x, y, self.group),
            _phi=(x.phi, y.phi),
        )

    def _search_group(
        self,
        group: Group,
        x: PreparedNative,
        y: PreparedNative,
        starts: FloatArray | None = None,
    ) -> _native.Solution:
        """Solve a pair under a group that is an object, from its own starts or (S, n_y, n_x)."""
        check_sizes(group, x.n_neurons, y.n_neurons)
        swapped = y.native < x.native  # the larger network first, then by content
        first, second = (y, x) if swapped else (x, y)
        if first.statistics is None or second.statistics is None:
            raise AssertionError("networks for such a group are prepared with their statistics")
        weights = self._weights(x.n_conditions)
        objective = self._objective(first, second)
        search = GroupSearch(group, objective, first.statistics, second.statistics, weights)
        limits = float(self.tol), int(self.max_iter)
        if starts is None:
            found = search.run(self.n_starts, *limits, int(self.random_state))
        else:
            given = [one if swapped else np.ascontiguousarray(one.T) for one in starts]
            found = search.improve(given, *limits)
        # All isometries are orthogonal, and so is their lower bound. What an unbiased estimate
        # subtracts from the squared distance is part of it.
        loose = self.with_parameters(n_starts=1)
        options = loose.search_options(len(weights), first.native.neurons)
        bound = _native.align(first.native, second.native, options).lower_bound
        T = found.best.transform
        distance = signed_root(found.best.value + min(bound, 0.0) * abs(bound))
        parts = objective.parts(T)
        return _native.Solution(
            distance=distance,
            lower_bound=min(bound, distance),
            mean_distance=parts[0],
            covariance_distance=parts[1],
            converged=found.best.converged,
            n_iterations=len(found.best.values),
            n_starts=found.n_starts,
            n_agreeing=found.n_agreeing if starts is None else 0,
            transform=T if swapped else np.ascontiguousarray(T.T),
        )

    def solve_pairs(
        self,
        prepared: Sequence[PreparedNative],
        pairs: npt.ArrayLike,
        *,
        starts: Sequence[FloatArray] | None = None,
        keep: bool = False,
        brief: int | None = None,
    ) -> _native.PairResults:
        """Solve many pairs of prepared networks, given as rows of two indices.

        Parameters
        ----------
        prepared : sequence of prepared networks
        pairs : array of shape (P, 2)
        starts : sequence of P arrays of shape (S, s_y, s_x), optional
            Transforms to start from instead of the metric's own starts, in the coordinates of
            the prepared networks.
        keep : bool
            Whether to return the transforms.
        brief : int, optional
            Search briefly where the metric chooses the number of starts: this many of them.
        """
        index = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        used = [prepared[k] for k in np.unique(index)]
        for network in used[1:]:
            check_same_conditions(used[0], network)
        if isinstance(self.group, Group):
            given = [None] * len(index) if starts is None else starts
            found = [
                self._search_group(self.group, prepared[i], prepared[j], one)
                for (i, j), one in zip(index.tolist(), given, strict=True)
            ]
            return _native.PairResults.of(found, keep=keep)
        M = used[0].n_conditions if used else 0
        sizes = {network.native.neurons for network in used}
        options = {size: self.search_options(M, size) for size in sizes}
        for one in options.values():
            if brief is not None:
                one.shorten(brief)
        handles = [network.native for network in prepared]
        return _native.align_pairs(handles, index, options, starts, keep=keep)
