"""Embeddings: exact if possible, and deterministic."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof

from repshape.analysis.embedding import classical_scaling, embed
from repshape.errors import InputError, InputTypeError
from repshape.matrix.distances import DistanceMatrix

FloatArray = npt.NDArray[np.float64]


def cloud(count: int = 20, dimension: int = 2, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(count, dimension))


def distances(points: FloatArray) -> FloatArray:
    matrix: FloatArray = squareform(pdist(points))
    return matrix


def curved() -> FloatArray:
    """Distances that points in a plane cannot reproduce."""
    matrix: FloatArray = distances(cloud(dimension=6)) ** 0.7
    return matrix


def stress_of(points: FloatArray, D: FloatArray) -> float:
    target = squareform(D)
    return float(np.sqrt(((pdist(points) - target) ** 2).sum() / (target**2).sum()))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_euclidean_distances_are_held_exactly(dimension: int, scale: float) -> None:
    D = distances(scale * cloud(dimension=dimension))
    result = embed(D, dimension)
    assert result.points.shape == (20, dimension)
    assert result.n_components == dimension
    np.testing.assert_allclose(distances(result.points), D, atol=1e-10 * D.max())
    assert result.stress < 1e-10


def test_classical_scaling_inverts_distances() -> None:
    D = distances(cloud(dimension=3))
    np.testing.assert_allclose(distances(classical_scaling(D, 3)), D)


def test_axes_beyond_the_data_are_zero() -> None:
    result = embed(distances(cloud(5, 1)), 3, n_init=1)
    np.testing.assert_allclose(result.points[:, 1:], 0.0, atol=1e-6)
    assert embed([[0.0, 1.0], [1.0, 0.0]], 4).points.shape == (2, 4)


def test_equal_input_gives_equal_output() -> None:
    D = curved()
    np.testing.assert_array_equal(embed(D).points, embed(D).points)
    seeded = embed(D, random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(seeded.points, embed(D, random_state=3).points)


def test_orientation_is_fixed() -> None:
    points = embed(curved()).points
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)
    scatter = points.T @ points
    assert scatter[0, 0] >= scatter[1, 1]
    assert abs(scatter[0, 1]) < 1e-10 * scatter[0, 0]
    extremes = points[np.abs(points).argmax(axis=0), [0, 1]]
    assert (extremes > 0).all()


def test_orientation_does_not_depend_on_rounding() -> None:
    """A reflected and rotated cloud has the same distances up to rounding, and the same points."""
    points = cloud()
    turned = points @ np.array([[0.6, 0.8], [0.8, -0.6]])
    first, second = embed(distances(points)), embed(distances(turned))
    np.testing.assert_allclose(first.points, second.points, atol=1e-8)


def test_stress_is_what_it_says() -> None:
    result = embed(curved())
    assert result.stress == pytest.approx(stress_of(result.points, curved()), rel=1e-9)


def test_no_worse_than_scikit_learn_alone() -> None:
    D = curved()
    theirs = smacof(D, init=cloud(seed=5), n_init=1, max_iter=300, eps=1e-6)[0]
    assert embed(D).stress <= stress_of(theirs, D) * (1 + 1e-6)


def test_more_starts_are_never_worse() -> None:
    stresses = [embed(curved(), n_init=n).stress for n in (1, 2, 6)]
    assert stresses == sorted(stresses, reverse=True)


def test_networks_that_coincide_share_a_point() -> None:
    nothing = embed(np.zeros((3, 3)))
    np.testing.assert_array_equal(nothing.points, np.zeros((3, 2)))
    assert nothing.stress == 0.0
    points = embed(distances(np.repeat(cloud(5), 2, axis=0))).points
    np.testing.assert_allclose(points[::2], points[1::2], atol=1e-6)


def test_labels_follow_and_points_are_read_only() -> None:
    result = embed(DistanceMatrix(distances(cloud(3)), labels=["a", "b", "c"]))
    assert result.to_frame().index.tolist() == ["a", "b", "c"]
    assert result.to_frame().columns.tolist() == ["x0", "x1"]
    with pytest.raises(ValueError, match="read-only"):
        result.points[0, 0] = 1.0


def test_one_network_is_at_the_origin() -> None:
    np.testing.assert_array_equal(embed([[0.0]]).points, [[0.0, 0.0]])


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="must not be negative for an embedding"):
        embed([[0.0, -1.0], [-1.0, 0.0]])
    with pytest.raises(InputError, match="'n_components' parameter must be an integer"):
        embed([[0.0]], 0)
    with pytest.raises(InputTypeError, match="'n_init'"):
        embed([[0.0]], n_init=1.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one of 'metric', 'classical'"):
        embed([[0.0]], method="pca")
    with pytest.raises(InputError, match="'pca_from' parameter must be an integer of at least 2"):
        embed([[0.0]], pca_from=1)


def test_classical_method_is_classical_scaling() -> None:
    D = curved()
    result = embed(D, 3, method="classical")
    np.testing.assert_allclose(
        np.abs(result.points), np.abs(classical_scaling(D, 3)), atol=1e-9 * D.max()
    )
    assert result.method == "classical scaling"
    assert result.stress >= embed(D, 3).stress


def test_components_of_a_larger_embedding_are_its_shadow() -> None:
    """As in the paper, the points are the leading axes of points in more dimensions."""
    D = curved()
    large, shadow = embed(D, 6), embed(D, 2, pca_from=6)
    np.testing.assert_allclose(shadow.points, large.points[:, :2], atol=1e-12)
    variances = large.points.var(axis=0)
    np.testing.assert_allclose(shadow.explained, variances[:2] / variances.sum())
    assert shadow.stress >= embed(D, 2).stress
    assert "in 6 dimensions" in shadow.method


def test_explained_shares_fall_and_sum_to_one() -> None:
    shares = embed(curved(), 4).explained
    assert shares.sum() == pytest.approx(1.0)
    assert (np.diff(shares) <= 0).all()
    assert embed(np.zeros((3, 3))).explained.tolist() == [0.0, 0.0]
