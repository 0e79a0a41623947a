"""Representational similarity analysis: compare matrices of dissimilarities (RDMs)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import rankdata

from repshape._arrays import FloatArray
from repshape.baselines._common import ROUNDING, centred_means, check_pair, separation, unit
from repshape.errors import InputError, check_boolean, check_choice
from repshape.moments import estimate_moments
from repshape.preprocess import RANK_TOLERANCE
from repshape.responses import Gaussians, NetworkLike, Trials

DISSIMILARITIES = ("euclidean", "correlation", "mahalanobis")
COMPARISONS = ("pearson", "spearman", "cosine")

TIE = 1e-10
"""Dissimilarities closer than this fraction of the largest are tied: rounding has no rank."""


def rsa(
    x: NetworkLike,
    y: NetworkLike,
    *,
    dissimilarity: str = "euclidean",
    compare: str = "pearson",
    squared: bool = False,
    angular: bool = False,
) -> float:
    r"""Representational similarity analysis: how differently networks space their conditions.

    Each network gives M (M - 1) / 2 dissimilarities between the mean responses
    :math:`\mu` to pairs of conditions (its RDM); the result is

    .. math:: 1 - r(\mathrm{RDM}_x, \mathrm{RDM}_y)

    with r a correlation or a cosine, or the angle arccos r.

    Parameters
    ----------
    x, y : networks
        With at least 3 conditions in common; numbers of neurons may differ.
    dissimilarity : {"euclidean", "correlation", "mahalanobis"}
        Of two conditions: :math:`|\mu_a - \mu_b|`; 1 less the correlation of the two responses
        over neurons; or :math:`\sqrt{(\mu_a - \mu_b)' S^{-1} (\mu_a - \mu_b)}` with S the noise
        covariance. Of trials, S is the Ledoit-Wolf estimate from the residuals of all conditions
        pooled; of Gaussians, the mean of their covariances.
    compare : {"pearson", "spearman", "cosine"}
        What r is. For "spearman" dissimilarities that differ by less than 1e-10 of the largest are
        ties, so that rounding does not decide ranks.
    squared : bool
        Square the dissimilarities first, as rsatoolbox does. Not for "correlation".
    angular : bool
        Return the angle in radians.

    Returns
    -------
    float
        In [0, 2], and in [0, 1] for "cosine"; the angle in [0, pi], and in [0, pi/2].

    Notes
    -----
    **Metric**: the angle is, between RDMs up to scale (and, unless "cosine", up to a constant);
    1 - r breaks the triangle inequality. **Invariant to**: shifts and scale of the responses, and
    orthogonal maps of the neurons, for "euclidean"; any invertible affine map that the
    noise undergoes too for "mahalanobis", exactly so if S is exact, up to shrinkage if estimated;
    scale, permutations of neurons, and a constant added to all neurons of one condition for
    "correlation", but neither rotations nor shifts. "spearman" also to any rising function of the
    dissimilarities.

    References
    ----------
    Kriegeskorte, Mur and Bandettini (2008), Frontiers in Systems Neuroscience 2:4.
    Walther et al. (2016), NeuroImage 137 (Mahalanobis).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [3.0]])  # dissimilarities 1, 3, 2
    >>> rsa(x, 5 * x + 1) < 1e-15
    True
    >>> y = np.array([[0.0], [2.0], [3.0]])  # dissimilarities 2, 3, 1
    >>> round(rsa(x, y, compare="spearman"), 12)
    0.5
    """
    check_choice("dissimilarity", dissimilarity, DISSIMILARITIES, owner="rsa")
    check_choice("compare", compare, COMPARISONS, owner="rsa")
    check_boolean("squared", squared, owner="rsa")
    check_boolean("angular", angular, owner="rsa")
    if squared and dissimilarity == "correlation":
        raise InputError("The 'squared' parameter of rsa does not go with 'correlation'.")
    networks = check_pair(x, y, measure="RSA", at_least=3)
    u, v = (
        _direction(_rdm(network, name, dissimilarity, squared), name, compare)
        for network, name in zip(networks, "xy", strict=True)
    )
    return separation(u, v, angular=angular)


def _rdm(network: Trials | Gaussians, name: str, kind: str, squared: bool) -> FloatArray:
    """Return the dissimilarities of all pairs of conditions, (M (M - 1) / 2,)."""
    centred = centred_means(network, name, measure="RSA")
    if kind == "correlation":
        return _correlation_rdm(network.means, name)
    rows = centred if kind == "euclidean" else centred @ _whitening(network, name)
    return np.asarray(pdist(rows, "sqeuclidean" if squared else "euclidean"))


def _correlation_rdm(means: FloatArray, name: str) -> FloatArray:
    """Return 1 - <u, v> = |u - v|^2 / 2 for patterns u, v over neurons, centred and of norm 1."""
    centred = means - means.mean(axis=1, keepdims=True)
    flat = np.abs(centred).max(axis=1) <= ROUNDING * np.abs(means).max(axis=1)
    if flat.any():
        raise InputError(
            "The correlation dissimilarity needs responses that differ between neurons. "
            f"Got the same response of all neurons to condition {int(np.argmax(flat))} in {name}."
        )
    patterns = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    if np.ptp(patterns, axis=0).max() <= ROUNDING:
        raise InputError(
            "The correlation dissimilarity needs patterns that differ between conditions. "
            f"Got the same pattern over neurons in every condition of {name}."
        )
    return np.asarray(pdist(patterns, "sqeuclidean") / 2)


def _whitening(network: Trials | Gaussians, name: str) -> FloatArray:
    """Return W (n, n) with W W' = S^-1, so that the noise of responses @ W is the identity."""
    values, axes = np.linalg.eigh(noise_covariance(network, name))
    if values[0] <= RANK_TOLERANCE * values[-1]:
        raise InputError(
            "The Mahalanobis dissimilarity needs noise in every direction of the responses. "
            f"Got a singular noise covariance in {name}."
        )
    return np.asarray(axes / np.sqrt(values))


def noise_covariance(network: Trials | Gaussians, name: str = "network") -> FloatArray:
    """Return one noise covariance (n, n) of all conditions.

    Of trials, the Ledoit-Wolf estimate from all residuals about the condition means; of Gaussians,
    the mean over conditions.
    """
    if isinstance(network, Gaussians):
        if network.kind == "diagonal":
            return np.diag(network.stored.mean(axis=0))
        return np.asarray(network.covariances.mean(axis=0))
    if network.n_trials.max() < 2:
        raise InputError(
            "The Mahalanobis dissimilarity needs at least two trials in some condition. "
            f"Got one in every condition of {name}."
        )
    residuals = network.pooled - np.repeat(network.means, network.n_trials, axis=0)
    residuals[np.abs(residuals) <= ROUNDING * np.abs(network.pooled).max()] = 0.0
    return np.asarray(estimate_moments(residuals[None], "ledoit-wolf").covariances[0])


def _direction(rdm: FloatArray, name: str, compare: str) -> FloatArray:
    """Return the vector of norm 1 whose product with another's is their similarity."""
    if compare == "cosine":
        return unit(rdm)
    if np.ptp(rdm) <= TIE * rdm.max():
        raise InputError(
            f"The {compare} correlation needs dissimilarities that differ. "
            f"Got the same one for all pairs of conditions in {name}."
        )
    values = _ranks(rdm) if compare == "spearman" else rdm
    return unit(values - values.mean())


def _ranks(rdm: FloatArray) -> FloatArray:
    """Return mean ranks, where values that differ by rounding are tied."""
    order = np.argsort(rdm, kind="stable")
    level = np.zeros(len(rdm))
    level[order[1:]] = np.cumsum(np.diff(rdm[order]) > TIE * rdm.max())
    return np.asarray(rankdata(level))
