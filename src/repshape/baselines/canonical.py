"""Canonical correlation analysis: mean CCA, SVCCA and PWCCA."""

from __future__ import annotations

import numpy as np

from repshape._arrays import FloatArray
from repshape.baselines._common import centred_means, check_pair
from repshape.errors import InputError, check_boolean, check_real
from repshape.preprocess import RANK_TOLERANCE
from repshape.responses import NetworkLike

# Canonical correlations closer than this are equal up to rounding, which mixes their variates.
SAME_CORRELATION = 1e-7


def cca(x: NetworkLike, y: NetworkLike) -> float:
    r"""Return 1 minus the mean canonical correlation between mean responses.

    .. math:: 1 - \frac{1}{r} \sum_{i=1}^{r} \rho_i, \qquad r = \min(r_x, r_y)

    where the :math:`\rho_i` are the cosines of the principal angles between the spaces that the
    centred mean responses of the neurons span in the space of conditions, of dimensions
    :math:`r_x` and :math:`r_y`. Directions with less than 1e-12 of the largest variance are
    ignored.

    Parameters
    ----------
    x, y : networks
        They must have the same conditions, at least 3. Numbers of neurons may differ.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    **Metric**: no; it is 0 between a network and a part of it. The closest metric is
    ``ProcrustesShapeMetric(whitening=1, distance="angular")``, which for equal ranks is the arccos
    of the mean canonical correlation. **Invariant to**: invertible affine maps of the neurons.

    A network with M - 1 or more neurons usually spans M - 1 dimensions. Every other network is then
    a part of it, and the result would be 0 for any data. Such networks raise an error.

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
    r"""Return 1 minus the mean canonical correlation of the leading principal components.

    Each network is reduced to the smallest number of principal components of its mean responses
    that explain the given fraction of their variance, and then compared by `cca`.

    Parameters
    ----------
    x, y : networks
        As in `cca`.
    variance : float in (0, 1]
        Fraction of the variance to keep; 1 is the same as `cca`.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    **Metric**: no. **Invariant to**: orthogonal maps of the neurons, shifts and scale of the
    responses. Because of the reduction, it is not invariant to other linear maps, unlike `cca`.

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
    r"""Return 1 minus the projection-weighted mean canonical correlation.

    .. math:: 1 - \frac{\sum_i a_i \rho_i}{\sum_i a_i}, \qquad
              a_i = \sum_j |\langle h_i, x_j \rangle|

    over the :math:`\min(r_x, r_y)` canonical variates :math:`h_i` of x, with norm 1, and its
    centred neurons :math:`x_j`. All are vectors over conditions. A variate has a large weight if it
    explains much of the activity of the neurons.

    Parameters
    ----------
    x, y : networks
        As in `cca`.
    symmetric : bool
        The formula is not symmetric in x and y. True returns the mean of both orders, as `pairwise`
        needs. False returns the original definition.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    **Metric**: no. **Invariant to**: permutations and changes of sign of the neurons, shifts and
    scale of the responses. It is not invariant to rotations, which change the weights, although it
    is 0 between rotated copies. If canonical correlations are equal, their variates are not unique;
    they are chosen along the principal axes of the network in the space that they span.

    A network that spans M - 1 dimensions raises an error, as in `cca`.

    The code that Google published with the paper (``google/svcca``) computes the variates with
    coefficients for whitened neurons, but from neurons that are not whitened, so that its weights,
    and its values, differ: for random networks it gave a similarity of 0.590 where this formula
    gives 0.553. Several packages copied that code.

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
    weights = _projection_weights(U @ left, cosines, X)
    first = float(weights @ losses / weights.sum())
    if not symmetric:
        return first
    weights = _projection_weights(V @ right.T, cosines, Y)
    return (first + float(weights @ losses / weights.sum())) / 2


def _projection_weights(variates: FloatArray, cosines: FloatArray, X: FloatArray) -> FloatArray:
    """Return the weight of each variate, the columns of (M, r), for neurons (M, n).

    Variates of equal correlations span a space, in which any basis would do. The principal axes of
    the neurons in that space do not depend on the order of x and y.
    """
    weights = np.empty(len(cosines))
    edges = np.flatnonzero(-np.diff(cosines) > SAME_CORRELATION) + 1
    for group in np.split(np.arange(len(cosines)), edges):
        inside = variates[:, group].T @ X
        if len(group) > 1:
            inside = np.linalg.svd(inside, full_matrices=False)[0].T @ inside
        weights[group] = np.abs(inside).sum(axis=1)
    return weights


def _bases(
    x: NetworkLike, y: NetworkLike, measure: str, *, variance: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return orthonormal bases (M, r) of the spans of both networks, and their centred means."""
    networks = check_pair(x, y, measure=measure, at_least=3)
    X, Y = (
        centred_means(network, name, measure=measure)
        for network, name in zip(networks, "xy", strict=True)
    )
    U, V = _span(X, variance), _span(Y, variance)
    for name, basis in (("x", U), ("y", V)):
        if basis.shape[1] >= len(X) - 1:
            raise InputError(
                f"{measure} needs more conditions than dimensions; otherwise it is 0 for any data. "
                f"Got {len(X)} conditions, whose centred responses span all {len(X) - 1} "
                f"dimensions in {name}."
            )
    return U, V, X, Y


def _span(X: FloatArray, variance: float) -> FloatArray:
    """Return the leading left singular vectors that explain a fraction of the variance."""
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    rank = int(np.count_nonzero(s**2 > RANK_TOLERANCE * s[0] ** 2))
    held = np.cumsum(s[:rank] ** 2)
    # Rounding must not add a component if the fraction is reached exactly.
    enough = int(np.searchsorted(held, variance * held[-1] * (1 - RANK_TOLERANCE))) + 1
    return np.asarray(U[:, : rank if variance == 1.0 else min(enough, rank)])


def _mean_dissimilarity(U: FloatArray, V: FloatArray) -> float:
    cosines = np.linalg.svd(U.T @ V, compute_uv=False)
    return float(np.mean(1.0 - np.minimum(cosines, 1.0)))
