"""Matched halves: exact at a true distance of 0, and preprocessing inside."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.inference.estimates import Settings
from repshape.inference.halves import contrasts, half_estimates
from repshape.inference.terms import make_terms
from repshape.metrics.subspaces import subspace_overlap

FloatArray = npt.NDArray[np.float64]
REDUCED = rs.GaussianShapeMetric(preprocess=rs.Preprocess(n_components=3), n_starts=2, tol=1e-6)
unstable = pytest.mark.filterwarnings("ignore::repshape.inference.UnstableSubspaceWarning")


def poisson(L: int, seed: int, n: int = 12, M: int = 6) -> FloatArray:
    rates = np.exp(0.8 + 0.5 * np.random.default_rng(0).normal(size=(M, 1, n)))
    return np.random.default_rng([2, seed]).poisson(rates, size=(M, L, n)).astype(float)


def test_estimate_is_the_contrast_of_halves() -> None:
    x, y = poisson(8, 0, n=3), poisson(8, 1, n=3)
    metric = rs.GaussianShapeMetric()
    halves = [rs.Trials(one[:, k]) for one in (x, y) for k in (slice(0, 4), slice(4, 8))]
    x1, x2, y1, y2 = halves
    d = metric.distance
    expected = d(x1, y2) ** 2 + d(x2, y1) ** 2 - d(x1, x2) ** 2 - d(y1, y2) ** 2
    (found,) = contrasts(make_terms([(x, y)], [metric]), halves)
    assert found == pytest.approx(expected / 2, rel=1e-9)


def test_exchanging_the_networks_of_a_half_changes_the_sign() -> None:
    """If the networks are equal, (x1, x2, y1, y2) and (y1, x2, x1, y2) are equally likely.

    Their estimates are opposite, so the distribution is symmetric about 0: the estimate of a true
    distance of 0 is unbiased, for every metric and any preprocessing.
    """
    x, y = poisson(8, 0), poisson(8, 1)
    terms = make_terms([(x, y)], [REDUCED])
    x1, x2, y1, y2 = (rs.Trials(one[:, k]) for one in (x, y) for k in (slice(4), slice(4, 8)))
    (one,) = contrasts(terms, [x1, x2, y1, y2])
    (two,) = contrasts(terms, [y1, x2, x1, y2])
    assert one == pytest.approx(-two, rel=1e-9)


def test_networks_with_more_trials_are_cut_to_the_fewest() -> None:
    x, y = poisson(8, 0, n=3), poisson(40, 1, n=3)
    metric = rs.GaussianShapeMetric(group="identity")
    settings = Settings("halves", 0.9, 0, 1, False)
    found = half_estimates(make_terms([(x, y)], [metric]), settings)
    assert found.deleted.shape == (8, 6, 1)  # without each of eight groups
    assert found.whole.shape == (20, 1)


@unstable
def test_floor_refits_pca_in_each_half() -> None:
    """The floor predicts the distance of two recordings; PCA of all trials makes it too low."""
    sample = [poisson(10, k, n=30, M=20) for k in range(24)]
    metric = REDUCED.with_parameters(preprocess=rs.Preprocess(n_components=5))
    truth = np.sqrt(np.mean([metric.distance(*sample[k : k + 2]) ** 2 for k in range(0, 24, 2)]))
    fitted = [metric.preprocess.fit(one).apply(one) for one in sample[:8]]
    plain = metric.with_parameters(preprocess=None)
    refitted, once = (
        np.sqrt(np.mean([rs.inference.floor(x, m, n_splits=4).estimate ** 2 for x in networks]))
        for networks, m in ((sample[:8], metric), (fitted, plain))
    )
    assert refitted == pytest.approx(truth, rel=0.1)
    assert once < 0.9 * truth


@unstable
def test_floor_of_a_pair_is_the_root_mean_square_of_two() -> None:
    x, y = poisson(10, 0), 3.0 * poisson(10, 1)
    each = [rs.inference.floor(z, REDUCED, n_splits=4) for z in (x, y)]
    both = rs.inference.floor(x, REDUCED, y=y, n_splits=4)
    for name in ("plug_in", "estimate"):
        one, two = (getattr(found, name) for found in each)
        assert getattr(both, name) == pytest.approx(np.sqrt((one**2 + two**2) / 2))


def test_unstable_components_are_reported() -> None:
    x, y = poisson(10, 0), poisson(10, 1)
    many = REDUCED.with_parameters(preprocess=rs.Preprocess(n_components=5))
    with pytest.warns(rs.inference.UnstableSubspaceWarning, match="5 principal components") as got:
        found = rs.inference.distance(x, y, many)
    assert got[0].filename == __file__
    assert found.overlap is not None
    assert 5 / 12 < found.overlap < 0.75
    with pytest.warns(rs.inference.UnstableSubspaceWarning) as got:
        assert rs.inference.equality(x, y, many).overlap == found.overlap
    assert got[0].filename == __file__
    with pytest.warns(rs.inference.UnstableSubspaceWarning) as got:
        rs.inference.floor(x, many, n_splits=2)
    assert got[0].filename == __file__


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_overlap_is_one_for_all_components_and_clear_ones() -> None:
    rng = np.random.default_rng(0)
    network = rs.Trials(poisson(10, 0))
    whole = REDUCED.with_parameters(preprocess=rs.Preprocess(n_components=12, whitening=1.0))
    assert subspace_overlap(network, whole, rng) == pytest.approx(1.0)
    clear = rs.Trials(network.stacked * ([30.0] * 3 + [1.0] * 9))
    assert subspace_overlap(clear, REDUCED, rng) > 0.95
    assert rs.inference.floor(network, rs.GaussianShapeMetric(), n_splits=1).overlap is None
