"""Metrics warn once where covariances are estimated from fewer than two trials per dimension."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import repshape as rs
from repshape.errors import FewTrialsWarning

RNG = np.random.default_rng(0)
FEW = RNG.normal(size=(3, 7, 4))  # fewer than 8 trials for 4 neurons
ENOUGH = RNG.normal(size=(3, 8, 4))
TIMES = RNG.normal(size=(3, 7, 2, 2))


def warned(call: Any) -> list[warnings.WarningMessage]:
    """Return the warnings of few trials; all others are ignored."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", FewTrialsWarning)
        call()
    return caught


def distance(metric: Any, x: Any, y: Any) -> list[warnings.WarningMessage]:
    return warned(lambda: metric.distance(x, y))


class TestOnePair:
    def test_it_is_said_once_with_the_numbers(self) -> None:
        (found,) = distance(rs.GaussianShapeMetric(), FEW, ENOUGH)
        assert "The network 'x' has 7 trials for 4 dimensions, which need 8." in str(found.message)
        assert "repshape.inference.floor" in str(found.message)
        assert found.filename == __file__
        (found,) = distance(rs.GaussianShapeMetric(), FEW[:, :5], FEW)
        assert "2 of 2 networks have few trials: 'x' 5 trials for 4" in str(found.message)

    @pytest.mark.parametrize(
        ("metric", "networks"),
        [
            (rs.GaussianShapeMetric(), ENOUGH),
            (rs.GaussianShapeMetric(alpha=2), FEW),  # covariances have no weight
            (rs.GaussianShapeMetric(covariance="ledoit-wolf"), FEW),  # shrunk
            (rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=3)), FEW),
            (rs.EnergyShapeMetric(), FEW),
            (rs.ProcrustesShapeMetric(), FEW),
            (rs.ProcessShapeMetric(mode="marginal"), TIMES),  # 7 trials for 2 neurons
            (rs.GaussianShapeMetric(), (FEW[:, 0], np.ones((3, 4)))),  # not estimated
        ],
    )
    def test_where_it_does_not_matter_it_is_not_said(self, metric: Any, networks: Any) -> None:
        assert not distance(metric, networks, networks)

    @pytest.mark.parametrize(
        ("metric", "networks", "dimensions"),
        [
            (rs.GaussianShapeMetric(alpha=1.9), FEW, 4),
            (rs.GaussianShapeMetric(covariance="unbiased", group="identity"), FEW, 4),
            (rs.GaussianShapeMetric(group="soft"), FEW, 4),
            (rs.CovarianceShapeMetric(), FEW, 4),
            (rs.ProcessShapeMetric(mode="joint"), TIMES, 4),
            (rs.ConvShapeMetric(mode="joint"), RNG.normal(size=(3, 7, 2, 2, 1)), 4),
            (rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=4)), FEW, 4),
        ],
    )
    def test_dimensions_are_those_of_one_covariance(
        self, metric: Any, networks: Any, dimensions: int
    ) -> None:
        (found,) = distance(metric, networks, networks)
        assert f"7 trials for {dimensions} dimensions" in str(found.message)

    def test_moments_remember_their_trials(self) -> None:
        few = rs.estimate_moments(FEW)
        assert few.n_trials.tolist() == [7, 7, 7]
        for network in (few, few[["1"]], rs.Preprocess(scale=True).fit(few).apply(few)):
            (found,) = distance(rs.GaussianShapeMetric(), network, network)
            assert "7 trials for 4 dimensions" in str(found.message)
        shrunk = rs.estimate_moments(FEW, "oas")
        assert not distance(rs.GaussianShapeMetric(), shrunk, shrunk)


class TestMany:
    def networks(self) -> dict[str, Any]:
        return {"a": FEW, "b": ENOUGH, "c": FEW[:, :5].tolist(), "d": rs.Trials(2 * FEW)}

    def test_pairwise_says_it_once_for_all(self) -> None:
        metrics = {f"{alpha}": rs.GaussianShapeMetric(alpha) for alpha in (0, 1, 2)}
        for call in (
            lambda: rs.pairwise(self.networks(), metrics["1"]),
            lambda: rs.pairwise_many(self.networks(), metrics),
            lambda: rs.pairwise(rs.Cohort.from_networks(self.networks()), metrics["1"]),
        ):
            (found,) = warned(call)
            assert "3 of 4 networks have few trials: 'c' 5 trials for 4" in str(found.message)
            assert found.filename == __file__
        assert not warned(lambda: rs.pairwise(self.networks(), metrics["2"]))

    def test_a_cohort_on_disk_knows_it_without_its_responses(self, tmp_path: Path) -> None:
        cohort = rs.Cohort.from_networks(self.networks())
        cohort.add("moments", rs.estimate_moments(3 * FEW[:, :4]))
        cohort.add("shrunk", rs.estimate_moments(FEW, "oas"))
        saved = cohort.save(tmp_path / "c.zarr")
        (found,) = warned(lambda: rs.pairwise(saved, rs.GaussianShapeMetric()))
        assert "4 of 6 networks have few trials: 'moments' 4 trials for 4" in str(found.message)

    def test_cross_names_the_network(self) -> None:
        (found,) = warned(lambda: rs.cross([ENOUGH], [ENOUGH, FEW], rs.GaussianShapeMetric()))
        assert "'columns/1' has 7 trials for 4 dimensions" in str(found.message)

    def test_inference_does_not_repeat_it(self) -> None:
        x, y = RNG.normal(size=(2, 3, 7, 4))
        metric = rs.GaussianShapeMetric(group="identity")
        assert len(warned(lambda: rs.inference.distance(x, y, metric))) == 1
        assert len(warned(lambda: rs.inference.matrix([x, y], metric, n_splits=2))) == 1
        assert len(warned(lambda: rs.inference.confounds([x, y], metric=metric))) == 1
        assert not warned(lambda: rs.inference.floor(x, metric))


def test_the_name_of_the_inference_module_is_the_same_class() -> None:
    assert rs.inference.FewTrialsWarning is FewTrialsWarning
