"""Procrustes distances from few stimuli: unbiased moments instead of plug-in singular values."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from repshape._arrays import FloatArray, extreme_unit
from repshape._compact import compact_repr
from repshape.baselines._common import centred_means, check_pair
from repshape.errors import InputError, check_integer, check_real
from repshape.responses import Gaussians, NetworkLike, Trials

# Points of [0, 1] at which the approximation of the square root is fitted and its error measured.
GRID = np.linspace(0.0, 1.0, 201)[1:]
# Number of groups of stimuli that are left out in turn, for the variance of the moments.
GROUPS = 10
# Squared singular values below this, of responses near one, count as zero.
NEGLIGIBLE = 1e-24


@compact_repr
@dataclass(frozen=True, eq=False)
class ProcrustesEstimate:
    """Estimate of the squared Procrustes distance per stimulus, over the population of stimuli.

    Attributes
    ----------
    squared : float
        The estimate, which may be negative if the distance is small.
    standard_error : float
        Of the nuclear norm, twice, from the jackknife over stimuli.
    bias_bound : float
        By how much the approximation of singular values may bias the squared distance at most.
    plug_in : float
        The squared distance of the sample divided by the number of stimuli, which is biased
        upward: with few stimuli, alignment also fits noise.
    moments : ndarray, shape (p,)
        Unbiased estimates of tr (S_xy S_yx)^k for k = 1 .. p.
    """

    squared: float
    standard_error: float
    bias_bound: float
    plug_in: float
    moments: FloatArray


def procrustes_moments(
    x: NetworkLike,
    y: NetworkLike,
    *,
    n_moments: int = 4,
    variance_weight: float = 0.1,
    n_pairings: int = 20,
    random_state: int = 0,
) -> ProcrustesEstimate:
    r"""Estimate the squared Procrustes distance between networks over a population of stimuli.

    .. math:: d^2 = \mathrm{tr} S_{xx} + \mathrm{tr} S_{yy} - 2 |S_{xy}|_*

    with covariances over stimuli. The singular values of a sample cross-covariance are biased
    upward if there are few stimuli. Its moments have unbiased estimates,

    .. math:: m_k = \mathrm{tr} \left[ (U_x U_y)^{k-1} U_x K_y \right] / \tbinom{M}{2k},

    with K = X X' and its strictly upper triangle U: sums over increasing cycles of different
    stimuli (Kong and Valiant, 2017). The nuclear norm is estimated by a combination of moments
    that approximates the square root, with weights that balance its error against the variance
    of the moments (after Pospisil, Larsen, Harvey and Williams, 2024).

    Parameters
    ----------
    x, y : networks
        Conditions are stimuli, drawn independently from a population. Means of trials may be noisy:
        moments are not affected, and the noise is subtracted from the traces.
    n_moments : int
        Number of moments p. At least 4 p stimuli are needed, because the unknown mean is removed by
        differences of two stimuli each.
    variance_weight : float
        How much the variance of the moments counts, relative to the squared error of the
        approximation. A smaller number gives less bias and more variance.
    n_pairings : int
        Number of random ways to form the differences, over which moments are averaged.
    random_state : int
        Seed of the pairings.

    Notes
    -----
    The estimate pays off if there are as many neurons as stimuli or more. With many more stimuli
    than neurons, the plug-in distance has less error. A polynomial underestimates the roots of
    small singular values, so the remaining bias of the squared distance is upward.

    Examples
    --------
    Two networks that have nothing in common:

    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 40, 20))
    >>> found = procrustes_moments(x, y)
    >>> truth = 40.0
    >>> abs(found.squared - truth) < abs(found.plug_in - truth)
    True
    """
    check_integer("n_moments", n_moments, 1)
    check_integer("n_pairings", n_pairings, 1)
    check_real("variance_weight", variance_weight, 0)
    networks = check_pair(x, y, measure="The estimate by moments", at_least=2)
    M = networks[0].n_conditions
    if 4 * n_moments > M:
        raise InputError(
            f"The estimate by {n_moments} moments needs at least {4 * n_moments} conditions. "
            f"Got {M}. Reduce 'n_moments'."
        )
    units = [_unit(network, name) for network, name in zip(networks, "xy", strict=True)]
    X, Y = (network.means / unit for network, unit in zip(networks, units, strict=True))
    moments = _moments(X, Y, n_moments, n_pairings, [random_state])
    spread = _jackknife(X, Y, n_moments, n_pairings, random_state)
    rank = min(X.shape[1], Y.shape[1], M - 1)
    nuclear = _nuclear_norm(moments, spread, rank, _largest(X, Y, moments, rank), variance_weight)
    gain = units[0] * units[1]
    in_units = _in_units_of_responses(moments, gain)  # refuses squares that overflow below
    centred = [network.means - network.means.mean(axis=0) for network in networks]
    sample = sum(float((one**2).sum()) for one in centred)
    sample -= 2 * float(np.linalg.norm(centred[0].T @ centred[1], "nuc"))
    return ProcrustesEstimate(
        squared=sum(_trace(network) for network in networks) - 2 * gain * nuclear.value,
        standard_error=2 * gain * nuclear.standard_error,
        bias_bound=2 * gain * nuclear.bias_bound,
        plug_in=sample / M,
        moments=in_units,
    )


def _unit(network: Trials | Gaussians, name: str) -> float:
    """Return the power of two of the largest deviation from the mean over stimuli."""
    centred = centred_means(network, name, measure="The estimate by moments")
    return extreme_unit(network.means) * extreme_unit(centred, digits=0)


def _in_units_of_responses(moments: FloatArray, gain: float) -> FloatArray:
    """Return moments k times gain^(2 k), or raise if they are too large for numbers."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # zero times infinity
        found = moments * np.float64(gain) ** (2 * np.arange(1, len(moments) + 1))
    if not np.isfinite(found).all():
        raise InputError(
            f"The estimate by {len(moments)} moments raises responses to the power "
            f"{4 * len(moments)}, which overflows. Divide the responses by their size first."
        )
    return np.asarray(found)


@dataclass(frozen=True)
class _Nuclear:
    """An estimate of a nuclear norm."""

    value: float
    standard_error: float
    bias_bound: float


def _nuclear_norm(
    moments: FloatArray, spread: FloatArray, rank: int, largest: float, variance_weight: float
) -> _Nuclear:
    """Combine moments, with covariance ``spread``, to the sum of square roots of eigenvalues."""
    powers = largest ** np.arange(1, len(moments) + 1)
    spread = spread / np.outer(powers, powers)
    gamma = _weights(variance_weight * spread, rank)
    error = np.vander(GRID, len(moments) + 1, increasing=True)[:, 1:] @ gamma - np.sqrt(GRID)
    root = float(np.sqrt(largest))
    return _Nuclear(
        value=root * float(gamma @ (moments / powers)),
        standard_error=root * float(np.sqrt(gamma @ spread @ gamma)),
        bias_bound=root * rank * float(np.abs(error).max()),
    )


def increasing_cycles(K_x: FloatArray, K_y: FloatArray, count: int) -> FloatArray:
    """Return m_1 .. m_count from Gram matrices (M, M) of responses with population mean 0.

    >>> increasing_cycles(np.ones((4, 4)), np.ones((4, 4)), 2)
    array([1., 1.])
    """
    U_x, U_y = (np.triu(K, 1) for K in (K_x, K_y))
    M = len(K_x)
    found, chain = [], U_x
    for k in range(1, count + 1):
        found.append(float(np.sum(chain * K_y.T)) / comb(M, 2 * k))
        chain = chain @ U_y @ U_x
    return np.array(found)


def _moments(
    X: FloatArray, Y: FloatArray, count: int, pairings: int, seed: list[int]
) -> FloatArray:
    """Return moments averaged over pairings: differences of pairs have mean 0 exactly."""
    rng, half = np.random.default_rng(seed), len(X) // 2
    found = []
    for _ in range(pairings):
        order = rng.permutation(len(X))
        first, second = order[:half], order[half : 2 * half]
        Z_x, Z_y = ((one[first] - one[second]) / np.sqrt(2) for one in (X, Y))
        found.append(increasing_cycles(Z_x @ Z_x.T, Z_y @ Z_y.T, count))
    return np.asarray(np.mean(found, axis=0))


def _jackknife(X: FloatArray, Y: FloatArray, count: int, pairings: int, seed: int) -> FloatArray:
    """Return the covariance of the moments from samples without one group of stimuli each."""
    parts = np.array_split(np.random.default_rng(seed).permutation(len(X)), GROUPS)
    found = []
    for g, part in enumerate(parts):
        rows = np.setdiff1d(np.arange(len(X)), part)
        if len(rows) >= 4 * count:
            found.append(_moments(X[rows], Y[rows], count, pairings, [seed, g + 1]))
    if len(found) < 2:  # too few stimuli to tell
        return np.zeros((count, count))
    centred = np.array(found) - np.mean(found, axis=0)
    return np.asarray((len(found) - 1) / len(found) * centred.T @ centred)


def _largest(X: FloatArray, Y: FloatArray, moments: FloatArray, rank: int) -> float:
    """Return an upper bound of the largest squared singular value of S_xy, as far as noise allows.

    That of the sample is far too large if there are few stimuli. The k-th root of the k-th moment
    is a bound that is not, and the mean m_1 / rank is one from below.
    """
    centred = [one - one.mean(axis=0) for one in (X, Y)]
    sample = float(np.linalg.norm(centred[0].T @ centred[1], 2)) / (len(X) - 1)
    bounds = [m ** (1 / k) for k, m in enumerate(moments[:2].tolist(), 1) if m > 0]
    lowest = max(float(moments[0]) / rank, NEGLIGIBLE)
    return float(max(min([sample**2, *bounds]), lowest))


def _weights(covariance: FloatArray, rank: int) -> FloatArray:
    """Return gamma that minimises the variance plus the squared error of rank square roots."""
    count = len(covariance)
    powers = np.vander(GRID, count + 1, increasing=True)[:, 1:]
    gram = rank**2 * powers.T @ powers / len(GRID)
    target = rank**2 * powers.T @ np.sqrt(GRID) / len(GRID)
    return np.asarray(np.linalg.solve(covariance + gram, target))


def _trace(network: Trials | Gaussians) -> float:
    """Return the unbiased total variance of the means over stimuli, without noise of trials."""
    total = float(network.means.var(axis=0, ddof=1).sum())
    if not isinstance(network, Trials) or network.n_trials.min() < 2:
        return total
    noise = [one.var(axis=0, ddof=1).sum() / len(one) for one in network.responses]
    return total - float(np.mean(noise))
