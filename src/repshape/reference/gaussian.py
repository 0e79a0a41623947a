"""The distance between networks with Gaussian responses (eq. 5 to 7 of Duong et al., 2023).

    d(x, y)^2 = min_T sum_m w_m [a |mu_xm - T mu_ym|^2 + (2 - a) B(S_xm, T S_ym T')^2]

`distance_squared` is the sum at a given T, and `objective` what a search over T maximises. B is
the Bures distance: B(S, R)^2 = min_U |S^1/2 - R^1/2 U|^2 over orthogonal U.

There are M conditions with weights w (M,), which sum to 1, and networks with n_x and n_y neurons.
Means mu have shape (..., M, n). Covariances S = A A' have factors A (..., M, n_x, r_x) for x and
C (..., M, n_y, r_y) for y. T (..., n_x, n_y) maps y onto x. Leading dimensions "..." are those of
many pairs, or of many transforms of a pair, and are broadcast.
"""

from __future__ import annotations

from repshape.reference.arrays import Array, namespace, squared_norm, trace, transposed


def distance_squared(
    mu_x: Array, A: Array, mu_y: Array, C: Array, T: Array, alpha: float, weights: Array
) -> Array:
    """Return the sum of w [a |mu_x - T mu_y|^2 + (2 - a) B(S_x, T S_y T')^2] (eq. 7)."""
    means = mean_gap(mu_x, mu_y, T, weights)
    return alpha * means + (2 - alpha) * covariance_gap(A, C, T, weights)


def mean_gap(mu_x: Array, mu_y: Array, T: Array, weights: Array) -> Array:
    """Return the sum of w |mu_x - T mu_y|^2, or of w |T' mu_x - mu_y|^2 if n_y > n_x."""
    if T.shape[-2] < T.shape[-1]:
        return mean_gap(mu_y, mu_x, transposed(T), weights)
    xp = namespace(T)
    return xp.sum((mu_x - mu_y @ transposed(T)) ** 2, axis=-1) @ weights


def covariance_gap(A: Array, C: Array, T: Array, weights: Array) -> Array:
    """Return the sum of w B(S_x, T S_y T')^2, from residuals; x and y may be exchanged."""
    if T.shape[-2] < T.shape[-1]:
        return covariance_gap(C, A, transposed(T), weights)
    return bures_residual(A, T[..., None, :, :] @ C, weights)


def bures_residual(A: Array, moved: Array, weights: Array) -> Array:
    """Return the sum of w |A P - B|_F^2 for factors A and B = T C, P the polar factor of A' B.

    This is the minimum over U of eq. 6. A sum of squares is accurate even if it is small, unlike a
    difference of traces. P has orthonormal rows if A has no more columns than B; otherwise A - B P'
    is the residual.
    """
    P = polar(transposed(A) @ moved)
    narrow = A.shape[-1] <= moved.shape[-1]
    return squared_norm(A @ P - moved if narrow else A - moved @ transposed(P)) @ weights


def objective(
    mu_x: Array, A: Array, mu_y: Array, C: Array, T: Array, alpha: float, weights: Array
) -> tuple[Array, Array]:
    """Return g(T) = a <sum w mu_x mu_y', T> + (2 - a) sum w |A' T C|_* and its gradient.

    The squared distance of eq. 7 at T is a constant minus 2 g(T), for T of a group of isometries.
    g is convex, so T <- argmax <T, gradient> never decreases it (Prop. 2).
    """
    means = alpha * mean_term(mu_x, mu_y, weights)
    value, gradient = covariance_objective(A, C, T, weights)
    along_means = namespace(T).sum(means * T, axis=(-2, -1))
    return along_means + (2 - alpha) * value, means + (2 - alpha) * gradient


def mean_term(mu_x: Array, mu_y: Array, weights: Array) -> Array:
    """Return the sum of w mu_x mu_y', (..., n_x, n_y)."""
    return transposed(mu_x * weights[:, None]) @ mu_y


def covariance_objective(A: Array, C: Array, T: Array, weights: Array) -> tuple[Array, Array]:
    """Return the sum of w |A' T C|_* (nuclear norms), and its gradient in T, sum of w A P C'.

    The gradient of the nuclear norm |X|_* = <X, P> at X is its polar factor P.
    """
    xp = namespace(T)
    X = cross_products(A, C, T)
    P = polar(X)
    return xp.sum(X * P, axis=(-2, -1)) @ weights, rotated_term(A, C, P, weights)


def cross_products(A: Array, C: Array, T: Array) -> Array:
    """Return A_m' T C_m for every condition, (..., M, r_x, r_y)."""
    return transposed(A) @ (T[..., None, :, :] @ C)


def rotated_term(A: Array, C: Array, P: Array, weights: Array) -> Array:
    """Return the sum of w A P C' over conditions, (..., n_x, n_y)."""
    terms = A @ (weights[:, None, None] * P) @ transposed(C)
    return namespace(P).sum(terms, axis=-3)


def joint_objective(
    mu_x: Array, A: Array, mu_y: Array, C: Array, P: Array, alpha: float, weights: Array
) -> Array:
    """Return max over T of a <sum w mu_x mu_y', T> + (2 - a) sum w <P, A' T C>, for fixed P.

    The maximum is |G|_* with G = a sum w mu_x mu_y' + (2 - a) sum w A P C', at the polar factor of
    G. Its maximum over orthogonal P_m is that of g over T, since |X|_* = max over P of <P, X>.
    """
    G = alpha * mean_term(mu_x, mu_y, weights)
    G = G + (2 - alpha) * rotated_term(A, C, P, weights)
    return namespace(G).sum(G * polar(G), axis=(-2, -1))


def lower_bound_squared(
    mu_x: Array, A: Array, mu_y: Array, C: Array, T: Array, alpha: float, weights: Array
) -> Array:
    """Return a lower bound of `distance_squared` over the transforms of a group (App. E.2).

    It is the sum of two minima. T is the transform of the group that aligns the means best, which
    maximises <T, `mean_term`>; that of the covariances is at least `spectral_gap`.
    """
    means = mean_gap(mu_x, mu_y, T, weights)
    return alpha * means + (2 - alpha) * spectral_gap(A, C, weights)


def spectral_gap(A: Array, C: Array, weights: Array) -> Array:
    """Return the sum of w |s(A) - s(C)|^2 over sorted singular values, a lower bound of the gap."""
    s_x, s_y = singular_values(A), singular_values(C)
    shared = min(s_x.shape[-1], s_y.shape[-1])
    xp = namespace(s_x)
    gap = xp.sum((s_x[..., :shared] - s_y[..., :shared]) ** 2, axis=-1)
    rest = xp.sum(s_x[..., shared:] ** 2, axis=-1) + xp.sum(s_y[..., shared:] ** 2, axis=-1)
    return (gap + rest) @ weights


def singular_values(X: Array) -> Array:
    """Return the singular values of matrices (..., p, q) in descending order."""
    return namespace(X).linalg.svd(X, full_matrices=False)[1]


def polar(X: Array) -> Array:
    """Return the polar factor U V' of X = U s V' (..., p, q)."""
    if 0 in X.shape:
        return X
    U, _, Vt = namespace(X).linalg.svd(X, full_matrices=False)
    return U @ Vt


def symmetric_root(S: Array) -> Array:
    """Return S^(1/2) of positive semidefinite matrices (..., n, n)."""
    xp = namespace(S)
    values, U = xp.linalg.eigh(S)
    root = xp.sqrt(xp.maximum(values, xp.zeros_like(values)))
    return (U * root[..., None, :]) @ transposed(U)


def bures_squared(S: Array, R: Array) -> Array:
    """Return B(S, R)^2 = tr S + tr R - 2 tr (S^1/2 R S^1/2)^1/2, the usual formula (App. D.1)."""
    xp = namespace(S)
    half = symmetric_root(S)
    values = xp.linalg.eigvalsh(half @ R @ half)
    cross = xp.sum(xp.sqrt(xp.maximum(values, xp.zeros_like(values))), axis=-1)
    return trace(S) + trace(R) - 2 * cross
