"""Distances between Gaussian responses at positions, in plain NumPy.

A condition has P positions (time steps or pixels) and n neurons. Its covariance S (P n, P n) has
blocks S[p, q] (n, n). All positions share one transform T (n_x, n_y). The three modes differ in
which couplings of the noise they allow; all of them have the form

    g(T) = sum over blocks of w | sum_p A[p]' T C[p] |_*

with *blocks* A (K, P, n, r). If S = L L', with L block lower triangular in the causal mode:

    marginal   every position is a block of its own: A[p] A[p]' = S[p, p]
    joint      one block per condition: A = any factor of S
    causal     one block per condition and time t: A[s] = L[s, t], which is zero for s < t

Since g is convex, alternation never decreases it; see `repshape.reference.alternation`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from repshape.reference.gaussian import bures_residual, polar, symmetric_root

FloatArray = npt.NDArray[np.float64]


def marginal_blocks(S: FloatArray, n: int) -> FloatArray:
    """Return roots of the covariances within positions, (M P, 1, n, n), from S (M, P n, P n)."""
    M, P = len(S), S.shape[1] // n
    within = [S[m, p * n : (p + 1) * n, p * n : (p + 1) * n] for m in range(M) for p in range(P)]
    return symmetric_root(np.array(within))[:, None]


def joint_blocks(S: FloatArray, n: int) -> FloatArray:
    """Return the roots of whole covariances by position, (M, P, n, P n)."""
    return symmetric_root(S).reshape(len(S), -1, n, S.shape[1])


def causal_blocks(S: FloatArray, n: int) -> FloatArray:
    """Return block columns of the Cholesky factors, (M P, P, n, n), for positive definite S."""
    M, P = len(S), S.shape[1] // n
    L = np.linalg.cholesky(S).reshape(M, P, n, P, n)
    return np.asarray(L.transpose(0, 3, 1, 2, 4).reshape(M * P, P, n, n))


def cross_products(A: FloatArray, C: FloatArray, T: FloatArray) -> FloatArray:
    """Return sum_p A[p]' T C[p] of every block, (K, r_x, r_y)."""
    return np.asarray(np.einsum("kpia,ij,kpjb->kab", A, T, C, optimize=True))


def objective(
    A: FloatArray, C: FloatArray, T: FloatArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    """Return the sum of w |sum_p A[p]' T C[p]|_* and its gradient, sum of w A[p] U C[p]'.

    U is the polar factor of the cross product of a block. The weights (K,) are those of blocks.
    """
    X = cross_products(A, C, T)
    U = polar(X)
    value = float(np.einsum("k,kab,kab->", weights, X, U))
    gradient = np.einsum("k,kpia,kab,kpjb->ij", weights, A, U, C, optimize=True)
    return value, np.asarray(gradient)


def covariance_gap(A: FloatArray, C: FloatArray, T: FloatArray, weights: FloatArray) -> float:
    """Return the sum of w |A U - T C|^2 over blocks: the squared distance between covariances.

    It equals the sum of w (|A|^2 + |C|^2 - 2 |sum_p A[p]' T C[p]|_*), but is accurate even if it
    is small.
    """
    if T.shape[0] < T.shape[1]:
        return covariance_gap(C, A, T.T, weights)
    # The positions of a block are rows of one tall factor.
    rows = A.shape[1] * A.shape[2]
    tall, moved = (one.reshape(len(one), rows, one.shape[3]) for one in (A, T @ C))
    return bures_residual(tall, moved, weights)


def scalar_adapted_squared(S: FloatArray, R: FloatArray) -> float:
    """Return the squared adapted Wasserstein distance of two scalar Gaussian processes of mean 0.

    tr S + tr R - 2 |diag(L' M)|_1 with Cholesky factors S = L L' and R = M M', (P, P) each
    (Gunasingam and Wong, 2024).
    """
    L, M = np.linalg.cholesky(S), np.linalg.cholesky(R)
    return float(np.trace(S) + np.trace(R) - 2 * np.abs(np.diagonal(L.T @ M)).sum())


def bicausal_cost(L: FloatArray, M: FloatArray, contractions: FloatArray) -> float:
    """Return E |X - Y|^2 of the bicausal coupling X = L e, Y = M h with E e_t h_t' = contractions.

    L and M (P n, P n) are block lower triangular, and the contractions (P, n, n) have singular
    values of at most 1. The noises of different times are uncorrelated.
    """
    P, n = contractions.shape[:2]
    cross = 0.0
    for t in range(P):
        column = slice(t * n, (t + 1) * n)
        cross += float(np.sum(contractions[t] * (L[:, column].T @ M[:, column])))
    return float((L**2).sum() + (M**2).sum() - 2 * cross)
