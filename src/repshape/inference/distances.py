"""Estimates of distances, their ratios and differences, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from repshape.inference import bootstrap, calibrated, halves, jackknife
from repshape.inference.estimates import (
    Estimate,
    IntervalRule,
    Settings,
    difference_interval,
    distance_interval,
)
from repshape.inference.ratios import ratio_interval, warn_unbounded
from repshape.inference.subspaces import check_subspaces
from repshape.inference.terms import Pair, check_pair, make_terms
from repshape.metrics.base import ShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.responses import NetworkLike

ESTIMATORS = {
    "calibrated": calibrated.estimate,
    "halves": halves.estimate,
    "jackknife": jackknife.estimate,
    "bootstrap": bootstrap.estimate,
}


def distance(
    x: NetworkLike,
    y: NetworkLike,
    metric: ShapeMetric[Any] | None = None,
    *,
    method: str = "calibrated",
    n_groups: int | None = None,
    over: str | None = None,
    n_resamples: int | None = None,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    r"""Estimate the distance between two networks, with a confidence interval.

    Because of noise, the plug-in distance between two samples of the *same* network is well above
    0. All methods correct the squared distance for this bias. Preprocessing belongs to the sample:
    centring, scaling, PCA and whitening are fitted separately in every half, group or resample.

    ``method="calibrated"`` measures how the distances between networks and within them decrease
    with the number of trials. Let :math:`B_h` and :math:`B_q` be the mean squared distances between
    halves and between quarters of the trials of x and y, and :math:`W_h` and :math:`W_q` the same
    within networks (the mean of both). Then

    .. math:: \hat\theta = B_h - c\, W_h, \qquad c = \frac{B_q - B_h}{W_q - W_h},

    with c limited to [0, 2]. If the networks are equal up to the group, between and within have the
    same distribution, so that c is 1 on average and a true distance of 0 is estimated without bias.
    If they differ, c W_h is what the bias of :math:`B_h` is if it decreases with the number of
    trials as distances within networks do. The means are taken over six ways to divide G groups
    of trials into quarters, and three ways to join these to halves. The standard error comes from
    deleting each group in turn, everywhere and for c too; the interval uses Student's t
    distribution with G - 1 degrees of freedom. If there are fewer than 16 trials in a condition, or
    :math:`W_h / W_q` is not between 0.4 and 0.6, the trials do not show how the bias decreases.
    Then the interval contains those of :math:`H = B_h - W_h` and of :math:`R = 2 d^2 - B_h` with
    the distance d of all trials, the estimate is the mean of both, and a FewTrialsWarning says how
    many trials would be enough. One of the two is right at a true distance of 0, and the other if
    the bias is proportional to 1/L.

    ``method="halves"`` subtracts the distances within networks from those between them. Its lower
    end is cautious at any distance, and its interval short for equal networks. The trials
    of each network are divided into halves x1, x2 and y1, y2, and

    .. math:: \hat\theta = \tfrac12 \left[ d^2(x_1, y_2) + d^2(x_2, y_1) - d^2(x_1, x_2)
              - d^2(y_1, y_2) \right]

    is averaged over twenty ways to divide G groups of trials. If the networks are equal up to the
    group, all four distances have the same distribution, so a true distance of 0 is estimated
    without bias: for every metric, any preprocessing and any number of trials. Larger distances
    are underestimated, by up to a fifth of the squared distance where noise differs in scale, and
    then missed by the interval. The standard error comes from deleting each group in turn and from
    the spread over splits. It has a part that is linear in the noise, one that is quadratic, and
    one that is independent in every split; a plain jackknife would count the last two several
    times. The interval uses Student's t distribution with 5 degrees of freedom. If the principal
    components are not clearly stable (overlap below 0.9), the standard error is at least that of
    the jackknife, with G - 1 degrees.

    ``method="jackknife"`` extrapolates to infinitely many trials. It subtracts the noise of the
    means, :math:`\alpha \sum_m w_m (\mathrm{tr} S^x_m / L^x_m + \mathrm{tr} S^y_m / L^y_m)`, and
    corrects the rest in 1/L: with :math:`\theta` from all trials and :math:`\theta_{-g}` from all
    but group g, the estimate is :math:`\theta - (G - 1) (\overline{\theta_{-g}} - \theta)`. It is
    accurate with at least 2 trials per dimension and without PCA, or with clearly separated
    components.

    ``method="bootstrap"`` resamples with replacement. With :math:`\theta` from the data and
    :math:`\theta^*_b` from resamples of trials, the estimate is :math:`2\theta -
    \overline{\theta^*}`, because to first order resampling adds the same bias as sampling. The
    interval has the standard deviation of :math:`\theta^*` and quantiles of the normal
    distribution. It is the method for intervals over conditions.

    Parameters
    ----------
    x, y : networks with trials
        In every condition, the calibrated estimate and halves need at least six trials, and the
        jackknife four. The first two also take moments that come with those of two halves of the
        trials, as `repshape.pytorch.collect` returns them. That is a single split into halves,
        whose error is unknown: the interval and the standard error are NaN.
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. The jackknife needs a Gaussian metric with
        ``covariance`` "mle" or "unbiased"; the other methods take any metric.
    method : {"calibrated", "halves", "jackknife", "bootstrap"}
    n_groups : int
        G, for all methods but the bootstrap; 10 by default, rounded down to what the method and
        the trials allow. The calibrated estimate needs a multiple of four of at least eight, with
        two trials in each group; halves need an even number of at least four.
    over : {"trials", "conditions", "both"}
        For the bootstrap: what would be drawn again if the experiment were repeated. With
        "trials", the interval is about these conditions. With "conditions", it is about conditions
        like these; each is drawn together with its trials, and no bias is corrected. With "both",
        three bootstraps over trials, conditions and both, with variances v_t, v_c and v_tc, are
        combined to 2 (v_t + v_c) - v_tc, limited to between max(v_t, v_c) and v_tc (Schuett et
        al., 2023), and the bias is corrected. This is conservative if each condition has its own
        trials, because v_c then already includes their noise.
    n_resamples : int
        For the bootstrap: number of resamples per bootstrap; 200 by default.
    level : float
        Nominal coverage of the interval.
    random_state : int
        Seed. The result is exactly the same for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Warns
    -----
    FewTrialsWarning
        If trials do not allow the calibrated estimate. By halves and the jackknife, if a condition
        has fewer than two trials per dimension.
    UnstableSubspaceWarning
        If half of the trials give quite different principal components.

    Notes
    -----
    Intervals by halves are too low where distances are underestimated by more than their error.
    Those of the jackknife do not hold with fewer than two trials per dimension, or if principal
    components are not well separated. "Do the error bars hold?" in the documentation shows how
    often intervals covered the truth in simulations.

    The calibrated estimate and halves use as many trials of each network as the one with fewer
    has, condition by condition.

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
        method, n_groups, over, n_resamples, level, random_state, workers, progress
    )
    return _estimate([(x, y)], [metric], settings, distance_interval)


def ratio(
    x: NetworkLike,
    y: NetworkLike,
    metric: GaussianShapeMetric | None = None,
    *,
    method: str = "calibrated",
    n_groups: int | None = None,
    over: str | None = None,
    n_resamples: int | None = None,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Estimate d_0 / d_2, the ratio of covariance to mean distance, with a confidence interval.

    Both squared distances are estimated as in `distance`. The interval is that of Fieller (1954):
    it contains every ratio r for which :math:`d_0^2 - r^2 d_2^2` is not significantly different
    from 0, given that both distances come from the same trials. Where the mean distance is not
    separated from 0, no ratio is too large: the interval has no upper end, and a warning says so.
    Where the covariance distance is not separated from 0, the interval begins at 0.

    The estimate is 0 if the squared covariance distance is not estimated as positive, infinite if
    the squared mean distance is not, and NaN if neither is, each with a warning. The interval is
    valid in all of these cases.

    Parameters
    ----------
    x, y, method, n_groups, over, n_resamples, level, random_state, workers, progress
        As in `distance`.
    metric : GaussianShapeMetric, optional
        Its alpha is ignored. By default ``GaussianShapeMetric()``.

    Warns
    -----
    UnboundedRatioWarning
        If the ratio has no upper limit, or no finite positive estimate.
    FewTrialsWarning, UnstableSubspaceWarning
        As in `distance`.

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
        method, n_groups, over, n_resamples, level, random_state, workers, progress
    )
    template = check_gaussian(metric)
    metrics = [template.with_parameters(alpha=alpha) for alpha in (0.0, 2.0)]
    found = _estimate([(x, y), (x, y)], metrics, settings, ratio_interval)
    warn_unbounded(found)
    return found


def difference(
    first: Pair,
    second: Pair,
    metric: ShapeMetric[Any] | None = None,
    *,
    method: str = "calibrated",
    n_groups: int | None = None,
    over: str | None = None,
    n_resamples: int | None = None,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """Estimate the difference d(first) - d(second) of two distances, with a confidence interval.

    A network that is in both pairs (the same object) is resampled in the same way in both, so that
    its noise cancels as far as it affects both distances equally. All networks must have the same
    conditions.

    Parameters
    ----------
    first, second : pairs of networks
    metric, method, n_groups, over, n_resamples, level, random_state, workers, progress
        As in `distance`.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.random.default_rng(0).normal(size=(2, 5, 40, 2))
    >>> difference((x, y), (x, y)).estimate
    0.0
    """
    settings = Settings.checked(
        method, n_groups, over, n_resamples, level, random_state, workers, progress
    )
    pairs = [check_pair(first, "first"), check_pair(second, "second")]
    return _estimate(pairs, [metric, metric], settings, difference_interval)


def _estimate(
    pairs: Sequence[Pair],
    metrics: Sequence[ShapeMetric[Any] | None],
    settings: Settings,
    rule: IntervalRule,
) -> Estimate:
    terms = make_terms(pairs, metrics, moments=settings.method in ("calibrated", "halves"))
    overlap = check_subspaces(
        terms.networks, terms.terms[0].metric, settings.random_state, stacklevel=4
    )
    found = ESTIMATORS[settings.method](pairs, metrics, settings.for_overlap(overlap))
    return found.summarise(rule, settings, overlap)
