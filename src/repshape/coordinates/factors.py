"""Gaussian networks as the solvers need them: thin factors, in few well-chosen coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from repshape._arrays import extreme_unit
from repshape.groups import FREE_COORDINATES, Group
from repshape.responses import Gaussians

FloatArray = npt.NDArray[np.float64]

# Singular values below this fraction of the largest of a condition are rounding of the input.
RANK_TOLERANCE = 1e-13
# Relative accuracy of the eigenvalues of a covariance, as a fraction of the largest.
EIGENVALUE_TOLERANCE = 1e-15
# If the smallest eigenvalue of a covariance is above this fraction of the largest, its Cholesky
# factor is accurate.
SAFE_FOR_CHOLESKY = 1e-8
# Conditions are decomposed in chunks of about this many numbers, so that temporaries stay small.
CHUNK_ENTRIES = 2**21
# Triangular factors save time from this many neurons on.
TRIANGULAR_FROM = 12
# If the ratio of the extreme eigenvalues of the second moment is above this, a network spans the
# whole space.
FULL_RANK = 1e-8
# If the smallest eigenvalue of a Gram matrix is above this fraction of the largest, its Cholesky
# factor loses at most four digits.
SAFE_GRAM = 1e-4
# Correlations below this are rounding; below the second they may be due to axes that lean.
INDEPENDENT = 1e-10
NEARLY_INDEPENDENT = 0.1


@dataclass(frozen=True)
class Factors:
    """Means, and factors of the covariances S = A A'.

    Attributes
    ----------
    means : array of shape (M, s)
    factors : array of shape (M, s, r), or (M, s) standard deviations if ``diagonal``
    spectrum : array of shape (M, r)
        Singular values of the factors in descending order; exactly zero beyond the rank.
    diagonal : bool
    basis : array of shape (n, s) or None
        Orthonormal columns: neurons = basis @ coordinates. None if the coordinates are the neurons.
    """

    means: FloatArray
    factors: FloatArray
    spectrum: FloatArray
    diagonal: bool
    basis: FloatArray | None = None

    @property
    def dense(self) -> FloatArray:
        """The factors as an array (M, s, r), whether diagonal or not."""
        if not self.diagonal:
            return self.factors
        return self.factors[:, :, None] * np.eye(self.factors.shape[1])


def factorise(network: Gaussians, *, orthogonal: bool = True) -> Factors:
    """Return thin factors of every covariance, whatever the form in which it is stored.

    ``orthogonal`` says whether stored factors get columns that are orthogonal to each other.
    """
    variances = _independent(network)
    if variances is not None:
        deviations = np.sqrt(variances)
        return Factors(network.means, deviations, -np.sort(-deviations, axis=1), True)
    of_factors = split_factors if orthogonal else _measure_factors
    split = of_factors if network.kind == "factors" else _split_covariances
    M, n, width = network.stored.shape
    step = max(1, CHUNK_ENTRIES // max(n * width, 1))
    rank = min(n, width)
    if step >= M:
        factors, spectrum = split(network.stored)
    else:
        factors, spectrum = np.empty((M, n, rank)), np.empty((M, rank))
        for start in range(0, M, step):
            part = slice(start, start + step)
            factors[part], spectrum[part] = split(network.stored[part])
    if not (rank and spectrum[:, -1].any()):  # the singular values are in descending order
        rank = int(np.count_nonzero(spectrum, axis=1).max(initial=0))
        factors, spectrum = factors[..., :rank], spectrum[..., :rank]
    factors, spectrum = np.ascontiguousarray(factors), np.ascontiguousarray(spectrum)
    return Factors(network.means, factors, spectrum, False)


def _independent(network: Gaussians) -> FloatArray | None:
    """Return the variances if the neurons are independent in every condition, else None."""
    if network.kind == "diagonal":
        return network.stored
    if network.kind == "factors" or np.count_nonzero(network.stored[0]) > network.n_neurons:
        return None
    variances = np.diagonal(network.stored, axis1=1, axis2=2)
    alike = np.count_nonzero(network.stored) == np.count_nonzero(variances)
    return variances if alike and variances.any() else None


def _split_covariances(S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return factors and their singular values, by Cholesky if that is accurate enough."""
    values = np.linalg.eigvalsh(S)[:, ::-1]
    if (values[:, -1] > SAFE_FOR_CHOLESKY * values[:, 0]).all():
        return np.asarray(np.linalg.cholesky(S)), np.sqrt(values)
    values, U = np.linalg.eigh(S)
    values, U = values[:, ::-1], U[:, :, ::-1]
    n = S.shape[1]
    values = np.where(values > n * EIGENVALUE_TOLERANCE * values[:, :1], values, 0.0)
    return U * np.sqrt(values)[:, None, :], np.sqrt(values)


def split_factors(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return factors (M, n, min(n, r)) of the same covariances, and their singular values."""
    if A.size == 0:
        return A, np.zeros((A.shape[0], A.shape[2]))
    U, s, _ = np.linalg.svd(A, full_matrices=False)
    s = np.where(s > RANK_TOLERANCE * s[:, :1], s, 0.0)
    return U * s[:, None, :], s


def _measure_factors(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return factors as `split_factors` does, but square ones of full rank as they are.

    Singular values alone take less than half of the time.
    """
    square = A
    if A.shape[2] > A.shape[1] > 0:
        square = np.swapaxes(np.linalg.qr(np.swapaxes(A, 1, 2), mode="r"), 1, 2)
    if A.size and square.shape[2] == square.shape[1]:
        s = np.linalg.svd(square, compute_uv=False)
        if (s[:, -1] > RANK_TOLERANCE * s[:, 0]).all():
            return square, np.asarray(s, dtype=np.float64)
    return split_factors(A)


def coordinates_for(group: str | Group, network: Gaussians, weights: FloatArray) -> Factors:
    """Factorise a network in the coordinates in which a group is searched."""
    if group not in FREE_COORDINATES:
        return factorise(network)
    return in_free_coordinates(network, weights, oriented=group == "rotation")


def in_free_coordinates(
    network: Gaussians, weights: FloatArray, *, oriented: bool = False
) -> Factors:
    """Factorise a network in the coordinates that suit it best, for groups that allow any.

    If the factors have fewer columns in total than there are neurons, an exact QR decomposition
    first reduces the network to as many dimensions as there are columns.
    """
    if network.kind == "factors" and _has_few_columns(network.stored):
        narrow, lift = _narrow(network)
        net = in_principal_axes(factorise(narrow), weights, oriented=oriented)
        return net if net.basis is None else replace(net, basis=lift(net.basis))
    made_triangular = network.n_neurons >= TRIANGULAR_FROM
    net = factorise(network, orthogonal=not made_triangular)
    safe = SAFE_FOR_CHOLESKY if network.kind == "full" else SAFE_GRAM
    return in_principal_axes(net, weights, oriented=oriented, safe=safe)


def _has_few_columns(factors: FloatArray) -> bool:
    """Whether means and factors together have fewer columns than there are neurons."""
    M, n, width = factors.shape
    return bool(M * (width + 1) < n)


def _narrow(network: Gaussians) -> tuple[Gaussians, Callable[[FloatArray], FloatArray]]:
    """Return the network in the coordinates of its QR decomposition, and a map back to neurons.

    With rows = R' Q', the coordinates are R'. If the Gram matrix R'R is well conditioned, its
    Cholesky factor is as accurate as the R of QR and takes a quarter of the time; Q = rows' R^-1.
    """
    M, n, width = network.stored.shape
    rows = np.empty((M * (width + 1), n))  # filled in place: such networks are large
    rows[:M] = network.means
    rows[M:].reshape(M, width, n)[...] = np.swapaxes(network.stored, 1, 2)
    unit = extreme_unit(rows)
    rows /= unit
    gram = rows @ rows.T
    values = np.linalg.eigvalsh(gram)
    if values[0] > SAFE_GRAM * values[-1]:
        R = np.linalg.cholesky(gram).T

        def lift(basis: FloatArray) -> FloatArray:
            return np.asarray(rows.T @ solve_triangular(R, basis))
    else:
        Q, R = np.linalg.qr(rows.T)

        def lift(basis: FloatArray) -> FloatArray:
            return np.asarray(Q @ basis)

    columns = np.swapaxes(R[:, M:].reshape(len(R), M, width), 0, 1)
    return Gaussians.from_factors(unit * R[:, :M].T, unit * columns), lift


def in_principal_axes(
    net: Factors, weights: FloatArray, *, oriented: bool = False, safe: float = SAFE_GRAM
) -> Factors:
    """Return the same network in coordinates along its principal axes of noise.

    Orthogonal changes of coordinates do not change distances. This one (1) drops every dimension in
    which the network never responds, exactly; (2) orders the axes by mean noise variance and fixes
    their signs by the means. So the identity is a good first guess of an alignment, and a network
    and its rotated copy become the same numbers up to rounding. With ``oriented``, the change is a
    rotation if no dimension is dropped, so that rotations remain rotations. Covariances whose
    extreme eigenvalues have a ratio above ``safe`` may be decomposed by Cholesky.
    """
    unit = extreme_unit(net.means, net.factors)  # which changes no direction
    near_one = net
    if unit != 1:
        means, factors, spectrum = net.means / unit, net.factors / unit, net.spectrum / unit
        near_one = Factors(means, factors, spectrum, net.diagonal)
    basis = (_neuron_order if net.diagonal else _axes_of_span)(near_one, weights)
    deviations = None
    if not net.diagonal and basis.shape[1] > 2:  # all angles of the plane are searched anyway
        basis, deviations = _independent_axes(near_one.factors, near_one.means, weights, basis)
    if oriented:
        basis = as_rotation(basis)
    means = net.means @ basis
    if net.diagonal:  # the basis is a signed permutation
        return Factors(means, net.factors @ np.abs(basis), net.spectrum, True, basis)
    if deviations is not None:
        deviations = unit * deviations
        return Factors(means, deviations, -np.sort(-deviations, axis=1), True, basis)
    factors, spectrum = np.asarray(basis.T @ net.factors), net.spectrum
    if factors.shape[2] > factors.shape[1]:  # beside one huge response, the noise is rounding
        factors, spectrum = split_factors(factors)
    return Factors(means, _triangular(factors, spectrum, safe), spectrum, False, basis)


def as_rotation(basis: FloatArray) -> FloatArray:
    """Reverse the last axis of a square basis that reflects, in place, and return the basis."""
    if basis.shape[0] == basis.shape[1] and np.linalg.det(basis) < 0:
        basis[:, -1] *= -1
    return basis


def _independent_axes(
    factors: FloatArray, means: FloatArray, weights: FloatArray, basis: FloatArray
) -> tuple[FloatArray, FloatArray | None]:
    """Return axes along which the noise is independent in every condition, and its deviations.

    All covariances have the same eigenvectors then, as those of a rotated network of independent
    neurons. The axes of ``basis`` lean a little towards the means, those of the noise alone do not.
    If there are no such axes, ``basis`` is returned, and None.
    """
    deviations = _deviations_along(basis, factors, INDEPENDENT)
    if deviations is None and _deviations_along(basis, factors[:1], NEARLY_INDEPENDENT) is not None:
        _, V = np.linalg.eigh(basis.T @ _second_moment(factors, weights) @ basis)
        turned = np.asarray(basis @ V[:, ::-1])
        turned *= axis_signs(means @ turned)
        deviations = _deviations_along(turned, factors, INDEPENDENT)
        basis = basis if deviations is None else turned
    return basis, deviations


def _deviations_along(
    basis: FloatArray, factors: FloatArray, tolerance: float
) -> FloatArray | None:
    """Return standard deviations along the axes, or None if any two are correlated."""
    M, n, rank = factors.shape
    if rank != n or basis.shape[1] != n:
        return None
    out = np.empty((M, n))
    for m, factor in enumerate(factors):
        turned = basis.T @ factor
        out[m] = np.sqrt((turned**2).sum(axis=1))
        if not (out[m] > 0).all():
            return None
        correlations = (turned @ turned.T) / np.outer(out[m], out[m]) - np.eye(n)
        if np.abs(correlations).max() > tolerance:
            return None
    return out


def _triangular(factors: FloatArray, spectrum: FloatArray, safe: float) -> FloatArray:
    """Return lower triangular factors of the same covariances if the factors are square.

    Products with them take half of the operations. Well-conditioned covariances are decomposed by
    Cholesky, the others by QR, which takes three times as long.
    """
    M, n, rank = factors.shape
    if rank != n or n < TRIANGULAR_FROM:
        return factors
    out = np.zeros_like(factors)
    well_conditioned = spectrum[:, -1] ** 2 > safe * spectrum[:, 0] ** 2
    step = max(1, CHUNK_ENTRIES // (16 * n * n))  # several temporaries each
    for start in range(0, M, step):
        chosen = np.arange(start, min(start + step, M))
        well, ill = chosen[well_conditioned[chosen]], chosen[~well_conditioned[chosen]]
        part = factors[well]
        out[well] = np.linalg.cholesky(part @ np.swapaxes(part, 1, 2))
        out[ill] = np.swapaxes(np.linalg.qr(np.swapaxes(factors[ill], 1, 2), mode="r"), 1, 2)
    return out


def _axes_of_span(net: Factors, weights: FloatArray) -> FloatArray:
    Q = _span(net)
    means, factors = net.means, net.factors
    if Q is not None:
        means, factors = means @ Q, Q.T @ factors
    V = _axes(means, factors, weights)
    return V if Q is None else np.asarray(Q @ V)


def _span(net: Factors) -> FloatArray | None:
    """Return an orthonormal basis of all responses, or None if they span the whole space."""
    M, n = net.means.shape
    r = net.factors.shape[2]
    if _clearly_spans(net):
        return None
    if M * (r + 1) >= n:
        second = _second_moment(net.factors, np.ones(M))
        values = np.linalg.eigvalsh(second + net.means.T @ net.means)
        if values[0] > FULL_RANK * values[-1]:
            return None
    # Each in its own unit: noise is no rounding of means that have a large offset.
    blocks = net.means, np.swapaxes(net.factors, 1, 2).reshape(-1, n)
    return span_of_rows(
        np.concatenate([one / (np.abs(one).max(initial=0.0) or 1) for one in blocks])
    )


def _clearly_spans(net: Factors) -> bool:
    """Return whether the noise of one condition is enough to span the space.

    The smallest eigenvalue of the sum over conditions is at least that of any of them, and the
    largest at most the trace.
    """
    if net.spectrum.shape[1] < net.means.shape[1]:
        return False
    smallest = float(net.spectrum[:, -1].max()) ** 2
    trace = float(np.vdot(net.spectrum, net.spectrum) + np.vdot(net.means, net.means))
    return smallest > FULL_RANK * trace


def span_of_rows(rows: FloatArray) -> FloatArray | None:
    """Return an orthonormal basis (n, s) of rows (N, n), or None if they span the whole space."""
    N, n = rows.shape
    if n > N:
        Q, R = np.linalg.qr(rows.T)
        U, s, _ = np.linalg.svd(R)
        return np.asarray(Q @ U[:, : _count(s)])
    _, s, Vt = np.linalg.svd(np.linalg.qr(rows, mode="r"))
    return None if _count(s) == n else np.asarray(Vt[: _count(s)].T)


def _count(s: FloatArray) -> int:
    # A network without any response keeps one dimension, so that there is something to align.
    return max(1, int(np.count_nonzero(s > RANK_TOLERANCE * s.max(initial=0.0))))


def axis_signs(projections: FloatArray) -> FloatArray:
    """Return signs that make a generic combination of conditions positive on every axis."""
    return np.where(_generic(len(projections)) @ projections < 0, -1.0, 1.0)


@lru_cache(maxsize=16)
def _generic(count: int) -> FloatArray:
    generic: FloatArray = np.cos(1.7 * np.arange(count) + 0.3)
    generic.flags.writeable = False
    return generic


def _second_moment(factors: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum of w A A' over conditions, (n, n)."""
    M, n, r = factors.shape
    roots = np.sqrt(weights)[:, None, None]
    total = np.zeros((n, n))
    step = max(1, CHUNK_ENTRIES // max(n * r, 1))
    for start in range(0, M, step):
        part = factors[start : start + step] * roots[start : start + step]
        wide = part.transpose(1, 0, 2).reshape(n, -1)
        total += wide @ wide.T
    return total


def _axes(means: FloatArray, factors: FloatArray, weights: FloatArray) -> FloatArray:
    noise = _second_moment(factors, weights)
    signal = (means * weights[:, None]).T @ means
    # The means only matter for axes with equal noise.
    _, V = np.linalg.eigh(noise + 1e-6 * signal)
    V = V[:, ::-1]
    return np.asarray(V * axis_signs(means @ V))


def _neuron_order(net: Factors, weights: FloatArray) -> FloatArray:
    order = np.argsort(-(weights @ net.factors**2), kind="stable")
    return np.asarray(np.eye(len(order))[:, order] * axis_signs(net.means[:, order]))
