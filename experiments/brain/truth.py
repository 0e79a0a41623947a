"""What is true in the simulation, and whether the claims were decided rightly.

Intervals are over animals, so they are about the population from which animals are drawn. The true
value of a statistic is therefore its mean over other simulated cohorts of the same size, whose
distances come from exact moments. Statistics of Supplementary Figure 6 are about one pair of
animals, and true for its exact moments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np

import repshape as rs
from experiments.brain.claims import CLAIMS, SUBSAMPLED_ALPHAS
from experiments.brain.decide import OVER_DRAWS, relevant, subsampling_statistic
from experiments.brain.geometry import PLANE, orientation_spread, scale_spread
from experiments.brain.protocol import distances, search
from experiments.brain.settings import Settings
from experiments.brain.simulate import Animal, animals_of
from experiments.brain.sources import MICE, Stimulus
from experiments.brain.statistics import STATISTICS, ClassResults, Results
from experiments.brain.validation import TRUTH_STARTS, VALIDATED_ALPHAS, true_moments
from experiments.common.verdicts import Criterion, Verdict

# Spreads of exact covariances that are larger than this are no rounding errors.
ROUNDING = 1e-6
UNBOUNDED = 1e9  # stands for a logarithm that is infinite, which JSON does not know
OTHER_COHORTS = 1000  # their seeds are far from those of the cohorts that are measured

Values = Mapping[str, Mapping[str, float]]  # by claim and criterion


class Truth(StrEnum):
    """Whether a claim is true: an effect may be there, but too small to matter."""

    TRUE = "true"
    FALSE = "false"
    SMALL = "true, but too small to matter"
    UNKNOWN = "not known"


def true_cohort(settings: Settings, workers: int) -> dict[str, ClassResults]:
    """Return what infinitely many trials of a cohort would give, by role.

    Estimates with and without correction, and of both halves of the trials, are then the same.
    """
    animals, out = animals_of(settings), {}
    for stimulus in (one for one in MICE if one.role):
        chosen = [one for one in animals if stimulus.table in one.tables]
        chosen = [one for one in chosen if one.n_neurons >= settings.n_components]
        if len(chosen) > 1:
            out[stimulus.role] = _true_class(chosen, stimulus, settings, workers)
    return out


def _true_class(
    animals: Sequence[Animal], stimulus: Stimulus, settings: Settings, workers: int
) -> ClassResults:
    moments = {one.name: true_moments(one, stimulus) for one in animals}
    options = {"preprocess": rs.Preprocess(n_components=settings.n_components)}
    found = distances(moments, VALIDATED_ALPHAS, workers, **options, **search(TRUTH_STARTS))
    exact = {alpha: np.asarray(D.values) for alpha, D in found.items()}
    rows = [session_truth(one, settings.n_components) for one in moments.values()]
    return ClassResults(
        tuple(moments),
        tuple(moments),
        {alpha: D**2 for alpha, D in exact.items()},
        exact,
        {f"{alpha:g}, half {half}": D for alpha, D in exact.items() for half in (1, 2)},
        {name: np.array([row[name] for row in rows]) for name in rows[0]},
    )


def session_truth(moments: rs.Gaussians, n_components: int) -> dict[str, float]:
    """Return the numbers of one session from its exact moments.

    Claims that covariances vary compare their spread with that of shuffled trials, which vanishes
    with infinitely many: the logarithm is `UNBOUNDED` if covariances differ at all.
    """
    whole = rs.Preprocess(n_components=n_components).fit(moments)
    plane = rs.Preprocess(n_components=PLANE).fit(moments).apply(moments)
    assert isinstance(plane, rs.Gaussians)
    S = plane.covariances
    noise = float(np.trace(S, axis1=1, axis2=2).mean())
    spreads = {"scale": scale_spread(S), "orientation": orientation_spread(S)}
    return {
        "explained": whole.explained_variance,
        "signal": float(plane.means.var(axis=0, ddof=1).sum()) / noise,
        **{name: UNBOUNDED if one > ROUNDING else -UNBOUNDED for name, one in spreads.items()},
    }


def true_values(found: Results) -> dict[str, dict[str, float]]:
    """Return every statistic of the claims that is about animals, by claim and criterion."""
    out: dict[str, dict[str, float]] = {}
    for claim, statistics in STATISTICS.items():
        for criterion, statistic in statistics.items():
            used = relevant(claim, criterion, found)
            if used:
                out.setdefault(claim, {})[criterion] = float(statistic(used))
    return out


def other_cohort(settings: Settings, number: int, workers: int) -> dict[str, dict[str, float]]:
    """Return the true values of another cohort of the same size."""
    other = replace(settings, seed=settings.seed + OTHER_COHORTS + number)
    return true_values(true_cohort(other, workers))


def true_subsampling(
    settings: Settings, key: str, measured: Mapping[str, Any], workers: int
) -> dict[str, Any]:
    """Return distances of drawn neurons from the exact moments of the pair that was measured."""
    animals = {one.name: one for one in animals_of(settings)}
    stimulus = next(one for one in MICE if one.key == key)
    pair = [true_moments(animals[name], stimulus) for name in measured["sessions"]]
    curves = rs.analysis.subsample(
        pair,
        "neurons",
        measured["sizes"],
        rs.GaussianShapeMetric(**search(settings.few_starts)),
        alphas=SUBSAMPLED_ALPHAS,
        n_draws=settings.n_draws,
        random_state=settings.seed,
        workers=workers,
        progress=False,
    )
    return {"sizes": measured["sizes"], "distances": {"without": curves.distances[..., 0].tolist()}}


def mean_values(
    cohorts: Sequence[Values], subsampling: Mapping[str, Any] | None
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the mean over cohorts of each statistic, with its standard error, by criterion."""
    out: dict[str, dict[str, dict[str, float]]] = {}
    for claim, criteria in cohorts[0].items():
        for name in criteria:
            values = np.array([one[claim][name] for one in cohorts], dtype=np.float64)
            error = float("nan")
            if len(values) > 1 and np.isfinite(values).all():
                error = float(values.std(ddof=1) / np.sqrt(len(values)))
            out.setdefault(claim, {})[name] = {"value": float(values.mean()), "error": error}
    for one in CLAIMS:
        if one.name in OVER_DRAWS and subsampling is not None:
            out[one.name] = {
                row.name: {
                    "value": subsampling_statistic(one, row.name, subsampling).value,
                    "error": 0.0,
                }
                for row in one.criteria
            }
    return out


def truth_of(criterion: Criterion, value: float) -> Truth:
    """Return whether a criterion is true, if this is the value of its statistic.

    >>> gain = Criterion("gain", "gain", above=0.0, refuted_below=0.02)
    >>> [str(truth_of(gain, one)) for one in (-0.1, 0.01, 0.1)]
    ['false', 'true, but too small to matter', 'true']
    """
    if np.isnan(value):
        return Truth.UNKNOWN
    if value <= criterion.above:
        return Truth.FALSE
    return Truth.TRUE if value >= criterion.refuted_below else Truth.SMALL


def combined(truths: Sequence[Truth]) -> Truth:
    """Return the truth of a claim from those of its criteria, all of which it asserts.

    >>> str(combined([Truth.TRUE, Truth.UNKNOWN, Truth.FALSE]))
    'false'
    """
    for one in (Truth.FALSE, Truth.UNKNOWN, Truth.SMALL):
        if one in truths:
            return one
    return Truth.TRUE


RIGHT = {
    (Verdict.HOLDS, Truth.TRUE): True,
    (Verdict.HOLDS, Truth.SMALL): True,
    (Verdict.HOLDS, Truth.FALSE): False,
    (Verdict.FAILS, Truth.FALSE): True,
    (Verdict.FAILS, Truth.SMALL): True,
    (Verdict.FAILS, Truth.TRUE): False,
}


def score(
    claims: Sequence[Mapping[str, Any]], values: Mapping[str, Mapping[str, Mapping[str, float]]]
) -> list[dict[str, Any]]:
    """Return whether each claim is true, whether it was decided rightly, and what intervals cover.

    ``right`` is None where a claim is inconclusive, or its truth not known. An effect that is too
    small to matter is there, so either verdict is right.
    """
    known = {claim.name: claim for claim in CLAIMS}
    out = []
    for claim in claims:
        rows, truths = [], []
        for criterion, row in zip(known[claim["name"]].criteria, claim["criteria"], strict=True):
            true = values.get(claim["name"], {}).get(criterion.name, {}).get("value", np.nan)
            truths.append(truth_of(criterion, true))
            rows.append({"name": criterion.name, "true": true, "covered": _covered(row, true)})
        truth = combined(truths)
        right = RIGHT.get((Verdict(claim["verdict"]), truth))
        row = {"name": claim["name"], "truth": str(truth), "verdict": claim["verdict"]}
        out.append({**row, "right": right, "criteria": rows})
    return out


def _covered(row: Mapping[str, Any], true: float) -> bool | None:
    """Return whether an interval contains the true value; None if either is not known."""
    if row["low"] is None or not abs(true) < UNBOUNDED:
        return None
    return bool(row["low"] <= true <= row["high"])
