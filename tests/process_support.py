"""Random processes for tests: VAR(1) systems, their covariances and samples."""

from __future__ import annotations

import numpy as np

import repshape as rs


def orthogonal(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(n, n)))[0]


def covariances(rng: np.random.Generator, M: int, size: int, rank: int | None = None) -> np.ndarray:
    A = rng.normal(size=(M, size, rank or size))
    return A @ A.swapaxes(1, 2) / size


def moments(
    rng: np.random.Generator, M: int, P: int, n: int, rank: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Means (M, P, n) and covariances (M, P n, P n)."""
    return rng.normal(size=(M, P, n)), covariances(rng, M, P * n, rank)


def turned(network: tuple[np.ndarray, np.ndarray], T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The network with every position multiplied by T (columns)."""
    means, S = network
    whole = np.kron(np.eye(means.shape[1]), T)
    return means @ T.T, whole @ S @ whole.T


def var1(A: np.ndarray, noise: np.ndarray, P: int, start: np.ndarray) -> np.ndarray:
    """Covariance of P steps of x_t = A x_(t-1) + e_t, with cov(x_0) = start, cov(e) = noise."""
    n = len(A)
    L = np.zeros((P * n, P * n))
    roots = [np.linalg.cholesky(start), *[np.linalg.cholesky(noise)] * (P - 1)]
    for t in range(P):
        column = roots[t]
        for s in range(t, P):
            L[s * n : (s + 1) * n, t * n : (t + 1) * n] = column
            column = A @ column
    return L @ L.T


def same_marginals(decay: float, n: int = 2, P: int = 8) -> rs.PositionNetwork:
    """A stationary system with identity covariance at every step, and autocorrelation ``decay``."""
    S = var1(decay * np.eye(n), (1 - decay**2) * np.eye(n), P, np.eye(n))
    return rs.PositionNetwork.from_moments(np.zeros((1, P, n)), S[None])
