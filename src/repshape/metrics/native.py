"""Shape metrics whose objective is compiled, and whose pairs the compiled core solves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape._arrays import condition_weights
from repshape.coordinates.factors import Factors, coordinates_for
from repshape.groups import Group, Transform
from repshape.metrics.alternating import GroupSearch, Objective, Statistics, check_sizes
from repshape.metrics.base import ShapeMetric, signed_root
from repshape.metrics.parameters import SearchParameters
from repshape.metrics.prepared import OrderedPair, Prepared
from repshape.metrics.soft import distance_at, match, refuse_padding
from repshape.moments import estimate_moments, estimate_without_warning
from repshape.responses import Gaussians, Trials
from repshape.solvers.soft import SoftProblem
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

    def precedes(self, other: Any) -> bool:
        """Return whether the network comes first in its pairs."""
        return bool(self.native < other.native)


@dataclass(frozen=True)
class PreparedSoft(PreparedNative):
    """A network for soft matching: a handle for the case of equal sizes, and its responses.

    Attributes
    ----------
    responses : Factors, or list of arrays of shape (L_m, n)
    """

    responses: Any

    def precedes(self, other: Any) -> bool:
        """Return whether the network comes first in its pairs, which differ in size."""
        return bool(self.n_neurons > other.n_neurons)


def spans_part(basis: FloatArray | None, padded: bool) -> bool:
    """Return whether coordinates span fewer dimensions than the space in which a group acts."""
    return padded or (basis is not None and len(basis) != basis.shape[1])


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


@dataclass(eq=False, repr=False)
class NativeShapeMetric(SearchParameters, ShapeMetric[PreparedNative]):
    """A shape metric whose pairs are solved by the compiled core, without the interpreter lock.

    A group that is given as an object is searched in Python.
    """

    takes_starts = True
    takes_a_start = True
    pad_to: int | None = field(default=None, kw_only=True)

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

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        refuse_padding(self)

    def _solve_pair(
        self,
        x: PreparedNative,
        y: PreparedNative,
        starts: FloatArray | None = None,
        brief: int | None = None,
    ) -> _native.Solution:
        """Solve one pair, from its own starts or from given ones (S, s_y, s_x)."""
        if self.group == "soft":
            return self._match_softly(x, y, starts)
        if isinstance(self.group, Group):
            return self._search_group(self.group, x, y, starts)
        size = max(x.native.neurons, y.native.neurons)
        options = self.search_options(x.n_conditions, size)
        if brief is not None:
            options.shorten(brief)
        return _native.align(x.native, y.native, options, starts)

    def _in_bulk(self, prepared: Sequence[PreparedNative], index: _native.IndexArray) -> bool:
        """Return whether the core can solve all pairs at once."""
        return self.group != "soft" and not isinstance(self.group, Group)

    def _soft_problem(self, x: Any, y: Any) -> SoftProblem:
        """Return the problem of soft matching for two prepared networks."""
        raise NotImplementedError(f"{type(self).__name__} has no soft matching")

    def _permutation_scale(self, n: int) -> float:
        """Return the factor that converts a permutation distance into a soft-matching distance."""
        raise NotImplementedError(f"{type(self).__name__} has no soft matching")

    def _match_softly(
        self, x: PreparedNative, y: PreparedNative, starts: FloatArray | None
    ) -> _native.Solution:
        """Solve a pair by transport between neurons; transforms are plans times n_x, transposed."""
        if x.n_neurons == y.n_neurons:  # a best plan is a permutation divided by n
            permuted = self.with_parameters(group="permutation")
            found = permuted._solve_pair(x, y, starts)
            return rescaled(found, self._permutation_scale(x.n_neurons))
        pair = OrderedPair(x, y)
        problem = self._soft_problem(pair.first, pair.second)
        plans = None if starts is None else [pair.inward(one / x.n_neurons) for one in starts]
        found = match(
            problem,
            plans,
            self.n_starts,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self.random_state,
        )
        return replace(found, transform=x.n_neurons * pair.outward(found.transform))

    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        if self.group != "soft":
            return super()._evaluate(x, y, fixed)
        problem = self._soft_problem(self._prepare(x, None), self._prepare(y, None))
        return distance_at(problem, fixed.core.T / fixed.core.shape[1])

    def _rate_plans(
        self, prepared: Sequence[PreparedNative], pairs: npt.ArrayLike, starts: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return what the search maximises at each start of each pair."""
        rated = []
        for (i, j), transforms in zip(np.asarray(pairs).reshape(-1, 2), starts, strict=True):
            problem, n_x = self._soft_problem(prepared[i], prepared[j]), prepared[i].n_neurons
            rated.append(np.array([problem.at(one.T / n_x)[0] for one in transforms]))
        return rated

    def _search_group(
        self,
        group: Group,
        x: PreparedNative,
        y: PreparedNative,
        starts: FloatArray | None = None,
    ) -> _native.Solution:
        """Solve a pair under a group that is an object, from its own starts or (S, n_y, n_x)."""
        check_sizes(group, x.n_neurons, y.n_neurons)
        pair = OrderedPair(x, y)
        first, second = pair.first, pair.second
        if first.statistics is None or second.statistics is None:
            raise AssertionError("networks for such a group are prepared with their statistics")
        weights = self._weights(x.n_conditions)
        objective = self._objective(first, second)
        search = GroupSearch(group, objective, first.statistics, second.statistics, weights)
        limits = float(self.tol), int(self.max_iter)
        if starts is None:
            found = search.run(self.n_starts, *limits, int(self.random_state))
        else:
            found = search.improve([pair.inward(one) for one in starts], *limits)
        # All isometries are orthogonal, and so is their lower bound. What an unbiased estimate
        # subtracts from the squared distance is part of it.
        loose = self.with_parameters(n_starts=1)
        options = loose.search_options(len(weights), first.native.neurons)
        bound = _native.align(first.native, second.native, options).lower_bound
        T = found.best.transform
        distance = signed_root(found.best.cost + min(bound, 0.0) * abs(bound))
        steps, parts, composed = len(found.best.values), objective.parts(T), starts is not None
        return found.solution(distance, bound, pair.outward(T), steps, parts, composed=composed)

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
            Search briefly where the metric chooses the number of starts: this many of them. Groups
            that are searched in Python ("soft", and objects) have no brief search.
        """
        index = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        used = [prepared[k] for k in np.unique(index)]
        for network in used[1:]:
            self._check_comparable(used[0], network)
        if not self._in_bulk(prepared, index):
            given = [None] * len(index) if starts is None else starts
            found = [
                self._solve_pair(prepared[i], prepared[j], one, brief)
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


def rescaled(found: _native.Solution, gain: float) -> _native.Solution:
    """Return a solution with all distances multiplied by a factor."""
    return replace(
        found,
        distance=gain * found.distance,
        lower_bound=gain * found.lower_bound,
        mean_distance=gain * found.mean_distance,
        covariance_distance=gain * found.covariance_distance,
    )
