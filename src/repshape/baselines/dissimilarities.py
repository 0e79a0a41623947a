"""Dissimilarities between conditions, and representational similarity analysis (RSA)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist, squareform

from repshape._arrays import FloatArray, extreme_unit, real_array
from repshape.baselines._common import ROUNDING, centred_means, check_pair, separation
from repshape.baselines.comparisons import COMPARISONS, COSINES, direction, similarity
from repshape.errors import InputError, check_boolean, check_choice
from repshape.moments import estimate_moments
from repshape.preprocess import RANK_TOLERANCE
from repshape.responses import Gaussians, NetworkLike, Trials

DISSIMILARITIES = ("euclidean", "correlation", "cosine", "mahalanobis", "crossnobis", "poisson")
SQUARED = ("euclidean", "mahalanobis")
"""Dissimilarities that are squared in an RDM and plain, by default, in `rsa`."""
TRIALS = ("independent", "runs")
"""Which trials of two conditions may share noise."""
PRIOR_RATE, PRIOR_WEIGHT = 1.0, 0.1
"""Poisson rates are shrunk towards this rate, as by this fraction of an observation more."""


@dataclass(frozen=True)
class Noise:
    """What is known about noise: its covariance (n, n), if given, and which trials share it."""

    covariance: FloatArray | None = None
    trials: str = "independent"


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
    dissimilarity : str
        Dissimilarity of two conditions. "euclidean": :math:`|\mu_a - \mu_b|`. "correlation" or
        "cosine": 1 minus the correlation, or the cosine, of the two responses over neurons.
        "mahalanobis": :math:`\sqrt{(\mu_a - \mu_b)' S^{-1} (\mu_a - \mu_b)}` with the noise
        covariance S. For trials, S is the Ledoit-Wolf estimate from the pooled residuals of all
        conditions; for Gaussians, it is the mean of their covariances. "crossnobis" and "poisson":
        see `rdm`.
    compare : str
        The similarity r: "pearson", "spearman", "cosine", "whitened-cosine", "rho-a" or "tau-a",
        see `RDM.compare`. Dissimilarities that differ by less than 1e-10 of the largest are ties,
        so that ranks do not depend on rounding.
    squared : bool
        Whether to square the dissimilarities first, as rsatoolbox does. Only for "euclidean" and
        "mahalanobis".
    angular : bool
        Whether to return the angle, in radians. Not for "rho-a" and "tau-a".

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
    if squared and dissimilarity not in SQUARED:
        raise InputError(f"The 'squared' parameter of rsa cannot be used with {dissimilarity!r}.")
    if angular and compare not in COSINES:
        raise InputError(f"The 'angular' parameter of rsa cannot be used with {compare!r}.")
    networks = check_pair(x, y, measure="RSA", at_least=3)
    first, second = (
        dissimilarities(network, name, dissimilarity, Noise())[0]
        for network, name in zip(networks, "xy", strict=True)
    )
    if dissimilarity in SQUARED and not squared:
        first, second = np.sqrt(first), np.sqrt(second)
    if compare not in COSINES:
        return 1.0 - similarity(first, second, compare, ("x", "y"))
    u, v = direction(first, "x", compare), direction(second, "y", compare)
    return separation(u, v, angular=angular)


def dissimilarities(
    network: Trials | Gaussians, name: str, method: str, noise: Noise
) -> tuple[FloatArray, float]:
    """Return the values (M (M - 1) / 2,) of an RDM divided by a squared unit, and the unit.

    Values of responses that are too large or small to be squared fit in numbers without the unit.
    """
    centred = centred_means(network, name, measure="RSA")
    n = network.n_neurons
    if method in ("correlation", "cosine"):
        return _pattern_dissimilarities(network.means, name, method), 1.0
    if method == "poisson":
        return _poisson(network.means, name) / n, 1.0
    unit = extreme_unit(network.means)
    if method == "euclidean":
        return np.asarray(pdist(centred, "sqeuclidean")) / n, unit
    S = noise_covariance(network, name) if noise.covariance is None else noise.covariance
    W, gain = _whitening(S, name)
    values = np.asarray(pdist(centred @ W, "sqeuclidean"))
    if method == "crossnobis":
        values = values - _noise_of_means(network, name, W / unit, noise.trials)
    return values / n, unit / gain


def _pattern_dissimilarities(means: FloatArray, name: str, method: str) -> FloatArray:
    """Return 1 - <u, v> = |u - v|^2 / 2 for patterns u, v over neurons of norm 1."""
    means = means / extreme_unit(means)
    centre = means.mean(axis=1, keepdims=True) if method == "correlation" else 0.0
    moved = means - centre
    flat = np.abs(moved).max(axis=1) <= ROUNDING * np.abs(means).max(axis=1)
    if flat.any():
        what, got = (
            ("that differ between neurons", "the same response of all neurons")
            if method == "correlation"
            else ("other than zero", "no response")
        )
        raise InputError(
            f"The {method} dissimilarity needs responses {what}. "
            f"Got {got} to condition {int(np.argmax(flat))} in {name}."
        )
    patterns = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    if np.ptp(patterns, axis=0).max() <= ROUNDING:
        raise InputError(
            f"The {method} dissimilarity needs patterns that differ between conditions. "
            f"Got the same pattern over neurons in every condition of {name}."
        )
    return np.asarray(pdist(patterns, "sqeuclidean") / 2)


def _poisson(means: FloatArray, name: str) -> FloatArray:
    """Return the symmetric divergences of Poisson distributions with these means."""
    if means.min() < 0:
        raise InputError(
            "The Poisson dissimilarity needs mean responses of at least 0, such as spike counts. "
            f"Got {means.min():.3g} in {name}."
        )
    rates = (means + PRIOR_RATE * PRIOR_WEIGHT) / (1 + PRIOR_WEIGHT)
    logarithms = np.log(rates)
    rows = [
        ((rates[m] - rates[m + 1 :]) * (logarithms[m] - logarithms[m + 1 :])).sum(axis=1)
        for m in range(len(rates) - 1)
    ]
    return np.concatenate(rows)


def _noise_of_means(
    network: Trials | Gaussians, name: str, W: FloatArray, trials: str
) -> FloatArray:
    """Return by how much noise increases the squared distances between mean responses @ W."""
    if not isinstance(network, Trials) or network.n_trials.min() < 2:
        raise InputError(
            "The crossnobis dissimilarity needs at least two trials in every condition. "
            f"Got fewer in {name}."
        )
    counts = network.n_trials
    residuals = [
        (one - mean) @ W for one, mean in zip(network.responses, network.means, strict=True)
    ]
    variances = np.array([float((one**2).sum()) for one in residuals]) / (counts * (counts - 1))
    shared = np.zeros((len(counts), len(counts)))
    if trials == "runs":
        if counts.min() < counts.max():
            raise InputError(
                "trials='runs' needs the same number of trials in every condition. "
                f"Got {counts.min()} to {counts.max()} in {name}."
            )
        rows = np.array(residuals).reshape(len(counts), -1)
        shared = rows @ rows.T / (counts[0] * (counts[0] - 1))
    noise = variances[:, None] + variances - 2 * shared
    np.fill_diagonal(noise, 0.0)
    return np.asarray(squareform(noise, checks=False))


def _whitening(S: FloatArray, name: str) -> tuple[FloatArray, float]:
    """Return W (n, n) and a number g with W W' = g^2 S^-1: the noise of responses @ W is g^2 I."""
    values, axes = np.linalg.eigh(S)
    if values[0] <= RANK_TOLERANCE * values[-1]:
        raise InputError(
            "The Mahalanobis dissimilarity needs noise in every direction of the responses. "
            f"Got a singular noise covariance in {name}."
        )
    unit = extreme_unit(values)
    return np.asarray(axes / np.sqrt(values / unit)), float(np.sqrt(unit))


def given_noise(noise: npt.ArrayLike, n_neurons: int, method: str) -> FloatArray:
    """Return a noise covariance that the user gives, or raise."""
    if method not in ("mahalanobis", "crossnobis"):
        raise InputError(
            "The 'noise' parameter of rdm is for 'mahalanobis' and 'crossnobis'. "
            f"Got the method {method!r}."
        )
    S = real_array(noise, "noise")
    if S.shape != (n_neurons, n_neurons) or not np.isfinite(S).all():
        raise InputError(
            f"The 'noise' parameter of rdm must be a finite array of shape ({n_neurons}, "
            f"{n_neurons}). Got one of shape {S.shape} instead."
        )
    if np.abs(S - S.T).max() > 1e-8 * np.abs(S).max():
        raise InputError("The 'noise' parameter of rdm must be symmetric. Got another matrix.")
    return np.asarray((S + S.T) / 2)


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
