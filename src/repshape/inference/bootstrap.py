"""Bootstrap intervals over trials, conditions or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from repshape._parallel import run_all
from repshape.inference.estimates import SOURCES, Moments, Resampled, Settings
from repshape.inference.resampling import resample
from repshape.inference.terms import Pair, Terms, make_terms
from repshape.metrics.base import Alignment, ShapeMetric

FloatArray = npt.NDArray[np.float64]
Task = tuple[str, np.random.SeedSequence]


def estimate(
    pairs: Sequence[Pair], metrics: Sequence[ShapeMetric[Any] | None], settings: Settings
) -> Resampled:
    """Estimate squared distances; see `repshape.inference.distance`."""
    terms = make_terms(pairs, metrics)
    known = terms.sample().align()
    whole = np.array([one.distance * abs(one.distance) for one in known])
    replicates = _replicates(terms, known, settings)
    covariance = _combine({name: _covariance(rows) for name, rows in replicates.items()})
    corrected = whole
    if "trials" in replicates:
        corrected = 2 * whole - replicates["trials"].mean(axis=0)
    quantile = float(norm.ppf((1 + settings.level) / 2))
    moments = Moments(corrected, covariance, quantile)
    return Resampled(moments, whole, _name(settings.over), settings.n_resamples)


def _name(over: str) -> str:
    if over == "both":
        return "two-factor bootstrap over trials and conditions, bias-corrected"
    return f"bootstrap over {over}" + (", bias-corrected" if over == "trials" else "")


def _replicates(terms: Terms, known: list[Alignment], settings: Settings) -> dict[str, FloatArray]:
    """Return the squared distances (B, terms) of each bootstrap that the settings need."""
    names = SOURCES if settings.over == "both" else (settings.over,)
    seeds = np.random.SeedSequence(settings.random_state).spawn(settings.n_resamples * len(names))
    tasks = [(names[k // settings.n_resamples], seed) for k, seed in enumerate(seeds)]

    def one(task: Task) -> FloatArray:
        over, seed = task
        drawn = resample(terms.networks, over, np.random.default_rng(seed))
        return terms.sample(drawn.networks, drawn.conditions).squared(known)

    found = run_all(one, tasks, workers=settings.workers, progress=settings.progress)
    parts = np.array(found).reshape(len(names), settings.n_resamples, -1)
    return dict(zip(names, parts, strict=True))


def _covariance(rows: FloatArray) -> FloatArray:
    return np.atleast_2d(np.cov(rows, rowvar=False))


def _combine(found: dict[str, FloatArray]) -> FloatArray:
    """Return the covariance of one bootstrap, or combine three into that of two factors.

    The two-factor rule is about variances. For several distances it is applied to each variance,
    and the correlations are those of the bootstrap over both factors.
    """
    if len(found) == 1:
        return next(iter(found.values()))
    v_t, v_c, v_tc = (np.diagonal(found[name]) for name in SOURCES)
    combined = two_factor_variance(v_t, v_c, v_tc)
    scale = np.sqrt(np.divide(combined, v_tc, out=np.zeros_like(v_tc), where=v_tc > 0))
    return np.asarray(found["both"] * scale[:, None] * scale[None, :])


def two_factor_variance(v_a: FloatArray, v_b: FloatArray, v_both: FloatArray) -> FloatArray:
    """Return 2 (v_a + v_b) - v_both, at least max(v_a, v_b) and at most v_both.

    If v_both happens to be below the larger of the two, the larger is returned.

    >>> two_factor_variance(np.array([1.0]), np.array([2.0]), np.array([3.5]))
    array([2.5])
    """
    low = np.maximum(v_a, v_b)
    return np.asarray(np.clip(2 * (v_a + v_b) - v_both, low, np.maximum(v_both, low)))
