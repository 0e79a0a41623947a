"""Estimates of distances: bias, coverage, noise floors, seeds and errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.errors import InputError, InputTypeError
from repshape.inference.bootstrap import two_factor_variance
from repshape.inference.estimates import Moments, distance_interval
from repshape.inference.terms import make_terms
from repshape.responses.halves import split_trials
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


# Simulations of halves take as long as all others; `distance` falls back on them with few trials.
METHODS = ["calibrated", "jackknife", pytest.param("halves", marks=pytest.mark.nightly)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_correction_removes_the_bias_and_intervals_cover(alpha: float, method: str) -> None:
    truth, metric = Truth(), rs.GaussianShapeMetric(alpha, group="identity")
    target = truth.distance(metric)
    found = [
        rs.inference.distance(
            *truth.sample(16, k), metric, method=method, workers=1, random_state=k
        )
        for k in range(40)
    ]
    plug_in = np.mean([one.plug_in**2 for one in found]) - target**2
    corrected = squares([one.estimate for one in found]).mean() - target**2
    assert plug_in > 0
    assert abs(corrected) < plug_in / 3
    covered = np.mean([one.interval[0] <= target <= one.interval[1] for one in found])
    assert covered >= 0.8


@pytest.mark.parametrize("method", METHODS)
def test_correction_with_alignment(method: str) -> None:
    """Samples of a network and of its rotated copy, whose true distance is 0."""
    truth = Truth(shift=0.0, scale=1.0)
    Q = random_orthogonal(3, np.random.default_rng(1))
    metric = rs.GaussianShapeMetric(n_starts=2, tol=1e-6)
    found = []
    for k in range(24):
        x, y = truth.sample(20, k)
        found.append(rs.inference.distance(x, y @ Q, metric, method=method, workers=1))
    bias = squares([one.plug_in for one in found]).mean()
    assert abs(squares([one.estimate for one in found]).mean()) < bias / 3


def test_mean_noise_is_exact_at_alpha_2() -> None:
    """E |mean_x - mean_y|^2 = |mu_x - mu_y|^2 + tr S_x / L_x + tr S_y / L_y."""
    x, y = Truth().sample(8, 0)
    metric = rs.GaussianShapeMetric(2.0, group="identity", covariance="unbiased")
    noise = make_terms([(x, y)], [metric]).sample().mean_noise()
    expected = 2.0 * np.mean(x.var(1, ddof=1).sum(1) / 8 + y.var(1, ddof=1).sum(1) / 8)
    np.testing.assert_allclose(noise, [expected])
    gap = 2.0 * np.mean(((x.mean(1) - y.mean(1)) ** 2).sum(1))
    found = [
        rs.inference.distance(
            x, y, metric, method="jackknife", n_groups=8, random_state=k, workers=1
        ).estimate
        for k in range(20)
    ]
    # On average over the groups of trials, the jackknife finds no further bias.
    error = squares(found).std() / np.sqrt(20)
    assert abs(squares(found).mean() - (gap - expected)) < 3 * error


def test_unequal_numbers_of_trials_and_groups() -> None:
    rng = np.random.default_rng(0)
    x = [rng.normal(size=(L, 2)) for L in (9, 12, 15)]
    y = [2 * rng.normal(size=(L, 2)) for L in (11, 8, 30)]
    for method in ("halves", "jackknife"):
        assert rs.inference.distance(x, y, IDENTITY, method=method).n_resamples == 8
    odd = [one[:7] for one in x]
    assert rs.inference.distance(odd, y, IDENTITY, method="halves").n_resamples == 6
    blocks = split_trials(rs.Trials(x), 4, rng)
    for m, L in enumerate((9, 12, 15)):
        rows = np.sort(np.concatenate([group[m] for group in blocks]))
        np.testing.assert_array_equal(rows, np.arange(L))


@pytest.mark.parametrize("method", ["halves", "jackknife"])
def test_few_trials_warn(method: str) -> None:
    x, y = Truth(n=4).sample(6, 0)
    with pytest.warns(rs.inference.FewTrialsWarning, match="6 trials for 4 dimensions") as caught:
        rs.inference.distance(x, y, IDENTITY, method=method)
    assert caught[0].filename == __file__
    reduced = IDENTITY.with_parameters(preprocess=rs.Preprocess(n_components=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.inference.UnstableSubspaceWarning)
        rs.inference.distance(x, y, reduced, method=method)  # two trials per component


RATIOS: list[Callable[..., rs.inference.Estimate]] = [
    rs.inference.ratio,
    lambda *args, **kwargs: rs.inference.ratio(*args, method="jackknife", **kwargs),
    lambda *args, **kwargs: rs.inference.ratio(*args, method="bootstrap", n_resamples=40, **kwargs),
]


@pytest.mark.parametrize("estimator", RATIOS, ids=["calibrated", "jackknife", "bootstrap"])
def test_ratio(estimator: Callable[..., rs.inference.Estimate]) -> None:
    truth = Truth(scale=1.5, shift=0.8)
    d_0, d_2 = (truth.distance(rs.GaussianShapeMetric(alpha, group="identity")) for alpha in (0, 2))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", rs.inference.UnboundedRatioWarning)
        found = [estimator(*truth.sample(60, k), IDENTITY, random_state=k) for k in range(40)]
    covered = [one.interval[0] < d_0 / d_2 < one.interval[1] for one in found]
    assert np.mean(covered) >= 0.8
    assert len(said) == sum(np.isinf(one.interval[1]) for one in found) < 10
    np.testing.assert_allclose(np.mean([one.estimate for one in found]), d_0 / d_2, rtol=0.1)


def test_difference() -> None:
    truth = Truth(scale=1.5, shift=0.8)
    x, y = truth.sample(100, 0)
    z = 2.0 * truth.sample(100, 1)[0]
    gap = IDENTITY.distance(x, z) - IDENTITY.distance(x, y)
    for found in (
        rs.inference.difference((x, z), (x, y), IDENTITY),
        rs.inference.difference((x, z), (x, y), IDENTITY, method="jackknife"),
        rs.inference.difference((x, z), (x, y), IDENTITY, method="bootstrap", n_resamples=60),
    ):
        assert found.plug_in == pytest.approx(gap, rel=1e-6)
        assert 0 < found.interval[0] < found.estimate < found.interval[1]


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


RUNS: list[Callable[..., Any]] = [
    lambda x, y, w: rs.inference.distance(x, y, workers=w),
    lambda x, y, w: rs.inference.distance(x, y, method="jackknife", workers=w),
    lambda x, y, w: rs.inference.distance(
        x, y, method="bootstrap", over="both", n_resamples=6, workers=w
    ),
    lambda x, y, w: rs.inference.floor(x, n_splits=4, workers=w),
    lambda x, y, w: rs.inference.equality(x, y, n_permutations=6, workers=w),
]


@pytest.mark.parametrize("run", RUNS)
def test_same_seed_same_bits_for_any_number_of_workers(run: Callable[..., Any]) -> None:
    x, y = Truth().sample(20, 0)
    assert run(x, y, 1) == run(x, y, 3)


@pytest.mark.parametrize("method", ["halves", "bootstrap"])
def test_metrics_of_any_kind_work(method: str) -> None:
    x, y = Truth(n=4).sample(30, 0)
    options: dict[str, Any] = {"n_groups": 4} if method == "halves" else {"n_resamples": 5}
    for metric in (
        rs.ProcrustesShapeMetric(),
        rs.EnergyShapeMetric(n_starts=1, tol=1e-3, group="identity"),
        rs.GaussianShapeMetric(covariance="oas", group="identity"),
    ):
        found = rs.inference.distance(x, y, metric, method=method, **options)
        assert found.plug_in == pytest.approx(metric.distance(x, y))
        assert found.interval[0] < found.estimate < found.interval[1]


def test_estimate_as_frame_and_words() -> None:
    found = rs.inference.Estimate(2.0, (1.0, 3.0), 0.9, 0.5, 2.5, "jackknife", 10, 0)
    assert found.to_frame().loc[0, ["low", "high", "plug_in"]].tolist() == [1.0, 3.0, 2.5]
    assert str(found) == "2 [1, 3] (90 %, jackknife)"


def test_refusals() -> None:
    x, y = Truth().sample(20, 0)
    with pytest.raises(InputError, match=r"at least 6 trials in every condition. Got 1\."):
        rs.inference.distance(x[:, :1], y, IDENTITY)
    with pytest.raises(InputError, match=r"at least 4 trials in every condition. Got 3\."):
        rs.inference.distance(x[:, :3], y, IDENTITY, method="jackknife")
    with pytest.raises(InputError, match="biased on purpose"):
        rs.inference.distance(x, y, rs.GaussianShapeMetric(covariance="oas"), method="jackknife")
    with pytest.raises(InputError, match=r"must be at least 4 for method='halves'\. Got 3"):
        rs.inference.distance(x, y, IDENTITY, method="halves", n_groups=3)
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
    with pytest.raises(InputError, match="'method' parameter must be one of 'calibrated'"):
        rs.inference.distance(x, y, method="exact")


@pytest.mark.parametrize(
    ("method", "option", "own"),
    [
        ("halves", {"over": "both"}, "'n_groups'"),
        ("jackknife", {"n_resamples": 20}, "'n_groups'"),
        ("bootstrap", {"n_groups": 4}, "'over', 'n_resamples'"),
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
