"""Distances, ratios and differences without the bias of few trials, with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from repshape.analysis._parallel import run_all
from repshape.analysis._resample import take_trials
from repshape.analysis._terms import Pair, Terms, check_pair, make_terms, with_parameters
from repshape.analysis.estimates import (
    Estimate,
    FewTrialsWarning,
    Interval,
    Moments,
    difference_interval,
    distance_interval,
    ratio_interval,
)
from repshape.analysis.frechet import check_gaussian
from repshape.errors import InputError, check_choice, check_integer, check_real
from repshape.metrics.base import Alignment
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.responses import NetworkLike, Trials

FloatArray = npt.NDArray[np.float64]
Blocks = list[list[npt.NDArray[np.intp]]]  # trials of each group, by network and condition

ALIGNMENTS = ("extrapolated", "crossvalidated")
# Below this many trials per neuron the bias is no longer a straight line in 1 / L.
TRIALS_PER_NEURON = 2
# Fewer trials than this cannot lose a group and still have a covariance.
FEWEST_TRIALS = 4
FEWEST_HALVED = 8


@dataclass(frozen=True)
class Settings:
    """What all debiased estimators share."""

    alignment: str
    n_groups: int
    level: float
    random_state: int
    workers: int | None
    progress: bool | None

    def check(self) -> None:
        """Raise if a setting is out of its range."""
        check_choice("alignment", self.alignment, ALIGNMENTS)
        check_integer("n_groups", self.n_groups, 2)
        check_real("level", self.level, 0, 1, closed="neither")
        check_integer("random_state", self.random_state, 0)


def debiased_distance(
    x: NetworkLike,
    y: NetworkLike,
    metric: GaussianShapeMetric | None = None,
    *,
    alignment: str = "extrapolated",
    n_groups: int = 10,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    r"""Estimate the distance that infinitely many trials would give.

    The plug-in distance of two samples of the *same* network is far from 0. The squared distance
    is corrected so:

    1. Noise of means, exactly: :math:`-a \sum_m w_m (\mathrm{tr} S^x_m / L^x_m + \mathrm{tr} S^y_m
       / L^y_m)`, with unbiased covariances throughout.
    2. Covariances and alignment by extrapolation in 1/L: trials fall into G groups at random;
       with :math:`\theta` from all of them and :math:`\theta_{-g}` without group g, each aligned
       anew, :math:`\hat\theta = \theta - (G - 1) (\overline{\theta_{-g}} - \theta)`. This removes
       every bias in proportion to 1/L, also what the alignment gains by fitting noise.
    3. The interval is :math:`\hat\theta \pm t_{G-1}` times the jackknife's standard error.

    With ``alignment="crossvalidated"`` the alignment comes from half of the trials and is scored on
    the other half (steps 1 and 2 at a fixed transform), both ways round. It is never scored on
    trials that chose it, so the squared distance errs upwards, by what half the trials cost the
    alignment; and it needs twice the trials.

    Parameters
    ----------
    x, y : networks with trials
        At least four in every condition (eight to cross-validate).
    metric : GaussianShapeMetric, optional
        With ``covariance`` "mle" or "unbiased". Its preprocessing is fitted once, to all trials,
        and its noise is not part of the interval.
    alignment : {"extrapolated", "crossvalidated"}
    n_groups : int
        G, at most the number of trials.
    level : float
        Coverage of the interval.
    random_state : int
        Seed of the groups; the result has the same bits for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Warns
    -----
    FewTrialsWarning
        With fewer than 2 n trials in some condition. What holds there is in the documentation.

    Examples
    --------
    Two samples of one network:

    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(2, 6, 40, 3))
    >>> found = debiased_distance(x, y, GaussianShapeMetric(group="identity"))
    >>> round(found.plug_in, 2), found.interval[0] < 0 < found.interval[1]
    (0.54, True)
    """
    settings = Settings(alignment, n_groups, level, random_state, workers, progress)
    return _estimate([(x, y)], [check_gaussian(metric)], settings, distance_interval)


def debiased_ratio(
    x: NetworkLike,
    y: NetworkLike,
    metric: GaussianShapeMetric | None = None,
    *,
    alignment: str = "extrapolated",
    n_groups: int = 10,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Estimate d_0 / d_2, the ratio of covariance to mean distance, without bias.

    Both squared distances are corrected as in `debiased_distance`; the interval is symmetric for
    the logarithm of the ratio (delta method) and knows that both come from the same trials. NaN
    where a corrected squared distance is not positive.

    Parameters
    ----------
    x, y, metric, alignment, n_groups, level, random_state, workers, progress
        As in `debiased_distance`; the metric's alpha is not used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(6, 200, 2))
    >>> y = 2 * rng.normal(size=(6, 200, 2)) + rng.normal(size=(6, 1, 2))
    >>> found = debiased_ratio(x, y)
    >>> found.interval[0] < found.estimate < found.interval[1]
    True
    """
    settings = Settings(alignment, n_groups, level, random_state, workers, progress)
    template = check_gaussian(metric)
    metrics: list[Any] = [with_parameters(template, alpha=alpha) for alpha in (0.0, 2.0)]
    return _estimate([(x, y), (x, y)], metrics, settings, ratio_interval)


def debiased_difference(
    first: Pair,
    second: Pair,
    metric: GaussianShapeMetric | None = None,
    *,
    alignment: str = "extrapolated",
    n_groups: int = 10,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Estimate the difference of two distances, d(first) - d(second), without bias.

    A network that is in both pairs (the same object) loses the same trials in both, so that what
    they share does not count twice.

    Parameters
    ----------
    first, second : pairs of networks
    metric, alignment, n_groups, level, random_state, workers, progress
        As in `debiased_distance`.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(size=(2, 5, 40, 2))
    >>> debiased_difference((x, y), (x, y)).estimate
    0.0
    """
    settings = Settings(alignment, n_groups, level, random_state, workers, progress)
    pairs = [check_pair(first, "first"), check_pair(second, "second")]
    return _estimate(pairs, [check_gaussian(metric)] * 2, settings, difference_interval)


def _estimate(
    pairs: list[Pair],
    metrics: list[GaussianShapeMetric],
    settings: Settings,
    interval: Callable[[Moments], Interval],
) -> Estimate:
    settings.check()
    plain = make_terms(pairs, metrics)
    exact: list[Any] = [_unbiased(metric) for metric in metrics]
    terms = make_terms(pairs, exact)
    halved = settings.alignment == "crossvalidated"
    groups = _check_counts(terms, settings.n_groups, halved)
    known = terms.align()
    plug_in = plain.squared(plain.networks, known)
    rng = np.random.default_rng(settings.random_state)
    if halved:
        found = _crossvalidate(terms, groups, rng, settings)
    else:
        found = _extrapolate(terms, known, groups, rng, settings)
    unknown = Moments(plug_in, np.zeros((len(plug_in), len(plug_in))), 0.0)
    value, ends, error = interval(found)
    return Estimate(
        estimate=value,
        interval=ends,
        level=settings.level,
        standard_error=error,
        plug_in=interval(unknown)[0],
        method=f"{settings.alignment} alignment, grouped jackknife",
        n_resamples=groups,
        random_state=settings.random_state,
    )


def _unbiased(metric: GaussianShapeMetric) -> Any:
    if metric.covariance not in ("mle", "unbiased"):
        raise InputError(
            "Bias is corrected for the covariances 'mle' and 'unbiased'; a shrunk covariance is "
            f"biased on purpose. Got {metric.covariance!r}."
        )
    return with_parameters(metric, covariance="unbiased")


def _check_counts(terms: Terms, n_groups: int, halved: bool) -> int:
    """Return the number of groups that the trials allow; warn if trials are few."""
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
            f"There are {used} trials{' in a half' if halved else ''} of {neurons} neurons. Below "
            f"{TRIALS_PER_NEURON} trials per neuron the correction leaves part of the bias, and "
            "the interval may cover less than it says.",
            FewTrialsWarning,
            stacklevel=4,
        )
    return min(n_groups, used)


def split_trials(network: Trials, n_groups: int, rng: np.random.Generator) -> Blocks:
    """Return the trials of each group and condition: a random partition of each condition."""
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
    """Extrapolate a function of the trials to infinitely many, with its covariance."""
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
    # 1 / L grows by this share when a group is gone: 1 / (G - 1) if groups are equal.
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
    # Given the alignments the two halves are independent.
    covariance = (one.covariance + two.covariance) / 4
    return Moments((one.squared + two.squared) / 2, covariance, one.quantile)
