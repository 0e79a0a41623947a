"""Matched halves: distances between networks minus those between halves of the same network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from repshape._parallel import run_all
from repshape.errors import InputError
from repshape.inference.estimates import Moments, Resampled, Settings
from repshape.inference.jackknife import jackknife_error, warn_few_trials
from repshape.inference.split_variance import SplitDesign
from repshape.inference.terms import Pair, Terms, check_metric, make_terms
from repshape.responses import Gaussians, Trials
from repshape.responses.halves import has_halves, split_halves

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Rows = list[list[IntArray]]  # trials of each group, by condition
Task = tuple[tuple[int, ...], int]  # the groups of the first half, and the deleted group or -1

# Number of ways in which the groups are divided into halves, and for how many of them each group is
# deleted in turn.
N_SPLITS = 20
N_DELETED = 6
# A half without one group must keep two trials.
FEWEST_TRIALS = 6
FEWEST_GROUPS = 4
METHOD = "matched halves"


def estimate(pairs: Sequence[Pair], metrics: Sequence[Any], settings: Settings) -> Resampled:
    """Estimate squared distances; see `repshape.inference.distance`."""
    exact = {id(metric): check_metric(metric)._unbiased() for metric in metrics}
    terms = make_terms(pairs, [exact[id(metric)] for metric in metrics], moments=True)
    plain = make_terms(pairs, metrics, moments=True)
    if any(has_halves(network) for network in terms.networks):
        moments, n_groups = _one_split(terms, settings), 1
    else:
        found = half_estimates(terms, settings)  # which also checks the numbers of trials
        moments, n_groups = found.moments(settings.level), found.n_groups
    plug_in = np.array([one.distance for one in plain.sample().align()])
    return Resampled(moments, plug_in * np.abs(plug_in), METHOD, n_groups)


def _one_split(terms: Terms, settings: Settings) -> Moments:
    """Estimate squared distances from one split, where networks are given by their moments.

    Its error is unknown: the halves cannot be divided further.
    """
    halves = [
        _unbiased_moments(half)
        for k, network in enumerate(terms.networks)
        for half in split_halves(network, np.random.default_rng([settings.random_state, k]))
    ]
    counts = [np.min(getattr(one, "flat", one).n_trials) for one in halves]
    warn_few_trials(terms, 2 * int(min(counts)))
    count = len(terms.terms)
    return Moments(contrasts(terms, halves), np.full((count, count), np.nan), np.nan)


def _unbiased_moments(network: Any) -> Any:
    """Return moments with unbiased covariances instead of plug-in ones; trials as they are."""
    flat = getattr(network, "flat", network)
    if not isinstance(flat, Gaussians) or flat.estimator != "mle" or flat.n_trials is None:
        return network
    growth = flat.n_trials / np.maximum(flat.n_trials - 1, 1)
    growth = np.sqrt(growth) if flat.kind == "factors" else growth
    stored = flat.stored * growth.reshape(-1, *[1] * (flat.stored.ndim - 1))
    moments = (flat.means, stored, flat.kind, flat.conditions, "unbiased")
    scaled = Gaussians._trusted(*moments, neurons=flat.neurons, n_trials=flat.n_trials)
    return scaled if flat is network else network.with_responses(scaled)


@dataclass(frozen=True, eq=False)
class HalfEstimates:
    """Squared distances from many splits of the trials into halves.

    With halves x1, x2 and y1, y2, an estimate is
    [d^2(x1, y2) + d^2(x2, y1) - d^2(x1, x2) - d^2(y1, y2)] / 2.

    Attributes
    ----------
    splits : list of tuple of int
        The groups of the first half of each split.
    whole : array of shape (splits, terms)
        Estimates from all trials.
    deleted : array of shape (G, R, terms)
        Estimates of the first R splits, without each of G groups of trials.
    cautious : bool
        Whether variances are at least those of the jackknife.
    """

    splits: list[tuple[int, ...]]
    whole: FloatArray
    deleted: FloatArray
    cautious: bool = False

    @property
    def n_groups(self) -> int:
        """Number of groups of trials, G."""
        return len(self.deleted)

    def moments(self, level: float) -> Moments:
        """Return the means over splits, their covariance, and the quantile of t for intervals.

        Correlations are those of the jackknife, and variances those of `SplitDesign`.
        """
        jackknife, _ = jackknife_error(self.deleted.mean(axis=1), level)
        scale = np.sqrt(np.diagonal(jackknife))
        scale = np.divide(np.sqrt(self.variances()), scale, out=0 * scale, where=scale > 0)
        covariance = jackknife * scale[:, None] * scale[None, :]
        return Moments(self.whole.mean(axis=0), covariance, self._quantile(level))

    def _quantile(self, level: float) -> float:
        """Return the quantile of t, with as many degrees of freedom as the variance has at best.

        The jackknife has G - 1. Parts of the variance are separated by their spread over R splits.
        """
        count = self.n_groups if self.cautious else self.deleted.shape[1]
        return float(student.ppf((1 + level) / 2, count - 1))

    def variances(self) -> FloatArray:
        """Return the variance of the mean over splits of each term."""
        design = SplitDesign.of(self.splits, self.n_groups, self.deleted.shape[1])
        return design.variances(self.whole, self.deleted, cautious=self.cautious)

    def each(self, level: float) -> list[Moments]:
        """Return the moments of each term by itself."""
        quantile = self._quantile(level)
        means = self.whole.mean(axis=0)
        return [
            Moments(means[k : k + 1], np.array([[variance]]), quantile)
            for k, variance in enumerate(self.variances())
        ]


@dataclass(frozen=True, eq=False)
class HalfPlan:
    """How the trials of all networks are divided, and what is computed from the parts."""

    terms: Terms
    groups: list[Rows]
    splits: list[tuple[int, ...]]
    cautious: bool

    @property
    def tasks(self) -> list[Task]:
        """First half and deleted group (-1 for none) of all splits, and of the first ones."""
        whole = [(first, -1) for first in self.splits]
        count = len(self.groups[0])
        return whole + [(one, g) for g in range(count) for one in self.splits[:N_DELETED]]

    def solve(self, task: Task) -> FloatArray:
        """Return the estimate of each term for one split, without one of the groups."""
        first, gone = task
        kept = [g for g in range(len(self.groups[0])) if g != gone]
        sides = [[g for g in kept if g in first], [g for g in kept if g not in first]]
        halves = [
            network._take_trials(_joined([parts[g] for g in side]))
            for network, parts in zip(self.terms.networks, self.groups, strict=True)
            for side in sides
        ]
        return contrasts(self.terms, halves)

    def collect(self, found: Sequence[FloatArray] | FloatArray) -> HalfEstimates:
        """Return the estimates of all tasks together."""
        rows, count = np.array(found), len(self.splits)
        deleted = rows[count:].reshape(len(self.groups[0]), -1, rows.shape[1])
        return HalfEstimates(self.splits, rows[:count], deleted, self.cautious)


def plan_halves(terms: Terms, settings: Settings) -> HalfPlan:
    """Divide the trials of all networks into groups, and choose splits; warn of few trials."""
    counts = np.min([network.n_trials for network in terms.networks], axis=0)
    n_groups = _check_counts(terms, int(counts.min()), settings.n_groups)
    # Each network has its own seed, so its groups do not depend on how many networks there are.
    groups = [
        divide_trials(network, counts, n_groups, np.random.default_rng([settings.random_state, k]))
        for k, network in enumerate(terms.networks)
    ]
    splits = _splits(n_groups, np.random.default_rng(settings.random_state))
    return HalfPlan(terms, groups, splits, settings.cautious)


def half_estimates(terms: Terms, settings: Settings) -> HalfEstimates:
    """Return the estimates of all terms, from every split and without each group."""
    plan = plan_halves(terms, settings)
    found = run_all(
        plan.solve,
        plan.tasks,
        what="splits",
        workers=settings.workers,
        progress=settings.progress,
    )
    return plan.collect(found)


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
    warn_few_trials(terms, fewest)
    return min(n_groups, fewest) // 2 * 2


def divide_trials(
    network: Trials, counts: IntArray, n_groups: int, rng: np.random.Generator
) -> Rows:
    """Divide ``counts[m]`` random trials of each condition m into groups; return them by group."""
    sizes = zip(network.n_trials.tolist(), counts.tolist(), strict=True)
    orders = [rng.permutation(L)[:kept] for L, kept in sizes]
    parts = [np.array_split(order, n_groups) for order in orders]
    return [[part[g] for part in parts] for g in range(n_groups)]


def _splits(n_groups: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return different first halves of the groups; group 0 is in each, so that none repeats."""
    every = list(combinations(range(1, n_groups), n_groups // 2 - 1))
    first = rng.choice(len(every), size=min(N_DELETED, len(every)), replace=False)
    rest = np.setdiff1d(np.arange(len(every)), first)
    more = rng.choice(rest, size=min(N_SPLITS - N_DELETED, len(rest)), replace=False)
    return [(0, *every[k]) for k in (*first, *more)]


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
