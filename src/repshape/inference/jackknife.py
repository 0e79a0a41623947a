"""The grouped jackknife: it removes the bias of few trials, and gives an interval."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from repshape._parallel import run_all
from repshape.errors import InputError
from repshape.inference.estimates import FewTrialsWarning, Moments, Resampled, Settings
from repshape.inference.resampling import take_trials
from repshape.inference.terms import Pair, Terms, make_terms
from repshape.metrics.base import Alignment
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.responses import Trials

FloatArray = npt.NDArray[np.float64]
Blocks = list[list[npt.NDArray[np.intp]]]  # trials of each group, by network and condition

# Below this many trials per neuron the bias is no longer linear in 1 / L.
TRIALS_PER_NEURON = 2
# With fewer trials, too few are left for a covariance once a group is deleted.
FEWEST_TRIALS = 4
FEWEST_HALVED = 8


def estimate(pairs: Sequence[Pair], metrics: Sequence[Any], settings: Settings) -> Resampled:
    """Estimate squared distances; see `repshape.inference.distance`."""
    exact = [_unbiased(check_gaussian(metric)) for metric in metrics]
    plain, terms = make_terms(pairs, metrics), make_terms(pairs, exact)
    halved = settings.alignment == "crossvalidated"
    groups = _check_counts(terms, settings.n_groups, halved)
    known = terms.align()
    plug_in = plain.squared(plain.networks, known)
    rng = np.random.default_rng(settings.random_state)
    if halved:
        found = _crossvalidate(terms, groups, rng, settings)
    else:
        found = _extrapolate(terms, known, groups, rng, settings)
    method = f"{settings.alignment} alignment, grouped jackknife"
    return Resampled(found, plug_in, method, groups)


def _unbiased(metric: GaussianShapeMetric) -> GaussianShapeMetric:
    if metric.covariance not in ("mle", "unbiased"):
        raise InputError(
            "The jackknife corrects bias for the covariances 'mle' and 'unbiased'; a shrunk "
            f"covariance is biased on purpose. Got {metric.covariance!r}."
        )
    return metric.with_parameters(covariance="unbiased")


def _check_counts(terms: Terms, n_groups: int, halved: bool) -> int:
    """Return the number of groups that the trials allow, and warn if there are few trials."""
    fewest = min(int(network.n_trials.min()) for network in terms.networks)
    needed = FEWEST_HALVED if halved else FEWEST_TRIALS
    if fewest < needed:
        raise InputError(
            f"Bias correction needs at least {needed} trials in every condition. Got {fewest}."
        )
    used = fewest // 2 if halved else fewest
    neurons = max(network.n_neurons for network in terms.networks)
    if used < TRIALS_PER_NEURON * neurons:
        warnings.warn(
            f"There are {used} trials{' in each half' if halved else ''} for {neurons} neurons. "
            f"With fewer than {TRIALS_PER_NEURON} trials per neuron, the correction leaves part "
            "of the bias, and the interval may cover less often than its level.",
            FewTrialsWarning,
            stacklevel=5,
        )
    return min(n_groups, used)


def split_trials(network: Trials, n_groups: int, rng: np.random.Generator) -> Blocks:
    """Divide the trials of each condition into random groups; return them by group."""
    orders = [rng.permutation(int(L)) for L in network.n_trials]
    parts = [np.array_split(order, n_groups) for order in orders]
    return [[part[g] for part in parts] for g in range(n_groups)]


def _without(network: Trials, rows: list[npt.NDArray[np.intp]]) -> Trials:
    kept = [
        np.delete(np.arange(int(L)), gone) for L, gone in zip(network.n_trials, rows, strict=True)
    ]
    return take_trials(network, kept)


def _extrapolate(
    terms: Terms,
    known: list[Alignment],
    groups: int,
    rng: np.random.Generator,
    settings: Settings,
) -> Moments:
    def squared(networks: list[Trials]) -> FloatArray:
        return terms.squared(networks, known) - terms.mean_noise(networks)

    return _jackknife(squared, terms.networks, groups, rng, settings)


def _jackknife(
    squared: Callable[[list[Trials]], FloatArray],
    networks: tuple[Trials, ...],
    groups: int,
    rng: np.random.Generator,
    settings: Settings,
) -> Moments:
    """Extrapolate a function of the trials to infinitely many trials, with its covariance."""
    blocks = [split_trials(network, groups, rng) for network in networks]

    def without(g: int) -> FloatArray:
        left = [_without(one, part[g]) for one, part in zip(networks, blocks, strict=True)]
        return squared(left)

    whole = squared(list(networks))
    tasks = range(groups)
    parts = run_all(
        without, tasks, what="groups", workers=settings.workers, progress=settings.progress
    )
    replicates = np.array(parts)
    centre = replicates.mean(axis=0)
    # Deleting a group increases 1 / L by this share: 1 / (G - 1) if the groups are equal.
    growth = np.mean([_growth(one, part) for one, part in zip(networks, blocks, strict=True)])
    deviations = replicates - centre
    covariance = (groups - 1) / groups * deviations.T @ deviations
    quantile = float(student.ppf((1 + settings.level) / 2, groups - 1))
    return Moments(whole - (centre - whole) / growth, covariance, quantile)


def _growth(network: Trials, blocks: Blocks) -> float:
    gone = np.array([[len(rows) for rows in group] for group in blocks])
    return float(np.mean(network.n_trials / (network.n_trials - gone) - 1.0))


def _crossvalidate(
    terms: Terms, groups: int, rng: np.random.Generator, settings: Settings
) -> Moments:
    """Average the scores of each half under the alignments of the other half."""
    halves = [split_trials(network, 2, rng) for network in terms.networks]
    sides = [
        tuple(take_trials(n, half[k]) for n, half in zip(terms.networks, halves, strict=True))
        for k in (0, 1)
    ]
    scores = []
    for train, test in (sides, sides[::-1]):
        known = Terms(tuple(train), terms.terms).align()

        def squared(networks: list[Trials], known: list[Alignment] = known) -> FloatArray:
            found = [
                term.metric.score(one, networks[term.x], networks[term.y]) ** 2
                for term, one in zip(terms.terms, known, strict=True)
            ]
            return np.array(found) - terms.mean_noise(networks)

        scores.append(_jackknife(squared, tuple(test), groups, rng, settings))
    one, two = scores
    # Given the alignments, the two halves are independent.
    covariance = (one.covariance + two.covariance) / 4
    return Moments((one.squared + two.squared) / 2, covariance, one.quantile)
