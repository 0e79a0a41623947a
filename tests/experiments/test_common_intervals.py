"""Intervals stay within the limits of a statistic, and cover it."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.common.intervals import Interval, jackknife_interval, units_needed
from experiments.common.verdicts import CORRELATION, EXPLAINED, SHARE, Criterion
from scipy.stats import t as student

GAIN = Criterion("gain", "gain", above=0.0, refuted_below=0.02)


def left_out(values: np.ndarray) -> list[float]:
    return [float(np.delete(values, k).mean()) for k in range(len(values))]


def test_without_limits_the_interval_of_a_mean_is_students() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    found = jackknife_interval(4.0, left_out(values), 0.9)
    half = student.ppf(0.95, 3) * values.std(ddof=1) / 2
    assert (found.lower, found.upper) == pytest.approx((4 - half, 4 + half))


def test_a_correlation_is_treated_by_fishers_z() -> None:
    parts = np.array([0.88, 0.9, 0.92, 0.85])
    found = jackknife_interval(0.9, parts, 0.95, CORRELATION)
    z = np.arctanh(parts)
    half = student.ppf(0.975, 3) * np.sqrt(3 / 4 * ((z - z.mean()) ** 2).sum())
    ends = np.tanh(np.arctanh(0.9) + np.array([-half, half]))
    assert (found.lower, found.upper) == pytest.approx(tuple(ends))


def test_a_share_is_treated_by_its_logit() -> None:
    parts = np.array([0.7, 0.9, 0.8])
    found = jackknife_interval(0.8, parts, 0.95, SHARE)
    logits = np.log(parts / (1 - parts))
    half = student.ppf(0.975, 2) * np.sqrt(2 / 3 * ((logits - logits.mean()) ** 2).sum())
    ends = 1 / (1 + np.exp(-np.log(4) + np.array([half, -half])))
    assert (found.lower, found.upper) == pytest.approx(tuple(ends))


@pytest.mark.parametrize("limits", [SHARE, CORRELATION, EXPLAINED, (-0.1, 0.9), (0.0, None)])
def test_no_interval_leaves_its_limits(limits: tuple[float | None, float | None]) -> None:
    rng = np.random.default_rng(0)
    lowest = -5.0 if limits[0] is None else limits[0]
    highest = 5.0 if limits[1] is None else limits[1]
    for _ in range(200):
        values = rng.uniform(lowest, highest, 5)
        if rng.random() < 0.3:
            values[rng.integers(5)] = highest
        found = jackknife_interval(float(values.mean()), values, 0.99, limits)
        assert limits[0] is None or found.lower >= limits[0]
        assert limits[1] is None or found.upper <= limits[1]
        assert found.lower <= found.estimate <= found.upper


def test_values_beyond_the_limits_are_cut_off() -> None:
    """A disattenuated correlation may exceed 1."""
    found = jackknife_interval(0.95, [1.05, 0.9, 0.9], 0.95, CORRELATION)
    assert found.upper == 1.0
    assert found.lower == pytest.approx(jackknife_interval(0.95, [1.05, 0.9, 0.9], 0.95).lower)


def test_two_units_or_unknown_values_have_no_interval() -> None:
    for parts in ([0.1, 0.2], [0.1, np.nan, 0.2], []):
        found = jackknife_interval(0.1, parts, 0.95)
        assert found.estimate == 0.1
        assert np.isnan([found.lower, found.upper]).all()


def test_the_variance_can_be_inflated() -> None:
    plain, wide = (jackknife_interval(0.0, [-1, 0, 1], 0.95, inflation=k) for k in (1.0, 4.0))
    assert wide.upper == pytest.approx(2 * plain.upper)


@pytest.mark.parametrize("limits", [SHARE, (None, None)])
def test_intervals_of_a_share_cover_it(limits: tuple[float | None, float | None]) -> None:
    """Ten units with 18 networks each, whose share is 0.9."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        values = rng.binomial(18, 0.9, 10) / 18
        found = jackknife_interval(float(values.mean()), left_out(values), 0.95, limits)
        covered += found.lower <= 0.9 <= found.upper
    assert covered / 400 == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("estimate", [0.05, -0.05, 0.015])
def test_as_many_units_as_are_named_would_decide(estimate: float) -> None:
    """With one unit fewer the interval is still inconclusive."""
    n, level, spread = 10, 0.95, 0.2
    half = student.ppf(0.975, n - 1) * spread / np.sqrt(n)
    needed = units_needed(GAIN, Interval(estimate, estimate - half, estimate + half), n, level)
    assert needed is not None

    def decides(count: int) -> bool:
        half = student.ppf(0.975, count - 1) * spread / np.sqrt(count)
        return bool(estimate - half > 0 or estimate + half < 0.02)

    assert decides(needed)
    assert not decides(int(needed * 0.97) - 1)


def test_units_are_not_named_where_none_would_do() -> None:
    on_the_edge = Criterion("c", "s", 0.5, 0.5)
    assert units_needed(on_the_edge, Interval(0.5, 0.4, 0.6), 10, 0.95) is None
    assert units_needed(GAIN, Interval(0.05, np.nan, np.nan), 10, 0.95) is None
    assert units_needed(GAIN, Interval(0.05, -1.0, 1.0), 2, 0.95) is None
    # The interval is above the threshold already: only a test is in the way.
    assert units_needed(GAIN, Interval(0.05, 0.01, 0.09), 10, 0.95) is None
