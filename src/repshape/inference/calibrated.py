"""The default estimate of distances, calibrated for equal networks and for different ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._parallel import run_all
from repshape.errors import FewTrialsWarning, InputError, warn_user
from repshape.inference import halves
from repshape.inference.divisions import Division, divide_in_halves, divide_in_quarters
from repshape.inference.estimates import (
    Interval,
    IntervalRule,
    Moments,
    Resampled,
    Settings,
    hull,
)
from repshape.inference.halves import FEWEST_TRIALS, divide_trials
from repshape.inference.jackknife import jackknife_error
from repshape.inference.nested import Nested, NestedPlan
from repshape.inference.resampling import is_exact
from repshape.inference.terms import Pair, Terms, check_metric, make_terms
from repshape.metrics.few_trials import dimensions
from repshape.responses.halves import has_halves

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

METHOD = "calibrated"
# A quarter has at least two groups, and a group two trials: a quarter without a group still has a
# covariance.
FEWEST_GROUPS = 8
TRIALS_PER_GROUP = 2
# The share of the distance within networks by which the distance between them is biased is 1 for
# equal networks and smaller for others; noise may take it further.
LARGEST_SHARE = 2.0
# Distances within networks decrease as 1/L: halves have half the distance of quarters. Outside of
# this range, quarters have too few trials to say how the bias decreases.
RATIOS = (0.4, 0.6)


def estimate(pairs: Sequence[Pair], metrics: Sequence[Any], settings: Settings) -> Resampled:
    """Estimate squared distances; see `repshape.inference.distance`."""
    exact = {id(metric): check_metric(metric)._unbiased() for metric in metrics}
    terms = make_terms(pairs, [exact[id(metric)] for metric in metrics], moments=True)
    if any(has_halves(network) for network in terms.networks):
        return halves.estimate(pairs, metrics, settings)
    plan = plan_parts(terms, settings)
    rows = run_all(
        plan.solve, plan.tasks, what="parts", workers=settings.workers, progress=settings.progress
    )
    found = Calibrated(plan.collect(np.array(rows)))
    found.warn(terms)
    plug_in = np.array([one.distance for one in make_terms(pairs, metrics).sample().align()])
    chosen, *safe = found.candidates(settings.level)
    squared = plug_in * np.abs(plug_in)
    return Resampled(chosen, squared, found.method, plan.n_groups, safe=tuple(safe))


def plan_parts(terms: Terms, settings: Settings) -> NestedPlan:
    """Divide the trials of all networks into quarters and halves, or into halves if there are few.

    All networks have as many trials as the one that has fewest, condition by condition.
    """
    counts = np.min([one.n_trials for one in terms.networks if not is_exact(one)], axis=0)
    fewest = int(counts.min())
    if fewest < FEWEST_TRIALS:
        raise InputError(
            f"An interval needs at least {FEWEST_TRIALS} trials in every condition. Got {fewest}."
        )
    if settings.n_groups < FEWEST_GROUPS:
        raise InputError(
            f"The 'n_groups' parameter must be at least {FEWEST_GROUPS} for method={METHOD!r}. "
            f"Got {settings.n_groups} instead."
        )
    n_groups = min(settings.n_groups, fewest // TRIALS_PER_GROUP) // 4 * 4
    if n_groups >= FEWEST_GROUPS:
        plan = _divided(terms, counts, n_groups, divide_in_quarters, settings.random_state)
        if _quarters_suffice(plan):
            return plan
    n_groups = min(FEWEST_GROUPS, fewest) // 2 * 2
    return _divided(terms, counts, n_groups, divide_in_halves, settings.random_state)


def _divided(
    terms: Terms,
    counts: npt.NDArray[np.intp],
    n_groups: int,
    divide: Callable[[int, np.random.Generator], list[Division]],
    seed: int,
) -> NestedPlan:
    # Each network has its own seed, so its groups do not depend on how many networks there are.
    groups = [
        []
        if is_exact(network)
        else divide_trials(network, counts, n_groups, np.random.default_rng([seed, k]))
        for k, network in enumerate(terms.networks)
    ]
    return NestedPlan(terms, groups, divide(n_groups, np.random.default_rng(seed)))


def _quarters_suffice(plan: NestedPlan) -> bool:
    """Return whether all metrics accept the smallest quarter without one of its groups.

    PCA and some covariances need more trials than others. The last group has the fewest.
    """
    quarter = next(side for side in plan.divisions[0].sides if plan.n_groups - 1 in side)
    metrics = {
        (id(term.metric), k): term.metric for term in plan.terms.terms for k in (term.x, term.y)
    }
    try:
        for (_, k), metric in metrics.items():
            metric._prepare_checked(plan.part(k, quarter, quarter[0]))
    except InputError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Estimates of squared distances from nested parts of the trials.

    With mean squared distances B between networks and W within them, over halves (h) and quarters
    (q) of the trials, and F of all trials:

    - H = B_h - W_h is unbiased for equal networks, and too small for others.
    - R = 2 F - B_h is unbiased if the bias is proportional to 1/L.
    - C = B_h - c W_h with c = (B_q - B_h) / (W_q - W_h) is both: it is H for equal networks, where
      c = 1 on average, and otherwise subtracts what the bias is, relative to W.
    """

    nested: Nested

    def _parts(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return F, B_h, B_q, W_h and W_q, each (terms, 1 + D)."""
        sides = []
        for values in (self.nested.between, self.nested.within):
            with_all = values[..., 0].mean(axis=1)
            without = values[..., 1:]
            kept = ~np.isnan(without[:, :, 0]).any(axis=(0, 2))
            deleted = without[:, kept].mean(axis=1)
            sides.append(np.concatenate([with_all[..., None], deleted], axis=2))
        (B_h, B_q), (W_h, W_q) = (np.moveaxis(side, 1, 0) for side in sides)
        return self.nested.full, B_h, B_q, W_h, W_q

    @cached_property
    def few(self) -> BoolArray:
        """Whether the trials do not allow the calibrated estimate, by term."""
        _, _, _, W_h, W_q = (one[:, 0] for one in self._parts())
        return np.asarray(_too_few(W_h, W_q))

    @cached_property
    def few_together(self) -> bool:
        """Whether the trials do not allow the calibrated estimate of the mean of all terms."""
        _, _, _, W_h, W_q = (one[:, 0].sum() for one in self._parts())
        return bool(_too_few(W_h, W_q))

    @property
    def method(self) -> str:
        """In words."""
        return f"{METHOD}, widened for few trials" if self.few.any() else METHOD

    @cached_property
    def calibrated(self) -> Candidate:
        """C. The share c is computed again without each group, so that its error is counted."""
        _, B_h, B_q, W_h, W_q = self._parts()
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip((B_q - B_h) / (W_q - W_h), 0.0, LARGEST_SHARE)
        return Candidate.of(B_h - share * W_h)

    @cached_property
    def extrapolated(self) -> Candidate:
        """R."""
        F, B_h, _, _, _ = self._parts()
        return Candidate.of(2 * F - B_h)

    @cached_property
    def safe(self) -> tuple[Candidate, ...]:
        """The mean of H and R, H, and R: the intervals of the last two together are safe."""
        F, B_h, _, W_h, _ = self._parts()
        H, R = Candidate.of(B_h - W_h), self.extrapolated
        wider = Candidate(R.values, np.maximum(R.variances, H.variances))
        return Candidate.of(F - W_h / 2), H, wider

    @cached_property
    def together(self) -> FloatArray:
        """The estimates of all terms by one rule, also after each deletion, (terms, 1 + D).

        Which rule is less a matter of chance for all terms than for each, and a mean of terms that
        were chosen one by one would depend on it.
        """
        return (self.safe[0] if self.few_together else self.calibrated).values

    def candidates(self, level: float) -> tuple[Moments, ...]:
        """Return the moments of all terms together: of C, or of the safe ones with few trials."""
        chosen = self.safe if self.few.any() else (self.calibrated,)
        return tuple(one.moments(slice(None), level) for one in chosen)

    def each(self, level: float, rule: IntervalRule) -> list[Interval]:
        """Return the interval of each term by itself."""
        out = []
        for k, few in enumerate(self.few):
            chosen = self.safe if few else (self.calibrated,)
            out.append(hull(rule, [one.moments(slice(k, k + 1), level) for one in chosen]))
        return out

    def warn(self, terms: Terms, together: bool = False) -> None:
        """Warn if trials do not allow the calibrated estimate, and say how many would."""
        few = np.full(len(self.few), self.few_together) if together else self.few
        if not few.any():
            return
        have = min(int(one.n_trials.min()) for one in terms.networks if not is_exact(one))
        used = [term for term, one in zip(terms.terms, few, strict=True) if one]
        sizes = [dimensions(terms.networks[k], t.metric) for t in used for k in (t.x, t.y)]
        enough = max(FEWEST_GROUPS * TRIALS_PER_GROUP, 4 * max(sizes))
        enough = enough if enough > have else 2 * have
        of = f" for {few.sum()} of {len(few)} pairs" if len(few) > 1 and not together else ""
        so = "Estimates may be biased." if together else "Intervals are widened to remain safe."
        warn_user(
            f"There are {have} trials per condition for {max(sizes)} dimensions, too few to "
            f"measure how the bias of distances decreases{of}. {so} About {enough} trials per "
            "condition would be enough, or fewer dimensions.",
            FewTrialsWarning,
        )


def _too_few(W_h: Any, W_q: Any) -> Any:
    """Return whether distances within networks do not decrease as 1/L."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = W_h / W_q
    return ~((ratio > RATIOS[0]) & (ratio < RATIOS[1]))


@dataclass(frozen=True, eq=False)
class Candidate:
    """One estimate of every term.

    Attributes
    ----------
    values : array of shape (terms, 1 + D)
        With nothing deleted, and after each deletion.
    variances : array of shape (terms,)
    """

    values: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Candidate:
        """Return an estimate with the variance of the jackknife.

        >>> Candidate.of(np.array([[2.0, 1.0, 3.0]])).variances
        array([1.])
        """
        without = values[:, 1:]
        count = without.shape[1]
        return cls(
            values, (count - 1) * without.var(axis=1) if count else np.full(len(values), np.nan)
        )

    def moments(self, terms: slice, level: float) -> Moments:
        """Return the moments of some terms, with the correlations of the jackknife."""
        values = self.values[terms]
        jackknife, quantile = jackknife_error(values[:, 1:].T, level)
        scale = np.sqrt(np.diagonal(jackknife))
        errors = np.sqrt(self.variances[terms])
        scale = np.divide(errors, scale, out=0 * scale, where=scale > 0)
        return Moments(values[:, 0], jackknife * scale[:, None] * scale[None, :], quantile)
