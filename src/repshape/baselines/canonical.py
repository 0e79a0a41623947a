"""Canonical correlation analysis: mean CCA, SVCCA and PWCCA."""

from __future__ import annotations

import numpy as np

from repshape._arrays import FloatArray
from repshape.baselines._common import centred_means, check_pair
from repshape.errors import InputError, check_boolean, check_real
from repshape.preprocess import RANK_TOLERANCE
from repshape.responses import NetworkLike


def cca(x: NetworkLike, y: NetworkLike) -> float:
    r"""One less the mean canonical correlation between mean responses.

    .. math:: 1 - \frac{1}{r} \sum_{i=1}^{r} \rho_i, \qquad r = \min(r_x, r_y)

    where the :math:`\rho_i` are the cosines of the principal angles between the spaces that the
    centred mean responses of the neurons span in the space of conditions, of dimensions
    :math:`r_x` and :math:`r_y`. Directions with less than 1e-12 of the largest variance are not
    counted.

    Parameters
    ----------
    x, y : networks
        With at least 3 conditions in common; numbers of neurons may differ.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    **Metric**: no; it is 0 between a network and a part of it. The metric that is closest is
    ``ProcrustesShapeMetric(whitening=1, distance="angular")``, which for equal ranks is the arccos
    of the mean canonical correlation. **Invariant to**: invertible affine maps of the neurons.

    A network that spans M - 1 dimensions, as one of M - 1 or more neurons does, contains every
    other, so that the result is 0 whatever the data. This is refused.

    References
    ----------
    Raghu, Gilmer, Yosinski and Sohl-Dickstein, NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(30, 3))
    >>> cca(x, x @ [[1.0, 2.0, 0.0], [0.0, 1.0, 5.0], [1.0, 0.0, 1.0]] + 1) < 1e-12
    True
    >>> cca(np.array([[1.0], [-1.0], [0.0], [0.0]]), np.array([[0.0], [0.0], [1.0], [-1.0]]))
    1.0
    """
    U, V, _, _ = _bases(x, y, "CCA", variance=1.0)
    return _mean_dissimilarity(U, V)


def svcca(x: NetworkLike, y: NetworkLike, *, variance: float = 0.99) -> float:
    r"""One less the mean canonical correlation of the leading principal components.

    Each network is reduced to the fewest principal components of its mean responses that hold the
    given fraction of their variance; the rest is `cca`.

    Parameters
    ----------
    x, y : networks
        With at least 3 conditions in common; numbers of neurons may differ.
    variance : float in (0, 1]
        The fraction to keep. 1 is `cca`.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    **Metric**: no. **Invariant to**: orthogonal maps of the neurons, shifts and scale of the
    responses; the reduction ends the invariance of `cca` to other linear maps.

    References
    ----------
    Raghu, Gilmer, Yosinski and Sohl-Dickstein, "SVCCA", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(30, 3))
    >>> svcca(x, x[:, ::-1] * -2 + 1) < 1e-12
    True
    """
    check_real("variance", variance, 0, 1, closed="right", owner="svcca")
    U, V, _, _ = _bases(x, y, "SVCCA", variance=float(variance))
    return _mean_dissimilarity(U, V)


def pwcca(x: NetworkLike, y: NetworkLike, *, symmetric: bool = True) -> float:
    r"""One less the mean canonical correlation, weighted by what each variate tells of the neurons.

    .. math:: 1 - \frac{\sum_i a_i \rho_i}{\sum_i a_i}, \qquad
              a_i = \sum_j |\langle h_i, x_j \rangle|

    over the :math:`\min(r_x, r_y)` canonical variates :math:`h_i` of x, of norm 1, and its
    centred neurons :math:`x_j`, all vectors over conditions.

    Parameters
    ----------
    x, y : networks
        With at least 3 conditions in common; numbers of neurons may differ.
    symmetric : bool
        The formula favours x. True takes the mean of it and of the formula with x and y exchanged,
        as `pairwise` needs; False is the original.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    **Metric**: no. **Invariant to**: permutations and changes of sign of the neurons, shifts and
    scale of the responses; not to rotations, which change the weights, though it stays 0 between
    rotated copies. Where canonical correlations are equal but not 1 their variates, and so the
    weights, are not unique.

    A network that spans M - 1 dimensions is refused, as in `cca`.

    References
    ----------
    Morcos, Raghu and Bengio, "Insights on representational similarity in neural networks with
    canonical correlation", NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(30, 3))
    >>> pwcca(x, 2 * x[:, ::-1] + 1) < 1e-12
    True
    """
    check_boolean("symmetric", symmetric, owner="pwcca")
    U, V, X, Y = _bases(x, y, "PWCCA", variance=1.0)
    left, cosines, right = np.linalg.svd(U.T @ V, full_matrices=False)
    losses = 1.0 - np.minimum(cosines, 1.0)
    weights = np.abs((U @ left).T @ X).sum(axis=1)
    first = float(weights @ losses / weights.sum())
    if not symmetric:
        return first
    weights = np.abs((V @ right.T).T @ Y).sum(axis=1)
    return (first + float(weights @ losses / weights.sum())) / 2


def _bases(
    x: NetworkLike, y: NetworkLike, measure: str, *, variance: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return orthonormal bases (M, r) of what both networks span, and their centred means."""
    networks = check_pair(x, y, measure=measure, at_least=3)
    X, Y = (
        centred_means(network, name, measure=measure)
        for network, name in zip(networks, "xy", strict=True)
    )
    U, V = _span(X, variance), _span(Y, variance)
    for name, basis in (("x", U), ("y", V)):
        if basis.shape[1] >= len(X) - 1:
            raise InputError(
                f"{measure} needs more conditions than dimensions, or it is 0 whatever the data. "
                f"Got {len(X)} conditions, whose centred responses span all {len(X) - 1} "
                f"dimensions in {name}."
            )
    return U, V, X, Y


def _span(X: FloatArray, variance: float) -> FloatArray:
    """Return the leading left singular vectors that hold a fraction of the variance."""
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    rank = int(np.count_nonzero(s**2 > RANK_TOLERANCE * s[0] ** 2))
    held = np.cumsum(s[:rank] ** 2)
    # Rounding of the sums must not cost a component where the fraction is met exactly.
    enough = int(np.searchsorted(held, variance * held[-1] * (1 - RANK_TOLERANCE))) + 1
    return np.asarray(U[:, : rank if variance == 1.0 else min(enough, rank)])


def _mean_dissimilarity(U: FloatArray, V: FloatArray) -> float:
    cosines = np.linalg.svd(U.T @ V, compute_uv=False)
    return float(np.mean(1.0 - np.minimum(cosines, 1.0)))
