"""The noise floor, extrapolated from halves and quarters of the trials to all of them."""

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.responses.halves import split_trials

FloatArray = npt.NDArray[np.float64]
METRIC = rs.GaussianShapeMetric()
HALVES = "split halves, scaled to all trials"


def some(seed: int, L: int = 16, n: int = 3, M: int = 5) -> FloatArray:
    return np.random.default_rng([seed, 3]).normal(size=(M, L, n))


def test_it_is_six_halves_minus_a_quarter_over_eight() -> None:
    x = rs.Trials(some(0, L=18))
    rng = np.random.default_rng(np.random.SeedSequence(7).spawn(1)[0])
    groups = split_trials(x, 2, rng)
    parts = [np.stack([x.stacked[m, rows] for m, rows in enumerate(group)]) for group in groups]
    half = METRIC.distance(*parts) ** 2
    first, second = ([part[:, rows] for part in parts] for rows in (slice(5), slice(5, 9)))
    quarter = (METRIC.distance(*first) ** 2 + METRIC.distance(*second) ** 2) / 2
    found = rs.inference.floor(x, METRIC, n_splits=1, random_state=7)
    assert found.plug_in == pytest.approx(np.sqrt(half))
    assert found.estimate == pytest.approx(np.sqrt((6 * half - quarter) / 8))
    assert found.method == "split halves and quarters, scaled to all trials"


def test_a_second_order_law_is_extrapolated_exactly() -> None:
    """Halves and quarters of a / L + b / L^2 give its value at L for any a and b."""
    L = 24.0
    for a, b in ((1.0, 0.0), (3.0, -4.0), (0.5, 2.0)):
        at = {size: a / size + b / size**2 for size in (L, L / 2, L / 4)}
        assert (6 * at[L / 2] - at[L / 4]) / 8 == pytest.approx(at[L])


def test_halves_alone_serve_where_quarters_are_too_small() -> None:
    """A quarter of seven trials is one, which has no covariance."""
    found = rs.inference.floor(some(1, L=7), METRIC, n_splits=3)
    assert found.method == HALVES
    assert found.estimate == pytest.approx(found.plug_in / np.sqrt(2))


def test_means_alone_need_four_trials_for_quarters() -> None:
    means = METRIC.with_parameters(alpha=2.0)
    methods = [rs.inference.floor(some(2, L=L), means, n_splits=1).method for L in (3, 4)]
    assert methods == [HALVES, "split halves and quarters, scaled to all trials"]


def test_with_few_trials_per_dimension_it_is_nearer_to_the_distance_of_two_recordings() -> None:
    """Distances of 12 trials in 12 dimensions are far from 1/L: halves alone miss 30 %."""
    metric = METRIC.with_parameters(alpha=0.0, n_starts=2)
    networks = [some(k, L=12, n=12) for k in range(12)]
    pairs = [metric.distance(*networks[k : k + 2]) ** 2 for k in range(0, 12, 2)]
    found = [rs.inference.floor(one, metric, n_splits=2) for one in networks[:4]]
    truth = np.mean(pairs)
    floor = np.mean([one.estimate**2 for one in found])
    halves = np.mean([one.plug_in**2 for one in found]) / 2
    assert halves < 0.8 * truth
    assert abs(floor - truth) < 0.6 * abs(halves - truth)
