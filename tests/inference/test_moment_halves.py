"""Floors and corrected distances from moments that come with those of two halves of the trials."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import repshape as rs
from repshape.errors import InputTypeError
from repshape.inference.resampling import take_conditions
from repshape.responses import Gaussians

METRIC = rs.GaussianShapeMetric(group="identity")


def moments(trials: np.ndarray, covariance: str = "mle") -> Gaussians:
    """Moments with those of the first and of the last half of the trials."""
    L = trials.shape[1]
    whole, *halves = (
        rs.estimate_moments(part, covariance)
        for part in (trials, trials[:, : L // 2], trials[:, L // 2 :])
    )
    parts = whole.means, whole.stored, whole.kind, whole.conditions
    notes: Any = {"n_trials": whole.n_trials, "halves": tuple(halves)}
    return Gaussians._trusted(*parts, whole.estimator, **notes)


def some(seed: int = 0, L: int = 40, gap: float = 0.0) -> np.ndarray:
    """A network of three neurons with correlated noise, and means that move by ``gap``."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(99).normal(size=(6, 1, 3)) + gap
    return means + rng.normal(size=(6, L, 3)) @ np.diag([1.0, 2.0, 0.5])


def by_hand(x: np.ndarray, y: np.ndarray) -> float:
    """The estimate of matched halves, with unbiased covariances."""
    metric = METRIC.with_parameters(covariance="unbiased")
    half = x.shape[1] // 2
    x1, x2, y1, y2 = x[:, :half], x[:, half:], y[:, :half], y[:, half:]
    between = metric.distance(x1, y2) ** 2 + metric.distance(x2, y1) ** 2
    return (between - metric.distance(x1, x2) ** 2 - metric.distance(y1, y2) ** 2) / 2


class TestFloor:
    def test_it_is_the_distance_of_the_halves(self) -> None:
        x = some()
        found = rs.inference.floor(moments(x), METRIC)
        halves = METRIC.distance(x[:, :20], x[:, 20:])
        assert found.plug_in == pytest.approx(halves, rel=1e-12)
        assert found.estimate == pytest.approx(halves / np.sqrt(2), rel=1e-12)
        assert found.n_resamples == 1
        assert np.isnan([*found.interval, found.standard_error]).all()

    def test_it_agrees_with_random_splits(self) -> None:
        """Over networks, one split has the mean of twenty; its spread is about 10 % here."""
        pairs = [
            (rs.inference.floor(network, METRIC).estimate for network in (moments(x), x))
            for x in (some(seed) for seed in range(8))
        ]
        one, many = np.mean([list(pair) for pair in pairs], axis=0)
        assert one == pytest.approx(many, rel=0.1)

    def test_a_pair_may_mix_moments_and_trials(self) -> None:
        x, y = some(0), some(1)
        found = rs.inference.floor(moments(x), METRIC, y=y, n_splits=3)
        own = rs.inference.floor(y, METRIC, n_splits=3).plug_in
        other = rs.inference.floor(moments(x), METRIC).plug_in
        assert found.plug_in == pytest.approx(np.sqrt((own**2 + other**2) / 2))
        assert np.isnan(found.standard_error)

    def test_preprocessing_is_fitted_to_each_half(self) -> None:
        x = some()
        metric = rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=2))
        found = rs.inference.floor(moments(x), metric)
        assert found.plug_in == pytest.approx(metric.distance(x[:, :20], x[:, 20:]), rel=1e-6)
        assert 0 < found.overlap <= 1


class TestDistance:
    @pytest.mark.parametrize("covariance", ["mle", "unbiased"])
    def test_it_is_the_estimate_of_one_split(self, covariance: str) -> None:
        x, y = some(0), some(1, gap=1.0)
        found = rs.inference.distance(moments(x, covariance), moments(y, covariance), METRIC)
        assert found.estimate**2 == pytest.approx(by_hand(x, y), rel=1e-9)
        metric = METRIC.with_parameters(covariance=covariance)
        assert found.plug_in == pytest.approx(metric.distance(x, y), rel=1e-9)
        assert np.isnan([*found.interval, found.standard_error]).all()
        assert (found.method, found.n_resamples) == ("matched halves", 1)

    def test_a_true_distance_of_zero_is_estimated_without_bias(self) -> None:
        """Squared estimates of 40 pairs have mean 0 within three standard errors."""
        pairs = [(moments(some(k)), moments(some(1000 + k))) for k in range(40)]
        found = [rs.inference.distance(x, y, METRIC) for x, y in pairs]
        squared = np.array([one.estimate * abs(one.estimate) for one in found])
        assert abs(squared.mean()) < 3 * squared.std() / np.sqrt(40)
        assert np.mean([one.plug_in for one in found]) ** 2 > 5 * abs(squared.mean())

    def test_moments_and_trials(self) -> None:
        x, y = some(0), some(1, gap=1.0)
        mixed = rs.inference.distance(moments(x), y, METRIC).estimate
        assert mixed == pytest.approx(np.sqrt(by_hand(x, y)), rel=0.2)

    def test_ratios_and_differences(self) -> None:
        x, y = moments(some(0)), moments(some(1, gap=1.0))
        assert rs.inference.difference((x, y), (x, y), METRIC).estimate == 0
        louder = moments(3 * some(1, gap=1.0))
        found = rs.inference.ratio(x, louder, METRIC)
        metrics = [METRIC.with_parameters(alpha=alpha) for alpha in (0, 2)]
        parts = [rs.inference.distance(x, louder, metric).estimate for metric in metrics]
        assert found.estimate == pytest.approx(parts[0] / parts[1])
        assert np.isnan(found.standard_error)

    def test_networks_with_positions(self) -> None:
        rng = np.random.default_rng(0)
        trials = rng.normal(size=(2, 3, 20, 2, 2))
        metric = rs.ProcessShapeMetric(mode="joint", group="identity")
        x, y = (rs.PositionNetwork._trusted(moments(one.reshape(3, 20, 4)), (2,)) for one in trials)
        halves = [rs.PositionNetwork(one) for one in (trials[0][:, :10], trials[0][:, 10:])]
        expected = metric.distance(*halves)
        assert rs.inference.floor(x, metric).plug_in == pytest.approx(expected, rel=1e-9)
        assert np.isfinite(rs.inference.distance(x, y, metric).estimate)


class TestWithoutHalves:
    def test_moments_alone_are_refused(self) -> None:
        plain = rs.estimate_moments(some())
        words = "must have trials, or moments that come with those of two halves"
        with pytest.raises(InputTypeError, match=words):
            rs.inference.floor(plain, METRIC)
        with pytest.raises(InputTypeError, match=words):
            rs.inference.distance(plain, plain, METRIC)

    @pytest.mark.parametrize("method", ["jackknife", "bootstrap"])
    def test_other_methods_need_trials(self, method: str) -> None:
        with pytest.raises(InputTypeError, match="must have trials, an array"):
            rs.inference.distance(moments(some()), moments(some(1)), METRIC, method=method)


class TestHalvesSurvive:
    def same(self, found: Gaussians, expected: Gaussians) -> None:
        assert found.halves is not None
        assert expected.halves is not None
        for one, other in zip(found.halves, expected.halves, strict=True):
            np.testing.assert_allclose(one.means, other.means, atol=1e-12)
            np.testing.assert_allclose(one.covariances, other.covariances, atol=1e-12)
            np.testing.assert_array_equal(one.n_trials, other.n_trials)
            assert one.estimator == other.estimator

    @pytest.mark.parametrize("L", [4, 40])
    def test_cohorts_in_memory_and_on_disk(self, tmp_path: Path, L: int) -> None:
        network = moments(some(L=L))
        cohort = rs.Cohort.from_networks({"x": network, "plain": rs.estimate_moments(some(1, L=L))})
        for one in (cohort, cohort.save(tmp_path / "c.zarr"), rs.Cohort.open(tmp_path / "c.zarr")):
            self.same(one["x"], network)
            assert one["x"].estimator == "mle"
            assert one["x"].n_trials.tolist() == [L] * 6
            assert one["plain"].halves is None
            assert one.verify() == cohort.fingerprints

    def test_selection_preprocessing_and_pickling(self) -> None:
        x, keep = some(), [4, 1]
        network = moments(x)
        self.same(network.select(["4", "1"]), moments(x[keep]))
        self.same(take_conditions(network, np.array(keep)), moments(x[keep]))
        self.same(network._take_neurons(np.array([2, 0])), moments(x[:, :, [2, 0]]))
        self.same(pickle.loads(pickle.dumps(network)), network)
        phi = rs.Preprocess(n_components=2).fit(network)
        mapped = phi.apply(rs.Trials(x))
        self.same(phi.apply(network), moments(mapped.stacked))

    def test_they_are_no_part_of_the_fingerprint(self) -> None:
        assert moments(some()).fingerprint == rs.estimate_moments(some()).fingerprint
