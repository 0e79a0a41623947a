"""The Frechet inception distance is the Gaussian metric of one condition without alignment."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

import repshape as rs


def frechet_inception_distance(features: np.ndarray, others: np.ndarray) -> float:
    """Return |m - m'|^2 + tr(C + C' - 2 (C C')^(1/2)), as Heusel et al. (2017) define it."""
    means = [one.mean(axis=0) for one in (features, others)]
    first, second = (np.cov(one, rowvar=False) for one in (features, others))
    root = sqrtm(first @ second)
    gap = means[0] - means[1]
    return float(gap @ gap + np.trace(first + second - 2 * root.real))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_fid_is_the_squared_distance_of_one_condition_without_alignment(seed: int) -> None:
    """A set of images is a condition, an image is a trial, and a feature is a neuron."""
    rng = np.random.default_rng(seed)
    real = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6)) + rng.normal(size=6)
    generated = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    metric = rs.GaussianShapeMetric(1.0, group="identity", covariance="unbiased")
    x, y = (rs.Trials([one]) for one in (real, generated))
    expected = frechet_inception_distance(real, generated)
    assert metric.distance(x, y) ** 2 == pytest.approx(expected, rel=1e-6)
    # Alignment would ask another question: features that are permuted would be the same.
    aligned = rs.GaussianShapeMetric(1.0, covariance="unbiased").distance(x, y)
    assert aligned**2 < 0.9 * expected
