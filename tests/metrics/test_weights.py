"""Weights of conditions: for every metric, a condition of weight zero is dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.metrics.base import ShapeMetric

FloatArray = npt.NDArray[np.float64]
WEIGHTS = np.array([2.0, 0.0, 1.0, 3.0, 0.0, 1.0, 1.0])
KEPT = np.flatnonzero(WEIGHTS)
METRICS: dict[str, ShapeMetric[Any]] = {
    "gaussian": rs.GaussianShapeMetric(),
    "gaussian, means": rs.GaussianShapeMetric(2.0),
    "gaussian, covariances": rs.GaussianShapeMetric(0.0),
    "energy": rs.EnergyShapeMetric(),
    "energy, all pairs": rs.EnergyShapeMetric(estimator="v"),
    "wasserstein": rs.WassersteinShapeMetric(),
    "procrustes": rs.ProcrustesShapeMetric(),
    "procrustes, not centred": rs.ProcrustesShapeMetric(center=False),
    "procrustes, whitened": rs.ProcrustesShapeMetric(whitening=0.5),
    "procrustes, angular": rs.ProcrustesShapeMetric(distance="angular"),
}
PREPROCESSING = {
    "none": None,
    "principal components": rs.Preprocess(n_components=2),
    "all steps": rs.Preprocess(n_components=3, whitening=0.5, scale=True),
}


def pair() -> tuple[FloatArray, FloatArray]:
    """Two similar networks, whose best alignment is unambiguous.

    The conditions of weight zero are far from the others, and would change what is fitted.
    """
    rng = np.random.default_rng(0)
    means = 2.0 * rng.normal(size=(7, 1, 4))
    x = means + rng.normal(size=(7, 12, 4)) @ rng.normal(size=(7, 4, 4))
    y = 2.0 * x + 0.5 * rng.normal(size=x.shape)
    x[WEIGHTS == 0] += 10.0 * rng.normal(size=4)
    y[WEIGHTS == 0] += 10.0 * rng.normal(size=4)
    return x, y


@pytest.mark.parametrize("group", ["orthogonal", "rotation", "permutation", "identity"])
@pytest.mark.parametrize("preprocess", PREPROCESSING.values(), ids=PREPROCESSING)
@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_condition_of_weight_zero_equals_the_condition_dropped(
    metric: ShapeMetric[Any], preprocess: rs.Preprocess | None, group: str
) -> None:
    x, y = pair()
    shared = metric.with_parameters(preprocess=preprocess, group=group)
    weighted = shared.with_parameters(weights=WEIGHTS).align(x, y)
    dropped = shared.with_parameters(weights=WEIGHTS[KEPT]).align(x[KEPT], y[KEPT])
    assert weighted.distance == pytest.approx(dropped.distance, rel=1e-9)
    if "covariances only" not in metric._sentence():  # to which T and -T are the same
        means = dropped.mean_distance
        assert weighted.mean_distance == pytest.approx(means, rel=1e-4, nan_ok=True)
    assert abs(dropped.distance) > 0.01


def test_equal_weights_of_some_conditions_are_the_plain_frobenius_norm() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 5, 3))
    metric = rs.ProcrustesShapeMetric(group="identity", center=False, weights=[1, 1, 0, 1, 0])
    kept = [0, 1, 3]
    assert metric.distance(x, y) == pytest.approx(np.linalg.norm(x[kept] - y[kept]), rel=1e-12)
