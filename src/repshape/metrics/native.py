"""Shape metrics whose objective is compiled, and whose pairs the compiled core solves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape.coordinates.factors import Factors, coordinates_for
from repshape.groups import Group, Oracle, Transform
from repshape.metrics.alternating import (
    GROUP_OBJECTS,
    Objective,
    Statistics,
    check_sizes,
    group_starts,
)
from repshape.metrics.base import ShapeMetric, signed_root
from repshape.metrics.parameters import SearchParameters
from repshape.metrics.prepared import OrderedPair, Prepared
from repshape.metrics.soft import PLANS, SoftProblem
from repshape.moments import estimate_moments, estimate_without_warning
from repshape.preprocess import FittedPreprocess
from repshape.responses import Gaussians, Trials
from repshape.solvers.alternation import Problem
from repshape.solvers.correspondence import Moments, spread_conditions
from repshape.solvers.plans import best_plan
from repshape.solvers.search import Found, Policy, Search
from repshape.solvers.starts import make_starts

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
        return Prepared.precedes(self, other)


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

    @property
    def is_metric(self) -> bool:
        """Whether it is a metric between networks up to transforms of the group (Prop. 1).

        The group must act on one space: under "permutation" and "rotation", ``pad_to`` must be
        given unless all networks have the same number of neurons.
        """
        return self._has_one_space

    def _prepared(
        self,
        network: Trials | Gaussians,
        phi: FittedPreprocess | None,
        handle: Any,
        means: FloatArray,
        moments: Callable[[npt.NDArray[np.intp]], Moments],
        responses: Any,
        basis: FloatArray | None,
        padded: bool,
    ) -> PreparedNative:
        """Return a network with its handle, and with what the group needs besides.

        ``moments`` returns those of some conditions, for groups that are objects, and
        ``responses`` are those that soft matching compares.
        """
        whose = phi, network.n_conditions, network.n_neurons, network.conditions
        if self.group == "soft":
            return PreparedSoft(*whose, handle, responses)
        known = None
        if isinstance(self.group, Group):
            known = Statistics(means, moments(spread_conditions(network.n_conditions)))
        return PreparedNative(*whose, handle, basis=basis, padded=padded, statistics=known)

    def _core_options(self) -> dict[str, Any]:
        """Return the parameters of the metric that the core needs."""
        return {"alpha": self._mean_weight}

    @abstractmethod
    def _objective(self, x: PreparedNative, y: PreparedNative) -> Objective:
        """Return the objective of two networks with statistics."""

    def search_options(self, n_conditions: int, size: int) -> _native.Options:
        """Return the options for pairs whose larger network has ``size`` coordinates."""
        group = "orthogonal" if isinstance(self.group, Group) else self.group
        seed, own = int(self.random_state), self.n_starts == "auto" or group == "identity"
        return _native.make_options(
            group,
            # Starts besides the means, unless the search makes its own.
            make_starts(size, 0 if own else int(self.n_starts) - 1, seed),
            weights=self._weights(n_conditions),
            tolerance=float(self.tol),
            max_iterations=int(self.max_iter),
            screen=self.n_starts == "auto",
            seed=seed,
            pad_to=0 if self.pad_to is None else int(self.pad_to),
            **self._core_options(),
        )

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
            solved = permuted._solve_pair(x, y, starts)
            return rescaled(solved, self._permutation_scale(x.n_neurons))
        pair = OrderedPair(x, y)
        problem = self._soft_problem(pair.first, pair.second)
        given = None if starts is None else [pair.inward(one / x.n_neurons) for one in starts]
        found = self._search(problem, best_plan, PLANS, problem.starts, given)
        parts = problem.parts(found.best.transform)
        return found.solution(
            problem.distance(found.best.cost),
            problem.distance(problem.bound),
            x.n_neurons * pair.outward(found.best.transform),
            (problem.gain * float(np.sqrt(parts[0])), problem.gain * float(np.sqrt(parts[1]))),
            composed=starts is not None,
        )

    def _search(
        self,
        problem: Problem,
        nearest: Oracle,
        policy: Policy,
        starts: Callable[[np.random.Generator], Iterable[FloatArray]],
        given: Iterable[FloatArray] | None,
        *seed: int,
    ) -> Found:
        """Search in Python, from given starts if there are any."""
        search = Search(problem, nearest, float(self.tol), int(self.max_iter), policy)
        return search.solve(starts, self.n_starts, [int(self.random_state), *seed], given)

    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        if self.group != "soft":
            return super()._evaluate(x, y, fixed)
        problem = self._soft_problem(self._prepare(x, None), self._prepare(y, None))
        return problem.distance(problem.at(fixed.core.T / fixed.core.shape[1])[0])

    def _rate_plans(
        self, prepared: Sequence[PreparedNative], pairs: npt.ArrayLike, starts: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return what the search maximises at each start of each pair."""
        rated = []
        for (i, j), transforms in zip(np.asarray(pairs).reshape(-1, 2), starts, strict=True):
            problem, n_x = self._soft_problem(prepared[i], prepared[j]), prepared[i].n_neurons
            rated.append(np.array([-problem.at(one.T / n_x)[0] for one in transforms]))
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
        networks = first.statistics, second.statistics, weights
        given = None if starts is None else [group.nearest(pair.inward(one)) for one in starts]
        from_pair = partial(group_starts, group.nearest, *networks)
        size = first.n_neurons
        found = self._search(objective, group.nearest, GROUP_OBJECTS, from_pair, given, size)
        # All isometries are orthogonal, and so is their lower bound. What an unbiased estimate
        # subtracts from the squared distance is part of it.
        loose = self.with_parameters(n_starts=1)
        options = loose.search_options(len(weights), first.native.neurons)
        bound = _native.align(first.native, second.native, options).lower_bound
        T = found.best.transform
        distance = signed_root(found.best.cost + min(bound, 0.0) * abs(bound))
        parts, composed = objective.parts(T), starts is not None
        return found.solution(distance, bound, pair.outward(T), parts, composed=composed)

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
