"""Clusters from distances."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

from repshape.analysis.clustering import _changes, cluster_hierarchical, cluster_medoids
from repshape.errors import InputError
from repshape.matrix.distances import DistanceMatrix

FloatArray = npt.NDArray[np.float64]


def blobs(apart: float, count: int = 30, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    kind = np.arange(count) % 3
    points = rng.normal(size=(count, 2)) + apart * np.eye(3, 2)[kind]
    return squareform(pdist(points)), kind


def cost_of(D: FloatArray, medoids: tuple[int, ...]) -> float:
    return float(D[:, list(medoids)].min(axis=1).sum())


@pytest.mark.parametrize("linkage", ["average", "complete", "single"])
def test_hierarchical_equals_scikit_learn(linkage: str) -> None:
    D, _ = blobs(4.0)
    theirs = AgglomerativeClustering(4, metric="precomputed", linkage=linkage).fit_predict(D)
    ours = cluster_hierarchical(D, 4, linkage=linkage)  # type: ignore[arg-type]
    assert adjusted_rand_score(theirs, ours.assignment) == 1.0
    assert ours.tree is not None
    assert ours.tree.shape == (29, 4)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_k_medoids_finds_the_best_of_all_choices(seed: int, n_clusters: int) -> None:
    D, _ = blobs(2.0, 15, seed)
    best = min(cost_of(D, m) for m in itertools.combinations(range(15), n_clusters))
    found = cluster_medoids(D, n_clusters)
    assert found.cost == pytest.approx(best)
    assert found.cost == pytest.approx(cost_of(D, tuple(found.medoids)))


@pytest.mark.parametrize("medoids", [(3,), (0, 7), (1, 2, 11)])
def test_changes_are_those_of_the_cost(medoids: tuple[int, ...]) -> None:
    D, _ = blobs(2.0, 12)
    changes = _changes(D, np.array(medoids))
    for out, into in itertools.product(range(len(medoids)), range(12)):
        swapped = list(medoids)
        swapped[out] = into
        expected = cost_of(D, tuple(swapped)) - cost_of(D, medoids)
        assert changes[out, into] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("cluster", [cluster_hierarchical, cluster_medoids])
def test_separated_groups_are_found(cluster: object) -> None:
    D, kind = blobs(30.0)
    assert callable(cluster)
    found = cluster(DistanceMatrix(D, labels=[f"n{k}" for k in range(30)]), 3)
    np.testing.assert_array_equal(found.assignment, kind)  # numbered by first appearance
    assert found.silhouette == pytest.approx(silhouette_score(D, kind, metric="precomputed"))
    frame = found.to_frame()
    assert frame.index[0] == "n0"
    assert set(frame["medoid"]) == {f"n{k}" for k in found.medoids}
    assert (found.assignment[found.medoids] == np.arange(3)).all()
    with pytest.raises(ValueError, match="read-only"):
        found.assignment[0] = 1


def test_as_many_clusters_as_networks_cost_nothing() -> None:
    D, _ = blobs(1.0, 8)
    for found in (cluster_medoids(D, 8), cluster_hierarchical(D, 8)):
        assert found.cost == 0.0
        assert found.n_clusters == 8
        assert np.isnan(found.silhouette)


def test_networks_that_coincide() -> None:
    found = cluster_medoids(np.zeros((4, 4)), 2)
    assert found.n_clusters == 2
    assert found.cost == 0.0
    assert cluster_hierarchical([[0.0]], 1).assignment.tolist() == [0]


def test_bad_input_is_one_sentence() -> None:
    D, _ = blobs(1.0, 6)
    with pytest.raises(InputError, match="only 6 networks for 7 clusters"):
        cluster_medoids(D, 7)
    with pytest.raises(InputError, match="must not be negative for clustering"):
        cluster_hierarchical([[0, -1], [-1, 0]], 1)
    with pytest.raises(InputError, match="one of 'average', 'complete', 'single', 'weighted'"):
        cluster_hierarchical(D, 2, linkage="ward")  # type: ignore[arg-type]
