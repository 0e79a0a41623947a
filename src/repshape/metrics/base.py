"""What all shape metrics share: preparation, alignment, distances and held-out scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone

from repshape import _native
from repshape._arrays import condition_weights
from repshape._compact import compact_repr
from repshape._labels import find_difference
from repshape.errors import (
    InputError,
    Rule,
    check_choice,
    check_integer,
    check_integer_or_auto,
    check_optional,
    check_parameters,
    check_real,
)
from repshape.groups import FREE_COORDINATES, GROUPS, Transform, nearest_orthogonal
from repshape.metrics.registry import describe
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.responses import Gaussians, NetworkLike, Trials, as_network
from repshape.solvers.starts import count_starts, make_starts

FloatArray = npt.NDArray[np.float64]
P = TypeVar("P", bound="Prepared")


@compact_repr
@dataclass(frozen=True)
class Alignment:
    """The best transform of one pair of networks, with its distance and its certificate.

    Attributes
    ----------
    distance : float
        The distance at this transform; an upper bound of the true minimum.
    lower_bound : float
        Proven lower bound of the minimum: no transform of the group brings the two networks
        closer than this.
    mean_distance, covariance_distance : float
        Root of the weighted mean over conditions of the squared distance between means and
        between covariances, both at this transform. NaN for metrics without such parts.
    converged : bool
        True only if the gradient on the group fell below the tolerance.
    n_iterations : int
        Number of gradient evaluations, over all conditions, of the best start.
    n_starts : int
        Number of starting points that were tried.
    """

    distance: float
    lower_bound: float
    mean_distance: float
    covariance_distance: float
    converged: bool
    n_iterations: int
    n_starts: int
    _map: Transform
    _phi: tuple[FittedPreprocess | None, FittedPreprocess | None] = (None, None)

    @property
    def transform(self) -> FloatArray:
        """Matrix of shape (n_y, n_x): ``y @ transform`` is aligned to x (rows are responses)."""
        return self._map.matrix

    def apply(self, responses: npt.ArrayLike) -> FloatArray:
        """Return ``responses @ transform`` without forming the matrix if it is huge."""
        return self._map.apply(np.asarray(responses, dtype=np.float64))


@dataclass(frozen=True)
class Prepared:
    """A network prepared for one metric: everything that does not depend on its partner.

    Attributes
    ----------
    phi : FittedPreprocess or None
        The preprocessing, as fitted to this network.
    n_conditions, n_neurons : int
        Numbers of conditions, and of neurons after preprocessing.
    conditions : tuple of str or None
        Names of the conditions.
    basis : array of shape (n, s) or None
        Orthonormal columns: neurons = basis @ coordinates, with the s coordinates in which pairs
        are solved. None if the coordinates are the neurons.
    """

    phi: FittedPreprocess | None
    n_conditions: int
    n_neurons: int
    conditions: tuple[str, ...] | None
    basis: FloatArray | None = field(default=None, kw_only=True)


class ShapeMetric(BaseEstimator, ABC, Generic[P]):  # type: ignore[misc]
    """Base class of the metrics: a ground metric, minimised over a group of transforms.

    Attributes
    ----------
    title, full_title : str
        A short name of the metric for tables, and a long one for captions.
    key_parameter : tuple of two str
        The most important parameter, and its symbol.
    """

    title: ClassVar[str]
    full_title: ClassVar[str]
    key_parameter: ClassVar[tuple[str, str]]
    _rules: ClassVar[Mapping[str, Rule]] = {}
    preprocess: Preprocess | None
    weights: npt.ArrayLike | None

    @property
    def is_metric(self) -> bool:
        """Whether the exact distance satisfies the triangle inequality; False unless known."""
        return False

    def describe(self) -> dict[str, Any]:
        """Return what identifies the metric, ready for JSON: name, parameters and version."""
        return describe(self)

    def with_parameters(self, **values: Any) -> Self:
        """Return a copy of the metric with some parameters changed."""
        changed: Self = clone(self).set_params(**values)
        return changed

    def _sentence(self) -> str:
        """Describe in one sentence what the distance measures, for the reader of a report."""
        return f"Distances by {type(self).__name__}."

    def _validate_parameters(self) -> None:
        """Raise if a parameter is outside its range."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._rules)

    @abstractmethod
    def _prepare(self, network: Trials | Gaussians, phi: FittedPreprocess | None) -> P:
        """Do all work on one preprocessed network that its pairs share."""

    @abstractmethod
    def _align_prepared(self, x: P, y: P) -> Alignment:
        """Solve one pair."""

    @abstractmethod
    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        """Return the distance of two preprocessed networks under a fixed transform."""

    def _read(self, network: Any, name: str = "network") -> Any:
        """Return any description of a network as what the metric compares."""
        return as_network(network, name)

    def _positions_together(self, network: Any) -> int:
        """Return over how many positions the metric estimates one covariance."""
        return 1

    def prepare(self, network: NetworkLike) -> P:
        """Validate and prepare one network, once for all of its pairs."""
        self._validate_parameters()
        return self._prepare_checked(self._read(network))

    def _prepare_checked(self, network: Trials | Gaussians) -> P:
        """Preprocess and prepare a network, with parameters that are known to be valid."""
        if self.preprocess is None:
            return self._prepare(network, None)
        phi = self.preprocess.fit(network, self.weights)
        return self._prepare(phi.apply(network), phi)

    def align_prepared(self, x: P, y: P) -> Alignment:
        """Return the alignment of two prepared networks."""
        check_same_conditions(x, y)
        return self._align_prepared(x, y)

    def align(self, x: NetworkLike, y: NetworkLike) -> Alignment:
        """Return the best alignment of ``y`` to ``x``."""
        self._validate_parameters()
        networks = self._read(x, "x"), self._read(y, "y")  # check both before any work
        check_same_conditions(*networks)
        first, second = (self._prepare_checked(network) for network in networks)
        return self._align_prepared(first, second)

    def distance(self, x: NetworkLike, y: NetworkLike) -> float:
        """Return the distance between two networks."""
        return self.align(x, y).distance

    def solve_pairs(self, prepared: Sequence[P], pairs: npt.ArrayLike) -> _native.PairResults:
        """Solve many pairs of prepared networks, given as rows of two indices."""
        index = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        found = [self.align_prepared(prepared[i], prepared[j]) for i, j in index]
        return _native.PairResults(
            distance=np.array([a.distance for a in found]),
            lower_bound=np.array([a.lower_bound for a in found]),
            converged=np.array([a.converged for a in found], dtype=bool),
        )

    def score(self, alignment: Alignment, x: NetworkLike, y: NetworkLike) -> float:
        """Return the distance of held-out responses under an alignment found on other responses.

        The preprocessing of the alignment is applied as it was fitted; nothing is fitted again.
        """
        self._validate_parameters()
        networks = [self._read(x, "x"), self._read(y, "y")]
        check_same_conditions(*networks)
        for k, phi in enumerate(alignment._phi):
            if phi is not None:
                networks[k] = phi.apply(networks[k])
        sizes = (networks[1].n_neurons, networks[0].n_neurons)
        if sizes != alignment._map.shape:
            raise InputError(
                f"The alignment maps {alignment._map.shape[0]} neurons onto "
                f"{alignment._map.shape[1]}, but y has {sizes[0]} and x has {sizes[1]}."
            )
        return self._evaluate(networks[0], networks[1], alignment._map)

    def __call__(self, x: Any, y: Any) -> float:
        """Return ``distance(x, y)``, so that a metric is a callable like any other."""
        return self.distance(x, y)


@dataclass(frozen=True)
class PreparedNative(Prepared):
    """A network as a handle of the compiled core, with the number of coordinates as ``neurons``."""

    native: Any


class NativeShapeMetric(ShapeMetric[PreparedNative]):
    """A shape metric whose pairs are solved by the compiled core, without the interpreter lock."""

    group: str
    n_starts: int | str
    tol: float
    max_iter: int
    random_state: int

    @abstractmethod
    def _options(self, search: _native.Search) -> _native.SearchOptions:
        """Return the options of the core for a search."""

    def _weights(self, n_conditions: int) -> FloatArray:
        return condition_weights(self.weights, n_conditions)

    def search_options(self, n_conditions: int, size: int) -> _native.SearchOptions:
        """Return the options for pairs whose larger network has ``size`` coordinates."""
        count = count_starts(self.n_starts, size, self.group)
        return self._options(
            _native.Search(
                group=self.group,
                weights=self._weights(n_conditions),
                tol=self.tol,
                max_iter=self.max_iter,
                starts=make_starts(size, count, int(self.random_state)),
                screen=self.n_starts == "auto",
            )
        )

    def _align_prepared(self, x: PreparedNative, y: PreparedNative) -> Alignment:
        size = max(x.native.neurons, y.native.neurons)
        options = self.search_options(x.n_conditions, size)
        found = _native.align(x.native, y.native, options)
        return Alignment(
            distance=found.distance,
            lower_bound=found.lower_bound,
            mean_distance=found.mean_distance,
            covariance_distance=found.covariance_distance,
            converged=found.converged,
            n_iterations=found.n_iterations,
            n_starts=found.n_starts,
            _map=prepared_transform(found.transform, x, y, self.group),
            _phi=(x.phi, y.phi),
        )

    def solve_pairs(
        self,
        prepared: Sequence[PreparedNative],
        pairs: npt.ArrayLike,
        *,
        starts: Sequence[FloatArray] | None = None,
        keep: bool = False,
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
        """
        index = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        used = [prepared[k] for k in np.unique(index)]
        for network in used[1:]:
            check_same_conditions(used[0], network)
        M = used[0].n_conditions if used else 0
        sizes = {network.native.neurons for network in used}
        options = {size: self.search_options(M, size) for size in sizes}
        handles = [network.native for network in prepared]
        return _native.align_pairs(handles, index, options, starts, keep=keep)


def prepared_transform(core: FloatArray, x: Prepared, y: Prepared, group: str) -> Transform:
    """Return the transform that is ``core`` (s_y, s_x) in the coordinates of two networks."""
    rotation = group == "rotation" and x.n_neurons == y.n_neurons
    return Transform(core, y.basis, x.basis, rotation)


def warm_start(known: Transform, x: Prepared, y: Prepared, group: str) -> FloatArray:
    """Return a known transform in the coordinates of two networks, (s_y, s_x).

    The networks have as many neurons as those of the transform, but may span other directions:
    the result is the transform of the group that is closest to the known one.
    """
    core = known.between(y.basis, x.basis)
    if group == "soft":  # the transform of a plan, which any plan may start from
        return core
    return nearest_orthogonal(core) if group in FREE_COORDINATES else GROUPS[group](core)


def check_same_conditions(
    x: Prepared | Trials | Gaussians, y: Prepared | Trials | Gaussians
) -> None:
    """Raise unless two networks have the same conditions: as many, with the same names if any."""
    difference = find_difference(x, y)
    if difference is not None:
        raise InputError(
            f"Both networks must have the same conditions in the same order. {difference}"
        )


def signed_root(squared: float) -> float:
    """Return sqrt(squared), or -sqrt(-squared) if an unbiased estimate is negative.

    >>> signed_root(4.0), signed_root(-4.0)
    (2.0, -2.0)
    """
    return float(np.copysign(np.sqrt(abs(squared)), squared))


PREPROCESS_RULE: Rule = partial(check_optional, kind=Preprocess)
# Rules of the parameters that every search has.
SEARCH_RULES: Mapping[str, Rule] = {
    "group": partial(check_choice, choices=GROUPS),
    "tol": partial(check_real, low=0, high=1, closed="neither"),
    "max_iter": partial(check_integer, low=1),
    "random_state": partial(check_integer, low=0),
    "n_starts": partial(check_integer_or_auto, low=1),
    "preprocess": PREPROCESS_RULE,
}
