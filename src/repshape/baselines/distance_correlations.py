"""Distance correlation between mean responses."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform

from repshape._arrays import FloatArray
from repshape.baselines._common import centred_means, check_pair, unit
from repshape.baselines.kernel_alignment import row_means, u_centred
from repshape.errors import InputError, check_boolean
from repshape.metrics.base import signed_root
from repshape.responses import NetworkLike


def distance_correlation(x: NetworkLike, y: NetworkLike, *, debiased: bool = False) -> float:
    r"""Return the distance correlation of two networks: any dependence of their responses.

    .. math:: \Big(\frac{\langle A, B \rangle}{|A|_F |B|_F}\Big)^{1/2}, \qquad
              A = H D_x H, \quad B = H D_y H, \quad H = I - 11'/M

    with the (M, M) Euclidean distances D between mean responses. It is the root of CKA with
    distances as the kernel.

    Parameters
    ----------
    x, y : networks
        They must have the same conditions, at least 3, or 4 if ``debiased``. Numbers of neurons
        may differ.
    debiased : bool
        Whether to replace H D H by the U-centred matrix, whose inner products are unbiased. Without
        this, networks with many neurons and few conditions have values near 1 even if they are
        independent. The root of a negative ratio r is :math:`-\sqrt{-r}`.

    Returns
    -------
    float
        In [0, 1], or in [-1, 1] if ``debiased``; 1 for identical networks.

    Notes
    -----
    A **similarity**. **Invariant to**: orthogonal maps of the neurons, shifts and scale.

    References
    ----------
    Szekely, Rizzo and Bakirov, Annals of Statistics 35, 2007. Szekely and Rizzo, Journal of
    Multivariate Analysis 117, 2013 (debiased).

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(20, 3))
    >>> round(distance_correlation(x, 2 * x[:, ::-1] + 1), 12)
    1.0
    """
    check_boolean("debiased", debiased, owner="distance_correlation")
    measure = "Distance correlation"
    networks = check_pair(x, y, measure=measure, at_least=4 if debiased else 3)
    A, B = (
        _centred_distances(centred_means(network, name, measure=measure), name, debiased)
        for network, name in zip(networks, "xy", strict=True)
    )
    return signed_root(float((A * B).sum()))


def _centred_distances(X: FloatArray, name: str, debiased: bool) -> FloatArray:
    """Return the centred or U-centred matrix of distances, scaled to norm 1."""
    D = squareform(pdist(X))
    centred = u_centred(D) if debiased else D - row_means(D)
    if np.linalg.norm(centred) <= 1e-12 * np.linalg.norm(D):
        raise InputError(
            "Distance correlation needs conditions that are not all equally far apart. "
            f"The centred distances of {name} are zero."
        )
    return unit(centred)
