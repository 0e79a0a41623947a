"""The shape metric of Gaussian processes: trials that are sequences of neural responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from repshape import _native
from repshape._arrays import extreme_unit
from repshape.coordinates.positions import (
    MODES,
    Blocks,
    FittedPositions,
    coordinates_for,
    make_blocks,
    spectra,
)
from repshape.errors import InputError, Rule, check_choice, check_integer_or_none
from repshape.groups import Transform
from repshape.metrics.alternating import Objective
from repshape.metrics.native import (
    NativeShapeMetric,
    PreparedNative,
    gaussian_coordinates,
    gaussian_handle,
    spans_part,
)
from repshape.metrics.parameters import ALPHA_RULE, NAMED_GROUP_RULES
from repshape.moments import CovarianceEstimator, check_covariance
from repshape.reference import process as reference
from repshape.reference.gaussian import mean_gap
from repshape.responses.positions import PositionNetwork, as_positions

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PreparedPositions(PreparedNative):
    """A network with positions as a handle of the compiled core.

    Attributes
    ----------
    positions : tuple of int
        Shape of the positions.
    net : Blocks
        The blocks that the handle was made from.
    """

    positions: tuple[int, ...]
    net: Blocks


@dataclass(eq=False, repr=False)
class PositionShapeMetric(NativeShapeMetric):
    """What the metrics of time series and of maps share: one transform for all positions."""

    alpha: float = 1.0
    _: KW_ONLY
    group: str = "orthogonal"
    mode: str = "joint"
    order: int | None = field(default=None, init=False)
    covariance: str | CovarianceEstimator = "mle"

    def _read(self, network: Any, name: str = "network") -> PositionNetwork:
        return as_positions(network, name)

    def _positions_together(self, network: PositionNetwork) -> int:
        if self.mode == "marginal":
            return 1
        return prod(network.positions) if self.order is None else self.order + 1

    def _prepare_checked(self, network: Any) -> PreparedPositions:
        return self._prepare(*self._preprocessed(network))

    def _preprocessed(
        self, network: PositionNetwork
    ) -> tuple[PositionNetwork, FittedPositions | None]:
        if self.preprocess is None:
            return network, None
        phi = FittedPositions.fit(self.preprocess, network, self.weights)
        return phi.apply(network), phi

    def _blocks(self, network: PositionNetwork) -> Blocks:
        return make_blocks(
            network,
            self.mode,
            covariance=self.covariance,
            order=self.order,
            random_state=self.random_state,
            without_noise=self.alpha == 2,
        )

    def _prepare(self, network: Any, phi: Any) -> PreparedPositions:
        weights, padded = self._weights(network.n_conditions), self._is_padded(network.n_neurons)
        if network.n_positions == 1:  # all modes agree
            one = gaussian_coordinates(self, network.flat)
            net = Blocks(one.means[:, None], one.dense[:, None], one.basis)
            handle = gaussian_handle(one, padded)
        else:
            net = coordinates_for(self.group, self._blocks(network), weights)
            handle = self._handle(net, padded)
        return PreparedPositions(
            phi,
            network.n_conditions,
            network.n_neurons,
            network.conditions,
            handle,
            network.positions,
            net,
            basis=net.basis,
            padded=padded,
        )

    def _handle(self, net: Blocks, padded: bool) -> Any:
        """Return the handle of the core."""
        reduced = spans_part(net.basis, padded)
        return _native.make_positions(
            net.means, net.factors, spectra(net, self.mode), reduced=reduced
        )

    def _objective(self, x: PreparedNative, y: PreparedNative) -> Objective:
        raise NotImplementedError("only the groups with a name are searched")

    def _check_comparable(self, x: Any, y: Any) -> None:
        check_same_positions(x, y)
        super()._check_comparable(x, y)

    def _evaluate(self, x: Any, y: Any, fixed: Transform) -> float:
        if x.n_neurons < y.n_neurons:  # the residual is in the space of the larger network
            x, y, fixed = y, x, fixed.reversed()
        T = fixed.with_silent_neurons().matrix.T
        first, second = self._blocks(x).with_silent_neurons(len(T)), self._blocks(y)
        weights = self._weights(x.n_conditions)
        mu, nu = (one.means.reshape(-1, one.means.shape[2]) for one in (first, second))
        A, C = first.factors, second.factors
        units = extreme_unit(mu, nu), extreme_unit(A, C)
        gap = mean_gap(mu / units[0], nu / units[0], T, np.repeat(weights, x.n_positions))
        each = np.repeat(weights, first.per_condition)
        noise = reference.covariance_gap(A / units[1], C / units[1], T, each)
        parts = np.array([self.alpha * gap, (2 - self.alpha) * noise])
        if units[0] == units[1]:
            return float(units[0] * np.sqrt(parts.sum()))
        return float(np.hypot(*(np.sqrt(parts) * units)))


def check_same_positions(x: Any, y: Any) -> None:
    """Raise unless two networks have the same positions."""
    if x.positions != y.positions:
        shapes = [" x ".join(map(str, one.positions)) for one in (x, y)]
        raise InputError(
            "Both networks must have the same positions. "
            f"Got {shapes[0]} and {shapes[1]} positions."
        )


@dataclass(eq=False, repr=False)
class ProcessShapeMetric(PositionShapeMetric):
    r"""Distance between networks whose trials are sequences, minimised over a group.

    All time steps share one transform T of the neurons. With means :math:`\mu_t` and the
    covariance S of whole sequences,

    .. math:: d(x, y)^2 = \min_T \sum_m w_m \Big[ a \sum_t |\mu^x_{mt} - T \mu^y_{mt}|^2
              + (2-a)\, c(S^x_m, (I \otimes T) S^y_m (I \otimes T)') \Big]

    where the mode determines the cost c of transporting the noise,

    .. math:: c_{\mathrm{marginal}}(S, R) = \sum_t B(S_{tt}, R_{tt})^2, \qquad
              c_{\mathrm{joint}}(S, R) = B(S, R)^2,

    .. math:: c_{\mathrm{causal}}(S, R) = \mathrm{tr} S + \mathrm{tr} R
              - 2 \sum_t \Big| \sum_{s \ge t} L_{st}' M_{st} \Big|_* .

    B is the Bures distance, L L' = S and M M' = R with block lower triangular factors L and M, and
    :math:`|\cdot|_*` is the nuclear norm. "joint" is the 2-Wasserstein distance between
    sequences. "causal" is the adapted 2-Wasserstein distance: neither sequence may be matched by
    looking into the future of the other. At one transform, marginal <= joint <= causal.

    Parameters
    ----------
    alpha : float in [0, 2]
        Weight of the means; the weight of the covariances is ``2 - alpha``.
    mode : {"joint", "marginal", "causal"}
        How the noise of different time steps is compared: "marginal" sees the noise within time
        steps only, "joint" also correlations over time, and "causal" also what is known when.
    order : int or None
        For the causal mode: number of past time steps from which the next one is predicted. By
        default all of them. With few trials, a small order has much less bias.
    group : {"orthogonal", "rotation", "permutation", "identity"}
        Transforms under which networks count as equal.
    covariance : str or CovarianceEstimator
        How to estimate covariances from trials; see `repshape.estimate_moments`. "mle" and
        "unbiased" keep factors of as many columns as there are trials; the others form
        covariances of time * neurons squared in the joint and causal modes.
    preprocess : Preprocess or None
        Preprocessing of the neurons, fitted to all time steps together.
    weights, pad_to, n_starts, tol, max_iter, random_state
        As in `GaussianShapeMetric`.

    Notes
    -----
    Networks are arrays (conditions, trials, time, neurons), lists with an array (trials, time,
    neurons) per condition, tuples of means (conditions, time, neurons) and covariances
    (conditions, time * neurons, time * neurons), or `PositionNetwork`. Distances are sums over time
    steps, not means: with one step, every mode is `GaussianShapeMetric`.

    All modes are searched as in `GaussianShapeMetric`, but only the marginal mode searches all
    angles of two neurons.

    The Gaussian 2-Wasserstein distance is a lower bound of that between non-Gaussian processes with
    the same moments. There is no such bound for the causal distance (Gunasingam and Wong, 2026).

    The plug-in distance is biased upward by noise, most of all in the causal mode. In every mode,
    ``repshape.inference.distance`` corrects it.

    References
    ----------
    Nejatbakhsh, Geadah, Williams and Lipshutz, "Comparing noisy neural population dynamics using
    optimal transport distances", ICLR 2025. Their public code uses an upper Cholesky factor in
    place of the lower one, and scalar instead of block products.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(4, 30, 5, 3)).cumsum(axis=2)  # conditions, trials, time, neurons
    >>> Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    >>> [ProcessShapeMetric(mode=mode).distance(x, x @ Q) < 1e-6
    ...  for mode in ("marginal", "joint", "causal")]
    [True, True, True]
    >>> ProcessShapeMetric(mode="joint").distance(x, x[:, :, ::-1]) > 1
    True
    """

    title = "Process"
    full_title = "Gaussian process shape distance"
    key_parameter = ("alpha", "α")
    _rules: ClassVar[Mapping[str, Rule]] = {
        "alpha": ALPHA_RULE,
        "mode": partial(check_choice, choices=MODES),
        "order": partial(check_integer_or_none, low=1),
        "covariance": check_covariance,
        **NAMED_GROUP_RULES,
    }

    order: int | None = field(default=None, kw_only=True)

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.order is not None and self.mode != "causal":
            raise InputError(
                "The 'order' parameter of ProcessShapeMetric belongs to mode='causal'. "
                f"Got mode={self.mode!r}."
            )

    def _sentence(self) -> str:
        sees = {
            "marginal": "it sees the noise within time steps only",
            "joint": "it sees correlations of the noise over time",
            "causal": "it sees the dynamics of the noise, and may not look into the future",
        }
        return f"Process shape distance at α = {self.alpha:g} ({self.mode}): {sees[self.mode]}."
