"""Distances between covariances besides Bures.

All of them are invariant to orthogonal transforms of both covariances, D(Q S Q', Q R Q') = D(S, R),
which is what Prop. 1 of Duong et al. (2023) needs.
"""

from __future__ import annotations

from repshape.reference.arrays import Array, namespace, transposed
from repshape.reference.gaussian import symmetric_root


def symmetric_log(S: Array) -> Array:
    """Return the logarithm of positive definite matrices (..., n, n)."""
    xp = namespace(S)
    values, U = xp.linalg.eigh(S)
    return (U * xp.log(values)[..., None, :]) @ transposed(U)


def root_frobenius(S: Array, R: Array) -> Array:
    """Return |S^1/2 - R^1/2|_F."""
    return namespace(S).linalg.norm(symmetric_root(S) - symmetric_root(R))


def log_euclidean(S: Array, R: Array) -> Array:
    """Return |log S - log R|_F, for positive definite S and R."""
    return namespace(S).linalg.norm(symmetric_log(S) - symmetric_log(R))


def affine_invariant(S: Array, R: Array) -> Array:
    """Return |log(S^-1/2 R S^-1/2)|_F, for positive definite S and R.

    Exchanging S and R changes the signs of the logarithms alone, so the one is inverted that loses
    fewer digits. U' S^-1/2 R S^-1/2 U has the same eigenvalues, where U are the axes of S.
    """
    xp = namespace(S)
    (values, U), (others, V) = xp.linalg.eigh(S), xp.linalg.eigh(R)
    exchange = values[0] / values[-1] < others[0] / others[-1]
    inverted = xp.where(exchange, V, U) / xp.sqrt(xp.where(exchange, others, values))
    kept = xp.where(exchange, S, R)
    return xp.linalg.norm(xp.log(xp.linalg.eigvalsh(transposed(inverted) @ kept @ inverted)))


GROUND_METRICS = {
    "root-frobenius": root_frobenius,
    "log-euclidean": log_euclidean,
    "affine-invariant": affine_invariant,
}
