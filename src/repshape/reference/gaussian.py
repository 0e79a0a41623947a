"""The Gaussian distance in plain NumPy.

There are M conditions, and networks x and y with n_x and n_y neurons. Covariances S = A A' have
factors A (M, n_x, r_x) for x and C (M, n_y, r_y) for y. T (n_x, n_y) maps y onto x, and the weights
w (M,) sum to 1. Equation numbers are those of Duong et al. (2023).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def symmetric_root(S: FloatArray) -> FloatArray:
    """Return S^(1/2) of positive semidefinite matrices (..., n, n)."""
    values, U = np.linalg.eigh(S)
    root = np.sqrt(np.maximum(values, 0.0))
    return np.asarray((U * root[..., None, :]) @ np.swapaxes(U, -1, -2))


def bures_squared(S: FloatArray, R: FloatArray) -> FloatArray:
    """Return B(S, R)^2 = tr S + tr R - 2 tr (S^1/2 R S^1/2)^1/2, the usual formula (App. D.1)."""
    half = symmetric_root(S)
    values = np.linalg.eigvalsh(half @ R @ half)
    cross = np.sqrt(np.maximum(values, 0.0)).sum(-1)
    return np.asarray(np.trace(S, axis1=-2, axis2=-1) + np.trace(R, axis1=-2, axis2=-1) - 2 * cross)


def polar(X: FloatArray) -> FloatArray:
    """Return the polar factor U V' of X = U s V' (..., p, q)."""
    if X.size == 0:
        return X
    U, _, Vt = np.linalg.svd(X, full_matrices=False)
    return np.asarray(U @ Vt)


def cross_products(A: FloatArray, C: FloatArray, T: FloatArray) -> FloatArray:
    """Return A_m' T C_m for every condition, (M, r_x, r_y)."""
    return np.asarray(np.swapaxes(A, 1, 2) @ T @ C)


def covariance_objective(
    A: FloatArray, C: FloatArray, T: FloatArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    """Return the sum of w |A' T C|_* (nuclear norms), and its gradient in T, sum of w A P C'.

    The gradient of the nuclear norm at X is its polar factor P.
    """
    X = cross_products(A, C, T)
    P = polar(X)
    value = float(np.einsum("m,mpq,mpq->", weights, X, P))
    gradient = np.einsum("m,mip,mpq,mjq->ij", weights, A, P, C, optimize=True)
    return value, np.asarray(gradient)


def mean_term(mu_x: FloatArray, mu_y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum of w mu_x mu_y', (n_x, n_y)."""
    return np.asarray((mu_x * weights[:, None]).T @ mu_y)


def objective(
    mu_x: FloatArray,
    A: FloatArray,
    mu_y: FloatArray,
    C: FloatArray,
    T: FloatArray,
    alpha: float,
    weights: FloatArray,
) -> tuple[float, FloatArray]:
    """Return g(T) = a <sum w mu_x mu_y', T> + (2 - a) sum w |A' T C|_* and its gradient.

    The squared distance of eq. 7 at T is a constant minus 2 g(T); g is convex.
    """
    means = alpha * mean_term(mu_x, mu_y, weights)
    value, gradient = covariance_objective(A, C, T, weights)
    return float(np.sum(means * T)) + (2 - alpha) * value, means + (2 - alpha) * gradient


def joint_objective(
    mu_x: FloatArray,
    A: FloatArray,
    mu_y: FloatArray,
    C: FloatArray,
    P: FloatArray,
    alpha: float,
    weights: FloatArray,
) -> float:
    """Return max over T of a <sum w mu_x mu_y', T> + (2 - a) sum w <P, A' T C>, for fixed P.

    The maximum is |G|_* with G = a sum w mu_x mu_y' + (2 - a) sum w A P C', at the polar factor of
    G. Its maximum over orthogonal P_m is that of g over T, since |X|_* = max over P of <P, X>.
    """
    G = alpha * mean_term(mu_x, mu_y, weights)
    G = G + (2 - alpha) * np.einsum("m,mip,mpq,mjq->ij", weights, A, P, C, optimize=True)
    return float(np.linalg.norm(G, "nuc"))


def mean_gap(mu_x: FloatArray, mu_y: FloatArray, T: FloatArray, weights: FloatArray) -> float:
    """Return the sum of w |mu_x - T mu_y|^2, or of w |T' mu_x - mu_y|^2 if n_y > n_x."""
    if T.shape[0] < T.shape[1]:
        return mean_gap(mu_y, mu_x, T.T, weights)
    return float(weights @ ((mu_x - mu_y @ T.T) ** 2).sum(1))


def bures_residual(A: FloatArray, moved: FloatArray, weights: FloatArray) -> float:
    """Return the sum of w |A P - B|_F^2 for factors A and B = T C, P the polar factor of A' B.

    A sum of squares is accurate even if it is small, unlike a difference of traces. P has
    orthonormal rows if A has no more columns than B; otherwise A - B P' is the residual.
    """
    P = polar(np.swapaxes(A, 1, 2) @ moved)
    residual = A @ P - moved if A.shape[2] <= moved.shape[2] else A - moved @ np.swapaxes(P, 1, 2)
    return float(weights @ (residual**2).sum((1, 2)))


def covariance_gap(A: FloatArray, C: FloatArray, T: FloatArray, weights: FloatArray) -> float:
    """Return the sum of w B(S, T R T')^2, computed from residuals; x and y may be exchanged."""
    if T.shape[0] < T.shape[1]:
        return covariance_gap(C, A, T.T, weights)
    return bures_residual(A, T @ C, weights)


def spectral_gap(A: FloatArray, C: FloatArray, weights: FloatArray) -> float:
    """Return the sum of w |s(A) - s(C)|^2 over sorted singular values, a lower bound of the gap."""
    s_x = np.linalg.svd(A, compute_uv=False)
    s_y = np.linalg.svd(C, compute_uv=False)
    size = max(s_x.shape[1], s_y.shape[1])
    s_x, s_y = (np.pad(s, ((0, 0), (0, size - s.shape[1]))) for s in (s_x, s_y))
    return float(weights @ ((s_x - s_y) ** 2).sum(1))
