"""The Bures-Wasserstein mean of covariances of any rank, by their factors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from repshape.reference.gaussian import polar

FloatArray = npt.NDArray[np.float64]


def barycentre_step(A: FloatArray, factors: list[FloatArray], weights: FloatArray) -> FloatArray:
    r"""Return one step of the fixed-point iteration for the mean of covariances C_k = F_k F_k'.

    .. math:: A \leftarrow \sum_k w_k F_k P_k', \qquad P_k = \text{polar factor of } A' F_k

    With S = A A' of full rank this is the fixed point of Alvarez-Esteban et al. (2016),
    :math:`S \leftarrow S^{-1/2} (\sum_k w_k (S^{1/2} C_k S^{1/2})^{1/2})^2 S^{-1/2}`, because
    :math:`F_k P_k' = S^{-1/2} (S^{1/2} C_k S^{1/2})^{1/2}` for A = S^{1/2}. With factors it needs
    no inverse. It is alternating minimisation of sum_k w_k |A - F_k P_k'|^2, which never increases.

    Parameters
    ----------
    A : array of shape (M, n, n)
        Factors of the current mean.
    factors : list of K arrays of shape (M, n, r)
        Those of a network may have any width r, also 0 if it has no noise.
    weights : array of shape (K,)

    Examples
    --------
    In one dimension it is the mean of standard deviations:

    >>> barycentre_step(np.ones((1, 1, 1)), [np.ones((1, 1, 1)), np.full((1, 1, 1), 3.0)],
    ...                 np.array([0.5, 0.5]))
    array([[[2.]]])
    """
    new = np.zeros_like(A)
    for weight, F in zip(weights, factors, strict=True):
        if not F.size:
            continue
        P = polar(np.swapaxes(A, 1, 2) @ F)
        new += weight * (F @ np.swapaxes(P, 1, 2))
    return new


def barycentre(
    A: FloatArray,
    factors: list[FloatArray],
    weights: FloatArray,
    *,
    tol: float = 1e-10,
    max_iter: int = 50,
) -> FloatArray:
    """Repeat `barycentre_step` until A changes by less than the fraction ``tol``.

    >>> F = [np.diag([1.0, 2.0])[None], np.diag([3.0, 0.0])[None]]
    >>> np.round(barycentre(np.eye(2)[None], F, np.array([0.5, 0.5])), 6)
    array([[[2., 0.],
            [0., 1.]]])
    """
    for _ in range(max_iter):
        new = barycentre_step(A, factors, weights)
        moved = float(np.linalg.norm(new - A))
        A = new
        if moved <= tol * float(np.linalg.norm(A)):
            break
    return A
