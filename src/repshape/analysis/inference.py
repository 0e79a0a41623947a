"""Bootstrap intervals over trials, conditions or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from repshape.analysis._parallel import run_all
from repshape.analysis._resample import draw, take_conditions, take_trials
from repshape.analysis._terms import Pair, Terms, check_pair, make_terms, with_parameters
from repshape.analysis.estimates import (
    Estimate,
    Interval,
    Moments,
    difference_interval,
    distance_interval,
    ratio_interval,
)
from repshape.analysis.frechet import check_gaussian
from repshape.errors import check_choice, check_integer, check_real
from repshape.metrics.base import Alignment, ShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.responses import NetworkLike, Trials

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Task = tuple[str, np.random.SeedSequence]

SOURCES = ("trials", "conditions", "both")


@dataclass(frozen=True)
class _Settings:
    over: str
    n_resamples: int
    level: float
    random_state: int
    workers: int | None
    progress: bool | None

    def check(self) -> None:
        check_choice("over", self.over, SOURCES)
        check_integer("n_resamples", self.n_resamples, 2)
        check_real("level", self.level, 0, 1, closed="neither")
        check_integer("random_state", self.random_state, 0)


def bootstrap_distance(
    x: NetworkLike,
    y: NetworkLike,
    metric: ShapeMetric[Any] | None = None,
    *,
    over: str = "trials",
    n_resamples: int = 200,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    r"""Return a distance with a bootstrap interval.

    Resamples with replacement, aligns each resample anew, and works with squared distances. With
    :math:`\theta` from the data and :math:`\theta^*_b` from resamples of *trials*, the estimate is
    :math:`2\theta - \overline{\theta^*}`: resampling adds as much bias as sampling did, to first
    order. The interval is symmetric about it, by the spread of :math:`\theta^*` and the normal
    distribution. With few trials `debiased_distance` is better; this one works for every metric.

    Parameters
    ----------
    x, y : networks with trials
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. Its preprocessing is fitted once, to all trials.
    over : {"trials", "conditions", "both"}
        What would be new if the experiment were done again. "trials": the interval is about these
        conditions. "conditions": about conditions like these; each brings its own trials with
        it, and nothing is corrected. "both": three bootstraps, over trials, conditions and both,
        of variances v_t, v_c and v_tc, are combined as 2 (v_t + v_c) - v_tc, kept between
        max(v_t, v_c) and v_tc (Schuett et al., 2023), and bias is corrected. It errs to the wide
        side where trials differ from condition to condition: then v_c has their noise already.
    n_resamples : int
        Resamples of each bootstrap.
    level : float
        Coverage of the interval.
    random_state : int
        Seed; the result has the same bits for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(size=(2, 6, 50, 2)) * np.array([1.0, 2.0])
    >>> found = bootstrap_distance(x, y, n_resamples=50)
    >>> found.plug_in > found.estimate, found.n_resamples
    (True, 50)
    """
    settings = _Settings(over, n_resamples, level, random_state, workers, progress)
    chosen: ShapeMetric[Any] = GaussianShapeMetric() if metric is None else metric
    return _bootstrap([(x, y)], [chosen], settings, distance_interval)


def bootstrap_ratio(
    x: NetworkLike,
    y: NetworkLike,
    metric: GaussianShapeMetric | None = None,
    *,
    over: str = "trials",
    n_resamples: int = 200,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Return d_0 / d_2, the ratio of covariance to mean distance, with a bootstrap interval.

    Parameters
    ----------
    x, y, metric, over, n_resamples, level, random_state, workers, progress
        As in `bootstrap_distance`; the metric's alpha is not used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 6, 50, 2)) + 2 * rng.normal(size=(2, 6, 1, 2))
    >>> found = bootstrap_ratio(x, y, n_resamples=30)
    >>> found.interval[0] < found.estimate < found.interval[1]
    True
    """
    settings = _Settings(over, n_resamples, level, random_state, workers, progress)
    template = check_gaussian(metric)
    metrics = [with_parameters(template, alpha=alpha) for alpha in (0.0, 2.0)]
    return _bootstrap([(x, y), (x, y)], metrics, settings, ratio_interval)


def bootstrap_difference(
    first: Pair,
    second: Pair,
    metric: ShapeMetric[Any] | None = None,
    *,
    over: str = "trials",
    n_resamples: int = 200,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Return the difference d(first) - d(second) of two distances, with a bootstrap interval.

    A network that is in both pairs (the same object) is resampled once for both, and so are the
    conditions: all networks must share them.

    Parameters
    ----------
    first, second : pairs of networks
    metric, over, n_resamples, level, random_state, workers, progress
        As in `bootstrap_distance`.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).normal(size=(2, 6, 20, 2))
    >>> same = bootstrap_difference((x, y), (x, y), n_resamples=10)
    >>> same.estimate, same.standard_error < 1e-12
    (0.0, True)
    """
    settings = _Settings(over, n_resamples, level, random_state, workers, progress)
    chosen: ShapeMetric[Any] = GaussianShapeMetric() if metric is None else metric
    pairs = [check_pair(first, "first"), check_pair(second, "second")]
    return _bootstrap(pairs, [chosen, chosen], settings, difference_interval)


def _bootstrap(
    pairs: list[Pair],
    metrics: Sequence[ShapeMetric[Any]],
    settings: _Settings,
    interval: Callable[[Moments], Interval],
) -> Estimate:
    settings.check()
    terms = make_terms(pairs, metrics)
    known = terms.align()
    whole = np.array([one.distance * abs(one.distance) for one in known])
    replicates = _replicates(terms, known, settings)
    covariance = _combine({name: _covariance(rows) for name, rows in replicates.items()})
    corrected = whole
    if "trials" in replicates:
        corrected = 2 * whole - replicates["trials"].mean(axis=0)
    quantile = float(norm.ppf((1 + settings.level) / 2))
    value, ends, error = interval(Moments(corrected, covariance, quantile))
    return Estimate(
        estimate=value,
        interval=ends,
        level=settings.level,
        standard_error=error,
        plug_in=interval(Moments(whole, np.zeros_like(covariance), 0.0))[0],
        method=_name(settings.over),
        n_resamples=settings.n_resamples,
        random_state=settings.random_state,
    )


def _name(over: str) -> str:
    if over == "both":
        return "two-factor bootstrap over trials and conditions, bias-corrected"
    return f"bootstrap over {over}" + (", bias-corrected" if over == "trials" else "")


def _replicates(terms: Terms, known: list[Alignment], settings: _Settings) -> dict[str, FloatArray]:
    """Return squared distances (B, terms) of each bootstrap that the settings need."""
    names = SOURCES if settings.over == "both" else (settings.over,)
    seeds = np.random.SeedSequence(settings.random_state).spawn(settings.n_resamples * len(names))
    tasks = [(names[k // settings.n_resamples], seed) for k, seed in enumerate(seeds)]

    def one(task: Task) -> FloatArray:
        networks, conditions = _resample(terms.networks, task[0], np.random.default_rng(task[1]))
        return terms.squared(networks, known, conditions)

    found = run_all(one, tasks, workers=settings.workers, progress=settings.progress)
    parts = np.array(found).reshape(len(names), settings.n_resamples, -1)
    return dict(zip(names, parts, strict=True))


def _resample(
    networks: Sequence[Trials], over: str, rng: np.random.Generator
) -> tuple[list[Any], IntArray | None]:
    """Draw trials of each condition and network, and then conditions of all networks together."""
    drawn: list[Any] = list(networks)
    if over != "conditions":
        drawn = [
            take_trials(one, [draw(rng, int(L), int(L), True) for L in one.n_trials])
            for one in networks
        ]
    if over == "trials":
        return drawn, None
    count = networks[0].n_conditions
    conditions = draw(rng, count, count, True)
    return [take_conditions(one, conditions) for one in drawn], conditions


def _covariance(rows: FloatArray) -> FloatArray:
    return np.atleast_2d(np.cov(rows, rowvar=False))


def _combine(found: dict[str, FloatArray]) -> FloatArray:
    """Return the covariance of one bootstrap, or of two factors from three.

    The rule is about variances. Of several distances, each variance is combined by it, and the
    correlations are those of the bootstrap over both.
    """
    if len(found) == 1:
        return next(iter(found.values()))
    v_t, v_c, v_tc = (np.diagonal(found[name]) for name in SOURCES)
    combined = two_factor_variance(v_t, v_c, v_tc)
    scale = np.sqrt(np.divide(combined, v_tc, out=np.zeros_like(v_tc), where=v_tc > 0))
    return np.asarray(found["both"] * scale[:, None] * scale[None, :])


def two_factor_variance(v_a: FloatArray, v_b: FloatArray, v_both: FloatArray) -> FloatArray:
    """Return 2 (v_a + v_b) - v_both, at least max(v_a, v_b) and at most v_both.

    Where v_both is, by chance, below the larger of the two, the larger is returned.

    >>> two_factor_variance(np.array([1.0]), np.array([2.0]), np.array([3.5]))
    array([2.5])
    """
    low = np.maximum(v_a, v_b)
    return np.asarray(np.clip(2 * (v_a + v_b) - v_both, low, np.maximum(v_both, low)))
