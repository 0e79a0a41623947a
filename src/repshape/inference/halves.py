"""Matched halves: distances between networks minus those between halves of the same network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.errors import InputError
from repshape.inference.estimates import Moments, Resampled, Settings
from repshape.inference.jackknife import jackknife_error, warn_few_trials
from repshape.inference.resampling import take_trials
from repshape.inference.terms import Pair, Terms, make_terms
from repshape.metrics.base import ShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric
from repshape.responses import Trials

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Rows = list[list[IntArray]]  # trials of each group, by condition
Task = tuple[tuple[int, ...], int]  # the groups of the first half, and the deleted group or -1

# Number of ways in which the groups are divided into halves.
N_SPLITS = 5
# A half without one group must keep two trials.
FEWEST_TRIALS = 6
FEWEST_GROUPS = 4


def estimate(pairs: Sequence[Pair], metrics: Sequence[Any], settings: Settings) -> Resampled:
    """Estimate squared distances; see `repshape.inference.distance`."""
    exact = {id(metric): unbiased(metric) for metric in metrics}
    terms = make_terms(pairs, [exact[id(metric)] for metric in metrics])
    found = replicates(terms, settings)  # which also checks the numbers of trials
    plug_in = np.array([one.distance for one in make_terms(pairs, metrics).sample().align()])
    moments = Moments(found[0], *jackknife_error(found[1:], settings.level))
    return Resampled(moments, plug_in * np.abs(plug_in), "matched halves", len(found) - 1)


def unbiased(metric: ShapeMetric[Any] | None) -> ShapeMetric[Any]:
    """Return the metric with unbiased covariances instead of plug-in ones."""
    chosen = GaussianShapeMetric() if metric is None else metric
    if isinstance(chosen, GaussianShapeMetric) and chosen.covariance == "mle":
        return chosen.with_parameters(covariance="unbiased")
    return chosen


def replicates(terms: Terms, settings: Settings) -> FloatArray:
    """Return estimates (1 + G, terms): of all trials, and without each of G groups of trials.

    With halves x1, x2 and y1, y2, an estimate is the mean over splits of
    [d^2(x1, y2) + d^2(x2, y1) - d^2(x1, x2) - d^2(y1, y2)] / 2.
    """
    counts = np.min([network.n_trials for network in terms.networks], axis=0)
    n_groups = _check_counts(terms, int(counts.min()), settings.n_groups)
    # Each network has its own seed, so its groups do not depend on how many networks there are.
    groups = [
        _groups(network, counts, n_groups, np.random.default_rng([settings.random_state, k]))
        for k, network in enumerate(terms.networks)
    ]
    splits = _splits(n_groups, np.random.default_rng(settings.random_state))
    tasks = [(first, gone) for gone in range(-1, n_groups) for first in splits]
    found = run_all(
        lambda task: _one_split(terms, groups, *task),
        tasks,
        what="splits",
        workers=settings.workers,
        progress=settings.progress,
    )
    return np.asarray(np.array(found).reshape(n_groups + 1, len(splits), -1).mean(axis=1))


def _check_counts(terms: Terms, fewest: int, n_groups: int) -> int:
    """Return an even number of groups that the trials allow, and warn if there are few trials."""
    if fewest < FEWEST_TRIALS:
        raise InputError(
            f"Matched halves need at least {FEWEST_TRIALS} trials in every condition. Got {fewest}."
        )
    if n_groups < FEWEST_GROUPS:
        raise InputError(
            f"The 'n_groups' parameter must be at least {FEWEST_GROUPS} for method='halves'. "
            f"Got {n_groups} instead."
        )
    warn_few_trials(terms, fewest, stacklevel=7)
    return min(n_groups, fewest) // 2 * 2


def _groups(network: Trials, counts: IntArray, n_groups: int, rng: np.random.Generator) -> Rows:
    """Divide ``counts[m]`` random trials of each condition m into groups; return them by group."""
    sizes = zip(network.n_trials.tolist(), counts.tolist(), strict=True)
    orders = [rng.permutation(L)[:kept] for L, kept in sizes]
    parts = [np.array_split(order, n_groups) for order in orders]
    return [[part[g] for part in parts] for g in range(n_groups)]


def _splits(n_groups: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return different first halves of the groups; group 0 is in each, so that none repeats."""
    every = list(combinations(range(1, n_groups), n_groups // 2 - 1))
    chosen = rng.choice(len(every), size=min(N_SPLITS, len(every)), replace=False)
    return [(0, *every[k]) for k in chosen]


def _one_split(terms: Terms, groups: list[Rows], first: tuple[int, ...], gone: int) -> FloatArray:
    """Return the estimate of each term from one split, without one of the groups."""
    kept = [g for g in range(len(groups[0])) if g != gone]
    sides = [[g for g in kept if g in first], [g for g in kept if g not in first]]
    halves = [
        take_trials(network, _joined([parts[g] for g in side]))
        for network, parts in zip(terms.networks, groups, strict=True)
        for side in sides
    ]
    return contrasts(terms, halves)


def _joined(groups: Rows) -> list[IntArray]:
    """Return the trials of several groups together, by condition."""
    return [np.concatenate(rows) for rows in zip(*groups, strict=True)]


def contrasts(terms: Terms, halves: Sequence[Trials]) -> FloatArray:
    """Return the estimate of each term; network k has the halves 2 k and 2 k + 1."""
    sample = terms.sample(halves)
    out = np.empty(len(terms.terms))
    for metric in {id(term.metric): term.metric for term in sample.terms}.values():
        index = [k for k, term in enumerate(sample.terms) if term.metric is metric]
        needed = [_halves_of(sample.terms[k].x, sample.terms[k].y) for k in index]
        pairs = sorted({pair for four in needed for pair in four})
        found = metric.solve_pairs(sample.prepared(metric), pairs).distance
        squared = dict(zip(pairs, (found * np.abs(found)).tolist(), strict=True))
        for k, (one, two, within_x, within_y) in zip(index, needed, strict=True):
            between = squared[one] + squared[two]
            out[k] = (between - squared[within_x] - squared[within_y]) / 2
    return out


def _halves_of(x: int, y: int) -> list[tuple[int, int]]:
    """Return the pairs of halves whose distances are needed: two between, two within networks."""
    return [(2 * x, 2 * y + 1), (2 * x + 1, 2 * y), (2 * x, 2 * x + 1), (2 * y, 2 * y + 1)]
