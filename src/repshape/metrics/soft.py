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

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from repshape import _native
from repshape._arrays import extreme_unit
from repshape.coordinates.factors import Factors
from repshape.errors import InputError, Rule, check_choice
from repshape.groups import GROUPS, Group
from repshape.metrics.base import signed_root
from repshape.reference.energy import within_terms
from repshape.reference.gaussian import polar
from repshape.solvers.policy import PLANS
from repshape.solvers.soft import SoftParts, SoftProblem, best_plan, search

FloatArray = npt.NDArray[np.float64]
# The groups of the metrics that offer soft matching.
GROUPS_AND_SOFT = (*GROUPS, "soft")
# A squared distance between trials below this fraction of the squared responses is rounding.
MEETING = 1e-14


def match(
    problem: SoftProblem,
    plans: Sequence[FloatArray] | None,
    n_starts: int | str,
    *,
    tol: float,
    max_iter: int,
    seed: int,
) -> _native.Solution:
    """Solve a pair of networks of unequal size; the transform is the plan (n_x, n_y)."""
    count = PLANS.most if n_starts == "auto" else int(n_starts)
    found = search(problem, plans, count, tol=tol, max_iter=max_iter, seed=seed)
    best, gain = found.best, problem.gain
    parts = problem.parts(best.transform)
    distance = gain * signed_root(parts.squared)
    return found.solution(
        distance,
        gain * signed_root(problem.bound),
        best.transform,
        best.n_iterations,
        (gain * float(np.sqrt(parts.means)), gain * float(np.sqrt(parts.covariances))),
        composed=plans is not None,
    )


def distance_at(problem: SoftProblem, plan: FloatArray) -> float:
    """Return the distance at a plan."""
    return problem.gain * signed_root(problem.parts(plan).squared)


def _check_group_or_soft(name: str, value: Any, *, owner: str) -> None:
    if not isinstance(value, Group):
        check_choice(name, value, GROUPS_AND_SOFT, owner=owner)


SOFT_RULE: Rule = _check_group_or_soft


def refuse_padding(metric: Any) -> None:
    """Raise if soft matching, which needs no silent neurons, is asked to add some."""
    if metric.group == "soft" and metric.pad_to is not None:
        raise InputError(
            "The 'pad_to' parameter must be None for group='soft', which matches networks of any "
            f"sizes. Got {metric.pad_to}."
        )


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


class GaussianSoftProblem:
    """The Gaussian distance at plans: factors A (M, n_x, r) and C (M, n_y, r) of equal width.

    Responses are in a unit, ``gain``, by which distances are multiplied.
    """

    def __init__(self, x: Factors, y: Factors, alpha: float, weights: FloatArray) -> None:
        self.gain = unit = extreme_unit(x.means, x.factors, y.means, y.factors)
        if unit != 1:
            x, y = (
                replace(one, means=one.means / unit, factors=one.factors / unit) for one in (x, y)
            )
        A, C = x.dense, y.dense
        width = max(A.shape[2], C.shape[2])
        self.A, self.C = (
            np.pad(one, ((0, 0), (0, 0), (0, width - one.shape[2]))) for one in (A, C)
        )
        self.x, self.y, self.alpha, self.weights = x, y, alpha, weights
        self.means = alpha * (x.means * weights[:, None]).T @ y.means

    def at(self, P: FloatArray) -> tuple[float, FloatArray]:
        """Return a <sum w mu_x mu_y', P> + (2 - a) sum w |A' P C|_*, and its gradient."""
        X = np.swapaxes(self.A, 1, 2) @ P @ self.C
        U = polar(X)
        each = (2 - self.alpha) * self.weights
        value = float(np.sum(self.means * P) + each @ (X * U).sum(axis=(1, 2)))
        moved = self.A @ (U * each[:, None, None])
        return value, self.means + np.tensordot(moved, self.C, axes=((0, 2), (0, 2)))

    def parts(self, P: FloatArray) -> SoftParts:
        """Return the squared distance from residuals |A_i - U C_j|^2 of matched neurons."""
        U = polar(np.swapaxes(self.A, 1, 2) @ P @ self.C)
        i, j = np.nonzero(P)
        mass = P[i, j]
        gaps = (self.x.means[:, i] - self.y.means[:, j]) ** 2
        turned = self.C @ np.swapaxes(U, 1, 2)
        noise = ((self.A[:, i] - turned[:, j]) ** 2).sum(axis=2)
        means, covariances = (float(self.weights @ one @ mass) for one in (gaps, noise))
        squared = self.alpha * means + (2 - self.alpha) * covariances
        return SoftParts(squared, means, covariances)

    @property
    def costs(self) -> FloatArray:
        """Squared differences of means and of standard deviations of single neurons."""
        of_x, of_y = (np.sqrt((one**2).sum(axis=2)) for one in (self.A, self.C))
        noise = _squared_gaps(of_x, of_y, self.weights)
        means = _squared_gaps(self.x.means, self.y.means, self.weights)
        return self.alpha * means + (2 - self.alpha) * noise

    @property
    def bound(self) -> float:
        """The cost if every pair of neurons could have its own coupling of the noise."""
        return float(np.sum(best_plan(-self.costs) * self.costs))


class EnergySoftProblem:
    """The energy distance at plans, where |x - y|_P replaces |x - T y|.

    Responses are in a unit; distances are multiplied by a power of it, ``gain``.
    """

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
        self.biased = self.correction = 0.0
        for net in (self.x, self.y):
            within = np.array([self._within(one) for one in net])
            counts = [len(one) for one in net]
            biased, correction = within_terms(within, counts, weights, unbiased)
            self.biased += biased
            self.correction += correction

    def _within(self, rows: FloatArray) -> float:
        gaps = cdist(rows, rows, "sqeuclidean") / rows.shape[1]
        return float((gaps ** (self.q / 2)).mean())

    def at(self, P: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the loss, and the gradient of a bound of it that touches it at P."""
        value, gradient = 0.0, np.zeros(P.shape)
        for m, w in enumerate(self.weights.tolist()):
            x, y = self.x[m], self.y[m]
            one, other, _ = on_pairs(x, y, P)
            s = cdist(one, other, "sqeuclidean")  # |x - y|_P^2 of all trials
            value -= w * float((s ** (self.q / 2)).mean())
            W = np.maximum(s, self.floor) ** (self.q / 2 - 1)
            gradient += w * self.q / s.size * (x.T @ W @ y)
        return value, gradient

    def parts(self, P: FloatArray) -> SoftParts:
        """Return the squared distance, corrected for bias if asked for."""
        loss = -self.at(P)[0]
        return SoftParts(max(loss - self.biased, 0.0) - self.correction)

    @property
    def costs(self) -> FloatArray:
        """Squared differences of means and of standard deviations of single neurons."""
        total = np.zeros((self.x[0].shape[1], self.y[0].shape[1]))
        for summary in (np.mean, np.std):
            x, y = (np.stack([summary(one, axis=0) for one in net]) for net in (self.x, self.y))
            total += _squared_gaps(x, y, self.weights)
        return total

    @property
    def bound(self) -> float:
        """Zero, or the negative constant by which the unbiased estimate differs from the other."""
        return 0.0 - self.correction


def _squared_gaps(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return sum_m w_m (x_mi - y_mj)^2 for all pairs of neurons, (n_x, n_y)."""
    return np.asarray(np.einsum("m,mij->ij", weights, (x[:, :, None] - y[:, None, :]) ** 2))
