"""The Gaussian Wasserstein shape metric, interpolated between means and covariances (eq. 5-7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from repshape import _core
from repshape._arrays import condition_weights
from repshape.coordinates.factors import Factors, factorise, in_free_coordinates
from repshape.errors import InputTypeError, check_real
from repshape.groups import GROUPS, Transform
from repshape.metrics.base import Alignment, PairResults, check_search
from repshape.metrics.native import NativeShapeMetric, PreparedNative
from repshape.moments import CovarianceEstimator, check_estimator, estimate_moments
from repshape.preprocess import FittedPreprocess, Preprocess
from repshape.reference import gaussian as reference
from repshape.responses import Gaussians, Trials
from repshape.solvers.starts import count_starts, make_starts

FloatArray = npt.NDArray[np.float64]

GROUP_CODES = {name: code for code, name in enumerate(GROUPS)}
# Groups for which an orthogonal change of each network's coordinates changes nothing.
FREE_COORDINATES = ("orthogonal", "rotation")


class GaussianShapeMetric(NativeShapeMetric[PreparedNative]):
    r"""Distance between networks with Gaussian responses, minimised over a group.

    .. math:: d_a(x, y)^2 = \min_T \sum_m w_m \left[ a |\mu^x_m - T \mu^y_m|^2
              + (2-a) B(S^x_m, T S^y_m T')^2 \right]

    with B the Bures distance between covariances. At ``alpha=1`` the ground metric is the
    2-Wasserstein distance; ``alpha=2`` sees means only, ``alpha=0`` covariances only. It is a
    metric between networks up to transforms of the group.

    Parameters
    ----------
    alpha : float in [0, 2]
        Weight of the means; the covariances weigh ``2 - alpha``.
    group : {"orthogonal", "rotation", "permutation", "identity"}
        Transforms that do not count. Where numbers of neurons differ, the smaller network is
        matched with a part of the larger, and what is left over counts.
    covariance : str or CovarianceEstimator
        How covariances are estimated from trials; see `repshape.estimate_moments`.
    preprocess : Preprocess or None
        Applied to each network first.
    weights : array of shape (M,) or None
        Weights of the conditions; they are normalised to sum to one. Default: equal.
    n_starts : "auto" or int
        Starting points of the search. 1 is the start from the means alone; "auto" screens up
        to 128 and finishes the best; with two neurons it searches the whole circle of angles.
    tol : float
        The search stops when the gradient on the group falls below ``tol`` of its scale.
    max_iter : int
        Most gradients, over all conditions, of one start.
    random_state : int
        Seed of the random starts. The same seed gives the same bits.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(6, 50, 3))  # conditions, trials, neurons
    >>> Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    >>> metric = GaussianShapeMetric(alpha=1.0)
    >>> metric.distance(x, x @ Q) < 1e-7
    True
    >>> round(metric.distance(x, 2 * x), 3) == round(metric.distance(2 * x, x), 3)
    True
    """

    title = "Gaussian"
    full_title = "Gaussian Wasserstein shape distance"
    key_parameter = ("alpha", "α")

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        group: str = "orthogonal",
        covariance: str | CovarianceEstimator = "mle",
        preprocess: Preprocess | None = None,
        weights: npt.ArrayLike | None = None,
        n_starts: int | str = "auto",
        tol: float = 1e-9,
        max_iter: int = 500,
        random_state: int = 0,
    ) -> None:
        self.alpha = alpha
        self.group = group
        self.covariance = covariance
        self.preprocess = preprocess
        self.weights = weights
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def is_metric(self) -> bool:
        """True: between networks up to transforms of the group (Prop. 1)."""
        return True

    def _sentence(self) -> str:
        sees = {
            0.0: "it sees noise covariances only",
            1.0: "means and covariances weigh alike (2-Wasserstein distance between Gaussians)",
            2.0: "it sees mean responses only",
        }
        mixed = f"means weigh {self.alpha:g}, covariances {2 - self.alpha:g}"
        how = sees.get(float(self.alpha), mixed)
        return f"Gaussian shape distance at α = {self.alpha:g}: {how}."

    def _validate_parameters(self) -> None:
        owner = type(self).__name__
        check_real("alpha", self.alpha, 0, 2, owner=owner)
        check_estimator(self.covariance)
        check_search(self, owner)

    def _moments(self, network: Trials | Gaussians) -> Gaussians:
        if isinstance(network, Gaussians):
            return network
        return estimate_moments(network, self.covariance, random_state=self.random_state)

    def _weights(self, n_conditions: int) -> FloatArray:
        return condition_weights(self.weights, n_conditions)

    def _prepare(self, network: Trials | Gaussians, phi: FittedPreprocess | None) -> PreparedNative:
        weights = self._weights(network.n_conditions)
        moments = self._moments(network)
        if self.group in FREE_COORDINATES:
            net = in_free_coordinates(moments, weights, oriented=self.group == "rotation")
        else:
            net = factorise(moments)
        return PreparedNative(
            phi,
            network.n_conditions,
            network.n_neurons,
            network.conditions,
            _native(net),
            net.basis,
        )

    def _options(self, n_conditions: int, size: int) -> _core.Options:
        """Return settings of the native solver; ``size`` is the larger network's dimensions."""
        count = count_starts(self.n_starts, size, self.group)
        starts = make_starts(size, count, int(self.random_state))
        return _core.Options(
            group=GROUP_CODES[self.group],
            alpha=float(self.alpha),
            weights=self._weights(n_conditions),
            tolerance=float(self.tol),
            max_iterations=int(self.max_iter),
            starts=starts,
            n_starts=len(starts),
            screen=self.n_starts == "auto",
        )

    def _align_prepared(self, x: PreparedNative, y: PreparedNative) -> Alignment:
        size = max(x.native.neurons, y.native.neurons)
        options = self._options(x.n_conditions, size)
        found = _core.align(x.native, y.native, options)
        distance, lower, mean, covariance, converged, n_iterations, n_starts, _, core = found
        rotation = self.group == "rotation" and x.n_neurons == y.n_neurons
        return Alignment(
            distance=distance,
            lower_bound=lower,
            mean_distance=mean,
            covariance_distance=covariance,
            converged=converged,
            n_iterations=n_iterations,
            n_starts=n_starts,
            _map=Transform(core, y.basis, x.basis, rotation),
            _phi=(x.phi, y.phi),
        )

    def _solve_natively(
        self,
        handles: list[Any],
        index: npt.NDArray[np.int64],
        options: dict[int, Any],
        starts: list[FloatArray],
        keep: bool,
    ) -> PairResults:
        found, kept = _core.align_pairs(handles, index, options, starts, keep)
        return PairResults(found[:, 0], found[:, 1], found[:, 4] == 1.0, kept if keep else None)

    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        net_x, net_y = factorise(self._moments(x)), factorise(self._moments(y))
        if x.n_neurons < y.n_neurons:  # the residual lives in the larger space
            net_x, net_y, fixed = net_y, net_x, fixed.reversed()
        weights = self._weights(x.n_conditions)
        A, C = _dense(net_x), _dense(net_y)
        moved = np.swapaxes(fixed.apply(np.swapaxes(C, 1, 2)), 1, 2)
        gap = weights @ ((net_x.means - fixed.apply(net_y.means)) ** 2).sum(1)
        P = reference.polar(np.swapaxes(A, 1, 2) @ moved)
        wide = A.shape[2] <= C.shape[2]
        residual = A @ P - moved if wide else A - moved @ np.swapaxes(P, 1, 2)
        bures = weights @ (residual**2).sum((1, 2))
        return float(np.sqrt(self.alpha * gap + (2 - self.alpha) * bures))


def check_gaussian(metric: Any) -> GaussianShapeMetric:
    """Return the metric, or the default one for None; raise if it has no means and covariances."""
    if metric is None:
        return GaussianShapeMetric()
    if not isinstance(metric, GaussianShapeMetric):
        raise InputTypeError(
            f"The 'metric' parameter must be a GaussianShapeMetric. Got {metric!r} instead."
        )
    return metric


def _native(net: Factors) -> _core.Network:
    return _core.Network(
        np.ascontiguousarray(net.means),
        np.ascontiguousarray(net.factors),
        np.ascontiguousarray(net.spectrum),
        net.diagonal,
        reduced=net.basis is not None and net.basis.shape[0] != net.basis.shape[1],
    )


def _dense(net: Factors) -> FloatArray:
    return net.factors[:, :, None] * np.eye(net.factors.shape[1]) if net.diagonal else net.factors
