"""Distances between Gaussian responses at positions: time steps or pixels.

A condition has P positions and n neurons. Its covariance S (P n, P n) has
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

from repshape.reference.arrays import Array, namespace, squared_norm, trace, transposed
from repshape.reference.gaussian import bures_residual, polar, symmetric_root


def marginal_blocks(S: Array, n: int) -> Array:
    """Return roots of the covariances within positions, (M P, 1, n, n), from S (M, P n, P n)."""
    xp = namespace(S)
    within = [S[:, p : p + n, p : p + n] for p in range(0, S.shape[1], n)]
    return symmetric_root(xp.reshape(xp.stack(within, axis=1), (-1, 1, n, n)))


def joint_blocks(S: Array, n: int) -> Array:
    """Return the roots of whole covariances by position, (M, P, n, P n)."""
    M, width, _ = S.shape
    return namespace(S).reshape(symmetric_root(S), (M, width // n, n, width))


def causal_blocks(S: Array, n: int) -> Array:
    """Return block columns of the Cholesky factors, (M P, P, n, n), for positive definite S."""
    xp, width = namespace(S), S.shape[1]
    L = xp.linalg.cholesky(S)
    columns = xp.stack([L[:, :, t : t + n] for t in range(0, width, n)], axis=1)
    return xp.reshape(columns, (-1, width // n, n, n))


def cross_products(A: Array, C: Array, T: Array) -> Array:
    """Return sum_p A[p]' T C[p] of every block, (K, r_x, r_y)."""
    return namespace(T).sum(transposed(A) @ (T @ C), axis=-3)


def objective(A: Array, C: Array, T: Array, weights: Array) -> tuple[Array, Array]:
    """Return the sum of w |sum_p A[p]' T C[p]|_* and its gradient, sum of w A[p] U C[p]'.

    U is the polar factor of the cross product of a block. The weights (K,) are those of blocks.
    """
    xp = namespace(T)
    X = cross_products(A, C, T)
    U = polar(X)
    terms = A @ (weights[:, None, None] * U)[:, None] @ transposed(C)
    return xp.sum(X * U, axis=(-2, -1)) @ weights, xp.sum(terms, axis=(0, 1))


def covariance_gap(A: Array, C: Array, T: Array, weights: Array) -> Array:
    """Return the sum of w |A U - T C|^2 over blocks: the squared distance between covariances.

    It equals the sum of w (|A|^2 + |C|^2 - 2 |sum_p A[p]' T C[p]|_*), but is accurate even if it
    is small.
    """
    if T.shape[0] < T.shape[1]:
        return covariance_gap(C, A, transposed(T), weights)
    xp = namespace(T)
    # The positions of a block are rows of one tall factor.
    rows = A.shape[1] * A.shape[2]
    tall, moved = (xp.reshape(one, (len(one), rows, one.shape[3])) for one in (A, T @ C))
    return bures_residual(tall, moved, weights)


def scalar_adapted_squared(S: Array, R: Array) -> Array:
    """Return the squared adapted Wasserstein distance of two scalar Gaussian processes of mean 0.

    tr S + tr R - 2 |diag(L' M)|_1 with Cholesky factors S = L L' and R = M M', (P, P) each
    (Gunasingam and Wong, 2024).
    """
    xp = namespace(S)
    L, M = xp.linalg.cholesky(S), xp.linalg.cholesky(R)
    return trace(S) + trace(R) - 2 * xp.sum(xp.abs(xp.sum(L * M, axis=0)))


def bicausal_cost(L: Array, M: Array, contractions: Array) -> Array:
    """Return E |X - Y|^2 of the bicausal coupling X = L e, Y = M h with E e_t h_t' = contractions.

    L and M (P n, P n) are block lower triangular, and the contractions (P, n, n) have singular
    values of at most 1. The noises of different times are uncorrelated.
    """
    xp, n = namespace(L), contractions.shape[1]
    cross = 0.0
    for t, contraction in enumerate(contractions):
        column = slice(t * n, (t + 1) * n)
        cross = cross + xp.sum(contraction * (transposed(L[:, column]) @ M[:, column]))
    return squared_norm(L) + squared_norm(M) - 2 * cross
