"""Representational similarity analysis: comparison of dissimilarity matrices (RDMs)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import rankdata

from repshape._arrays import FloatArray, extreme_unit
from repshape.baselines._common import ROUNDING, centred_means, check_pair, separation, unit
from repshape.errors import InputError, check_boolean, check_choice
from repshape.moments import estimate_moments
from repshape.preprocess import RANK_TOLERANCE
from repshape.responses import Gaussians, NetworkLike, Trials

DISSIMILARITIES = ("euclidean", "correlation", "mahalanobis")
COMPARISONS = ("pearson", "spearman", "cosine")

TIE = 1e-10
"""Dissimilarities that differ by less than this fraction of the largest are ties."""


def rsa(
    x: NetworkLike,
    y: NetworkLike,
    *,
    dissimilarity: str = "euclidean",
    compare: str = "pearson",
    squared: bool = False,
    angular: bool = False,
) -> float:
    r"""Representational similarity analysis: compare dissimilarities between conditions.

    The RDM of a network has M (M - 1) / 2 dissimilarities between the mean responses :math:`\mu` to
    pairs of conditions. The result is

    .. math:: 1 - r(\mathrm{RDM}_x, \mathrm{RDM}_y)

    with r a correlation or a cosine, or the angle arccos r.

    Parameters
    ----------
    x, y : networks
        They must have the same conditions, at least 3. Numbers of neurons may differ.
    dissimilarity : {"euclidean", "correlation", "mahalanobis"}
        Dissimilarity of two conditions: :math:`|\mu_a - \mu_b|`; 1 minus the correlation of the two
        responses over neurons; or :math:`\sqrt{(\mu_a - \mu_b)' S^{-1} (\mu_a - \mu_b)}` with
        the noise covariance S. For trials, S is the Ledoit-Wolf estimate from the pooled residuals
        of all conditions; for Gaussians, it is the mean of their covariances.
    compare : {"pearson", "spearman", "cosine"}
        The correlation r. For "spearman", dissimilarities that differ by less than 1e-10 of the
        largest are ties, so that ranks do not depend on rounding.
    squared : bool
        Whether to square the dissimilarities first, as rsatoolbox does. Not for "correlation".
    angular : bool
        Whether to return the angle, in radians.

    Returns
    -------
    float
        In [0, 2], or in [0, 1] for "cosine". The angle is in [0, pi], or in [0, pi/2].

    Notes
    -----
    **Metric**: the angle is one, between RDMs up to scale (and up to a constant, unless "cosine");
    1 - r violates the triangle inequality. **Invariant to**: for "euclidean", shifts and scale of
    the responses and orthogonal maps of the neurons; for "mahalanobis", any invertible affine map
    that also applies to the noise (exactly if S is exact, and up to shrinkage if it is estimated);
    for "correlation", scale, permutations of the neurons, and a constant added to all neurons in
    one condition, but neither rotations nor shifts. With "spearman" also any increasing function of
    the dissimilarities.

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
        raise InputError("The 'squared' parameter of rsa cannot be used with 'correlation'.")
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
    means = means / extreme_unit(means)
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
    """Return W (n, n) with W W' = S^-1, up to scale: the noise of responses @ W is isotropic."""
    values, axes = np.linalg.eigh(noise_covariance(network, name))
    if values[0] <= RANK_TOLERANCE * values[-1]:
        raise InputError(
            "The Mahalanobis dissimilarity needs noise in every direction of the responses. "
            f"Got a singular noise covariance in {name}."
        )
    return np.asarray(axes / np.sqrt(values / extreme_unit(values)))


def noise_covariance(network: Trials | Gaussians, name: str = "network") -> FloatArray:
    """Return one noise covariance (n, n) for all conditions.

    For trials, this is the Ledoit-Wolf estimate from all residuals about the condition means; for
    Gaussians, the mean over conditions.
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
    """Return a vector of norm 1; the inner product of two such vectors is the similarity."""
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
    """Return ranks, with equal ranks for values that differ only by rounding."""
    order = np.argsort(rdm, kind="stable")
    level = np.zeros(len(rdm))
    level[order[1:]] = np.cumsum(np.diff(rdm[order]) > TIE * rdm.max())
    return np.asarray(rankdata(level))
