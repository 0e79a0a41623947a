"""Supplementary Figure 4: energy distances of sampled toy networks, repaired and embedded."""

from __future__ import annotations

import numpy as np
import pytest

from repshape.analysis.embedding import embed
from repshape.datasets.toy import toy_networks
from repshape.demo.findings import quadratic_r2
from repshape.engine.run import pairwise
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.repair import repair
from repshape.matrix.triangles import triangle_violations
from repshape.metrics.energy import EnergyShapeMetric
from repshape.metrics.gaussian import GaussianShapeMetric

GRID = (7, 5)


@pytest.fixture(scope="module")
def sampled() -> DistanceMatrix:
    toy = toy_networks(*GRID, n_trials=200)
    metric = EnergyShapeMetric(q=1.0, estimator="u")
    return pairwise(toy, metric, progress=False)


def test_sampled_energy_distances_break_triangles_and_repair_mends_them(
    sampled: DistanceMatrix,
) -> None:
    assert triangle_violations(sampled).count > 0
    assert repair(sampled).after.count == 0


def test_the_plane_recovers_the_grid(sampled: DistanceMatrix) -> None:
    points = embed(repair(sampled).matrix).points
    assert quadratic_r2(points, sampled.metadata["correlation"]) > 0.95
    assert quadratic_r2(points, sampled.metadata["scale"]) > 0.9


def test_repaired_energy_distances_agree_with_wasserstein(sampled: DistanceMatrix) -> None:
    exact = pairwise(toy_networks(*GRID).networks, GaussianShapeMetric(), progress=False)
    repaired = repair(sampled).matrix.condensed()
    assert np.corrcoef(repaired, exact.condensed())[0, 1] > 0.9
