"""Deterministic shape metrics on condition means (eq. 2; Williams et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from repshape._arrays import extreme_unit
from repshape._native import Solution
from repshape.errors import InputError, Rule, check_boolean, check_choice, check_real
from repshape.groups import (
    FREE_COORDINATES,
    Group,
    Transform,
    padded_permutation,
    spare_neurons,
)
from repshape.metrics.alternating import check_sizes
from repshape.metrics.base import ShapeMetric, prepared_transform
from repshape.metrics.capabilities import BoundFeatures
from repshape.metrics.parameters import PADDING_RULE, SOFT_RULE
from repshape.metrics.prepared import OrderedPair, Prepared, pair_oracle, place_of
from repshape.metrics.soft import on_pairs
from repshape.preprocess import FittedPreprocess, Preprocess, check_preprocess
from repshape.responses import Gaussians, Trials
from repshape.responses.transforms import transform_responses
from repshape.solvers.plans import best_plan

FloatArray = npt.NDArray[np.float64]

DISTANCES = ("euclidean", "angular")
# Means that differ by less than this fraction of the largest are equal up to rounding.
ROUNDING = 1e-14


@dataclass(frozen=True)
class PreparedMeans(Prepared):
    """A network's preprocessed and weighted means, in as few coordinates as they span.

    Attributes
    ----------
    rows : array of shape (M, s)
        Coordinates of the means: means = rows @ basis'. Row m is multiplied by sqrt(M w_m).
    """

    rows: FloatArray


class ProcrustesShapeMetric(ShapeMetric[PreparedMeans]):
    r"""Distance between the mean responses of two networks, minimised over a group.

    .. math:: d(X, Y) = \min_T |\phi(X) - \phi(Y) T|_F

    (eq. 2), or the angle at the same best transform,

    .. math:: \theta(X, Y) = \min_T \arccos
              \frac{\langle \phi(X), \phi(Y) T \rangle}{|\phi(X)|_F |\phi(Y)|_F}.

    X and Y are the (M, n) mean responses to the conditions; trials are averaged. The map
    :math:`\phi` subtracts the grand mean c and whitens partially, with the covariance C of the
    means:

    .. math:: \phi(X) = (X - 1 c') C^{-whitening/2}.

    At ``whitening=0`` and the orthogonal group this is the Procrustes distance; at
    ``whitening=1`` it is invariant to every invertible linear map, and the angle is
    :math:`\arccos \sum_i \rho_i / \sqrt{r_x r_y}` with canonical correlations
    :math:`\rho_i` and ranks r. The solution is exact: every alignment has converged, and its lower
    bound is its distance. Both distances are metrics between networks up to transforms of the
    group; the angle also ignores scale.

    Parameters
    ----------
    group : {"orthogonal", "rotation", "permutation", "identity", "soft"} or Group
        Transforms under which networks count as equal. If the numbers of neurons differ, the
        smaller network is matched with a part of the larger, and the rest of the larger network
        adds to the distance. "soft" matches every neuron of both networks, by transport, and
        divides squared responses by the number of neurons (Khosla and Williams, 2024).
    whitening : float in [0, 1]
        How far to whiten, from 0 (not at all) to 1 (fully). A direction of variance v gets
        variance v^(1 - whitening); one without variance stays without. `Preprocess` has the same
        parameter; here the whitening is fitted to the means alone, after ``preprocess``.
    distance : {"euclidean", "angular"}
        The Frobenius norm, or the angle in radians, which is in [0, pi/2] for the orthogonal
        group and in [0, pi] for the others.
    center : bool
        Whether to subtract the grand mean. Whitening is always relative to it.
    preprocess : Preprocess or None
        Preprocessing, fitted and applied to each network first, noise included.
    weights : array of shape (M,) or None
        Weights w of the conditions, which are normalised to sum to one. Condition m counts M w_m
        times, so that equal weights give the plain Frobenius norm: a sum over conditions, not a
        mean. M is the number of conditions with positive weight.
    pad_to : int or None
        As in `GaussianShapeMetric`.

    Notes
    -----
    Without centring and weights, at ``whitening=0``, the distance is sqrt(M / 2) times that of
    ``GaussianShapeMetric(alpha=2)``.

    If all networks have at least M - 1 neurons, full whitening makes them equal, and all distances
    are zero. Reduce the number of dimensions first, or whiten less.

    References
    ----------
    Williams, Kunz, Kornblith and Linderman, "Generalized Shape Metrics on Neural Representations",
    NeurIPS 2021. Their partial whitening is a mixture of I and C^(-1/2), which depends on the units
    of the responses. The power used here does not, and agrees with theirs at 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(20, 4))  # conditions, neurons
    >>> Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    >>> metric = ProcrustesShapeMetric(distance="angular")
    >>> metric.distance(x, 3 * x @ Q + 1) < 1e-7
    True
    >>> x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> ProcrustesShapeMetric().distance(x, 2 * x)
    1.4142135623730951
    """

    title = "Procrustes"
    full_title = "Procrustes shape distance"
    key_parameter = ("whitening", "whitening")
    _attributes: ClassVar[Mapping[str, str]] = {"distance": "_distance"}  # it is also a method
    _rules: ClassVar[Mapping[str, Rule]] = {
        "group": SOFT_RULE,
        "whitening": partial(check_real, low=0, high=1),
        "distance": partial(check_choice, choices=DISTANCES),
        "center": check_boolean,
        "preprocess": check_preprocess,
        "pad_to": PADDING_RULE,
    }

    def __init__(
        self,
        *,
        group: str | Group = "orthogonal",
        whitening: float = 0.0,
        distance: str = "euclidean",
        center: bool = True,
        preprocess: Preprocess | None = None,
        weights: npt.ArrayLike | None = None,
        pad_to: int | None = None,
    ) -> None:
        self.group = group
        self.whitening = whitening
        self._distance = distance
        self.center = center
        self.preprocess = preprocess
        self.weights = weights
        self.pad_to = pad_to

    @property
    def is_metric(self) -> bool:
        """Whether the distance is a metric (Williams et al. 2021); so is the angle.

        The group must act on one space; see `GaussianShapeMetric.is_metric`.
        """
        return self._has_one_space

    def _sentence(self) -> str:
        centred = "centred" if self.center else "not centred"
        return (
            "Procrustes shape distance: it sees mean responses only "
            f"({self._distance}, {centred}, whitening {self.whitening:g})."
        )

    def _fewest_trials(self) -> int:
        return 1

    def _bound_features(self, network: Trials | Gaussians) -> BoundFeatures | None:
        rows = self.prepare(network).rows
        return rows, rows[:, :0]

    @property
    def _is_angular(self) -> bool:
        return bool(self._parameter("distance") == "angular")

    def _prepare_checked(self, network: Trials | Gaussians) -> PreparedMeans:
        transform = None if self.preprocess is None else self.preprocess.transform
        network = transform_responses(network, transform)
        self._check_varies(network.means)
        phi = self._fit_phi(network)
        points = Gaussians.points(network.means, conditions=network.conditions)
        return self._prepare(phi.apply(points), replace(phi, transform=transform))

    def _fit_phi(self, network: Trials | Gaussians) -> FittedPreprocess:
        """Fit the user's preprocessing, then centring and whitening, as one affine map.

        The network is transformed already.

        The grand mean of g (X - 1 o') L is the image of the grand mean c of X. So centring after
        the first map is the same as subtracting c before it.
        """
        weights = self._weights(network.n_conditions)
        own = Preprocess(center=self.center, whitening=self.whitening)
        if self.preprocess is None:
            return own.fit(Gaussians.points(network.means), weights)
        first = replace(self.preprocess, transform=None).fit(network, self.weights)
        second = own.fit(Gaussians.points(first.apply(network).means), weights)
        return FittedPreprocess(
            offset=weights @ network.means if self.center else first.offset,
            linear=_product(first.linear, second.linear),
            gain=first.gain * second.gain,
            explained_variance=first.explained_variance,
        )

    def _check_varies(self, means: FloatArray) -> None:
        """Raise if the metric would divide by the size of means that are zero up to rounding."""
        w = self._weights(len(means))
        used = means[w > 0]
        constant = np.ptp(used, axis=0).max() <= ROUNDING * np.abs(used).max()
        if constant and (self.whitening > 0 or (self._distance == "angular" and self.center)):
            raise InputError(
                "Whitening and the angular distance need mean responses that differ between "
                "conditions. Got a network with the same mean response to every condition."
            )

    def _weighted(self, means: FloatArray) -> FloatArray:
        """Multiply row m by sqrt(M w_m), which is 1 for equal weights.

        M counts only conditions of positive weight: a weight of zero drops the condition.
        """
        if self.weights is None:
            return means
        w = self._weights(len(means))
        return np.asarray(np.sqrt(np.count_nonzero(w) * w)[:, None] * means)

    def _prepare(self, network: Trials | Gaussians, phi: FittedPreprocess | None) -> PreparedMeans:
        rows, basis = self._weighted(network.means), None
        place = place_of(rows)
        if self._distance == "angular":
            _check_angle(rows)
        if self.group in FREE_COORDINATES:
            rows, basis = _few_coordinates(rows)
        padded = self._is_padded(network.n_neurons)
        whose = phi, network.n_conditions, network.n_neurons, network.conditions
        return PreparedMeans(*whose, rows, place=place, basis=basis, padded=padded)

    def _solve_pair(self, x: PreparedMeans, y: PreparedMeans) -> Solution:
        pair = OrderedPair(x, y)  # the residual is in the space of the larger network
        gap, distance, T = self._solve(pair.first, pair.second)
        used = np.count_nonzero(self._weights(x.n_conditions))
        return Solution(
            distance=distance,
            lower_bound=distance,
            mean_distance=gap / float(np.sqrt(used)),
            covariance_distance=float("nan"),
            converged=True,
            n_iterations=1,
            n_starts=1,
            n_agreeing=1,
            transform=pair.outward(x.n_neurons * T if self.group == "soft" else T),
            gap=0.0,
        )

    def _transform(self, found: Solution, x: PreparedMeans, y: PreparedMeans) -> Transform:
        """Return the transform, completed in the same way for both orders of the pair."""
        pair = OrderedPair(x, y)
        if not pair.swapped or self.group == "soft":
            return super()._transform(found, x, y)
        core = np.ascontiguousarray(found.transform.T)
        return prepared_transform(core, pair.first, pair.second, self.group).reversed()

    def _solve(self, x: PreparedMeans, y: PreparedMeans) -> tuple[float, float, FloatArray]:
        """Return |X - YT|, the distance, and T or the plan, for an x of no fewer neurons than y.

        Any transform that maximises <X, YT> minimises both distances.
        """
        G = _near_one(x.rows).T @ _near_one(y.rows)
        if self.group == "soft":
            P = best_plan(G)
            return *self._measure(*on_pairs(x.rows, y.rows, P)), P
        T, n_x = self._best_transform(x, y, G), x.rows.shape[1]
        rows = np.pad(x.rows, ((0, 0), (0, len(T) - n_x)))
        return *self._measure(rows, y.rows @ T.T, y.rows), T[:n_x]

    def _best_transform(self, x: PreparedMeans, y: PreparedMeans, G: FloatArray) -> FloatArray:
        """Return the T that maximises <T, G>, with rows for silent neurons of x if necessary."""
        if isinstance(self.group, Group):
            check_sizes(self.group, x.n_neurons, y.n_neurons)
        spare = spare_neurons(self.pad_to, x.n_neurons, y.n_neurons)
        if self.group == "permutation" and spare:
            return padded_permutation(G, spare)
        return pair_oracle(self.group, x, y, G.shape)(G)

    def _measure(self, x: FloatArray, moved: FloatArray, y: FloatArray) -> tuple[float, float]:
        """Return |X - YT| and the distance, given X, YT and Y."""
        gap = _norm(x - moved)
        if self._distance == "euclidean":
            return gap, gap
        unit_x, unit_y = extreme_unit(x), extreme_unit(y)
        u, v = x / unit_x / _norm(x / unit_x), moved / unit_y / _norm(y / unit_y)
        # Precise near 0 and pi, where the arccos of a cosine loses half of the digits.
        return gap, float(2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v)))

    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        if self.group != "soft":
            return super()._evaluate(x, y, fixed)
        X, Y = self._weighted(x.means), self._weighted(y.means)
        return self._measure(*on_pairs(X, Y, fixed.core.T / X.shape[1]))[1]

    def _compare(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        X, Y = self._weighted(x.means), self._weighted(y.means)
        if self._distance == "angular":
            _check_angle(X)
            _check_angle(Y)
        return self._measure(X, fixed.apply(Y), Y)[1]


def _few_coordinates(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rows R (M, s) and an orthonormal basis Q (n, s), X = R Q', with s = min(M, n).

    A square basis is the identity: another one could be a reflection, and hide one.
    """
    M, n = rows.shape
    if n <= M:
        return rows, np.eye(n)
    basis, triangle = np.linalg.qr(rows.T)
    return np.ascontiguousarray(triangle.T), basis


def _near_one(rows: FloatArray) -> FloatArray:
    """Return rows in a unit of their own, which changes no best transform."""
    return rows / extreme_unit(rows)


def _norm(rows: FloatArray) -> float:
    """Return the Frobenius norm without overflow or underflow."""
    unit = extreme_unit(rows)
    return unit * float(np.linalg.norm(rows / unit))


def _product(first: FloatArray | None, second: FloatArray | None) -> FloatArray | None:
    """Return the product of two matrices, where None is the identity."""
    if first is None or second is None:
        return second if first is None else first
    return first @ second


def _check_angle(rows: FloatArray) -> None:
    if not rows.any():
        raise InputError(
            "The angular distance needs mean responses that are not all zero after preprocessing."
        )
