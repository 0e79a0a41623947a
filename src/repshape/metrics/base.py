"""What every shape metric shares: preparation, alignment, distance and held-out scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from repshape.errors import InputError, InputTypeError, check_choice, check_integer, check_real
from repshape.groups import GROUPS, Transform
from repshape.metrics.registry import describe
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.responses import Gaussians, NetworkLike, Trials, as_network

FloatArray = npt.NDArray[np.float64]
P = TypeVar("P", bound="Prepared")


@dataclass(frozen=True)
class Alignment:
    """The best transform of one pair of networks, with its distance and its certificate.

    Attributes
    ----------
    distance : float
        The distance at this transform; an upper bound of the true minimum.
    lower_bound : float
        No transform of the group brings the two networks closer than this.
    mean_distance, covariance_distance : float
        Root of the weighted mean over conditions of the squared distance between means and
        between covariances, both at this transform. NaN for metrics without such parts.
    converged : bool
        True only if the gradient on the group fell below the tolerance.
    n_iterations : int
        Gradients of the best start, over all conditions.
    n_starts : int
        Starting points that were tried.
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
        """Matrix of shape (n_y, n_x): ``y @ transform`` lies on ``x`` (rows are responses)."""
        return self._map.matrix

    def apply(self, responses: npt.ArrayLike) -> FloatArray:
        """Return ``responses @ transform`` without forming the matrix where it is huge."""
        return self._map.apply(np.asarray(responses, dtype=np.float64))


@dataclass(frozen=True)
class Prepared:
    """A network ready for one metric: everything that does not depend on its partner."""

    phi: FittedPreprocess | None
    n_conditions: int
    n_neurons: int
    conditions: tuple[str, ...] | None


@dataclass(frozen=True)
class PairResults:
    """Results of many pairs, as arrays with one entry a pair.

    ``transforms`` are kept on request: one (s_y, s_x) array a pair, between the coordinates in
    which the prepared networks were solved.
    """

    distance: FloatArray
    lower_bound: FloatArray
    converged: npt.NDArray[np.bool_]
    transforms: list[FloatArray] | None = None


class ShapeMetric(BaseEstimator, ABC, Generic[P]):  # type: ignore[misc]
    """Base of the metrics: a ground metric, minimised over a group of transforms.

    Attributes
    ----------
    title, full_title : str
        The metric in a word, for tables, and in full, for captions.
    key_parameter : tuple of two str
        The parameter that matters most, and its symbol.
    """

    title: ClassVar[str]
    full_title: ClassVar[str]
    key_parameter: ClassVar[tuple[str, str]]
    preprocess: Preprocess | None
    weights: npt.ArrayLike | None

    @property
    def is_metric(self) -> bool:
        """Whether the exact distance obeys the triangle inequality; False unless a class knows."""
        return False

    def describe(self) -> dict[str, Any]:
        """Return what identifies the metric, ready for JSON: name, parameters and our version."""
        return describe(self)

    def _sentence(self) -> str:
        """Say in one sentence what the distance sees, for a reader of a report."""
        return f"Distances by {type(self).__name__}."

    @abstractmethod
    def _validate_parameters(self) -> None:
        """Raise if a parameter is out of its range."""

    @abstractmethod
    def _prepare(self, network: Trials | Gaussians, phi: FittedPreprocess | None) -> P:
        """Do all work on one network that its partners share."""

    @abstractmethod
    def _align_prepared(self, x: P, y: P) -> Alignment:
        """Solve one pair."""

    @abstractmethod
    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        """Distance of two preprocessed networks under a fixed transform."""

    def prepare(self, network: NetworkLike) -> P:
        """Validate and prepare one network, once for all of its pairs."""
        self._validate_parameters()
        checked = as_network(network)
        if self.preprocess is None:
            return self._prepare(checked, None)
        phi = self.preprocess.fit(checked, self.weights)
        return self._prepare(phi.apply(checked), phi)

    def align_prepared(self, x: P, y: P) -> Alignment:
        """Return the alignment of two prepared networks."""
        check_same_conditions(x, y)
        return self._align_prepared(x, y)

    def align(self, x: NetworkLike, y: NetworkLike) -> Alignment:
        """Return the best alignment of ``y`` to ``x``."""
        self._validate_parameters()
        networks = as_network(x, "x"), as_network(y, "y")  # both are checked before any work
        check_same_conditions(*networks)
        return self.align_prepared(self.prepare(networks[0]), self.prepare(networks[1]))

    def distance(self, x: NetworkLike, y: NetworkLike) -> float:
        """Return the distance between two networks."""
        return self.align(x, y).distance

    def solve_pairs(self, prepared: Sequence[P], pairs: npt.ArrayLike) -> PairResults:
        """Solve many pairs of prepared networks, given as rows of two indices."""
        index = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        found = [self.align_prepared(prepared[i], prepared[j]) for i, j in index]
        return PairResults(
            distance=np.array([a.distance for a in found]),
            lower_bound=np.array([a.lower_bound for a in found]),
            converged=np.array([a.converged for a in found], dtype=bool),
        )

    def score(self, alignment: Alignment, x: NetworkLike, y: NetworkLike) -> float:
        """Return the distance of held-out responses under an alignment found elsewhere.

        The preprocessing of the alignment is applied as it was fitted; nothing is fitted again.
        """
        self._validate_parameters()
        networks = [as_network(x, "x"), as_network(y, "y")]
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


def check_same_conditions(
    x: Prepared | Trials | Gaussians, y: Prepared | Trials | Gaussians
) -> None:
    """Raise unless two networks saw the same conditions, by number and, where given, by name."""
    if x.n_conditions != y.n_conditions:
        raise InputError(
            "Both networks must have the same conditions in the same order. "
            f"Got {x.n_conditions} conditions and {y.n_conditions} conditions."
        )
    if x.conditions is not None and y.conditions is not None and x.conditions != y.conditions:
        m = [a == b for a, b in zip(x.conditions, y.conditions, strict=True)].index(False)
        raise InputError(
            "Both networks must have the same conditions in the same order. "
            f"Condition {m} is {x.conditions[m]!r} in one and {y.conditions[m]!r} in the other."
        )


def check_search(metric: Any, owner: str) -> None:
    """Raise unless the parameters that every search has are in their range."""
    check_choice("group", metric.group, GROUPS, owner=owner)
    check_real("tol", metric.tol, 0, 1, closed="neither", owner=owner)
    check_integer("max_iter", metric.max_iter, 1, owner=owner)
    check_integer("random_state", metric.random_state, 0, owner=owner)
    if metric.n_starts != "auto":
        check_integer("n_starts", metric.n_starts, 1, owner=owner)
    check_preprocess(metric.preprocess, owner)


def check_preprocess(preprocess: Any, owner: str) -> None:
    """Raise unless the preprocessing is one, or None."""
    if preprocess is not None and not isinstance(preprocess, Preprocess):
        raise InputTypeError(
            f"The 'preprocess' parameter of {owner} must be a Preprocess or None. "
            f"Got {preprocess!r} instead."
        )
