"""Distances, ratios and differences of noisy networks, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from repshape.inference import bootstrap, jackknife
from repshape.inference.estimates import (
    Estimate,
    IntervalRule,
    Settings,
    difference_interval,
    distance_interval,
    ratio_interval,
)
from repshape.inference.terms import Pair, check_pair
from repshape.metrics.base import ShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.responses import NetworkLike

ESTIMATORS = {"jackknife": jackknife.estimate, "bootstrap": bootstrap.estimate}


def distance(
    x: NetworkLike,
    y: NetworkLike,
    metric: ShapeMetric[Any] | None = None,
    *,
    method: str = "jackknife",
    alignment: str | None = None,
    n_groups: int | None = None,
    over: str | None = None,
    n_resamples: int | None = None,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    r"""Estimate the distance between two networks, with an interval.

    The plug-in distance of two samples of the *same* network is far from 0. Both methods correct
    the squared distance for that.

    ``method="jackknife"`` estimates the distance that infinitely many trials would give:

    1. Noise of means, exactly: :math:`-a \sum_m w_m (\mathrm{tr} S^x_m / L^x_m + \mathrm{tr} S^y_m
       / L^y_m)`, with unbiased covariances throughout.
    2. Covariances and alignment by extrapolation in 1/L: trials fall into G groups at random;
       with :math:`\theta` from all of them and :math:`\theta_{-g}` without group g, each aligned
       anew, :math:`\hat\theta = \theta - (G - 1) (\overline{\theta_{-g}} - \theta)`. This removes
       every bias in proportion to 1/L, also what the alignment gains by fitting noise.
    3. The interval is :math:`\hat\theta \pm t_{G-1}` times the jackknife's standard error.

    ``method="bootstrap"`` resamples with replacement and aligns each resample anew. With
    :math:`\theta` from the data and :math:`\theta^*_b` from resamples of *trials*, the estimate is
    :math:`2\theta - \overline{\theta^*}`: resampling adds as much bias as sampling did, to first
    order. The interval is symmetric about it, by the spread of :math:`\theta^*` and the normal
    distribution. With few trials the jackknife is better; the bootstrap works for every metric.

    Parameters
    ----------
    x, y : networks with trials
        The jackknife needs at least four in every condition (eight to cross-validate).
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. The jackknife needs a Gaussian metric with
        ``covariance`` "mle" or "unbiased". Its preprocessing is fitted once, to all trials, and
        the noise of that fit is not part of the interval.
    method : {"jackknife", "bootstrap"}
    alignment : {"extrapolated", "crossvalidated"}
        Of the jackknife. With "crossvalidated" the alignment comes from half of the trials and is
        scored on the other half (steps 1 and 2 at a fixed transform), both ways round. It is never
        scored on trials that chose it, so the squared distance errs upwards, by what half the
        trials cost the alignment; and it needs twice the trials.
    n_groups : int
        Of the jackknife: G, at most the number of trials; 10 by default.
    over : {"trials", "conditions", "both"}
        Of the bootstrap: what would be new if the experiment were done again. "trials": the
        interval is about these conditions. "conditions": about conditions like these; each brings
        its own trials with it, and nothing is corrected. "both": three bootstraps, over trials,
        conditions and both, of variances v_t, v_c and v_tc, are combined as 2 (v_t + v_c) - v_tc,
        kept between max(v_t, v_c) and v_tc (Schuett et al., 2023), and bias is corrected. It errs
        to the wide side where trials differ from condition to condition: then v_c has their noise
        already.
    n_resamples : int
        Of the bootstrap: resamples of each; 200 by default.
    level : float
        Coverage of the interval.
    random_state : int
        Seed; the result has the same bits for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Warns
    -----
    FewTrialsWarning
        By the jackknife, with fewer than 2 n trials in some condition. What holds there is in the
        documentation.

    Examples
    --------
    Two samples of one network:

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(2, 6, 40, 3))
    >>> found = distance(x, y, GaussianShapeMetric(group="identity"))
    >>> round(found.plug_in, 2), found.interval[0] < 0 < found.interval[1]
    (0.54, True)
    >>> distance(x, y, method="bootstrap", n_resamples=50).n_resamples
    50
    """
    settings = Settings.checked(
        method, alignment, n_groups, over, n_resamples, level, random_state, workers, progress
    )
    chosen = GaussianShapeMetric() if metric is None else metric
    return _estimate([(x, y)], [chosen], settings, distance_interval)


def ratio(
    x: NetworkLike,
    y: NetworkLike,
    metric: GaussianShapeMetric | None = None,
    *,
    method: str = "jackknife",
    alignment: str | None = None,
    n_groups: int | None = None,
    over: str | None = None,
    n_resamples: int | None = None,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Estimate d_0 / d_2, the ratio of covariance to mean distance, with an interval.

    Both squared distances are estimated as in `distance`; the interval is symmetric for the
    logarithm of the ratio (delta method) and knows that both come from the same trials. NaN where
    an estimated squared distance is not positive.

    Parameters
    ----------
    x, y, method, alignment, n_groups, over, n_resamples, level, random_state, workers, progress
        As in `distance`.
    metric : GaussianShapeMetric, optional
        Everything but alpha.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(6, 200, 2))
    >>> y = 2 * rng.normal(size=(6, 200, 2)) + rng.normal(size=(6, 1, 2))
    >>> found = ratio(x, y)
    >>> found.interval[0] < found.estimate < found.interval[1]
    True
    """
    settings = Settings.checked(
        method, alignment, n_groups, over, n_resamples, level, random_state, workers, progress
    )
    template = check_gaussian(metric)
    metrics = [template.with_parameters(alpha=alpha) for alpha in (0.0, 2.0)]
    return _estimate([(x, y), (x, y)], metrics, settings, ratio_interval)


def difference(
    first: Pair,
    second: Pair,
    metric: ShapeMetric[Any] | None = None,
    *,
    method: str = "jackknife",
    alignment: str | None = None,
    n_groups: int | None = None,
    over: str | None = None,
    n_resamples: int | None = None,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Estimate the difference of two distances, d(first) - d(second), with an interval.

    A network that is in both pairs (the same object) loses the same trials in both, or is resampled
    once for both, so that what they share does not count twice. All networks must share their
    conditions.

    Parameters
    ----------
    first, second : pairs of networks
    metric, method, alignment, n_groups, over, n_resamples, level, random_state, workers, progress
        As in `distance`.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.random.default_rng(0).normal(size=(2, 5, 40, 2))
    >>> difference((x, y), (x, y)).estimate
    0.0
    """
    settings = Settings.checked(
        method, alignment, n_groups, over, n_resamples, level, random_state, workers, progress
    )
    chosen = GaussianShapeMetric() if metric is None else metric
    pairs = [check_pair(first, "first"), check_pair(second, "second")]
    return _estimate(pairs, [chosen, chosen], settings, difference_interval)


def _estimate(
    pairs: Sequence[Pair],
    metrics: Sequence[ShapeMetric[Any]],
    settings: Settings,
    rule: IntervalRule,
) -> Estimate:
    return ESTIMATORS[settings.method](pairs, metrics, settings).summarise(rule, settings)
