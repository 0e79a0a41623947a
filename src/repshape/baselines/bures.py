"""Normalised Bures similarity of second moments over conditions."""

from __future__ import annotations

import numpy as np

from repshape._arrays import FloatArray
from repshape.baselines._common import centred_means, check_pair, separation, unit
from repshape.groups import nearest_orthogonal
from repshape.responses import NetworkLike


def nbs(x: NetworkLike, y: NetworkLike, *, angular: bool = False) -> float:
    r"""Return 1 minus the normalised Bures similarity, or its angle.

    .. math:: \mathrm{NBS} = \frac{\mathrm{tr} (K_x^{1/2} K_y K_x^{1/2})^{1/2}}
              {\sqrt{\mathrm{tr} K_x\, \mathrm{tr} K_y}} = \frac{|X' Y|_*}{|X|_F |Y|_F},
              \qquad K = X X',

    with the centred (M, n) mean responses X. The Bures distance between the (M, M) matrices K and
    the Procrustes distance between the responses are the same number (Harvey, Larsen and Williams,
    2023), so the angle is ``ProcrustesShapeMetric(distance="angular")``.

    Parameters
    ----------
    x, y : networks
        They must have the same conditions. Numbers of neurons may differ.
    angular : bool
        Whether to return arccos(NBS), in [0, pi/2].

    Returns
    -------
    float
        In [0, 1], or in radians.

    Notes
    -----
    **Metric**: if angular. **Invariant to**: orthogonal maps, shifts, scale.

    References
    ----------
    Harvey, Larsen and Williams, "Duality of Bures and Shape Distances with Implications for
    Comparing Neural Representations", PMLR 243, 2024.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(6, 3))
    >>> nbs(x, 2 * x[:, ::-1] + 1) < 1e-12
    True
    """
    first, second = check_pair(x, y, measure="NBS", at_least=2)
    X, Y = (
        unit(centred_means(network, name, measure="NBS"))
        for network, name in ((first, "x"), (second, "y"))
    )
    width = max(X.shape[1], Y.shape[1])
    X, Y = (_padded(one, width) for one in (X, Y))
    return separation(X, Y @ nearest_orthogonal(Y.T @ X), angular=angular)


def _padded(rows: FloatArray, width: int) -> FloatArray:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
