"""The affine-invariant Riemannian distance between second-moment matrices."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from repshape._arrays import FloatArray, extreme_unit
from repshape.baselines._common import check_pair
from repshape.errors import InputError, check_real
from repshape.responses import NetworkLike


def riemannian(x: NetworkLike, y: NetworkLike, *, shrinkage: float = 0.01) -> float:
    r"""Affine-invariant Riemannian distance between second-moment matrices over conditions.

    .. math:: d = |\log(G_x^{-1/2} G_y G_x^{-1/2})|_F = \Big(\sum_m \log^2 \lambda_m\Big)^{1/2},
              \qquad G = (1 - s) \frac{X X'}{n} + s\, \frac{\mathrm{tr}(X X')}{n M} I

    with the (M, n) mean responses X and the eigenvalues :math:`\lambda` of
    :math:`G_x^{-1} G_y`. Without shrinkage, G would be singular and the distance infinite if a
    network has fewer neurons than there are conditions.

    Parameters
    ----------
    x, y : networks
        They must have the same conditions. Numbers of neurons may differ.
    shrinkage : float in (0, 1]
        s: how far G is shrunk towards the multiple of the identity with the same trace. With a
        smaller s, directions in which only one network responds count more: their contribution to
        the distance grows as -log s.

    Returns
    -------
    float
        In [0, infinity).

    Notes
    -----
    **Metric**: yes, between matrices G. **Invariant to**: orthogonal maps of the neurons. Unlike
    other baselines, it is invariant neither to shifts nor to scale: the distance between x and c x
    is :math:`2 \sqrt{M} |\log c|`. ``Preprocess(center=True, scale=True)`` removes both. (The
    invariance in its name is to linear maps of the conditions, applied to both matrices G.)

    References
    ----------
    Shahbazi, Shirali, Aghajan and Nili, "Using distance on the Riemannian manifold to compare
    representations in brain and in models", NeuroImage 239, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(5, 3))
    >>> riemannian(x, x[:, ::-1]) < 1e-12
    True
    >>> bool(np.isclose(riemannian(x, 2 * x), 2 * np.sqrt(5) * np.log(2)))
    True
    """
    check_real("shrinkage", shrinkage, 0, 1, closed="right", owner="riemannian")
    networks = check_pair(x, y, measure="The Riemannian distance", at_least=1)
    units = [extreme_unit(network.means) for network in networks]
    G_x, G_y = (
        second_moments(network.means / unit, name, float(shrinkage))
        for network, name, unit in zip(networks, "xy", units, strict=True)
    )
    logarithms = np.log(eigh(G_y, G_x, eigvals_only=True))
    return float(np.linalg.norm(logarithms + 2 * (np.log(units[1]) - np.log(units[0]))))


def second_moments(means: FloatArray, name: str, shrinkage: float) -> FloatArray:
    """Return the shrunk second-moment matrix G (M, M) of the mean responses."""
    M, n = means.shape
    G = means @ means.T / n
    level = float(np.trace(G)) / M
    if level == 0:
        raise InputError(
            "The Riemannian distance needs mean responses that are not all zero. "
            f"Got only zeros in {name}."
        )
    return np.asarray((1 - shrinkage) * G + shrinkage * level * np.eye(M))
