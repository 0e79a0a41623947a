"""A permutation test of whether two networks are equal up to the group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from repshape._compact import compact_repr
from repshape._parallel import run_all
from repshape.errors import check_integer
from repshape.inference.terms import make_terms
from repshape.metrics.base import ShapeMetric
from repshape.responses import NetworkLike, Trials

# Distances that differ by less than this fraction count as equal.
ROUNDING = 1e-9


@compact_repr
@dataclass(frozen=True)
class PermutationTest:
    """Result of a permutation test.

    Attributes
    ----------
    statistic : float
        The plug-in distance.
    p_value : float
        Fraction of relabellings, including the data, with at least this distance.
    null_mean : float
        Mean distance after relabelling, which is due to noise alone.
    method : str
    n_resamples, random_state : int
    """

    statistic: float
    p_value: float
    null_mean: float
    method: str
    n_resamples: int
    random_state: int


def equality(
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

    If they are, and y is aligned to x, then trials of the two networks can be exchanged. The test
    permutes the trials of x and of the aligned y at random within each condition, aligns the two
    new networks, and compares their distance with that of the data.

    .. math:: p = (1 + \#\{b : d_b \ge d\}) / (1 + B)

    Parameters
    ----------
    x, y : networks with trials
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. The preprocessing is fitted once, to all trials.
    n_resamples : int
        Number of relabellings, B.
    random_state : int
        Seed. The result is exactly the same for any number of workers.
    workers, progress
        As in `repshape.pairwise`.

    Notes
    -----
    The test is exact for the identity group. For other groups the alignment is estimated from the
    labelled trials, and the test is exact only for large numbers of trials. The null hypothesis is
    that the distributions are equal in every condition.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 4, 30, 2))
    >>> equality(x, 3 * y, n_resamples=19).p_value
    0.05
    """
    check_integer("n_resamples", n_resamples, 1)
    check_integer("random_state", random_state, 0)
    terms = make_terms([(x, y)], [metric])
    if terms.networks[0].n_neurons < terms.networks[-1].n_neurons:  # move the smaller network
        terms = make_terms([(y, x)], [metric])
    alignment = terms.align()[0]
    target, source = terms.networks[0], terms.networks[-1]
    moved = Trials([alignment.apply(one) for one in source.responses])
    relabelled = _relabelling(terms.terms[0].metric, target, moved)
    seeds = np.random.SeedSequence(random_state).spawn(n_resamples)
    found = np.array(run_all(relabelled, seeds, workers=workers, progress=progress))
    observed = alignment.distance
    beyond = int(np.count_nonzero(found >= observed - ROUNDING * abs(observed)))
    return PermutationTest(
        statistic=observed,
        p_value=(1 + beyond) / (1 + n_resamples),
        null_mean=float(found.mean()),
        method="relabelling of aligned trials within conditions",
        n_resamples=n_resamples,
        random_state=random_state,
    )


def _relabelling(
    metric: ShapeMetric[Any], x: Trials, y: Trials
) -> Callable[[np.random.SeedSequence], float]:
    """Return a function that exchanges trials at random, and returns the new distance."""
    pooled = [np.concatenate(pair) for pair in zip(x.responses, y.responses, strict=True)]

    def relabelled(seed: np.random.SeedSequence) -> float:
        rng = np.random.default_rng(seed)
        mixed = [trials[rng.permutation(len(trials))] for trials in pooled]
        first = Trials([trials[:L] for trials, L in zip(mixed, x.n_trials, strict=True)])
        second = Trials([trials[L:] for trials, L in zip(mixed, x.n_trials, strict=True)])
        return metric.distance(first, second)

    return relabelled
