"""Shape metrics with other distances between covariances than Bures (App. E.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from repshape._arrays import extreme_unit, name_condition
from repshape._native import Solution
from repshape.errors import InputError, Rule, check_choice
from repshape.groups import GROUPS, Oracle, Transform, nearest_orthogonal
from repshape.metrics.base import ShapeMetric
from repshape.metrics.capabilities import BoundFeatures, weighted_features
from repshape.metrics.parameters import ALPHA_RULE, NAMED_GROUP_RULES, SearchParameters
from repshape.metrics.prepared import OrderedPair, Prepared, place_of
from repshape.moments import CovarianceEstimator, check_covariance, estimate_moments
from repshape.preprocess import FittedPreprocess
from repshape.reference.gaussian import mean_gap, mean_term, symmetric_root
from repshape.reference.ground import GROUND_METRICS, affine_invariant, symmetric_log
from repshape.responses import Gaussians, Trials
from repshape.solvers.correspondence import Correspondence, Moments, spread_conditions
from repshape.solvers.descent import descend_group
from repshape.solvers.search import Policy, Search, suggest
from repshape.solvers.starts import tie_broken

FloatArray = npt.NDArray[np.float64]
# Covariances whose smallest eigenvalue is below this fraction of the largest are singular.
SINGULAR = 1e-12
# Decimal digits by which covariances may differ where one is multiplied by the other's inverse.
LARGEST_RATIO = 200
# When a search stops.
COVARIANCES = Policy(hits=8, fewest=24, most=96, moves=64, always_move=True)


@dataclass(frozen=True)
class PreparedCovariances(Prepared):
    """A network's means (M, n), covariances (M, n, n), and roots or logarithms of these."""

    means: FloatArray
    covariances: FloatArray
    matrices: FloatArray


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
        need a shrinkage estimator, such as "ledoit-wolf".
    n_starts : "auto" or int
        Number of starting points of the search; 1 starts only from the alignment of the means.
        "auto" adds starts until enough of them agree on the best optimum, 24 to 96 in all.
        `Alignment.agreement` says how many agreed.
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
        "alpha": ALPHA_RULE,
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

    def _check_combination(self) -> None:
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
        whose = phi, network.n_conditions, network.n_neurons, network.conditions
        return PreparedCovariances(
            *whose, network.means, S, matrices, place=place_of(network.means, S)
        )

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
        pair = OrderedPair(x, y)
        problem, oracle = self._problem(pair.first, pair.second), GROUPS[self.group]
        # Squared distances are proportional to squared residuals: a finer tolerance than theirs.
        search = Search(problem, oracle, self.tol**1.5, self.max_iter, COVARIANCES)
        if self.ground == "affine-invariant" and self.group != "identity":
            search = replace(search, tol=self.tol, descend=descend_group)
        found = search.solve(
            partial(problem.starts, oracle),
            1 if self.group == "identity" else self.n_starts,
            [int(self.random_state)],
            None if starts is None else map(pair.inward, starts),
        )
        means, noise = problem.parts(found.best.transform)
        return found.solution(
            problem.total(means, noise),
            problem.bound(oracle),
            pair.outward(found.best.transform),
            (float(np.sqrt(means)), float(np.sqrt(noise))),
            composed=starts is not None,
        )

    def _problem(self, x: PreparedCovariances, y: PreparedCovariances) -> ConvexProblem:
        """Return the problem of two networks, of which x has no fewer neurons than y."""
        weights = self._weights(x.n_conditions)
        if self.ground == "affine-invariant":
            check_ratios(x, y)
            return AffineProblem(x, y, self.alpha, weights)
        return ConvexProblem(x, y, self.alpha, weights)

    def _bound_features(self, network: Trials | Gaussians) -> BoundFeatures | None:
        prepared = self.prepare(network)
        spectra = np.asarray(np.linalg.eigvalsh(prepared.matrices)[:, ::-1], dtype=np.float64)
        weights = self._weights(len(prepared.means))
        return weighted_features(prepared.means, spectra, float(self.alpha), weights)

    def _check_sizes(self, x: PreparedCovariances, y: PreparedCovariances) -> None:
        if self.ground != "root-frobenius" and x.n_neurons != y.n_neurons:
            raise InputError(
                f"The {self.ground} distance needs networks with the same number of neurons. Got "
                f"{x.n_neurons} and {y.n_neurons}. Preprocess(n_components=...) makes them equal."
            )

    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        first, second, T = self._prepare(x, None), self._prepare(y, None), fixed.matrix.T
        self._check_sizes(first, second)
        if first.n_neurons < second.n_neurons:
            first, second, T = second, first, T.T
        problem = self._problem(first, second)
        return problem.total(*problem.parts(T))


def check_ratios(x: PreparedCovariances, y: PreparedCovariances) -> None:
    """Raise if a product of one covariance with the inverse of the other would overflow."""
    largest = [np.abs(one.covariances).max(axis=(1, 2)) for one in (x, y)]
    gaps = np.abs(np.log10(largest[0]) - np.log10(largest[1]))
    m = int(np.argmax(gaps))
    if gaps[m] > LARGEST_RATIO:
        raise InputError(
            f"The affine-invariant distance needs variances within a factor of "
            f"1e{LARGEST_RATIO}. Those of {name_condition(m, x.conditions)} are up to "
            f"{largest[0][m]:.3g} in one network and {largest[1][m]:.3g} in the other."
        )


class ConvexProblem:
    """The squared distance by roots or logarithms F(S), of a pair of which x is the larger.

    Up to a constant it is -2 (a <sum w mu mu', T> + (2 - a) sum w <F(S), T F(R) T'>). Roots are
    positive semi-definite, which makes the last function convex. If T is square, a multiple of I
    is added to F(S), which only adds a constant: it makes logarithms positive semi-definite too,
    and steps longer.
    """

    bounded = True

    def __init__(
        self, x: PreparedCovariances, y: PreparedCovariances, alpha: float, weights: FloatArray
    ) -> None:
        self.x, self.y, self.alpha, self.weights = x, y, alpha, weights
        self.means = mean_term(x.means, y.means, weights)
        square = x.n_neurons == y.n_neurons
        self._lifted = [_lifted(one.matrices) if square else one.matrices for one in (x, y)]

    def total(self, means: float, noise: float) -> float:
        """Return the distance from the squared distances of means and of covariances."""
        return float(np.sqrt(self.alpha * means + (2 - self.alpha) * noise))

    def parts(self, T: FloatArray) -> tuple[float, float]:
        """Return the squared distances of means and of covariances."""
        gaps = self.x.matrices - T @ self.y.matrices @ T.T
        noise = float(self.weights @ (gaps**2).sum(axis=(1, 2)))
        return float(mean_gap(self.x.means, self.y.means, T, self.weights)), noise

    def at(self, T: FloatArray) -> tuple[float, FloatArray]:
        """Return the squared distance, and the gradient of minus half of it."""
        means, noise = self.parts(T)
        A, B = self._lifted
        slope = 2 * np.tensordot(self.weights, A @ T @ B, 1)
        gradient = self.alpha * self.means + (2 - self.alpha) * slope
        return self.alpha * means + (2 - self.alpha) * noise, gradient

    def starts(self, oracle: Oracle, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield transforms from means, from principal axes, from conditions and at random."""
        yield oracle(tie_broken(self.means))
        kept = spread_conditions(len(self.weights))
        x, y = (Moments.of(one.means[kept], one.covariances[kept]) for one in (self.x, self.y))
        suggestions = Correspondence(x, y, self.weights[kept], rng)
        for with_means in (False, True):  # exact for copies
            yield oracle(suggestions.match(self.weights[kept], with_means=with_means))
        yield from suggest(oracle, suggestions, rng)

    def bound(self, oracle: Oracle) -> float:
        """Return a lower bound: the best means, and the gaps between sorted eigenvalues.

        The affine-invariant distance is at least the log-Euclidean one, and that at least the gap
        between the logarithms of sorted eigenvalues.
        """
        means = float(mean_gap(self.x.means, self.y.means, oracle(self.means), self.weights))
        values = [np.linalg.eigvalsh(one.matrices) for one in (self.x, self.y)]
        extra = values[0].shape[1] - values[1].shape[1]
        padded = np.sort(np.pad(values[1], ((0, 0), (0, extra))), axis=1)
        return self.total(means, float(self.weights @ ((values[0] - padded) ** 2).sum(axis=1)))


def _lifted(matrices: FloatArray) -> FloatArray:
    lowest = np.linalg.eigvalsh(matrices)[:, 0]
    return np.asarray(matrices - lowest[:, None, None] * np.eye(matrices.shape[1]))


class AffineProblem(ConvexProblem):
    """The squared affine-invariant distance at T, and its slope on the group.

    With L = log(S^-1 T R T'), the slope of |L|^2 along T W is 2 <T'LT - T'L'T, W>. The logarithm
    is that of a symmetric matrix in the principal axes of S: small variances keep their digits.
    Values are divided by a unit, because they are squared again.
    """

    bounded = False

    def __init__(
        self, x: PreparedCovariances, y: PreparedCovariances, alpha: float, weights: FloatArray
    ) -> None:
        super().__init__(x, y, alpha, weights)
        values, U = np.linalg.eigh(x.covariances)
        self._white = U / np.sqrt(values)[:, None]
        self._back = np.sqrt(values)[:, :, None] * np.swapaxes(U, 1, 2)
        self._unit = 1.0
        first = max(self.at(nearest_orthogonal(tie_broken(self.means)))[0], 1e-300)
        self._unit = extreme_unit(np.array([first]))
        self.scale = first / self._unit

    def parts(self, T: FloatArray) -> tuple[float, float]:
        """Return the squared distances of means and of covariances."""
        moved = T @ self.y.covariances @ T.T
        pairs = zip(self.x.covariances, moved, strict=True)
        each = [float(affine_invariant(S, R)) ** 2 for S, R in pairs]
        noise = float(self.weights @ np.array(each))
        return float(mean_gap(self.x.means, self.y.means, T, self.weights)), noise

    def at(self, T: FloatArray) -> tuple[float, FloatArray]:
        """Return the squared distance and its slope, for `descend_group`."""
        inner = np.swapaxes(self._white, 1, 2) @ (T @ self.y.covariances @ T.T) @ self._white
        inner = symmetric_log((inner + np.swapaxes(inner, 1, 2)) / 2)
        L = T.T @ (self._white @ inner @ self._back) @ T
        noise = float(self.weights @ (inner**2).sum(axis=(1, 2)))
        means = float(mean_gap(self.x.means, self.y.means, T, self.weights))
        slope = 2 * np.tensordot(self.weights, L - np.swapaxes(L, 1, 2), 1)
        turning = T.T @ self.means
        G = (2 - self.alpha) * slope - self.alpha * (turning - turning.T)
        return (self.alpha * means + (2 - self.alpha) * noise) / self._unit, G / self._unit
