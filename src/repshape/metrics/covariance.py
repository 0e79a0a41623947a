"""Shape metrics with other distances between covariances than Bures (App. E.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from repshape._arrays import condition_weights, digest, extreme_unit, name_condition
from repshape._native import Solution
from repshape.errors import InputError, Rule, check_choice, check_real
from repshape.groups import GROUPS, Transform
from repshape.metrics.base import ShapeMetric
from repshape.metrics.capabilities import BoundFeatures, weighted_features
from repshape.metrics.parameters import SearchParameters
from repshape.metrics.prepared import OrderedPair, Prepared
from repshape.metrics.rules import NAMED_GROUP_RULES
from repshape.moments import CovarianceEstimator, check_covariance, estimate_moments
from repshape.preprocess import FittedPreprocess
from repshape.reference.alternation import alternate
from repshape.reference.gaussian import mean_gap, mean_term, symmetric_root
from repshape.reference.ground import GROUND_METRICS, symmetric_log
from repshape.responses import Gaussians, Trials
from repshape.solvers.descent import Turned, descend_group
from repshape.solvers.policy import COVARIANCES, best_of
from repshape.solvers.starts import make_starts

FloatArray = npt.NDArray[np.float64]
# Covariances whose smallest eigenvalue is below this fraction of the largest are singular.
SINGULAR = 1e-12
# Decimal digits by which covariances may differ where one is multiplied by the other's inverse.
LARGEST_RATIO = 200


@dataclass(frozen=True)
class PreparedCovariances(Prepared):
    """A network's means (M, n), covariances (M, n, n), and roots or logarithms of these.

    ``key`` is a digest that orders a pair, so that both orders solve the same problem.
    """

    means: FloatArray
    covariances: FloatArray
    matrices: FloatArray
    key: str

    def precedes(self, other: PreparedCovariances) -> bool:
        """Return whether the network comes first in its pairs."""
        return (self.n_neurons, self.key) > (other.n_neurons, other.key)


@dataclass(eq=False, repr=False)
class CovarianceShapeMetric(SearchParameters, ShapeMetric[PreparedCovariances]):
    r"""Distance between networks with Gaussian responses, by another distance of covariances.

    .. math:: d(x, y)^2 = \min_T \sum_m w_m \left[ a |\mu^x_m - T \mu^y_m|^2
              + (2-a)\, D(S^x_m, T S^y_m T')^2 \right]

    with one of

    .. math:: D_{\mathrm{root}} = |S^{1/2} - R^{1/2}|_F, \qquad
              D_{\mathrm{log}} = |\log S - \log R|_F, \qquad
              D_{\mathrm{affine}} = |\log(S^{-1/2} R S^{-1/2})|_F .

    The root-Frobenius distance is defined for all covariances. The log-Euclidean and the
    affine-invariant distances are defined for positive definite covariances, and networks with the
    same number of neurons.

    All of them are invariant to orthogonal transforms of both covariances, so d is a metric between
    networks up to transforms of the group (Prop. 1). The first is in the units of the responses, as
    Bures, and close to it. The other two compare variances by their ratios: noise in directions
    with little variance counts as much as in others, and they tend to infinity as a variance tends
    to 0. They have no units, so alpha depends on the units of the means.

    Parameters
    ----------
    alpha : float in [0, 2]
        Weight of the means; the weight of the covariances is ``2 - alpha``.
    ground : {"root-frobenius", "log-euclidean", "affine-invariant"}
        The distance D between covariances.
    group : {"orthogonal", "rotation", "permutation", "identity"}
        Transforms under which networks count as equal. The affine-invariant distance has no search
        over permutations.
    covariance : str or CovarianceEstimator
        How to estimate covariances from trials. With fewer trials than neurons, the logarithms
        need an estimator that shrinks, such as "ledoit-wolf".
    n_starts : "auto" or int
        Number of starting points of the search; 16 by default.
    preprocess, weights, tol, max_iter, random_state
        As in `GaussianShapeMetric`.

    Notes
    -----
    For the first two, :math:`\sum_m w_m \langle F(S_m), T F(R_m) T' \rangle` is a convex function
    of T, up to a constant, with F the root or the logarithm: alternation never increases the
    distance. The affine-invariant distance is minimised by descent on the group.

    The search is in plain NumPy, and much slower than that of `GaussianShapeMetric`.

    Examples
    --------
    >>> import numpy as np
    >>> x = (np.zeros((1, 2)), np.array([[1.0, 4.0]]))
    >>> y = (np.zeros((1, 2)), np.array([[4.0, 16.0]]))
    >>> metric = CovarianceShapeMetric(0.0, ground="log-euclidean")
    >>> bool(np.isclose(metric.distance(x, y), 2 * np.log(4)))  # two log ratios, times 2 - alpha
    True
    """

    title = "Covariance"
    takes_a_start = True
    full_title = "Shape distance with another ground metric"
    key_parameter = ("alpha", "α")
    _rules: ClassVar[Mapping[str, Rule]] = {
        "alpha": partial(check_real, low=0, high=2),
        "ground": partial(check_choice, choices=GROUND_METRICS),
        "covariance": check_covariance,
        **{name: rule for name, rule in NAMED_GROUP_RULES.items() if name != "pad_to"},
    }

    alpha: float = 1.0
    _: KW_ONLY
    ground: str = "root-frobenius"
    group: str = "orthogonal"
    covariance: str | CovarianceEstimator = "mle"
    tol: float = 1e-9

    @property
    def is_metric(self) -> bool:
        """Whether it is a metric between networks up to transforms of the group (Prop. 1).

        The root-Frobenius distance compares networks of unequal size too. Under "permutation" and
        "rotation" it is a metric between networks of the same size only, and this is False.
        """
        return self._has_one_space or self.ground != "root-frobenius"

    def _sentence(self) -> str:
        return (
            f"Shape distance at α = {self.alpha:g} between means and covariances, which are "
            f"compared by the {self.ground} distance."
        )

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if self.ground == "affine-invariant" and self.group == "permutation":
            raise InputError(
                "The affine-invariant distance has no search over permutations. "
                "Use ground='log-euclidean', or another group."
            )

    def _prepare(
        self, network: Trials | Gaussians, phi: FittedPreprocess | None
    ) -> PreparedCovariances:
        if isinstance(network, Trials):
            network = estimate_moments(network, self.covariance, random_state=self.random_state)
        S = network.covariances
        if self.ground == "root-frobenius":
            matrices = symmetric_root(S)
        else:
            self._check_definite(S, network)
            matrices = symmetric_log(S)
        key = digest("covariances", network.means, S)
        sizes = network.n_conditions, network.n_neurons
        return PreparedCovariances(phi, *sizes, network.conditions, network.means, S, matrices, key)

    def _check_definite(self, S: FloatArray, network: Gaussians) -> None:
        values = np.linalg.eigvalsh(S)
        bad = np.flatnonzero(values[:, 0] <= SINGULAR * values[:, -1])
        if bad.size:
            raise InputError(
                f"The {self.ground} distance needs positive definite covariances. That of "
                f"{name_condition(int(bad[0]), network.conditions)} is singular. Use "
                "covariance='ledoit-wolf', or ground='root-frobenius'."
            )

    def _solve_pair(
        self,
        x: PreparedCovariances,
        y: PreparedCovariances,
        starts: FloatArray | None = None,
    ) -> Solution:
        self._check_sizes(x, y)
        self._check_ratios(x, y)
        pair = OrderedPair(x, y)
        first, second = pair.first, pair.second
        given = self._starts(first, second) if starts is None else map(pair.inward, starts)
        found = best_of(
            [self._solve(first, second, T) for T in given],
            lambda run: self._total(*self._parts(first, second, run.transform)) ** 2,
            self.tol,
        )
        best = found.best
        means, noise = self._parts(first, second, best.transform)
        return found.solution(
            self._total(means, noise),
            self._bound(first, second),
            pair.outward(best.transform),
            best.n_iterations,
            (float(np.sqrt(means)), float(np.sqrt(noise))),
            composed=starts is not None,
        )

    def _bound_features(self, network: Trials | Gaussians) -> BoundFeatures | None:
        prepared = self.prepare(network)
        spectra = np.asarray(np.linalg.eigvalsh(prepared.matrices)[:, ::-1], dtype=np.float64)
        weights = condition_weights(self.weights, len(prepared.means))
        return weighted_features(prepared.means, spectra, float(self.alpha), weights)

    def _check_sizes(self, x: PreparedCovariances, y: PreparedCovariances) -> None:
        if self.ground != "root-frobenius" and x.n_neurons != y.n_neurons:
            raise InputError(
                f"The {self.ground} distance needs networks with the same number of neurons. Got "
                f"{x.n_neurons} and {y.n_neurons}. Preprocess(n_components=...) makes them equal."
            )

    def _check_ratios(self, x: PreparedCovariances, y: PreparedCovariances) -> None:
        """Raise if a product of one covariance with the inverse of the other would overflow."""
        if self.ground != "affine-invariant":
            return
        largest = [np.abs(one.covariances).max(axis=(1, 2)) for one in (x, y)]
        gaps = np.abs(np.log10(largest[0]) - np.log10(largest[1]))
        m = int(np.argmax(gaps))
        if gaps[m] > LARGEST_RATIO:
            raise InputError(
                f"The affine-invariant distance needs variances within a factor of "
                f"1e{LARGEST_RATIO}. Those of {name_condition(m, x.conditions)} are up to "
                f"{largest[0][m]:.3g} in one network and {largest[1][m]:.3g} in the other."
            )

    def _weights(self, x: PreparedCovariances) -> FloatArray:
        return condition_weights(self.weights, x.n_conditions)

    def _starts(self, x: PreparedCovariances, y: PreparedCovariances) -> list[FloatArray]:
        """Return transforms (n_x, n_y) for n_x >= n_y: means, principal axes, and random ones."""
        oracle, weights = GROUPS[self.group], self._weights(x)
        starts = [oracle(mean_term(x.means, y.means, weights))]
        if self.group == "identity":
            return starts
        count = COVARIANCES.most if self.n_starts == "auto" else int(self.n_starts)
        axes = [
            np.linalg.eigh(np.einsum("m,mij->ij", weights, one.covariances))[1][:, ::-1]
            for one in (x, y)
        ]
        for signs in make_starts(x.n_neurons, count - 1, int(self.random_state)):
            starts.append(oracle(axes[0] @ signs[:, : y.n_neurons] @ axes[1].T))
        return starts

    def _solve(self, x: PreparedCovariances, y: PreparedCovariances, start: FloatArray) -> Turned:
        weights = self._weights(x)
        if self.ground == "affine-invariant" and self.group != "identity":
            cost = _affine_cost(x, y, self.alpha, weights)
            scale = max(cost(start)[0], 1e-300)
            unit = extreme_unit(np.array([scale]))  # of squared responses, which are squared again

            def moderate(T: FloatArray) -> tuple[float, FloatArray]:
                value, G = cost(T)
                return value / unit, G / unit

            found = descend_group(
                moderate, start, scale=scale / unit, tol=self.tol, max_iter=self.max_iter
            )
            return replace(found, cost=found.cost * unit)
        free = self.ground == "log-euclidean"
        objective = _convex_objective(x, y, self.alpha, weights, free=free)
        climb = alternate(objective, start, self.group, tol=self.tol**1.5, max_iter=self.max_iter)
        return Turned(climb.transform, -climb.values[-1], climb.converged, len(climb.values))

    def _total(self, means: float, noise: float) -> float:
        """Return the distance from the squared distances of means and of covariances."""
        return float(np.sqrt(self.alpha * means + (2 - self.alpha) * noise))

    def _parts(
        self, x: PreparedCovariances, y: PreparedCovariances, T: FloatArray
    ) -> tuple[float, float]:
        """Return the squared distances of means and of covariances at T (n_x >= n_y)."""
        weights = self._weights(x)
        means = mean_gap(x.means, y.means, T, weights)
        if self.ground == "affine-invariant":
            moved = T @ y.covariances @ T.T
            ground = GROUND_METRICS[self.ground]
            each = [ground(S, R) ** 2 for S, R in zip(x.covariances, moved, strict=True)]
            return means, float(weights @ np.array(each))
        gaps = x.matrices - T @ y.matrices @ T.T
        return means, float(weights @ (gaps**2).sum(axis=(1, 2)))

    def _bound(self, x: PreparedCovariances, y: PreparedCovariances) -> float:
        """Return a lower bound: the best means, and the gaps between sorted eigenvalues.

        The affine-invariant distance is at least the log-Euclidean one, and that at least the gap
        between the logarithms of sorted eigenvalues.
        """
        weights = self._weights(x)
        best = GROUPS[self.group](mean_term(x.means, y.means, weights))
        means = mean_gap(x.means, y.means, best, weights)
        values = np.linalg.eigvalsh(x.matrices), np.linalg.eigvalsh(y.matrices)
        extra = values[0].shape[1] - values[1].shape[1]
        padded = np.sort(np.pad(values[1], ((0, 0), (0, extra))), axis=1)
        noise = float(weights @ ((values[0] - padded) ** 2).sum(axis=1))
        return self._total(means, noise)

    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        first, second, T = self._prepare(x, None), self._prepare(y, None), fixed.matrix.T
        self._check_sizes(first, second)
        self._check_ratios(first, second)
        if first.n_neurons < second.n_neurons:
            first, second, T = second, first, T.T
        return self._total(*self._parts(first, second, T))


def _convex_objective(
    x: PreparedCovariances, y: PreparedCovariances, alpha: float, weights: FloatArray, *, free: bool
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    """Return a <sum w mu mu', T> + (2 - a) sum w <F(S), T F(R) T'> with its gradient.

    Logarithms are shifted by multiples of I, which makes them positive semi-definite and the
    function convex. For square T this adds a constant. With ``free``, the smallest eigenvalue
    becomes 0 from either side: a large constant would stop the alternation too early.
    """
    means = alpha * mean_term(x.means, y.means, weights)
    A, B = (_lifted(one.matrices, free) for one in (x, y))
    each = (2 - alpha) * weights

    def at(T: FloatArray) -> tuple[float, FloatArray]:
        half = A @ T @ B
        value = float(np.sum(means * T) + each @ (half * T).sum(axis=(1, 2)))
        return value, means + 2 * np.einsum("m,mij->ij", each, half)

    return at


def _lifted(matrices: FloatArray, free: bool) -> FloatArray:
    lowest = np.linalg.eigvalsh(matrices)[:, 0]
    lowest = lowest if free else np.minimum(lowest, 0.0)
    return np.asarray(matrices - lowest[:, None, None] * np.eye(matrices.shape[1]))


def _affine_cost(
    x: PreparedCovariances, y: PreparedCovariances, alpha: float, weights: FloatArray
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    """Return the squared distance at T and its slope on the group, for `descend_group`.

    With L = log(S^-1 T R T'), the slope of |L|^2 along T W is 2 <T'LT - T'L'T, W>. The logarithm
    is that of a symmetric matrix in the principal axes of S: small variances keep their digits.
    """
    means = mean_term(x.means, y.means, weights)
    values, U = np.linalg.eigh(x.covariances)
    white, back = U / np.sqrt(values)[:, None], np.sqrt(values)[:, :, None] * np.swapaxes(U, 1, 2)

    def at(T: FloatArray) -> tuple[float, FloatArray]:
        moved = T @ y.covariances @ T.T
        inner = symmetric_log(_symmetric(np.swapaxes(white, 1, 2) @ moved @ white))
        L = np.swapaxes(T, 0, 1) @ (white @ inner @ back) @ T
        each = (2 - alpha) * weights
        gaps = alpha * mean_gap(x.means, y.means, T, weights)
        value = gaps + float(each @ (inner**2).sum(axis=(1, 2)))
        slope = 2 * np.einsum("m,mij->ij", each, L - np.swapaxes(L, 1, 2))
        turning = T.T @ means
        return value, slope - alpha * (turning - turning.T)

    return at


def _symmetric(matrices: FloatArray) -> FloatArray:
    return np.asarray((matrices + np.swapaxes(matrices, 1, 2)) / 2)
