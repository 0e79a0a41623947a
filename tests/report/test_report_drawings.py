"""Pairs as the page keeps them: small, and as exact as a picture needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import repshape as rs
from report_support import line, multiples, read_data, squares, unpack
from repshape.report.data import page_data
from repshape.report.sources import read_inputs
from repshape.report.study import Plan, study


class TestDrawings:
    @pytest.mark.parametrize("by_pair", [False, True])
    @pytest.mark.parametrize("unit", [1.0, 1e-60, 1e60])
    def test_pictures_come_back_from_few_digits(self, unit: float, by_pair: bool) -> None:
        """Moments and planes give the pictures back, whatever the unit of the responses."""
        rng = np.random.default_rng(0)
        scaled = rs.Cohort()
        for k in range(5):
            means = 50.0 + rng.normal(size=(4, 1, 9 if by_pair else 2))
            scaled.add(f"net {k}", unit * rng.normal(means, size=(4, 6, means.shape[-1])))
        D = rs.pairwise(scaled, rs.GaussianShapeMetric(n_starts=1), polish=False)
        inputs = read_inputs(D, scaled)
        studied = study(inputs, Plan(max_pairs=100))
        view = studied[0].views
        pairs = page_data(inputs, studied)["matrices"][0]["pairs"]
        assert (view.by_pair, pairs["by_pair"]) == (by_pair, by_pair)
        R, C, i = pairs["width"], len(pairs["conditions"]), np.triu_indices(pairs["width"])
        centres = unpack(pairs["centres"]).astype(float).reshape(-1, 1, R) * pairs["unit"]
        means = multiples(pairs["means"]).reshape(-1, C, R) + centres
        covariances = np.zeros((len(means), C, R, R))
        covariances[:, :, i[0], i[1]] = squares(multiples(pairs["covariances"])).reshape(
            -1, C, R * (R + 1) // 2
        )
        covariances[:, :, i[1], i[0]] = covariances[:, :, i[0], i[1]]
        places = unpack(pairs["after"]["places"]).astype(float).reshape(-1, 1, 2) * pairs["unit"]
        directions = multiples(pairs["after"]["directions"]).reshape(-1, R, 2)
        planes = np.concatenate([directions, places], axis=1)
        back = replace(view, means=means, covariances=covariances, planes_after=planes).after
        for part in (slice(0, 2), slice(2, 5)):
            exact = view.after[..., part]
            spread = np.ptp(exact, axis=1).max()
            assert np.abs(back[..., part] - exact).max() < 1e-3 * spread

    def test_many_neurons_are_drawn_as_they_are(self) -> None:
        """What is kept on two planes of a pair shows what all neurons would."""
        rng = np.random.default_rng(0)
        cohort = rs.Cohort()
        for k in range(3):
            trials = rng.normal(size=(6, 1, 30)) + rng.normal(size=(6, 40, 30))
            cohort.add(f"net {k}", trials)
        metric = rs.GaussianShapeMetric(n_starts=1)
        D = rs.pairwise(cohort, metric, polish=False)
        view = study(read_inputs(D, cohort), Plan(max_pairs=9))[0].views
        assert view.by_pair
        assert view.means.shape == (3, 6, 4)
        x, y = (rs.estimate_moments(cohort[k]) for k in (0, 1))
        axes = rs.Preprocess(n_components=2).fit(cohort[0])
        assert axes.linear is not None
        found = metric.align(cohort[0], cohort[1])
        turned = np.asarray(found.transform) @ axes.linear
        for plane, drawn in ((axes.linear, view.before[0]), (turned, view.after[0])):
            np.testing.assert_allclose(drawn[:, :2], y.means @ plane - axes.offset @ axes.linear)
            covariances = plane.T @ y.covariances @ plane
            np.testing.assert_allclose(drawn[:, 2], covariances[:, 0, 0])
            np.testing.assert_allclose(drawn[:, 3], covariances[:, 0, 1])
        np.testing.assert_allclose(view.own[0][:, :2], (x.means - axes.offset) @ axes.linear)

    def test_independent_neurons_keep_variances_only(self) -> None:
        rng = np.random.default_rng(0)
        cohort = rs.Cohort()
        for k in range(6):
            cohort.add(f"net {k}", (rng.normal(size=(5, 7)), rng.uniform(1, 2, size=(5, 7))))
        D = rs.pairwise(cohort, rs.GaussianShapeMetric(n_starts=1), polish=False)
        inputs = read_inputs(D, cohort)
        studied = study(inputs, Plan(max_pairs=99))
        pairs = page_data(inputs, studied)["matrices"][0]["pairs"]
        assert pairs["diagonal"]
        kept = squares(multiples(pairs["covariances"])).reshape(6, 5, 7)
        exact = np.array([network.stored for network in cohort])  # type: ignore[union-attr]
        np.testing.assert_allclose(kept[1:], exact[1:], rtol=1e-3)

    def test_equal_arrays_are_kept_once(self, tmp_path: Path) -> None:
        D = line(list(np.random.default_rng(0).normal(size=20)))
        report = rs.write_report([D, D], tmp_path / "a.html")
        first, second = read_data(report.path.read_text(encoding="utf-8"))["matrices"]
        assert second["distances"] == {"same": first["distances"]["number"]}
