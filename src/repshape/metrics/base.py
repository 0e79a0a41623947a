"""What all shape metrics share: preparation, alignment, distances and held-out scores."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape._arrays import condition_weights, count
from repshape._compact import compact_repr
from repshape._doubt import is_doubtful, possible_excess
from repshape._labels import find_difference
from repshape._parallel import one_blas_thread
from repshape.errors import (
    InputError,
    InputTypeError,
    SearchWarning,
)
from repshape.groups import (
    FREE_COORDINATES,
    PADDED_GROUPS,
    Group,
    Transform,
    nearest_orthogonal,
    oracle,
)
from repshape.metrics.alternating import check_units
from repshape.metrics.capabilities import Capabilities
from repshape.metrics.few_trials import warn_of_few_trials
from repshape.metrics.identity import describe
from repshape.metrics.parameters import Parameters
from repshape.metrics.prepared import Prepared
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.responses import Gaussians, NetworkLike, Trials, as_network
from repshape.responses.doubts import warn_if_transposed

FloatArray = npt.NDArray[np.float64]
# From this many neurons on, BLAS would use several threads, which cost more than they gain.
WIDE = 48
P = TypeVar("P", bound=Prepared)


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
        True only if the gradient on the group fell below the tolerance or, from 48 neurons on, if
        the distance was expected to change by less than the tolerance.
    n_iterations : int
        Number of gradient evaluations, over all conditions, of the best start.
    n_starts : int
        Number of independent starting points that were tried; 1 if the optimum was computed
        exactly.
    n_agreeing : int
        How many of them ended in the best optimum. If it is 1 of many, another optimum may be
        better still; 0 if the alignment was composed from those of other pairs.
    gap : float
        By what share the second-best optimum that was found is longer than the best: 0 if no start
        ended anywhere else, NaN if not known.
    """

    distance: float
    lower_bound: float
    mean_distance: float
    covariance_distance: float
    converged: bool
    n_iterations: int
    n_starts: int
    n_agreeing: int
    _map: Transform
    _phi: tuple[FittedPreprocess | None, FittedPreprocess | None] = (None, None)
    gap: float = float("nan")

    @property
    def agreement(self) -> float:
        """Share of the independent starts that ended in the best optimum."""
        return self.n_agreeing / self.n_starts

    @property
    def doubtful(self) -> bool:
        """True if at most two of at least eight starts reached the best optimum, without proof.

        Few of fewer starts say little: the default search makes fewer if the first ones agree, and
        for the largest pairs. A best optimum less than half as long as all others is not doubtful.
        """
        found = self.distance, self.lower_bound, self.n_starts, self.n_agreeing
        return bool(is_doubtful(*found, gap=self.gap))

    @property
    def possible_excess(self) -> float:
        """By about what share the distance may be longer than necessary; 0 unless `doubtful`.

        It is five times the `gap` between the best and the second-best optimum, NaN if that is not
        known.
        """
        found = self.distance, self.lower_bound, self.n_starts, self.n_agreeing
        return float(possible_excess(*found, gap=self.gap))

    @property
    def transform(self) -> FloatArray:
        """Matrix of shape (n_y, n_x): ``y @ transform`` is aligned to x (rows are responses)."""
        return self._map.matrix

    def apply(self, responses: npt.ArrayLike) -> FloatArray:
        """Return ``responses @ transform`` without forming the matrix if it is huge."""
        return self._map.apply(np.asarray(responses, dtype=np.float64))


class ShapeMetric(Parameters, Capabilities, ABC, Generic[P]):
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
    group: str | Group = "orthogonal"
    preprocess: Preprocess | None = None
    weights: npt.ArrayLike | None = None
    pad_to: int | None = None

    @property
    def is_metric(self) -> bool:
        """Whether the exact distance satisfies the triangle inequality; False unless known."""
        return False

    @property
    def _has_one_space(self) -> bool:
        """Whether the group acts on the same space for all pairs of networks."""
        return self.pad_to is not None or self.group not in PADDED_GROUPS

    @property
    def _takes_padding(self) -> bool:
        """Whether the metric has the parameter ``pad_to``."""
        return "pad_to" in self._rules

    def for_sizes(self, sizes: Iterable[int]) -> Self:
        """Return the metric for networks of these numbers of neurons, which share one space.

        Under the groups "permutation" and "rotation", distances depend on the number of neurons of
        the space in which the group acts. If ``pad_to`` is None, it becomes the largest number of
        neurons; else the metric is returned as it is.

        Examples
        --------
        >>> from repshape import GaussianShapeMetric
        >>> GaussianShapeMetric(group="permutation").for_sizes([3, 5, 4])
        GaussianShapeMetric(group='permutation', pad_to=5)
        """
        if self._has_one_space or not self._takes_padding:
            return self
        kept = None if self.preprocess is None else self.preprocess.n_components
        return self.with_parameters(pad_to=max(sizes) if kept is None else kept)

    def _is_padded(self, n_neurons: int) -> bool:
        """Return whether the space has more neurons than a network, and raise if it has fewer."""
        if isinstance(self.group, Group):
            self.group.check_size(n_neurons)
        if self.pad_to is None:
            return False
        if n_neurons > self.pad_to:
            raise InputError(
                "The 'pad_to' parameter must be at least the number of neurons of every network. "
                f"Got {self.pad_to} for a network of {count(n_neurons, 'neuron')}."
            )
        return n_neurons < self.pad_to

    def describe(self) -> dict[str, Any]:
        """Return what identifies the metric, ready for JSON: name, parameters and version."""
        return describe(self)

    def _sentence(self) -> str:
        """Describe in one sentence what the distance measures, for the reader of a report."""
        return f"Distances by {type(self).__name__}."

    def _check_combination(self) -> None:
        if self.group == "soft" and self.pad_to is not None:
            raise InputError(
                "The 'pad_to' parameter must be None for group='soft', which matches networks of "
                f"any sizes. Got {self.pad_to}."
            )

    def _weights(self, n_conditions: int) -> FloatArray:
        """Return the weights of the conditions, which sum to 1."""
        return condition_weights(self.weights, n_conditions)

    @abstractmethod
    def _prepare(self, network: Trials | Gaussians, phi: FittedPreprocess | None) -> P:
        """Do all work on one preprocessed network that its pairs share."""

    def _solve_pair(self, x: P, y: P) -> _native.Solution:
        """Solve one pair, with the transform in the coordinates of the prepared networks."""
        raise NotImplementedError(f"{type(self).__name__} has no _solve_pair")

    def _transform(self, found: _native.Solution, x: P, y: P) -> Transform:
        """Return the transform of a solution."""
        return prepared_transform(found.transform, x, y, self.group)

    def _align_prepared(self, x: P, y: P) -> Alignment:
        """Return the alignment of two prepared networks with the same conditions."""
        return self._alignment(self._solve_pair(x, y), x, y)

    def _alignment(self, found: _native.Solution, x: P, y: P) -> Alignment:
        known = vars(found) | {"_map": self._transform(found, x, y), "_phi": (x.phi, y.phi)}
        del known["transform"]
        return Alignment(**known)

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
        phi = None
        if self.preprocess is not None:
            phi = self.preprocess.fit(network, self.weights)
            network = phi.apply(network)
        if isinstance(self.group, Group):
            check_units(network)
        return self._prepare(network, phi)

    def _check_comparable(self, x: Any, y: Any) -> None:
        """Raise unless two networks, prepared or not, have the same conditions."""
        check_same_conditions(x, y)

    def align_prepared(self, x: P, y: P) -> Alignment:
        """Return the alignment of two prepared networks."""
        self._check_comparable(x, y)
        return self._align_prepared(x, y)

    def align(self, x: NetworkLike, y: NetworkLike) -> Alignment:
        """Return the best alignment of ``y`` to ``x``.

        Warns with a `repshape.errors.SearchWarning` if at most two of eight starts or more found
        it, and it is not proven to be the best; and with a `repshape.errors.FewTrialsWarning` if
        covariances are estimated from fewer than two trials per dimension.
        """
        self._validate_parameters()
        networks = self._read(x, "x"), self._read(y, "y")  # check both before any work
        self._check_comparable(*networks)
        warn_of_few_trials([self], networks, ["x", "y"])
        wide = max(network.n_neurons for network in networks) >= WIDE
        with one_blas_thread() if wide else nullcontext():
            first, second = (self._prepare_checked(network) for network in networks)
            found = self._align_prepared(first, second)
        if found.doubtful:
            warnings.warn(
                f"The best alignment was found by {count(found.n_agreeing, 'start')} of "
                f"{found.n_starts} only, so a better one may exist: see Alignment.agreement. A "
                "larger n_starts searches longer.",
                SearchWarning,
                stacklevel=2,
            )
        return found

    def distance(self, x: NetworkLike, y: NetworkLike) -> float:
        """Return the distance between two networks."""
        return self.align(x, y).distance

    def solve_pairs(self, prepared: Sequence[P], pairs: npt.ArrayLike) -> _native.PairResults:
        """Solve many pairs of prepared networks, given as rows of two indices."""
        index = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        found = [self.align_prepared(prepared[i], prepared[j]) for i, j in index]
        return _native.PairResults.of(found)

    def score(self, alignment: Alignment, x: NetworkLike, y: NetworkLike) -> float:
        """Return the distance of held-out responses under an alignment found on other responses.

        The preprocessing of the alignment is applied as it was fitted; nothing is fitted again.
        """
        self._check_score()
        self._validate_parameters()
        networks = [self._read(x, "x"), self._read(y, "y")]
        self._check_comparable(*networks)
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


def in_one_space(metric: Any, networks: Iterable[Any]) -> Any:
    """Return the metric with the space of the largest of all networks; see `for_sizes`.

    The networks may be records of a cohort. Other callables than shape metrics are returned as
    they are. Networks that cannot be read are ignored: an error about them is for `prepare`.
    """
    if not isinstance(metric, ShapeMetric) or metric._has_one_space or not metric._takes_padding:
        return metric
    sizes = []
    for network in networks:
        with suppress(InputError, InputTypeError):
            known = getattr(network, "n_neurons", None)
            sizes.append(metric._read(network).n_neurons if known is None else int(known))
    return metric.for_sizes(sizes) if sizes else metric


def prepared_transform(core: FloatArray, x: Prepared, y: Prepared, group: str | Group) -> Transform:
    """Return the transform that is ``core`` (s_y, s_x) in the coordinates of two networks."""
    rotation = group == "rotation" and x.n_neurons == y.n_neurons and not x.padded
    return Transform(core, y.basis, x.basis, rotation)


def warm_start(known: Transform, x: Prepared, y: Prepared, group: str | Group) -> FloatArray:
    """Return a known transform in the coordinates of two networks, (s_y, s_x).

    The networks have as many neurons as those of the transform, but may span other directions:
    the result is the transform of the group that is closest to the known one.
    """
    core = known.between(y.basis, x.basis)
    if group == "soft":  # the transform of a plan, which any plan may start from
        return core
    if group in FREE_COORDINATES:
        return nearest_orthogonal(core)
    # Neurons that were matched with silent neurons remain so.
    matched = np.outer(np.any(core, axis=1), np.any(core, axis=0))
    return np.where(matched, oracle(group)(core), 0.0)


def check_same_conditions(
    x: Prepared | Trials | Gaussians, y: Prepared | Trials | Gaussians
) -> None:
    """Raise unless two networks have the same conditions: as many, with the same names if any."""
    difference = find_difference(x, y)
    if difference is not None:
        raise InputError(
            f"Both networks must have the same conditions in the same order. {difference}"
        )
    warn_if_transposed(x, y)


def signed_root(squared: float) -> float:
    """Return sqrt(squared), or -sqrt(-squared) if an unbiased estimate is negative.

    >>> signed_root(4.0), signed_root(-4.0)
    (2.0, -2.0)
    """
    return float(np.copysign(np.sqrt(abs(squared)), squared))
