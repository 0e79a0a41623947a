r"""Soft matching: transport over neurons instead of a transform, for any numbers of neurons.

A plan P (n_x, n_y) matches every neuron of x with neurons of y: its rows sum to 1 / n_x and its
columns to 1 / n_y. It turns responses into functions on pairs of neurons, with the squared distance

.. math:: |x - y|_P^2 = \sum_{ij} P_{ij} (x_i - y_j)^2 .

All ground metrics are then used in this space. Two plans can be glued at a shared network, which
proves the triangle inequality. The objectives are convex in P, so alternating between P and the
coupling of the noise never increases the distance, and a best plan is a vertex of the polytope of
plans. For n_x = n_y the vertices are permutations divided by n.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from repshape._arrays import extreme_unit
from repshape.coordinates.factors import Factors
from repshape.errors import InputError
from repshape.metrics.base import signed_root
from repshape.reference.energy import within_terms
from repshape.reference.gaussian import polar
from repshape.solvers.plans import best_plan
from repshape.solvers.search import Policy

FloatArray = npt.NDArray[np.float64]
# A squared distance between trials below this fraction of the squared responses is rounding.
MEETING = 1e-14
# When a search over plans stops.
PLANS = Policy(hits=8, fewest=24, moves=48, always_move=True)


class SoftProblem(ABC):
    """One pair of networks of unequal size, in a unit: ``distance`` returns to that of the pair.

    Attributes
    ----------
    gain : float
        Distances are multiplied by it.
    correction : float
        What an unbiased estimate subtracts from squared distances.
    bound : float
        A squared distance that no plan undercuts.
    costs : array of shape (n_x, n_y)
        Squared distances of single neurons, from which to start.
    """

    bounded = True
    gain: float
    correction = 0.0
    bound = 0.0
    costs: FloatArray

    @abstractmethod
    def at(self, P: FloatArray) -> tuple[float, FloatArray]:
        """Return the squared distance at a plan, and the gradient of minus half of it."""

    def parts(self, P: FloatArray) -> tuple[float, float]:
        """Return the squared distances of means and of covariances; NaN without such parts."""
        return float("nan"), float("nan")

    def distance(self, squared: float) -> float:
        """Return the distance of the pair from a squared distance in its unit."""
        return self.gain * signed_root(squared - self.correction)

    def starts(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield the plan that is best for single neurons, without correlations, and others.

        They are best for its gradient with random changes, or random altogether.
        """
        first = best_plan(-self.costs)
        yield first
        gradient = self.at(first)[1]
        spread = float(gradient.std())
        for k in count():
            noise = rng.standard_normal(gradient.shape)
            yield best_plan(noise if k % 2 else gradient + spread * (0.5 + k % 4) * noise)


def refuse_soft(metric: Any, what: str) -> None:
    """Raise if a metric matches neurons by transport, which cannot be inverted."""
    if metric.group == "soft":
        raise InputError(f"{what} needs a group of orthogonal transforms. Got group='soft'.")


def on_pairs(X: FloatArray, Y: FloatArray, P: FloatArray) -> tuple[FloatArray, ...]:
    """Return responses (M, n_x) and (M, n_y) as functions on the matched pairs of neurons.

    Their inner products are those weighted by the plan. The second is returned twice, as it is
    before and after it is moved.
    """
    i, j = np.nonzero(P)
    root = np.sqrt(P[i, j])
    moved = Y[:, j] * root
    return X[:, i] * root, moved, moved


class GaussianSoftProblem(SoftProblem):
    """The Gaussian distance at plans: factors A (M, n_x, r) and C (M, n_y, r) of equal width."""

    def __init__(self, x: Factors, y: Factors, alpha: float, weights: FloatArray) -> None:
        self.gain = unit = extreme_unit(x.means, x.factors, y.means, y.factors)
        width = max(x.dense.shape[2], y.dense.shape[2])
        self.A, self.C = (
            np.pad(one.dense / unit, ((0, 0), (0, 0), (0, width - one.dense.shape[2])))
            for one in (x, y)
        )
        self.x, self.y, self.alpha, self.weights = x.means / unit, y.means / unit, alpha, weights
        self.means = alpha * (self.x * weights[:, None]).T @ self.y
        noise = (np.sqrt((one**2).sum(axis=2)) for one in (self.A, self.C))
        self.costs = (2 - alpha) * _squared_gaps(weights, *noise)
        self.costs += alpha * _squared_gaps(weights, self.x, self.y)
        # The cost if every pair of neurons could have its own coupling of the noise.
        self.bound = float(np.sum(best_plan(-self.costs) * self.costs))

    def at(self, P: FloatArray) -> tuple[float, FloatArray]:
        """Return the squared distance, and a sum w mu_x mu_y' + (2 - a) sum w A U C'.

        U is the polar factor of A' P C, the coupling of the noise that is best at this plan.
        """
        U = polar(np.swapaxes(self.A, 1, 2) @ P @ self.C)
        means, noise = self._residuals(P, U)
        moved = self.A @ (U * ((2 - self.alpha) * self.weights)[:, None, None])
        gradient = self.means + np.tensordot(moved, self.C, axes=((0, 2), (0, 2)))
        return self.alpha * means + (2 - self.alpha) * noise, gradient

    def parts(self, P: FloatArray) -> tuple[float, float]:
        """Return the squared distances of means and of covariances."""
        return self._residuals(P, polar(np.swapaxes(self.A, 1, 2) @ P @ self.C))

    def _residuals(self, P: FloatArray, U: FloatArray) -> tuple[float, float]:
        """Return the sums over matched neurons of |mu_i - mu_j|^2 and of |A_i - U C_j|^2."""
        i, j = np.nonzero(P)
        gaps = (self.x[:, i] - self.y[:, j]) ** 2
        turned = self.C @ np.swapaxes(U, 1, 2)
        noise = ((self.A[:, i] - turned[:, j]) ** 2).sum(axis=2)
        return float(self.weights @ gaps @ P[i, j]), float(self.weights @ noise @ P[i, j])


class EnergySoftProblem(SoftProblem):
    """The energy distance at plans, where |x - y|_P replaces |x - T y|."""

    def __init__(
        self,
        x: Sequence[FloatArray],
        y: Sequence[FloatArray],
        q: float,
        weights: FloatArray,
        unbiased: bool,
    ) -> None:
        unit = extreme_unit(*x, *y)
        self.gain = unit ** (q / 2)
        x, y = ([one / unit for one in net] for net in (x, y))
        self.x, self.y, self.q, self.weights = x, y, q, weights
        power = [float((a**2).mean() + (b**2).mean()) for a, b in zip(x, y, strict=True)]
        self.floor = max(MEETING * float(weights @ np.array(power)), 1e-300)
        self.biased = 0.0
        for net in (x, y):
            within = np.array([self._within(one) for one in net])
            counts = [len(one) for one in net]
            biased, correction = within_terms(within, counts, weights, unbiased)
            self.biased += biased
            self.correction += correction
        self.costs = np.zeros((x[0].shape[1], y[0].shape[1]))
        for of in (np.mean, np.std):
            summaries = (np.stack([of(one, axis=0) for one in net]) for net in (x, y))
            self.costs += _squared_gaps(weights, *summaries)

    def _within(self, rows: FloatArray) -> float:
        gaps = cdist(rows, rows, "sqeuclidean") / rows.shape[1]
        return float((gaps ** (self.q / 2)).mean())

    def at(self, P: FloatArray) -> tuple[float, FloatArray]:
        """Return the squared distance over all pairs of trials, and the gradient of its bound."""
        loss, gradient = 0.0, np.zeros(P.shape)
        for m, w in enumerate(self.weights.tolist()):
            x, y = self.x[m], self.y[m]
            one, other, _ = on_pairs(x, y, P)
            s = cdist(one, other, "sqeuclidean")  # |x - y|_P^2 of all trials
            loss += w * float((s ** (self.q / 2)).mean())
            W = np.maximum(s, self.floor) ** (self.q / 2 - 1)
            gradient += w * self.q / s.size * (x.T @ W @ y)
        return max(loss - self.biased, 0.0), gradient


def _squared_gaps(weights: FloatArray, *rows: FloatArray) -> FloatArray:
    """Return sum_m w_m (x_mi - y_mj)^2 for all pairs of neurons, (n_x, n_y)."""
    x, y = rows
    return np.asarray(np.einsum("m,mij->ij", weights, (x[:, :, None] - y[:, None, :]) ** 2))
