"""The Gaussian Wasserstein shape metric, interpolated between means and covariances (eq. 5-7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape._arrays import extreme_unit
from repshape.coordinates.factors import factorise
from repshape.errors import InputTypeError, Rule
from repshape.groups import Transform
from repshape.metrics.alternating import GaussianObjective
from repshape.metrics.base import warm_start
from repshape.metrics.capabilities import BoundFeatures, response_norm, weighted_features
from repshape.metrics.native import (
    NativeShapeMetric,
    PreparedNative,
    PreparedSoft,
    gaussian_coordinates,
    gaussian_handle,
    gaussian_moments,
)
from repshape.metrics.parameters import ALPHA_RULE, SEARCH_RULES, SOFT_RULE
from repshape.metrics.registry import wrong_metric
from repshape.metrics.soft import GaussianSoftProblem
from repshape.moments import CovarianceEstimator, check_covariance
from repshape.preprocess import FittedPreprocess
from repshape.reference import gaussian as reference
from repshape.responses import Gaussians, Trials
from repshape.solvers.correspondence import Moments

FloatArray = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False)
class GaussianShapeMetric(NativeShapeMetric):
    r"""Distance between networks with Gaussian responses, minimised over a group.

    .. math:: d_a(x, y)^2 = \min_T \sum_m w_m \left[ a |\mu^x_m - T \mu^y_m|^2
              + (2-a) B(S^x_m, T S^y_m T')^2 \right]

    with B the Bures distance between covariances. At ``alpha=1`` the ground metric is the
    2-Wasserstein distance; ``alpha=2`` compares only means, and ``alpha=0`` only covariances. It is
    a metric between networks up to transforms of the group.

    Parameters
    ----------
    alpha : float in [0, 2]
        Weight of the means; the weight of the covariances is ``2 - alpha``.
    group : {"orthogonal", "rotation", "permutation", "identity", "soft"} or Group
        Transforms under which networks count as equal. If the numbers of neurons differ, the
        smaller network is matched with a part of the larger, and the rest of the larger network
        adds to the distance. "soft" matches every neuron of both networks, by transport, and
        divides squared responses by the number of neurons; see `repshape.metrics.soft`. Any other
        group of isometries is possible as an object; see `repshape.groups.Group`.
    covariance : str or CovarianceEstimator
        How to estimate covariances from trials; see `repshape.estimate_moments`.
    preprocess : Preprocess or None
        Preprocessing, fitted and applied to each network first.
    weights : array of shape (M,) or None
        Weights of the conditions, which are normalised to sum to one. Equal by default.
    pad_to : int or None
        Number of neurons of the space in which "permutation" and "rotation" act: both networks are
        padded with silent neurons to this size. None is the size of the larger network. Then the
        triangle inequality may fail between networks of different sizes. `repshape.pairwise` and
        other functions of many networks replace None by the size of the largest. It makes no
        difference to "orthogonal" and "identity", and does not apply to "soft".
    n_starts : "auto" or int
        Number of starting points of the search; 1 starts only from the alignment of the means.
        "auto" adds starts until enough of them agree on the best optimum, and is exact for two
        neurons and for permutations of up to eight. `Alignment.agreement` says how many agreed.
    tol : float
        The search stops when the gradient on the group falls below ``tol`` times its scale. From 48
        neurons on, it also stops when further steps promise to shorten the distance by less than
        this share. The error of the distance is of second order in ``tol`` at an optimum.
    max_iter : int
        Maximum number of gradient evaluations, over all conditions, per start.
    random_state : int
        Seed of the random starts. The same seed gives exactly the same result.

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
    _rules: ClassVar[Mapping[str, Rule]] = {
        "alpha": ALPHA_RULE,
        "covariance": check_covariance,
        **SEARCH_RULES,
        "group": SOFT_RULE,
    }

    alpha: float = 1.0
    _: KW_ONLY
    covariance: str | CovarianceEstimator = "mle"

    def _sentence(self) -> str:
        sees = {
            0.0: "it sees noise covariances only",
            1.0: "means and covariances have equal weight (2-Wasserstein distance of Gaussians)",
            2.0: "it sees mean responses only",
        }
        mixed = f"means have weight {self.alpha:g}, and covariances {2 - self.alpha:g}"
        how = sees.get(float(self.alpha), mixed)
        return f"Gaussian shape distance at α = {self.alpha:g}: {how}."

    def _moments(self, network: Trials | Gaussians) -> Gaussians:
        return gaussian_moments(self, network)

    def _unbiased(self) -> Self:
        plug_in = self.covariance == "mle"
        return self.with_parameters(covariance="unbiased") if plug_in else self

    def _realign(self, x: Any, y: Any, known: Callable[[], Transform], n_starts: int) -> float:
        if self.group == "identity":
            return self.align_prepared(x, y).distance
        own = n_starts if self.n_starts == "auto" else int(self.n_starts)
        quick = self.with_parameters(n_starts=min(own, n_starts))
        fresh = quick.align_prepared(x, y).distance
        start = warm_start(known(), x, y, self.group)
        warm = self.solve_pairs([x, y], [[0, 1]], starts=[start[None]])
        return min(fresh, float(warm.distance[0]))

    def _distance_parts(
        self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform
    ) -> tuple[float, float]:
        # d_2^2 is twice the squared mean part, and d_0^2 twice the squared covariance part.
        plain = self.with_parameters(group="orthogonal", preprocess=None, pad_to=None)
        two, zero = (plain.with_parameters(alpha=alpha) for alpha in (2.0, 0.0))
        root = np.sqrt(2.0)
        return two._evaluate(x, y, fixed) / root, zero._evaluate(x, y, fixed) / root

    @property
    def _splits_gain(self) -> bool:
        return str(self.group) != "soft"

    def _norm(self, network: Trials | Gaussians) -> float:
        return response_norm(self, network, float(self.alpha))

    def _bound_features(self, network: Trials | Gaussians) -> BoundFeatures | None:
        if self.group == "soft":
            return None
        if self.preprocess is not None:
            network = self.preprocess.fit(network, self.weights).apply(network)
        weights = self._weights(network.n_conditions)
        net = gaussian_coordinates(self, network)
        return weighted_features(net.means, net.spectrum, float(self.alpha), weights)

    def _prepare(self, network: Trials | Gaussians, phi: FittedPreprocess | None) -> PreparedNative:
        net = gaussian_coordinates(self, network)
        padded = self._is_padded(network.n_neurons)
        handle = gaussian_handle(net, padded)

        def moments(kept: npt.NDArray[np.intp]) -> Moments:
            A = net.dense[kept]
            return Moments.of(net.means[kept], A @ np.swapaxes(A, 1, 2))

        return self._prepared(network, phi, handle, net.means, moments, net, net.basis, padded)

    def _soft_problem(self, x: PreparedSoft, y: PreparedSoft) -> GaussianSoftProblem:
        weights = self._weights(x.n_conditions)
        return GaussianSoftProblem(x.responses, y.responses, self.alpha, weights)

    def _permutation_scale(self, n: int) -> float:
        return float(n**-0.5)

    def rate_starts(
        self, prepared: Sequence[PreparedNative], pairs: npt.ArrayLike, starts: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return what the search maximises at each start of each pair, as `solve_pairs` takes them.

        Values are comparable within a pair only.
        """
        if self.group == "soft":
            return self._rate_plans(prepared, pairs, starts)
        handles, weights = [x.native for x in prepared], self._weights(prepared[0].n_conditions)
        index = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        return _native.rate_gaussian(handles, index, starts, weights, self.alpha)

    def _objective(self, x: PreparedNative, y: PreparedNative) -> GaussianObjective:
        assert x.statistics is not None
        assert y.statistics is not None
        weights = self._weights(x.n_conditions)
        gain = reference.mean_term(x.statistics.means, y.statistics.means, weights)
        return GaussianObjective(x.native, y.native, weights, float(self.alpha), gain)

    def _compare(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        net_x, net_y = factorise(self._moments(x)), factorise(self._moments(y))
        weights = self._weights(x.n_conditions)
        A, C = net_x.dense, net_y.dense
        unit = extreme_unit(net_x.means, A, net_y.means, C)
        A, C = A / unit, C / unit
        moved = np.swapaxes(fixed.apply(np.swapaxes(C, 1, 2)), 1, 2)
        gap = weights @ ((net_x.means / unit - fixed.apply(net_y.means / unit)) ** 2).sum(1)
        bures = reference.bures_residual(A, moved, weights)
        return unit * float(np.sqrt(self.alpha * gap + (2 - self.alpha) * bures))


def check_gaussian(metric: Any) -> GaussianShapeMetric:
    """Return the metric, or the default one for None, and raise if it is not a Gaussian metric."""
    if metric is None:
        return GaussianShapeMetric()
    if not isinstance(metric, GaussianShapeMetric):
        raise InputTypeError(
            f"The 'metric' parameter must be a GaussianShapeMetric. {wrong_metric(metric)}"
        )
    return metric
