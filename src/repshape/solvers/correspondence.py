"""Starts from the correspondence of conditions.

Condition m of x belongs to condition m of y. So any weighted sum of covariances of x should
resemble the same sum of y, turned by the alignment. The eigenvectors of two such sums, matched in
order, suggest an alignment up to the signs of its axes, and the signs are chosen to suit all
conditions. The compiled core does the same (cpp/search/correspondence.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape.reference.gaussian import symmetric_root

FloatArray = npt.NDArray[np.float64]

# Use at most this many evenly spaced conditions.
MOST_CONDITIONS = 24
# Shapes of the gamma distribution of the weights: few conditions, or many.
SHAPES = (0.1, 0.3, 1.0)
# Without a perturbation of about this angle, starts repeat each other.
JITTER = 0.3
SIGN_TRIES = 8


def spread_conditions(total: int) -> npt.NDArray[np.intp]:
    """Return some of the conditions, evenly spaced.

    >>> spread_conditions(3)
    array([0, 1, 2])
    """
    count = min(total, MOST_CONDITIONS)
    return (2 * np.arange(count) + 1) * total // (2 * count)


@dataclass(frozen=True)
class Moments:
    """Means (C, n) and covariances (C, n, n) of some conditions, with roots of the latter."""

    means: FloatArray
    covariances: FloatArray
    roots: FloatArray

    @classmethod
    def of(cls, means: FloatArray, covariances: FloatArray) -> Moments:
        """Compute the symmetric roots of the covariances."""
        return cls(means, covariances, symmetric_root(covariances))

    @classmethod
    def of_trials(cls, trials: Sequence[FloatArray]) -> Moments:
        """Estimate the moments of conditions from their trials (L, n)."""
        means = np.stack([one.mean(axis=0) for one in trials])
        gaps = [one - mean for one, mean in zip(trials, means, strict=True)]
        return cls.of(means, np.stack([gap.T @ gap / len(gap) for gap in gaps]))


class Correspondence:
    """Suggestions of transforms (n_x, n_y) for x of no fewer dimensions than y.

    Parameters
    ----------
    x, y : Moments
        Of the same conditions.
    weights : array of shape (C,)
    rng : numpy Generator
    """

    def __init__(
        self, x: Moments, y: Moments, weights: FloatArray, rng: np.random.Generator
    ) -> None:
        self._x, self._y, self._weights, self._rng = x, y, weights, rng
        self._drawn = 0

    def __call__(self) -> FloatArray:
        """Return the next suggestion, slightly perturbed; it need not belong to the group."""
        shape, with_means = SHAPES[self._drawn % 3], self._drawn % 2 == 0
        self._drawn += 1
        drawn = self._rng.gamma(shape, size=len(self._weights)) * (self._weights > 0)
        T = self.match(drawn, with_means=with_means)
        noise = self._rng.standard_normal(T.shape)
        return np.asarray(T + JITTER / np.sqrt(len(T)) * noise)

    def match(self, weights: FloatArray, *, with_means: bool) -> FloatArray:
        """Return the transform that matches the principal axes of weighted sums over conditions."""
        V_x, V_y = (_axes(net, weights, with_means) for net in (self._x, self._y))
        k = V_y.shape[1]
        return np.asarray((V_x[:, :k] * self._signs(V_x[:, :k], V_y)) @ V_y.T)

    def _signs(self, V_x: FloatArray, V_y: FloatArray) -> FloatArray:
        """Return signs s of a high s'Hs + l's, a lower bound of the objective at V_x diag(s) V_y'.

        H is the weighted sum of the products, entry by entry, of the roots in the two bases.
        """
        roots = (V_x.T @ self._x.roots @ V_x) * (V_y.T @ self._y.roots @ V_y)
        H = np.tensordot(self._weights, roots, 1)
        linear = self._weights @ ((self._x.means @ V_x) * (self._y.means @ V_y))
        tries = [
            _flipped(H, linear, self._rng.choice([-1.0, 1.0], size=len(H)))
            for _ in range(SIGN_TRIES)
        ]
        return max(tries, key=lambda s: float(s @ H @ s + linear @ s))


def _axes(net: Moments, weights: FloatArray, with_means: bool) -> FloatArray:
    """Return eigenvectors of a weighted sum of covariances, in descending order, as columns."""
    total = np.tensordot(weights, net.covariances, 1)
    if with_means:
        total = total + (net.means * weights[:, None]).T @ net.means
    return np.asarray(np.linalg.eigh(total)[1][:, ::-1])


def _flipped(H: FloatArray, linear: FloatArray, s: FloatArray) -> FloatArray:
    """Flip the most profitable sign until none is."""
    for _ in range(10 * len(s)):
        gains = -2 * s * (2 * H @ s + linear) + 4 * np.diagonal(H)
        best = int(np.argmax(gains))
        if gains[best] <= 1e-12 * np.abs(H).max(initial=0.0):
            break
        s[best] = -s[best]
    return s
