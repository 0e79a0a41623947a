"""The grouped jackknife: it extrapolates to infinitely many trials, and gives an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from repshape._parallel import run_all
from repshape.errors import TRIALS_PER_DIMENSION, FewTrialsWarning, InputError, warn_user
from repshape.inference.estimates import Moments, Resampled, Settings
from repshape.inference.terms import Pair, Terms, make_terms
from repshape.metrics.base import Alignment
from repshape.metrics.few_trials import dimensions
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.responses import Trials
from repshape.responses.halves import Groups, split_trials

FloatArray = npt.NDArray[np.float64]

# With fewer trials, too few are left for a covariance once a group is deleted.
FEWEST_TRIALS = 4


def estimate(pairs: Sequence[Pair], metrics: Sequence[Any], settings: Settings) -> Resampled:
    """Estimate squared distances; see `repshape.inference.distance`."""
    exact = [_unbiased(check_gaussian(metric)) for metric in metrics]
    plain, terms = make_terms(pairs, metrics), make_terms(pairs, exact)
    groups = _check_counts(terms, settings.n_groups)
    known = terms.sample().align()
    plug_in = plain.sample().squared(known)
    found = _extrapolate(terms, known, groups, settings)
    return Resampled(found, plug_in, "grouped jackknife, extrapolated in 1/L", groups)


def _unbiased(metric: GaussianShapeMetric) -> GaussianShapeMetric:
    if metric.covariance not in ("mle", "unbiased"):
        raise InputError(
            "The jackknife corrects bias for the covariances 'mle' and 'unbiased'; a shrunk "
            f"covariance is biased on purpose. Got {metric.covariance!r}. "
            "Use method='halves' instead."
        )
    return metric.with_parameters(covariance="unbiased")


def _check_counts(terms: Terms, n_groups: int) -> int:
    """Return the number of groups that the trials allow, and warn if there are few trials."""
    fewest = min(int(network.n_trials.min()) for network in terms.networks)
    if fewest < FEWEST_TRIALS:
        raise InputError(
            f"The jackknife needs at least {FEWEST_TRIALS} trials in every condition. Got {fewest}."
        )
    warn_few_trials(terms, fewest)
    return min(n_groups, fewest)


def warn_few_trials(terms: Terms, n_trials: int) -> None:
    """Warn if there are fewer than two trials per dimension after preprocessing."""
    n = max(dimensions(network, terms.terms[0].metric) for network in terms.networks)
    if n_trials < TRIALS_PER_DIMENSION * n:
        warn_user(
            f"There are {n_trials} trials for {n} dimensions. With fewer than "
            f"{TRIALS_PER_DIMENSION} trials per dimension, estimates of distances are biased, "
            "and intervals may cover the truth less often than their level.",
            FewTrialsWarning,
        )


def _extrapolate(
    terms: Terms, known: list[Alignment], n_groups: int, settings: Settings
) -> Moments:
    """Extrapolate squared distances to infinitely many trials, with their covariance."""
    networks, rng = terms.networks, np.random.default_rng(settings.random_state)
    groups = [split_trials(network, n_groups, rng) for network in networks]

    def squared(networks: Sequence[Trials]) -> FloatArray:
        sample = terms.sample(networks)
        return sample.squared(known) - sample.mean_noise()

    def without(g: int) -> FloatArray:
        return squared([_without(one, part[g]) for one, part in zip(networks, groups, strict=True)])

    whole = squared(networks)
    tasks = range(n_groups)
    parts = run_all(
        without, tasks, what="groups", workers=settings.workers, progress=settings.progress
    )
    # Deleting a group increases 1 / L by this share: 1 / (G - 1) if the groups are equal.
    growth = np.mean([_growth(one, part) for one, part in zip(networks, groups, strict=True)])
    replicates = np.array(parts)
    corrected = whole - (replicates.mean(axis=0) - whole) / growth
    return Moments(corrected, *jackknife_error(replicates, settings.level))


def jackknife_error(replicates: FloatArray, level: float) -> tuple[FloatArray, float]:
    """Return the covariance of replicates (G, terms) without a group each, and the quantile of t.

    >>> covariance, quantile = jackknife_error(np.array([[1.0], [3.0]]), 0.5)
    >>> covariance, round(quantile, 6)
    (array([[1.]]), 1.0)
    """
    count = len(replicates)
    deviations = replicates - replicates.mean(axis=0)
    covariance = (count - 1) / count * deviations.T @ deviations
    return covariance, float(student.ppf((1 + level) / 2, count - 1))


def _without(network: Trials, rows: list[npt.NDArray[np.intp]]) -> Trials:
    kept = [
        np.delete(np.arange(int(L)), gone) for L, gone in zip(network.n_trials, rows, strict=True)
    ]
    chosen: Trials = network._take_trials(kept)
    return chosen


def _growth(network: Trials, groups: Groups) -> float:
    gone = np.array([[len(rows) for rows in group] for group in groups])
    return float(np.mean(network.n_trials / (network.n_trials - gone) - 1.0))
