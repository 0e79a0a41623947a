"""Distortion, its dependence on the dimension, and aligned embeddings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist, squareform
from scipy.stats import ortho_group

from repshape.analysis.distortion import distortion, distortion_curve
from repshape.analysis.embedding import embed
from repshape.analysis.panels import align_embeddings
from repshape.errors import InputError

FloatArray = npt.NDArray[np.float64]


def cloud(count: int = 20, dimension: int = 2, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(count, dimension))


def test_exact_points_have_no_distortion() -> None:
    points = cloud(dimension=3)
    found = distortion(squareform(pdist(points)), points)
    np.testing.assert_array_equal(found.values, 1.0)
    assert (found.median, found.largest) == (1.0, 1.0)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_halving_and_doubling_distort_alike(factor: float) -> None:
    points = cloud()
    found = distortion(squareform(pdist(points)), factor * points)
    np.testing.assert_allclose(found.values, 2.0)


def test_percentiles_are_over_pairs() -> None:
    D = squareform(pdist(cloud(dimension=6)))
    found = distortion(D, embed(D), percentiles=(0, 50, 100))
    assert found.percentiles[0] == found.values.min() >= 1.0
    assert found.percentiles[100] == found.largest
    assert (found.values <= found.percentiles[50]).mean() == pytest.approx(0.5, abs=0.01)


def test_networks_that_coincide() -> None:
    D = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert distortion(D, [[0.0], [0.0], [1.0]]).values.tolist() == [1.0, 1.0, 1.0]
    assert distortion(D, [[0.0], [0.5], [1.0]]).values.tolist() == [np.inf, 1.0, 2.0]
    assert distortion(D, [[0.0], [0.0], [0.0]]).percentiles[95.0] == np.inf


def test_curve_falls_to_one_where_the_points_fit() -> None:
    D = squareform(pdist(cloud(dimension=3)))
    curve = distortion_curve(D, range(1, 5))
    frame = curve.to_frame()
    assert frame.index.tolist() == [1, 2, 3, 4]
    assert frame.columns.tolist() == ["p5", "p25", "p50", "p75", "p95", "stress"]
    assert (np.diff(curve.values[:3, 4]) < 0).all()
    np.testing.assert_allclose(curve.values[2:], 1.0, atol=1e-6)
    assert curve.stress[2] < 1e-6


def test_default_curve_is_the_papers() -> None:
    curve = distortion_curve(squareform(pdist(cloud(dimension=3))), method="classical")
    assert curve.dimensions.tolist() == list(range(1, 21))


def test_alignment_undoes_any_motion() -> None:
    target = cloud(dimension=3)
    moved = target @ ortho_group.rvs(3, random_state=0) + [1.0, -2.0, 3.0]
    aligned = align_embeddings(moved, target)
    np.testing.assert_allclose(aligned.points, target, atol=1e-12)
    assert aligned.scale == 1.0
    assert aligned.residual < 1e-12
    scaled = align_embeddings(0.2 * moved, target, scaling=True)
    np.testing.assert_allclose(scaled.points, target, atol=1e-12)
    assert scaled.scale == pytest.approx(5.0)


def test_without_scaling_distances_stay() -> None:
    points, target = cloud(seed=1), cloud(seed=2)
    aligned = align_embeddings(points, target)
    np.testing.assert_allclose(pdist(aligned.points), pdist(points))
    np.testing.assert_allclose(aligned.rotation.T @ aligned.rotation, np.eye(2), atol=1e-12)


def test_rotation_is_scipys() -> None:
    points, target = cloud(seed=1), cloud(seed=2)
    centred = points - points.mean(0), target - target.mean(0)
    np.testing.assert_allclose(
        align_embeddings(points, target).rotation, orthogonal_procrustes(*centred)[0], atol=1e-12
    )


def test_the_fitted_scale_is_the_best() -> None:
    points, target = cloud(seed=1), cloud(seed=2)
    best = align_embeddings(points, target, scaling=True)
    for factor in (0.9, 1.1):
        turned = best.points + (factor - 1.0) * (best.points - target.mean(0))
        assert ((turned - target) ** 2).sum() > ((best.points - target) ** 2).sum()
    assert best.residual <= align_embeddings(points, target).residual


def test_embeddings_are_accepted_as_they_are() -> None:
    D = squareform(pdist(cloud()))
    first, second = embed(D), embed(2.0 * D)
    assert align_embeddings(second, first, scaling=True).scale == pytest.approx(0.5)


def test_points_that_coincide_go_to_the_centre() -> None:
    target = cloud()
    aligned = align_embeddings(np.zeros((20, 2)), target, scaling=True)
    np.testing.assert_allclose(aligned.points, np.broadcast_to(target.mean(0), (20, 2)))


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="a row for each of 3 networks"):
        distortion(np.zeros((3, 3)), [[0.0]])
    with pytest.raises(InputError, match="must be finite"):
        distortion(np.zeros((1, 1)), [[np.nan]])
    with pytest.raises(InputError, match="at least two networks"):
        distortion([[0.0]], [[0.0]])
    with pytest.raises(InputError, match="'percentiles'"):
        distortion(np.zeros((2, 2)), [[0.0], [1.0]], percentiles=[101])
    with pytest.raises(InputError, match="at least one dimension"):
        distortion_curve(np.zeros((2, 2)), [])
    with pytest.raises(InputError, match="same networks and dimension"):
        align_embeddings(cloud(), cloud(dimension=3))
    with pytest.raises(InputError, match="'target' must be finite"):
        align_embeddings([[0.0]], [[np.inf]])
    with pytest.raises(InputError, match="'points' must have a row"):
        align_embeddings([1.0], [[1.0]])
