"""A quick check of calibration: one network recorded twice, reduced by PCA as the docs advise.

`python -m benchmarks.inference` is the thorough one. Each check also runs the procedure that does
not hold: PCA fitted once, to all trials, before anything is resampled or exchanged.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs

FloatArray = npt.NDArray[np.float64]
PCA = rs.Preprocess(n_components=5)
PLAIN = rs.GaussianShapeMetric(n_starts=2, tol=1e-6)
INSIDE = PLAIN.with_parameters(preprocess=PCA)
pytestmark = pytest.mark.filterwarnings("ignore::repshape.inference.UnstableSubspaceWarning")


def recordings(seed: int, n: int = 30, M: int = 20, L: int = 10) -> list[FloatArray]:
    """Two recordings of one Poisson network, whose components are not well separated."""
    rates = np.exp(0.8 + 0.5 * np.random.default_rng(0).normal(size=(M, 1, n)))
    rng = np.random.default_rng([1, seed])
    return [rng.poisson(rates, size=(M, L, n)).astype(float) for _ in range(2)]


def reduced(network: FloatArray) -> rs.Trials:
    """The network after PCA of all trials."""
    return rs.as_network(PCA.fit(network).apply(network))


def test_equality_holds_its_level_after_pca() -> None:
    """A binomial with 60 draws at 5 % exceeds 9 in 1 of 1000 cases."""
    p = [
        rs.inference.equality(*recordings(k), INSIDE, random_state=k, workers=1).p_value
        for k in range(60)
    ]
    assert np.sum(np.array(p) <= 0.05) <= 9
    assert 0.35 < np.mean(p) < 0.65
    once = [
        rs.inference.equality(*map(reduced, recordings(k)), PLAIN, workers=1).p_value
        for k in range(12)
    ]
    assert np.sum(np.array(once) <= 0.05) > 9


def test_intervals_are_rarely_above_a_true_distance_of_zero_after_pca() -> None:
    """A binomial with 12 draws at 5 % exceeds 4 in fewer than 1 of 1000 cases."""
    found = [rs.inference.distance(*recordings(k), INSIDE, workers=1) for k in range(12)]
    assert sum(one.interval[0] > 0 for one in found) <= 4
    squared = np.array([one.estimate * abs(one.estimate) for one in found])
    assert abs(squared.mean()) < 4 * squared.std() / np.sqrt(len(squared))
    assert np.mean([one.plug_in**2 for one in found]) > 5 * abs(squared.mean())
    once = [
        rs.inference.distance(*map(reduced, recordings(k)), PLAIN, method="jackknife", workers=1)
        for k in range(8)
    ]
    assert sum(one.interval[0] > 0 for one in once) > 4
