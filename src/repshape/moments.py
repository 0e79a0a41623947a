"""Estimates of means and covariances from trials, batched over conditions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._arrays import FloatArray, IntArray, count, extreme_unit, name_condition, symmetrized
from repshape.errors import (
    InputError,
    InputTypeError,
    RepshapeWarning,
    Rule,
    check_choice,
    check_integer,
    check_parameters,
    check_real,
)
from repshape.responses import Gaussians, Kind, Trials, as_network

RandomState = int | np.random.Generator | np.random.SeedSequence | None
TARGETS = ("identity", "scaled")
# Estimators that use the plain sample covariance, which is singular if there are few trials.
PLAIN_ESTIMATORS = ("mle", "unbiased")

# Shrinkage is searched as 1 / (1 + exp(-u)) with |u| <= 30: from 1e-13 to 1 - 1e-13. The best of
# the grid points is then refined between its neighbours.
LOGIT_RANGE, LOGIT_STEPS = 30.0, 61


class OneTrialWarning(RepshapeWarning):
    """A condition has a single trial, which says nothing about its noise."""


@dataclass(frozen=True)
class CovarianceEstimator:
    """An estimator of covariances, with its options.

    Parameters
    ----------
    name : {"mle", "unbiased", "ledoit-wolf", "oas", "shrinkage-cv", "ridge"}
        The estimator. A plain string stands for an estimator with the default options.
    target : {"identity", "scaled"}
        Target of "shrinkage-cv": I, as in the paper, or (tr S / n) I.
    n_splits : int
        Number of random splits into halves that "shrinkage-cv" averages over.
    ridge : float
        Number that "ridge" adds to each variance.

    Examples
    --------
    >>> CovarianceEstimator("ridge", ridge=1e-3)
    CovarianceEstimator(name='ridge', target='identity', n_splits=5, ridge=0.001)
    """

    name: str
    target: str = "identity"
    n_splits: int = 5
    ridge: float = 1e-4


@dataclass(frozen=True)
class _Estimate:
    """Covariances as they will be stored, and the amount of shrinkage."""

    kind: Kind
    stored: FloatArray
    shrinkage: float | FloatArray | None = None


def estimate_moments(
    trials: Trials | npt.ArrayLike | Sequence[npt.ArrayLike],
    covariance: str | CovarianceEstimator = "mle",
    *,
    random_state: RandomState = 0,
) -> Gaussians:
    r"""Estimate the mean and the covariance of every condition from trials.

    With L trials x_l of mean m, and the plug-in covariance S = sum_l (x_l - m)(x_l - m)' / L:

    ============== ======================================== ==================================
    name           covariance                               stored as
    ============== ======================================== ==================================
    "mle"          S                                        factors, n x min(n, L - 1)
    "unbiased"     S L / (L - 1)                            factors, n x min(n, L - 1)
    "ledoit-wolf"  (1 - g) S + g (tr S / n) I               full; one g per condition [1]_
    "oas"          the same, another g                      full; one g per condition [2]_
    "shrinkage-cv" (1 - g) S + g I, or g (tr S / n) I       full; one g per network [3]_
    "ridge"        S + e I                                  full
    ============== ======================================== ==================================

    Parameters
    ----------
    trials : Trials, array of shape (M, L, n), or list of arrays of shape (L_m, n)
        Every estimator works with fewer trials than neurons. "mle" and "ridge" also accept a
        single trial in a condition, with a `OneTrialWarning`: it counts as if it had no noise.
    covariance : str or CovarianceEstimator
        The estimator.
    random_state : int, numpy Generator or None
        Seed of the random splits of "shrinkage-cv"; the other estimators are deterministic.

    Returns
    -------
    Gaussians
        With ``estimator`` set and, for estimators that shrink, ``shrinkage``.

    Notes
    -----
    "shrinkage-cv" splits the trials of every condition into random halves, and chooses the g that
    maximises the Gaussian log-likelihood of the second half under the mean and shrunk covariance
    of the first, summed over trials, conditions and splits. This g is optimal for half of the
    trials, so it shrinks somewhat too much if there are few trials.

    References
    ----------
    .. [1] Ledoit and Wolf (2004), J. Multivariate Analysis 88.
    .. [2] Chen, Wiesel, Eldar and Hero (2010), IEEE Trans. Signal Processing 58.
    .. [3] Duong et al. (2023), ICLR, Appendix B.2.

    Examples
    --------
    >>> estimate_moments([[[0, 0], [2, 0]], [[1, 5], [1, 1]]])
    Gaussians(2 conditions, 2 neurons, factors of width 1, estimator 'mle')
    >>> estimate_moments([[[0, 0], [2, 0]], [[1, 5], [1, 1]]], "unbiased").variances
    array([[2., 0.],
           [0., 8.]])
    """
    given = as_network(trials, "trials")
    if not isinstance(given, Trials):
        raise InputTypeError(
            "Moments are estimated from trials, an array of shape (conditions, trials, neurons). "
            f"Got {given!r} instead."
        )
    found = estimate_without_warning(given, covariance, random_state)
    _warn_of_single_trials(given)
    return found


def estimate_without_warning(
    given: Trials, covariance: str | CovarianceEstimator, random_state: RandomState
) -> Gaussians:
    """Estimate moments as `estimate_moments` does, where single trials do no harm."""
    options = check_estimator(covariance)
    _check_trials(given, options.name)
    unit = extreme_unit(given.pooled) if options.name in FOURTH_POWERS else 1.0
    rng = np.random.default_rng(random_state)
    found = ESTIMATORS[options.name](given.in_unit(unit), options, rng)
    stored = found.stored if unit == 1 else found.stored * unit * unit
    moments = (given.means, stored, found.kind, given.conditions)
    notes = (options.name, found.shrinkage, given.neurons, given.n_trials)
    return Gaussians._trusted(*moments, *notes)


def _warn_of_single_trials(trials: Trials) -> None:
    single = np.flatnonzero(trials.n_trials == 1)
    if single.size:
        where = name_condition(int(single[0]), trials.conditions)
        words = (
            f"{single.size} of {count(trials.n_conditions, 'condition')} have a single trial, the "
            f"first is {where}. They are treated as noiseless. Leave them out with "
            "network.select(conditions), or pass an array (conditions, neurons) of means alone."
        )
        warnings.warn(words, OneTrialWarning, stacklevel=3)  # the caller of estimate_moments


def check_estimator(covariance: str | CovarianceEstimator) -> CovarianceEstimator:
    """Return the estimator that a name or a `CovarianceEstimator` stands for, or raise."""
    return check_covariance("covariance", covariance)


def check_covariance(name: str, value: Any, *, owner: str = "") -> CovarianceEstimator:
    """Return the estimator of a parameter, as `check_estimator` does."""
    if isinstance(value, CovarianceEstimator):
        check_parameters("CovarianceEstimator", vars(value), RULES)
        return value
    return CovarianceEstimator(check_choice(name, value, ESTIMATORS, owner=owner))


def _check_trials(trials: Trials, name: str) -> None:
    if name not in ONE_TRIAL_IS_ENOUGH and trials.n_trials.min() < 2:
        where = name_condition(int(np.argmin(trials.n_trials)), trials.conditions)
        raise InputError(
            f"The {name!r} covariance needs at least two trials in every condition. "
            f"Got one at {where}."
        )


def _batches(trials: Trials) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield the conditions with each number of trials, and their trials (m, L, n)."""
    if trials.stacked is not None:
        yield np.arange(trials.n_conditions), trials.stacked
        return
    for length in np.unique(trials.n_trials):
        index = np.flatnonzero(trials.n_trials == length)
        yield index, np.stack([trials.responses[m] for m in index])


def contrasts(centred: FloatArray) -> FloatArray:
    """Return A (..., n, r) with A A' = X' X for centred trials X (..., L, n), r = min(n, L - 1).

    Nothing is squared, so the rank and small directions are exact. With few trials, A holds
    Helmert's L - 1 contrasts, (x_1 + ... + x_k - k x_{k+1}) / sqrt(k (k + 1)), which are an
    orthonormal basis of the space orthogonal to the constant. With many trials, A = R' of X = Q R.

    >>> contrasts(np.array([[-3.0, 0.0], [3.0, 0.0]]))
    array([[-4.24264069],
           [ 0.        ]])
    """
    n_trials, n_neurons = centred.shape[-2:]
    if n_trials > n_neurons:
        triangle: FloatArray = np.asarray(np.linalg.qr(centred, mode="r"))
        return triangle.swapaxes(-1, -2)
    k = np.arange(1.0, n_trials)[:, None]
    rows = np.cumsum(centred[..., :-1, :], axis=-2)
    rows -= k * centred[..., 1:, :]
    rows /= np.sqrt(k * (k + 1))
    return rows.swapaxes(-1, -2)


def _factors(trials: Trials, lost: int) -> _Estimate:
    """Return factors of X' X / (L - lost) for the centred trials X of every condition."""
    n = trials.n_neurons
    width = min(n, int(trials.n_trials.max()) - 1)
    stored = np.zeros((trials.n_conditions, n, width))
    for index, batch in _batches(trials):
        factors = contrasts(batch - trials.means[index, None, :])
        factors /= np.sqrt(batch.shape[1] - lost)
        if factors.shape == stored.shape:
            return _Estimate("factors", np.ascontiguousarray(factors))
        stored[index, :, : factors.shape[2]] = factors
    return _Estimate("factors", stored)


def _mle(trials: Trials, options: CovarianceEstimator, rng: np.random.Generator) -> _Estimate:
    return _factors(trials, lost=0)


def _unbiased(trials: Trials, options: CovarianceEstimator, rng: np.random.Generator) -> _Estimate:
    return _factors(trials, lost=1)


def _plug_in(trials: Trials) -> FloatArray:
    """Return the dense plug-in covariances S, (M, n, n)."""
    S = np.empty((*trials.means.shape, trials.n_neurons))
    for index, batch in _batches(trials):
        X = batch - trials.means[index, None, :]
        S[index] = X.transpose(0, 2, 1) @ X / batch.shape[1]
    return symmetrized(S)


def _ridge(trials: Trials, options: CovarianceEstimator, rng: np.random.Generator) -> _Estimate:
    return _Estimate("full", _plug_in(trials) + options.ridge * np.eye(trials.n_neurons))


def _shrink(S: FloatArray, g: float | FloatArray, target: str) -> FloatArray:
    """Return (1 - g) S + g T, with T = I or (tr S / n) I."""
    n = S.shape[-1]
    weight = np.broadcast_to(g, S.shape[:1])[:, None, None]
    level = np.trace(S, axis1=1, axis2=2) / n if target == "scaled" else np.ones(len(S))
    return (1.0 - weight) * S + weight * level[:, None, None] * np.eye(n)


def _ledoit_wolf(
    trials: Trials, options: CovarianceEstimator, rng: np.random.Generator
) -> _Estimate:
    """Shrink by g = min(1, b / d), b the mean variance of the entries of S, and d their spread.

    d = |S - mu I|^2 / n and b = (sum_l |x_l|^4 / L - |S|^2) / (n L), with mu = tr S / n.
    """
    S, n = _plug_in(trials), trials.n_neurons
    spread = np.sum(S**2, axis=(1, 2))
    distance = (spread - np.trace(S, axis1=1, axis2=2) ** 2 / n) / n
    noise = np.empty(len(S))
    for index, batch in _batches(trials):
        norms = np.sum((batch - trials.means[index, None, :]) ** 2, axis=2)
        noise[index] = (np.mean(norms**2, axis=1) - spread[index]) / (n * batch.shape[1])
    g = np.zeros(len(S))
    np.divide(noise, distance, out=g, where=(noise > 0) & (distance > 0) & (n > 1))
    g = np.minimum(g, 1.0)
    return _Estimate("full", _shrink(S, g, "scaled"), g)


def _oas(trials: Trials, options: CovarianceEstimator, rng: np.random.Generator) -> _Estimate:
    """Shrink by g = min(1, (a + mu^2) / ((L + 1)(a - mu^2 / n))), a = |S|^2 / n^2."""
    S, n = _plug_in(trials), trials.n_neurons
    a = np.mean(S**2, axis=(1, 2))
    mu2 = (np.trace(S, axis1=1, axis2=2) / n) ** 2
    excess = (trials.n_trials + 1.0) * (a - mu2 / n)
    g = np.full(len(S), 0.0 if n == 1 else 1.0)
    np.divide(a + mu2, excess, out=g, where=(excess > 0) & (n > 1))
    g = np.minimum(g, 1.0)
    return _Estimate("full", _shrink(S, g, "scaled"), g)


def _shrinkage_cv(
    trials: Trials, options: CovarianceEstimator, rng: np.random.Generator
) -> _Estimate:
    from scipy.optimize import minimize_scalar  # takes long to import

    halves = [
        _held_out_spectrum(batch, options.target, rng)
        for _ in range(options.n_splits)
        for _, batch in _batches(trials)
    ]
    if not any(half.level.size for half in halves):
        raise InputError(
            "The 'scaled' target of 'shrinkage-cv' needs a condition with at least three trials "
            "that are not all equal. Got none."
        )

    def loss(u: float) -> float:
        g = 1.0 / (1.0 + np.exp(-u))
        with np.errstate(over="ignore"):  # an infinite loss is never the least
            return sum(half.loss(g) for half in halves)

    grid = np.linspace(-LOGIT_RANGE, LOGIT_RANGE, LOGIT_STEPS)
    best, step = grid[int(np.argmin([loss(u) for u in grid]))], grid[1] - grid[0]
    found = minimize_scalar(loss, bounds=(best - step, best + step), method="bounded").x
    g = float(1.0 / (1.0 + np.exp(-float(found))))
    return _Estimate("full", _shrink(_plug_in(trials), g, options.target), g)


@dataclass(frozen=True)
class _Spectrum:
    """The quantities that determine the likelihood of a held-out half, per condition (m, r).

    In the eigenbasis of S of the first half, with eigenvalues s_j, the shrunk eigenvalues are
    (1 - g) s_j + g t; in the n - r directions without variance they are g t.
    """

    eigenvalues: FloatArray  # s, (m, r)
    power: FloatArray  # mean square of the second half about the first's mean, (m, r)
    null_power: FloatArray  # the same, summed over the directions without variance, (m,)
    null_width: int  # n - r
    level: FloatArray  # t, (m,)
    n_trials: int  # of the second half

    def loss(self, g: float) -> float:
        """Return minus twice the log-likelihood of the second half, up to a constant."""
        level = g * self.level[:, None]
        shrunk = (1.0 - g) * self.eigenvalues + level
        total = np.sum(np.log(shrunk) + self.power / shrunk)
        if self.null_width:
            null = self.null_width * np.log(level) + self.null_power[:, None] / level
            total += np.sum(null)
        return float(self.n_trials * total)


def _held_out_spectrum(batch: FloatArray, target: str, rng: np.random.Generator) -> _Spectrum:
    """Split the trials (m, L, n) of each condition into random halves, and compare the halves."""
    n_conditions, n_trials, n = batch.shape
    order = rng.permuted(np.tile(np.arange(n_trials), (n_conditions, 1)), axis=1)
    mixed = np.take_along_axis(batch, order[:, :, None], axis=1)
    train, test = mixed[:, : (n_trials + 1) // 2], mixed[:, (n_trials + 1) // 2 :]
    mean = train.mean(axis=1, keepdims=True)
    eigenvalues, basis = _eigenbasis((train - mean) / np.sqrt(train.shape[1]))
    residual = test - mean
    power = np.mean((residual @ basis) ** 2, axis=1)
    total = np.mean(np.sum(residual**2, axis=2), axis=1)
    level = eigenvalues.sum(axis=1) / n if target == "scaled" else np.ones(n_conditions)
    usable = level > np.finfo(np.float64).tiny  # a half without variance has no scaled target
    return _Spectrum(
        eigenvalues=eigenvalues[usable],
        power=power[usable],
        null_power=np.maximum(total - power.sum(axis=1), 0.0)[usable],
        null_width=n - basis.shape[2],
        level=level[usable],
        n_trials=test.shape[1],
    )


def _eigenbasis(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues (m, r) and eigenvectors (m, n, r) of X' X that may be non-zero."""
    if X.shape[1] > X.shape[2]:
        eigenvalues, basis = np.linalg.eigh(X.transpose(0, 2, 1) @ X)
        return np.maximum(eigenvalues, 0.0), basis
    basis, roots, _ = np.linalg.svd(contrasts(X), full_matrices=False)
    return roots**2, basis


Estimator = Callable[[Trials, CovarianceEstimator, np.random.Generator], _Estimate]

ESTIMATORS: dict[str, Estimator] = {
    "mle": _mle,
    "unbiased": _unbiased,
    "ledoit-wolf": _ledoit_wolf,
    "oas": _oas,
    "shrinkage-cv": _shrinkage_cv,
    "ridge": _ridge,
}

RULES: Mapping[str, Rule] = {  # ranges of the options of an estimator
    "name": partial(check_choice, choices=ESTIMATORS),
    "target": partial(check_choice, choices=TARGETS),
    "n_splits": partial(check_integer, low=1),
    "ridge": partial(check_real, low=0, closed="left"),
}

FOURTH_POWERS = ("ledoit-wolf", "oas")  # they square covariances, and scale with the responses
ONE_TRIAL_IS_ENOUGH = ("mle", "ridge")  # they accept a single trial in a condition
