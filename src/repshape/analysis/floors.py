"""Distances that noise alone makes: the split-half floor, and a test of equality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.analysis._parallel import run_all
from repshape.analysis._resample import take_trials
from repshape.analysis._terms import Terms, make_terms
from repshape.analysis.bias import split_trials
from repshape.analysis.estimates import Estimate, signed_root
from repshape.errors import InputError, check_integer, check_real
from repshape.metrics.base import ShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.responses import NetworkLike, Trials

FloatArray = npt.NDArray[np.float64]


def noise_floor(
    x: NetworkLike,
    metric: ShapeMetric[Any] | None = None,
    *,
    n_splits: int = 20,
    level: float = 0.9,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    r"""Return the distance of a network to itself that noise alone makes.

    Trials are halved at random; the two halves are as two recordings of one network with L/2
    trials each. ``plug_in`` is the root mean square of their distance. Squared distances between
    samples of one network fall as 1/L, so with all L trials the floor is that over
    :math:`\sqrt 2`: this is ``estimate``, to be held beside plug-in distances of L trials. The
    interval is the spread over splits.

    Parameters
    ----------
    x : network with at least two trials in each condition
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. Its preprocessing is fitted once, to all trials.
    n_splits : int
        Number of random halvings.
    level : float
        Share of the splits that the interval holds.
    random_state : int
        Seed; the result has the same bits for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(6, 40, 3))
    >>> few, many = (noise_floor(x[:, :L], n_splits=5).estimate for L in (10, 40))
    >>> few > many
    True
    """
    check_integer("n_splits", n_splits, 1)
    check_real("level", level, 0, 1, closed="neither")
    check_integer("random_state", random_state, 0)
    chosen: ShapeMetric[Any] = GaussianShapeMetric() if metric is None else metric
    terms = make_terms([(x, x)], [chosen])
    network, plain = terms.networks[0], terms.terms[0].metric
    if network.n_trials.min() < 2:
        raise InputError("A noise floor needs at least two trials in every condition. Got one.")

    def split(seed: np.random.SeedSequence) -> float:
        halves = split_trials(network, 2, np.random.default_rng(seed))
        return plain.distance(*(take_trials(network, half) for half in halves))

    seeds = np.random.SeedSequence(random_state).spawn(n_splits)
    found = np.array(run_all(split, seeds, what="splits", workers=workers, progress=progress))
    half = signed_root(float(np.mean(found * np.abs(found))))
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2]) / np.sqrt(2)
    return Estimate(
        estimate=float(half / np.sqrt(2)),
        interval=(float(low), float(high)),
        level=level,
        standard_error=float(found.std() / np.sqrt(2)),
        plug_in=half,
        method="split halves, scaled to all trials",
        n_resamples=n_splits,
        random_state=random_state,
    )


@dataclass(frozen=True)
class PermutationTest:
    """Result of a permutation test.

    Attributes
    ----------
    statistic : float
        The plug-in distance.
    p_value : float
        Share of relabelings, the data among them, with at least that distance.
    null_mean : float
        Mean distance under relabeling: what noise alone makes.
    method : str
    n_resamples, random_state : int
    """

    statistic: float
    p_value: float
    null_mean: float
    method: str
    n_resamples: int
    random_state: int


def permutation_test(
    x: NetworkLike,
    y: NetworkLike,
    metric: ShapeMetric[Any] | None = None,
    *,
    n_resamples: int = 199,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> PermutationTest:
    r"""Test whether two networks are equal up to the group.

    If they are, and y is aligned to x, a trial of a condition could as well be the other network's:
    trials of x and of aligned y change places at random within each condition, the two new networks
    are aligned anew, and their distance is compared with that of the data.

    .. math:: p = (1 + \#\{b : d_b \ge d\}) / (1 + B)

    Parameters
    ----------
    x, y : networks with trials
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. Its preprocessing is fitted once, to all trials.
    n_resamples : int
        B, number of relabelings.
    random_state : int
        Seed; the result has the same bits for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Notes
    -----
    Exact for the identity group. Otherwise the alignment is estimated from the labelled trials,
    and the test is exact only as they become many. It tests the whole distribution, as far as the
    metric sees it, not a mean over conditions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 4, 30, 2))
    >>> permutation_test(x, 3 * y, n_resamples=19).p_value
    0.05
    """
    check_integer("n_resamples", n_resamples, 1)
    check_integer("random_state", random_state, 0)
    chosen: ShapeMetric[Any] = GaussianShapeMetric() if metric is None else metric
    terms = make_terms([(x, y)], [chosen])
    if terms.networks[0].n_neurons < terms.networks[-1].n_neurons:  # move the smaller network
        terms = make_terms([(y, x)], [chosen])
    alignment = terms.align()[0]
    target, source = terms.networks[0], terms.networks[-1]
    moved = Trials([alignment.apply(one) for one in source.responses])
    return _relabel(
        terms, target, moved, alignment.distance, n_resamples, random_state, workers, progress
    )


def _relabel(
    terms: Terms,
    x: Trials,
    y: Trials,
    observed: float,
    n_resamples: int,
    random_state: int,
    workers: int | None,
    progress: bool | None,
) -> PermutationTest:
    pooled = [np.concatenate(pair) for pair in zip(x.responses, y.responses, strict=True)]
    metric = terms.terms[0].metric

    def one(seed: np.random.SeedSequence) -> float:
        rng = np.random.default_rng(seed)
        mixed = [trials[rng.permutation(len(trials))] for trials in pooled]
        first = Trials([trials[:L] for trials, L in zip(mixed, x.n_trials, strict=True)])
        second = Trials([trials[L:] for trials, L in zip(mixed, x.n_trials, strict=True)])
        return metric.distance(first, second)

    seeds = np.random.SeedSequence(random_state).spawn(n_resamples)
    found = np.array(run_all(one, seeds, workers=workers, progress=progress))
    beyond = int(np.count_nonzero(found >= observed - 1e-9 * abs(observed)))
    return PermutationTest(
        statistic=observed,
        p_value=(1 + beyond) / (1 + n_resamples),
        null_mean=float(found.mean()),
        method="relabeling of aligned trials within conditions",
        n_resamples=n_resamples,
        random_state=random_state,
    )
