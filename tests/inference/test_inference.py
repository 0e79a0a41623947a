"""Inference: bias, coverage, noise floors, tests of equality, seeds and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.errors import InputError, InputTypeError
from repshape.inference.bootstrap import two_factor_variance
from repshape.inference.estimates import Moments, distance_interval, ratio_interval
from repshape.inference.jackknife import split_trials
from repshape.inference.terms import make_terms
from repshape.metrics.base import Alignment
from repshape.solvers.starts import random_orthogonal

FloatArray = npt.NDArray[np.float64]
IDENTITY = rs.GaussianShapeMetric(group="identity")


class Truth:
    """Two networks with known moments: scaled noise and shifted means."""

    def __init__(self, n: int = 3, M: int = 5, scale: float = 1.3, shift: float = 0.4) -> None:
        rng = np.random.default_rng(0)
        self.means = rng.normal(size=(M, n))
        self.others = self.means + shift * rng.normal(size=(M, n))
        self.scale = scale

    def distance(self, metric: rs.GaussianShapeMetric) -> float:
        ones = np.ones_like(self.means)
        return metric.distance((self.means, ones), (self.others, self.scale**2 * ones))

    def sample(self, L: int, seed: int) -> tuple[FloatArray, FloatArray]:
        rng = np.random.default_rng([L, seed])
        M, n = self.means.shape
        x, y = rng.normal(size=(2, M, L, n))
        return self.means[:, None] + x, self.others[:, None] + self.scale * y


def squares(found: list[float]) -> FloatArray:
    return np.array([d * abs(d) for d in found])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_correction_removes_the_bias_and_intervals_cover(alpha: float) -> None:
    truth, metric = Truth(), rs.GaussianShapeMetric(alpha, group="identity")
    target = truth.distance(metric)
    found = [
        rs.inference.distance(*truth.sample(12, k), metric, workers=1, random_state=k)
        for k in range(60)
    ]
    plug_in = np.mean([one.plug_in**2 for one in found]) - target**2
    corrected = squares([one.estimate for one in found]).mean() - target**2
    assert plug_in > 0
    assert abs(corrected) < plug_in / 3
    covered = np.mean([one.interval[0] <= target <= one.interval[1] for one in found])
    assert covered >= 0.8


def test_correction_with_alignment() -> None:
    """Samples of a network and of its rotated copy, whose true distance is 0."""
    truth = Truth(shift=0.0, scale=1.0)
    Q = random_orthogonal(3, np.random.default_rng(1))
    metric = rs.GaussianShapeMetric(n_starts=2, tol=1e-6)
    plain, fixed, crossed = [], [], []
    for k in range(24):
        x, y = truth.sample(20, k)
        one = rs.inference.distance(x, y @ Q, metric, workers=1)
        held = rs.inference.distance(x, y @ Q, metric, alignment="crossvalidated", workers=1)
        plain.append(one.plug_in)
        fixed.append(one.estimate)
        crossed.append(held.estimate)
    bias = squares(plain).mean()
    assert abs(squares(fixed).mean()) < bias / 3
    # An alignment that is scored on other trials can only be too bad.
    assert -bias / 10 < squares(crossed).mean() < bias


def test_mean_noise_is_exact_at_alpha_2() -> None:
    """E |mean_x - mean_y|^2 = |mu_x - mu_y|^2 + tr S_x / L_x + tr S_y / L_y."""
    x, y = Truth().sample(8, 0)
    metric = rs.GaussianShapeMetric(2.0, group="identity", covariance="unbiased")
    noise = make_terms([(x, y)], [metric]).mean_noise([rs.Trials(x), rs.Trials(y)])
    expected = 2.0 * np.mean(x.var(1, ddof=1).sum(1) / 8 + y.var(1, ddof=1).sum(1) / 8)
    np.testing.assert_allclose(noise, [expected])
    gap = 2.0 * np.mean(((x.mean(1) - y.mean(1)) ** 2).sum(1))
    found = [
        rs.inference.distance(x, y, metric, n_groups=8, random_state=k, workers=1).estimate
        for k in range(20)
    ]
    # On average over the groups of trials, the jackknife finds no further bias.
    error = squares(found).std() / np.sqrt(20)
    assert abs(squares(found).mean() - (gap - expected)) < 3 * error


def test_unequal_numbers_of_trials_and_groups() -> None:
    rng = np.random.default_rng(0)
    x = [rng.normal(size=(L, 2)) for L in (9, 12, 15)]
    y = [2 * rng.normal(size=(L, 2)) for L in (11, 8, 30)]
    found = rs.inference.distance(x, y, IDENTITY)
    assert found.n_resamples == 8
    blocks = split_trials(rs.Trials(x), 4, rng)
    for m, L in enumerate((9, 12, 15)):
        rows = np.sort(np.concatenate([group[m] for group in blocks]))
        np.testing.assert_array_equal(rows, np.arange(L))


@pytest.mark.filterwarnings("ignore::repshape.inference.FewTrialsWarning")
def test_few_trials_warn() -> None:
    x, y = Truth(n=3).sample(5, 0)
    with pytest.warns(rs.inference.FewTrialsWarning, match="5 trials for 3 neurons") as caught:
        rs.inference.distance(x, y, IDENTITY)
    assert caught[0].filename == __file__
    x, y = Truth(n=3).sample(10, 0)
    with pytest.warns(rs.inference.FewTrialsWarning, match="5 trials in each half for 3 neurons"):
        rs.inference.distance(x, y, IDENTITY, alignment="crossvalidated")


RATIOS: list[Callable[..., rs.inference.Estimate]] = [
    rs.inference.ratio,
    lambda *args, **kwargs: rs.inference.ratio(*args, method="bootstrap", n_resamples=40, **kwargs),
]


@pytest.mark.parametrize("estimator", RATIOS, ids=["jackknife", "bootstrap"])
def test_ratio(estimator: Callable[..., rs.inference.Estimate]) -> None:
    truth = Truth(scale=1.5, shift=0.8)
    d_0, d_2 = (truth.distance(rs.GaussianShapeMetric(alpha, group="identity")) for alpha in (0, 2))
    found = [estimator(*truth.sample(60, k), IDENTITY, random_state=k) for k in range(40)]
    covered = [one.interval[0] < d_0 / d_2 < one.interval[1] for one in found]
    assert np.mean(covered) >= 0.8
    np.testing.assert_allclose(np.mean([one.estimate for one in found]), d_0 / d_2, rtol=0.1)


def test_difference() -> None:
    truth = Truth(scale=1.5, shift=0.8)
    x, y = truth.sample(100, 0)
    z = 2.0 * truth.sample(100, 1)[0]
    gap = IDENTITY.distance(x, z) - IDENTITY.distance(x, y)
    for found in (
        rs.inference.difference((x, z), (x, y), IDENTITY),
        rs.inference.difference((x, z), (x, y), IDENTITY, method="bootstrap", n_resamples=60),
    ):
        assert found.plug_in == pytest.approx(gap, rel=1e-6)
        assert 0 < found.interval[0] < found.estimate < found.interval[1]


def test_ratio_without_a_difference_of_means_is_not_a_number() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 3, 20, 2))
    both = [rs.inference.ratio(x, y, IDENTITY, random_state=k).estimate for k in range(3)]
    assert np.isnan(both).any() or max(both) > 0
    nothing = Moments(np.array([1.0, -0.1]), np.eye(2), 1.0)
    assert np.isnan(ratio_interval(nothing)[0])


def test_interval_of_a_distance_is_that_of_its_square() -> None:
    value, ends, error = distance_interval(Moments(np.array([4.0]), np.array([[4.0]]), 1.5))
    assert (value, ends, error) == (2.0, (1.0, np.sqrt(7.0)), 0.5)
    assert distance_interval(Moments(np.array([-4.0]), np.eye(1), 0.0))[0] == -2.0


def test_bootstrap_over_trials_covers_with_many_trials() -> None:
    truth = Truth()
    target = truth.distance(IDENTITY)
    found = [
        rs.inference.distance(
            *truth.sample(30, k),
            IDENTITY,
            method="bootstrap",
            n_resamples=40,
            workers=1,
            random_state=k,
        )
        for k in range(30)
    ]
    covered = np.mean([one.interval[0] <= target <= one.interval[1] for one in found])
    assert covered >= 0.8
    bias = np.mean([one.plug_in**2 for one in found]) - target**2
    assert abs(squares([one.estimate for one in found]).mean() - target**2) < bias / 2


def test_conditions_and_both() -> None:
    """If conditions differ much, intervals over conditions are wider than those over trials."""
    x, y = Truth(M=12, shift=1.5).sample(40, 0)
    widths = {}
    for over in ("trials", "conditions", "both"):
        found = rs.inference.distance(x, y, IDENTITY, method="bootstrap", over=over, n_resamples=80)
        widths[over] = found.standard_error
        assert over == "both" or over in found.method
    assert widths["conditions"] > 2 * widths["trials"]
    assert widths["both"] >= max(widths["trials"], widths["conditions"]) * 0.85
    corrected = rs.inference.distance(
        x, y, IDENTITY, method="bootstrap", over="both", n_resamples=20
    )
    assert corrected.estimate < corrected.plug_in


def test_two_factor_rule() -> None:
    """Crossed factors with noise: v_a = a + e, v_b = b + e, v_both = a + b + 3 e."""
    a, b, e = 2.0, 3.0, 0.5
    args = (np.array([a + e]), np.array([b + e]), np.array([a + b + 3 * e]))
    np.testing.assert_allclose(two_factor_variance(*args), [a + b + e])
    np.testing.assert_allclose(two_factor_variance(*map(np.array, ([1.0], [1.0], [9.0]))), [1.0])


def test_floor_is_what_two_recordings_of_one_network_differ_by() -> None:
    truth = Truth(scale=1.0, shift=0.0)
    pairs = [IDENTITY.distance(*truth.sample(40, k)) for k in range(20)]
    floors = [rs.inference.floor(truth.sample(40, k)[0], IDENTITY).estimate for k in range(5)]
    np.testing.assert_allclose(np.mean(floors), np.mean(pairs), rtol=0.08)


def test_permutation_test_is_calibrated_and_has_power() -> None:
    same, other = Truth(scale=1.0, shift=0.0), Truth(scale=1.0, shift=1.0)
    Q = random_orthogonal(3, np.random.default_rng(0))
    metric = rs.GaussianShapeMetric(n_starts=2, tol=1e-6)
    p_values = []
    for k in range(20):
        x, y = same.sample(20, k)
        p_values.append(rs.inference.equality(x, y @ Q, metric, n_resamples=19).p_value)
    assert 0.25 < np.mean(p_values) < 0.75
    assert np.mean(np.array(p_values) <= 0.1) <= 0.3
    x, y = other.sample(20, 0)
    assert rs.inference.equality(x, y @ Q, metric, n_resamples=19).p_value == 0.05


def test_permutation_test_with_unequal_neurons() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 15, 2)), rng.normal(size=(4, 15, 3))
    one, two = (
        rs.inference.equality(x, y, n_resamples=9),
        rs.inference.equality(y, x, n_resamples=9),
    )
    assert one == two
    assert one.p_value == 0.1


RUNS: list[Callable[..., Any]] = [
    lambda x, y, w: rs.inference.distance(x, y, workers=w),
    lambda x, y, w: rs.inference.distance(x, y, alignment="crossvalidated", workers=w),
    lambda x, y, w: rs.inference.distance(
        x, y, method="bootstrap", over="both", n_resamples=6, workers=w
    ),
    lambda x, y, w: rs.inference.floor(x, n_splits=4, workers=w),
    lambda x, y, w: rs.inference.equality(x, y, n_resamples=6, workers=w),
]


@pytest.mark.parametrize("run", RUNS)
def test_same_seed_same_bits_for_any_number_of_workers(run: Callable[..., Any]) -> None:
    x, y = Truth().sample(20, 0)
    assert run(x, y, 1) == run(x, y, 3)


def test_preprocessing_is_fitted_once_and_metrics_of_any_kind_work() -> None:
    x, y = Truth(n=4).sample(30, 0)
    metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=2))
    found = rs.inference.distance(x, y, metric)
    assert found.plug_in == pytest.approx(metric.distance(x, y), rel=1e-6)
    means = rs.ProcrustesShapeMetric()
    assert rs.inference.distance(
        x, y, means, method="bootstrap", n_resamples=5
    ).plug_in == means.distance(x, y)
    assert isinstance(means.align(x, y), Alignment)


def test_estimate_as_frame_and_words() -> None:
    found = rs.inference.Estimate(2.0, (1.0, 3.0), 0.9, 0.5, 2.5, "jackknife", 10, 0)
    assert found.to_frame().loc[0, ["low", "high", "plug_in"]].tolist() == [1.0, 3.0, 2.5]
    assert str(found) == "2 [1, 3] (90 %, jackknife)"


def test_refusals() -> None:
    x, y = Truth().sample(20, 0)
    with pytest.raises(InputError, match="at least 4 trials"):
        rs.inference.distance(x[:, :3], y, IDENTITY)
    with pytest.raises(InputError, match="biased on purpose"):
        rs.inference.distance(x, y, rs.GaussianShapeMetric(covariance="oas"))
    with pytest.raises(InputTypeError, match="must have trials"):
        rs.inference.distance(x, (y[:, 0], y[:, 0] ** 2), IDENTITY)
    with pytest.raises(InputError, match="must be one of"):
        rs.inference.distance(x, y, method="bootstrap", over="neurons")
    with pytest.raises(InputTypeError, match="must be a shape metric"):
        rs.inference.distance(x, y, "euclidean", method="bootstrap")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pair of networks"):
        rs.inference.difference((x, y), x, method="bootstrap")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least two trials"):
        rs.inference.floor(x[:, :1])
    with pytest.raises(InputError, match="'method' parameter must be one of 'jackknife'"):
        rs.inference.distance(x, y, method="exact")


@pytest.mark.parametrize(
    ("method", "option", "own"),
    [
        ("jackknife", {"over": "both"}, "'alignment', 'n_groups'"),
        ("jackknife", {"n_resamples": 20}, "'alignment', 'n_groups'"),
        ("bootstrap", {"n_groups": 4}, "'over', 'n_resamples'"),
        ("bootstrap", {"alignment": "crossvalidated"}, "'over', 'n_resamples'"),
    ],
)
def test_options_of_another_method_are_refused(
    method: str, option: dict[str, Any], own: str
) -> None:
    x, y = Truth().sample(20, 0)
    (name,) = option
    sentence = (
        f"'{name}' parameter does not apply to method='{method}', which has the options {own}"
    )
    for function, pair in (
        (rs.inference.distance, (x, y)),
        (rs.inference.ratio, (x, y)),
        (rs.inference.difference, ((x, y), (y, x))),
    ):
        with pytest.raises(InputError, match=sentence):
            function(*pair, method=method, **option)
