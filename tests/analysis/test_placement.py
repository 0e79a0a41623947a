"""Points of new networks: Gower's formula, stress, landmarks, and embeddings that place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize

import repshape as rs
from repshape.analysis.placement import minimise_stress, place_points, stress_of, triangulate
from repshape.errors import InputError

FloatArray = npt.NDArray[np.float64]


def between(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(x[:, None] - y[None], axis=2))


def euclidean(x: Any, y: Any) -> float:
    return float(np.linalg.norm(np.subtract(x, y)))


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_exact_distances_give_the_exact_points(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    anchors, new = rng.normal(size=(9, dimension)), rng.normal(size=(6, dimension))
    distances = between(new, anchors)
    assert np.allclose(triangulate(distances, anchors), new)
    assert np.allclose(place_points(distances, anchors, refine=True), new, atol=1e-6)


def test_majorisation_never_increases_the_stress_and_ends_in_a_minimum() -> None:
    rng = np.random.default_rng(0)
    anchors, new = rng.normal(size=(8, 2)), rng.normal(size=(30, 2))
    distances = between(new, anchors) * rng.uniform(0.7, 1.3, size=(30, 8))
    start = triangulate(distances, anchors)
    found = minimise_stress(start, distances, anchors)
    assert (stress_of(found, distances, anchors) <= stress_of(start, distances, anchors)).all()
    placed = place_points(distances, anchors, refine=True)
    for k in range(0, 30, 5):

        def cost(p: FloatArray, k: int = k) -> float:
            return float(stress_of(p[None], distances[k : k + 1], anchors)[0])

        starts = [*anchors, start[k]]
        best = min(minimize(cost, p, options={"gtol": 1e-9}).fun for p in starts)
        assert cost(found[k]) == pytest.approx(minimize(cost, found[k]).fun, rel=1e-6)
        assert cost(placed[k]) == pytest.approx(best, rel=1e-6)


def test_an_anchor_is_placed_on_itself_without_warnings() -> None:
    anchors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    assert np.allclose(place_points(between(anchors, anchors), anchors, refine=True), anchors)


@pytest.mark.parametrize("method", ["metric", "classical"])
def test_embedding_places_by_distances(method: str) -> None:
    points = np.random.default_rng(1).normal(size=(20, 2))
    D = between(points, points)
    found = rs.embed(D[:15, :15], method=method)
    for k in range(15, 20):
        placed = found.place(D[k, :15])
        assert np.allclose(np.linalg.norm(found.points - placed, axis=1), D[k, :15], atol=1e-5)
    assert found.place(D[0, :15].tolist()).shape == (2,)


def test_embedding_of_principal_components_places_in_all_dimensions() -> None:
    points = np.random.default_rng(2).normal(size=(20, 4)) * [4, 3, 2, 1]
    D = between(points, points)
    found = rs.embed(D[:18, :18], 2, pca_from=4, method="classical")
    whole = rs.embed(D[:18, :18], 4, method="classical")
    assert np.allclose(found.place(D[18, :18]), whole.place(D[18, :18])[:2])
    assert np.allclose(found.place(D[3, :18]), found.points[3])


def test_embedding_places_networks() -> None:
    toy, metric = rs.datasets.toy_networks(random_state=0), rs.GaussianShapeMetric(1.0)
    names = [toy.labels[k] for k in range(0, 99, 9)]
    cohort = {label: toy[toy.labels.index(label)] for label in names}
    found = rs.embed(rs.pairwise(cohort, metric))
    placed = found.place(cohort[names[2]], cohort)
    distances = rs.cross([cohort[names[2]]], cohort, metric)[0]
    assert np.allclose(placed, found.place(distances))
    assert np.linalg.norm(placed - found.points[2]) < 0.1 * np.ptp(found.points)
    both = found.place({"a": cohort[names[2]], "b": cohort[names[5]]}, cohort)
    assert np.allclose(both[0], placed)


def test_what_cannot_be_placed() -> None:
    points = np.random.default_rng(3).normal(size=(6, 2))
    found = rs.embed(between(points, points))
    with pytest.raises(InputError, match="6 finite numbers"):
        found.place([1.0, 2.0])
    with pytest.raises(InputError, match="6 finite numbers"):
        found.place(-np.ones(6))
    with pytest.raises(InputError, match="needs all embedded networks"):
        found.place(np.zeros((3, 4, 2)))


@pytest.mark.parametrize("method", ["metric", "classical"])
def test_landmarks_recover_points_of_the_plane(method: str) -> None:
    points = np.random.default_rng(4).normal(size=(60, 2))
    found = rs.analysis.embed_landmarks(points, euclidean, n_landmarks=5, method=method)
    assert np.allclose(between(found.points, found.points), between(points, points), atol=1e-5)
    assert found.stress < 1e-6
    assert found.n_solved == 5 * 60 - 15
    assert found.share_solved == found.n_solved / 1770
    assert np.allclose(found.place({"new": points[7]})[0], found.points[7], atol=1e-5)
    # Each landmark is the point that is farthest from those before it.
    chosen = [int(label) for label in found.landmarks]
    assert chosen[0] == 0
    for k in range(1, 5):
        nearest = between(points, points[chosen[:k]]).min(axis=1)
        assert nearest[chosen[k]] == nearest.max()


def test_landmarks_of_networks_share_a_store_with_neighbors(tmp_path: Path) -> None:
    toy, metric = rs.datasets.toy_networks(random_state=0), rs.GaussianShapeMetric(1.0)
    networks = [toy[k] for k in range(0, 99, 4)]
    graph = rs.analysis.neighbor_graph(networks, metric, 3, store=tmp_path / "p")
    found = rs.analysis.embed_landmarks(networks, metric, n_landmarks=6, store=tmp_path / "p")
    files = list((tmp_path / "p" / "pairs").glob("*.npz"))
    kept = sum(len(np.load(file)["keys"]) for file in files)
    assert kept < graph.n_solved + found.n_solved  # some pairs were known
    assert np.allclose(found.place(networks[5]), found.points[5], atol=1e-6)
    assert repr(found).startswith("LandmarkEmbedding(points=<float64 array of shape (25, 2)>")
    legs = rs.cross(networks, [networks[int(k)] for k in found.landmarks], metric).values
    anchors = found.points[[int(k) for k in found.landmarks]]
    error = ((between(found.points, anchors) - legs) ** 2).sum() / (legs**2).sum()
    assert found.stress == pytest.approx(np.sqrt(error))


def test_bad_landmarks() -> None:
    points = np.random.default_rng(5).normal(size=(8, 2))
    with pytest.raises(InputError, match=r"'n_landmarks' .* an integer of at least 3"):
        rs.analysis.embed_landmarks(points, euclidean, n_landmarks=2)
    with pytest.raises(InputError, match="at most the number of networks, 8"):
        rs.analysis.embed_landmarks(points, euclidean, n_landmarks=9)
    with pytest.raises(InputError, match="'method' parameter"):
        rs.analysis.embed_landmarks(points, euclidean, n_landmarks=4, method="x")
