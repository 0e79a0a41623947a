"""Measures of shared nearest neighbours between conditions: mutual k-NN and CKNNA."""

from __future__ import annotations

import numpy as np

from repshape._arrays import FloatArray, extreme_unit
from repshape.baselines._common import check_pair
from repshape.errors import InputError, check_integer
from repshape.responses import Gaussians, NetworkLike, Trials

TIE = 1e-10
"""Cosines that differ by less than this are ties."""


def mutual_knn(x: NetworkLike, y: NetworkLike, *, k: int = 10) -> float:
    r"""Return the mean fraction of the k nearest conditions that two networks have in common.

    .. math:: \frac{1}{M} \sum_m \frac{|N_x(m) \cap N_y(m)|}{k}

    where N(m) are the k other conditions whose mean responses have the largest cosine with that of
    condition m.

    Parameters
    ----------
    x, y : networks
        They must have the same conditions, more than k. Numbers of neurons may differ.
    k : int
        Number of neighbours.

    Returns
    -------
    float
        In [0, 1]; 1 if all neighbours agree. Independent networks have k / (M - 1) on average.

    Notes
    -----
    A **similarity**. **Invariant to**: orthogonal maps of the neurons and scale, but not shifts.
    Cosines that differ by less than 1e-10 are ties; the result is then the mean over random ways to
    break the ties.

    References
    ----------
    Huh, Cheung, Wang and Isola, "The Platonic Representation Hypothesis", ICML 2024.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(30, 4))
    >>> mutual_knn(x, 2 * x[:, ::-1])
    1.0
    """
    first, second = (_neighbours(K, k) for K in _cosines(x, y, "Mutual k-NN", k, "mutual_knn"))
    return float((first * second).sum() / (k * len(first)))


def cknna(x: NetworkLike, y: NetworkLike, *, k: int = 10) -> float:
    r"""Return centred kernel nearest-neighbour alignment: debiased CKA of common neighbours.

    .. math:: \frac{\mathrm{HSIC}_1(A \circ K_x, A \circ K_y)}
              {\sqrt{\mathrm{HSIC}_1(A_x \circ K_x, A_x \circ K_x)\,
              \mathrm{HSIC}_1(A_y \circ K_y, A_y \circ K_y)}}

    with the (M, M) cosines K between mean responses, :math:`A_{ab} = 1` if b is among the k nearest
    neighbours of a in the network, :math:`A = A_x \circ A_y`, and the unbiased estimate
    :math:`\mathrm{HSIC}_1` of Song et al. (2012).

    Parameters
    ----------
    x, y : networks
        They must have the same conditions, at least 4 and more than k.
    k : int
        Number of neighbours, at least 2. With k = M - 1 it is debiased CKA of the cosines.

    Returns
    -------
    float
        At most about 1, the value of identical networks; about 0 for independent ones.

    Notes
    -----
    A **similarity**. **Invariant to**: orthogonal maps of the neurons and scale, but not shifts.

    This is the formula of the authors' code, without the 1e-6 that it adds to the denominator; the
    appendix of the paper centres kernels differently. Ties are broken by the order of conditions.

    References
    ----------
    Huh, Cheung, Wang and Isola, "The Platonic Representation Hypothesis", ICML 2024.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(30, 4))
    >>> round(cknna(x, 2 * x[:, ::-1]), 12)
    1.0
    """
    K, L = _cosines(x, y, "CKNNA", k, "cknna", fewest=2)
    if len(K) < 4:
        raise InputError(f"CKNNA needs at least 4 conditions. Got {len(K)}.")
    A_x, A_y = (_nearest(one, k) for one in (K, L))
    both = A_x * A_y
    own = [_hsic(A * one, A * one) for A, one in ((A_x, K), (A_y, L))]
    for name, value in zip("xy", own, strict=True):
        if value <= 0:
            raise InputError(
                "CKNNA needs neighbours that are not all equally similar. "
                f"The estimated HSIC of {name} with itself is {value:.3g}. Increase k."
            )
    return float(_hsic(both * K, both * L) / np.sqrt(own[0]) / np.sqrt(own[1]))


def _cosines(
    x: NetworkLike, y: NetworkLike, measure: str, k: int, owner: str, fewest: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Return the (M, M) cosines between mean responses of two networks."""
    check_integer("k", k, fewest, owner=owner)
    networks = check_pair(x, y, measure=measure, at_least=k + 1)
    K, L = (
        _cosine_matrix(network, name, measure) for network, name in zip(networks, "xy", strict=True)
    )
    return K, L


def _cosine_matrix(network: Trials | Gaussians, name: str, measure: str) -> FloatArray:
    means = network.means / extreme_unit(network.means)
    sizes = np.linalg.norm(means, axis=1)
    if sizes.min() == 0:
        raise InputError(
            f"{measure} needs a response to every condition. "
            f"Got only zeros in condition {int(np.argmin(sizes))} of {name}."
        )
    rows = means / sizes[:, None]
    return np.asarray(rows @ rows.T)


def _neighbours(K: FloatArray, k: int) -> FloatArray:
    """Return (M, M) chances that b is a neighbour of a, if ties are broken at random."""
    own = K.copy()
    np.fill_diagonal(own, -np.inf)
    last = np.partition(own, -k, axis=1)[:, -k, None]
    above, tied = own > last + TIE, np.abs(own - last) <= TIE
    share = (k - above.sum(axis=1, keepdims=True)) / tied.sum(axis=1, keepdims=True)
    return np.asarray(above + tied * share)


def _nearest(K: FloatArray, k: int) -> FloatArray:
    """Return the (M, M) matrix of zeros and ones that says whether b is a neighbour of a."""
    own = K.copy()
    np.fill_diagonal(own, -np.inf)
    order = np.argsort(-own, axis=1, kind="stable")[:, :k]
    A = np.zeros_like(K)
    np.put_along_axis(A, order, 1.0, axis=1)
    return A


def _hsic(K: FloatArray, L: FloatArray) -> float:
    """Return M (M - 3) HSIC_1 of matrices with a zero diagonal, which need not be symmetric."""
    M = len(K)
    total = (K * L.T).sum() + K.sum() * L.sum() / ((M - 1) * (M - 2))
    return float(total - 2 * K.sum(axis=0) @ L.sum(axis=1) / (M - 2))
