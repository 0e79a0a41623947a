"""Distances between covariances besides Bures, in plain NumPy.

All of them are invariant to orthogonal transforms of both covariances, D(Q S Q', Q R Q') = D(S, R),
which is what Prop. 1 of Duong et al. (2023) needs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from repshape.reference.gaussian import symmetric_root

FloatArray = npt.NDArray[np.float64]


def symmetric_log(S: FloatArray) -> FloatArray:
    """Return the logarithm of positive definite matrices (..., n, n)."""
    values, U = np.linalg.eigh(S)
    return np.asarray((U * np.log(values)[..., None, :]) @ np.swapaxes(U, -1, -2))


def root_frobenius(S: FloatArray, R: FloatArray) -> float:
    """Return |S^1/2 - R^1/2|_F."""
    return float(np.linalg.norm(symmetric_root(S) - symmetric_root(R)))


def log_euclidean(S: FloatArray, R: FloatArray) -> float:
    """Return |log S - log R|_F, for positive definite S and R."""
    return float(np.linalg.norm(symmetric_log(S) - symmetric_log(R)))


def affine_invariant(S: FloatArray, R: FloatArray) -> float:
    """Return |log(S^-1/2 R S^-1/2)|_F, for positive definite S and R.

    Exchanging S and R changes the signs of the logarithms alone, so the one is inverted that loses
    fewer digits. U' S^-1/2 R S^-1/2 U has the same eigenvalues, where U are the axes of S.
    """
    (values, U), (others, V) = np.linalg.eigh(S), np.linalg.eigh(R)
    if values[0] / values[-1] < others[0] / others[-1]:
        R, values, U = S, others, V
    white = U / np.sqrt(values)
    return float(np.linalg.norm(np.log(np.linalg.eigvalsh(white.T @ R @ white))))


GROUND_METRICS = {
    "root-frobenius": root_frobenius,
    "log-euclidean": log_euclidean,
    "affine-invariant": affine_invariant,
}
