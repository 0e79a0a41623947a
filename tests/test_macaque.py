"""The Gaussian metric on recordings of macaque V1 (Henaff et al. 2021), if available."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

import repshape as rs

FOLDER = os.environ.get("REPSHAPE_DATA")
RECORDINGS = Path(FOLDER, "macaque_v1_counts.npz") if FOLDER else None

pytestmark = pytest.mark.skipif(
    RECORDINGS is None or not RECORDINGS.exists(), reason="REPSHAPE_DATA names no recordings"
)


@pytest.fixture(scope="module")
def populations() -> list[rs.Trials]:
    """Three populations, natural images: frames 1-9, units missing in under 2 % of trials."""
    assert RECORDINGS is not None
    found = []
    with np.load(RECORDINGS) as file:
        for name in ("ay2_u003", "ay3_u001", "ay4_u005"):
            counts = file[name][:, 0, :, 1:10]
            counts = np.where(counts < 0, np.nan, counts.astype(float))
            kept = counts[..., np.isnan(counts).mean(axis=(0, 1, 2, 4)) < 0.02, :]
            kept = np.swapaxes(kept.reshape(-1, *kept.shape[3:]), 1, 2)
            kept[np.isnan(kept).any(axis=2)] = np.nan
            found.append(rs.Trials(kept))
    return found


def test_missing_trials_are_counted(populations):
    for trials in populations:
        assert trials.n_conditions == 180
        assert 40 < trials.n_trials.min() <= trials.n_trials.max() <= 60
        assert trials.n_dropped.sum() > 0


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_real_pairs_converge_and_many_starts_are_no_worse_than_one(populations, alpha):
    phi = rs.Preprocess(n_components=12)
    for x, y in itertools.combinations(populations, 2):
        one = rs.GaussianShapeMetric(alpha, preprocess=phi, n_starts=1).align(x, y)
        auto = rs.GaussianShapeMetric(alpha, preprocess=phi).align(x, y)
        assert one.converged
        assert auto.converged
        # The same optimum is found to about 5e-8 with this tolerance of the gradient.
        assert auto.lower_bound <= auto.distance <= one.distance * (1 + 1e-7)


def test_unequal_populations_need_no_common_dimension(populations):
    x, y, _ = populations
    metric = rs.GaussianShapeMetric(n_starts=1, max_iter=60, tol=1e-5)
    alignment = metric.align(x, y)
    assert alignment.transform.shape == (y.n_neurons, x.n_neurons)
    assert metric.score(alignment, x, y) == pytest.approx(alignment.distance, rel=1e-9)
