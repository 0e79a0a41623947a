"""neighbor_graph and query: equal to the whole matrix, with fewer pairs."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from neighbor_support import check_equal, count_solved, families, whole_matrix
from sklearn.cluster import DBSCAN
from sklearn.manifold import Isomap
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsTransformer,
)

import repshape as rs
from repshape.analysis import neighbor_job
from repshape.errors import InputError, SearchWarning

FloatArray = npt.NDArray[np.float64]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_toy_neighbors_equal_those_of_the_whole_matrix(alpha: float) -> None:
    toy, metric = rs.datasets.toy_networks(random_state=0), rs.GaussianShapeMetric(alpha)
    values = whole_matrix(toy, metric)
    for k, most in ((1, 0.06), (5, 0.15), (10, 0.25)):
        found = rs.analysis.neighbor_graph(toy, metric, k)
        check_equal(found, values, k)
        assert found.share_solved < most
    assert found.labels == toy.labels
    assert found.settings["bounds"] == "means and spectra"


def sampled() -> list[rs.Trials]:
    return [
        net.sample(12, random_state=k) for k, net in enumerate(families(3, 4, M=4, n=3, seed=2))
    ]


METRICS = {
    "means": rs.GaussianShapeMetric(2.0),
    "weights": rs.GaussianShapeMetric(0.7, weights=[1, 2, 3, 0]),
    "rotation": rs.GaussianShapeMetric(1.0, group="rotation"),
    "permutation": rs.GaussianShapeMetric(1.0, group="permutation"),
    "permutation of means": rs.GaussianShapeMetric(2.0, group="permutation"),
    "identity": rs.GaussianShapeMetric(1.0, group="identity"),
    "soft": rs.GaussianShapeMetric(2.0, group="soft"),
    "preprocessed": rs.GaussianShapeMetric(1.0, preprocess=rs.Preprocess(scale=True)),
    "shrunk": rs.GaussianShapeMetric(1.0, covariance="ledoit-wolf"),
    "procrustes": rs.ProcrustesShapeMetric(),
    "angle": rs.ProcrustesShapeMetric(distance="angular"),
    "angle of permutations": rs.ProcrustesShapeMetric(distance="angular", group="permutation"),
    "root": rs.CovarianceShapeMetric(1.0, n_starts=2),
    "log": rs.CovarianceShapeMetric(0.0, ground="log-euclidean", n_starts=2),
    "energy": rs.EnergyShapeMetric(1.0),
}
BOUNDED = set(METRICS) - {"soft", "energy"}


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_gives_the_neighbors_of_the_whole_matrix(name: str) -> None:
    networks = sampled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        found = rs.analysis.neighbor_graph(networks, METRICS[name], 2)
    check_equal(found, whole_matrix(networks, METRICS[name]), 2)
    assert (found.n_solved < found.n_pairs) == (name in BOUNDED)


def test_networks_of_different_sizes() -> None:
    rng = np.random.default_rng(3)
    networks = [rng.normal(size=(5, 8, n)) * (1 + n) for n in (2, 3, 4, 2, 3, 4, 2, 4)]
    for group in ("orthogonal", "permutation", "rotation"):
        metric = rs.GaussianShapeMetric(1.0, group=group)
        found = rs.analysis.neighbor_graph(networks, metric, 2)
        check_equal(found, whole_matrix(networks, metric), 2)


def test_radius_and_both() -> None:
    networks, metric = families(), rs.GaussianShapeMetric(1.0)
    values = whole_matrix(networks, metric)
    radius = float(np.quantile(values[np.isfinite(values)], 0.15))
    found = rs.analysis.neighbor_graph(networks, metric, None, radius=radius)
    for row, far in enumerate(values):
        expected = [j for j in np.argsort(far, kind="stable") if far[j] <= radius]
        assert found.neighbors(row).indices.tolist() == expected
    assert found.share_solved < 0.5
    both = rs.analysis.neighbor_graph(networks, metric, 2, radius=radius)
    for row in range(len(networks)):
        expected = found.neighbors(row).indices[:2].tolist()
        assert both.neighbors(row).indices.tolist() == expected
    assert both.n_solved <= found.n_solved
    assert np.array_equal(both.indices == -1, np.isinf(both.distances))


def test_ties_take_the_first_of_the_cohort() -> None:
    one, other = families(2, 1)
    networks = [one, other, one, other, one, other]
    metric = rs.GaussianShapeMetric(1.0)
    found = rs.analysis.neighbor_graph(networks, metric, 3)
    check_equal(found, whole_matrix(networks, metric), 3)
    points = [0.0, 2.0, 1.0, 2.0, 0.0]
    exact = rs.analysis.neighbor_graph(points, lambda x, y: abs(x - y), 2, exact=True)
    assert exact.indices.tolist() == [[4, 2], [3, 2], [0, 1], [1, 2], [0, 2]]


def test_pivots_give_the_same_and_need_a_metric() -> None:
    networks = families(5, 8)
    metric = rs.GaussianShapeMetric(1.0, group="identity")
    values = whole_matrix(networks, metric)
    for pivots in (0, 2, None):
        found = rs.analysis.neighbor_graph(networks, metric, 3, pivots=pivots)
        check_equal(found, values, 3)
    assert found.settings["pivots"] == 3  # the cube root of 40
    with pytest.raises(InputError, match="triangle inequality"):
        rs.analysis.neighbor_graph(networks, rs.EnergyShapeMetric(), 3, pivots=2)


def test_pivots_exclude_pairs_of_any_true_metric() -> None:
    points = np.random.default_rng(0).uniform(size=80)

    def distance(x: float, y: float) -> float:
        return abs(x - y)

    found = rs.analysis.neighbor_graph(points, distance, 3, exact=True)
    values = np.abs(np.subtract.outer(points, points))
    np.fill_diagonal(values, np.inf)
    check_equal(found, values, 3)
    assert found.share_solved < 0.3
    plain = rs.analysis.neighbor_graph(points, distance, 3)
    check_equal(plain, values, 3)
    assert plain.share_solved == 1.0


@pytest.mark.parametrize("workers", [1, 2])
def test_blocks_of_rows_and_workers_change_nothing(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks, metric = families(), rs.GaussianShapeMetric(1.0)
    monkeypatch.setattr(neighbor_job, "LARGEST_BLOCK", 5)
    solved = count_solved(monkeypatch)
    found = rs.analysis.neighbor_graph(networks, metric, 4, workers=workers)
    check_equal(found, whole_matrix(networks, metric), 4)
    assert found.n_solved == sum(solved)  # no pair twice


def test_little_memory_changes_nothing() -> None:
    networks, metric = families(), rs.GaussianShapeMetric(1.0)
    found = rs.analysis.neighbor_graph(networks, metric, 4, memory="12k")
    check_equal(found, whole_matrix(networks, metric), 4)


def test_query_equals_the_row_of_the_matrix() -> None:
    networks, metric = families(), rs.GaussianShapeMetric(1.0)
    far = rs.cross([networks[7]], networks[:7] + networks[8:], metric)[0]
    found = rs.analysis.query(networks[:7] + networks[8:], networks[7], metric, 4)
    order = np.argsort(far, kind="stable")[:4]
    assert found.of == ("x",)
    assert found.indices.tolist() == [order.tolist()]
    assert np.array_equal(found.distances[0], far[order])
    assert found.n_pairs == 23
    assert found.n_solved < 15
    several = rs.analysis.query(networks[:20], {"a": networks[20], "b": networks[21]}, metric, 2)
    assert several.of == ("a", "b")
    one = rs.analysis.query(networks[:20], networks[21], metric, 2)
    assert np.array_equal(one.indices[0], several.indices[1])


def test_predictions_from_a_saved_cohort(tmp_path: Path) -> None:
    networks = families()
    frame = pd.DataFrame({"family": [f"f{k // 6}" for k in range(24)], "size": np.arange(24.0)})
    kept = [k for k in range(24) if k % 6]
    cohort = rs.Cohort.from_networks(
        [networks[k] for k in kept],
        [f"n{k}" for k in kept],
        frame.iloc[kept].reset_index(drop=True),
    ).save(tmp_path / "c.zarr")
    metric = rs.GaussianShapeMetric(1.0)
    saved = rs.Cohort.open(cohort.path)
    for k in (0, 6, 12, 18):
        found = rs.analysis.query(saved, networks[k], metric, 5)
        assert found.predict("family")["x"] == f"f{k // 6}"
        assert found.predict("size")["x"] == pytest.approx(k + 3.0)  # the mean of its family
    own = rs.analysis.neighbor_graph(saved, metric, 3).predict("family")
    assert own.tolist() == saved.metadata["family"].tolist()
    with pytest.raises(InputError, match=r"no column named 'famly'\. Did you mean 'family'"):
        found.predict("famly")
    with pytest.raises(InputError, match="an entry for each of 20 networks"):
        found.predict([1, 2])
    with pytest.raises(InputError, match="known for every network"):
        found.predict([np.nan] * 20)


def test_graph_is_that_of_scikit_learn() -> None:
    networks, metric = families(), rs.GaussianShapeMetric(1.0)
    D = rs.pairwise(networks, metric, polish=False).values
    graph = rs.analysis.neighbor_graph(networks, metric, 4).graph
    theirs = KNeighborsTransformer(n_neighbors=4, metric="precomputed").fit_transform(D)
    assert np.array_equal(graph.toarray(), theirs.toarray())
    assert np.array_equal(graph.indices, theirs.indices)
    radius = float(np.quantile(D, 0.2))
    near = rs.analysis.neighbor_graph(networks, metric, None, radius=radius).graph
    within = RadiusNeighborsTransformer(radius=radius, metric="precomputed").fit_transform(D)
    assert np.array_equal(near.toarray(), within.toarray())
    clusters = DBSCAN(eps=radius, min_samples=3, metric="precomputed").fit_predict(near)
    dense = DBSCAN(eps=radius, min_samples=3, metric="precomputed").fit_predict(D)
    assert np.array_equal(clusters, dense)
    nearest = NearestNeighbors(n_neighbors=3, metric="precomputed").fit(graph)
    assert nearest.kneighbors()[1].shape == (24, 3)


def test_estimators_take_the_graph() -> None:
    networks, metric = families(), rs.GaussianShapeMetric(1.0)
    family = np.arange(24) // 6
    graph = rs.analysis.neighbor_graph(networks, metric, 8).graph
    model = KNeighborsClassifier(4, metric="precomputed").fit(graph, family)
    new = rs.analysis.query(networks, {"a": networks[1], "b": networks[13]}, metric, 6).graph
    assert new.shape == (2, 24)
    assert model.predict(new).tolist() == [0, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # families are not connected
        points = Isomap(n_neighbors=8, metric="precomputed").fit_transform(graph)
    assert points.shape == (24, 2)


def test_result_is_frozen_and_short() -> None:
    found = rs.analysis.neighbor_graph(families(2, 3), rs.GaussianShapeMetric(1.0), 2)
    with pytest.raises(AttributeError):
        found.k = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        found.distances[0, 0] = 1.0
    assert repr(found).startswith("NeighborGraph(2 nearest neighbours of 6 networks: ")
    assert "pairs solved" in found._repr_html_()
    frame = found.to_frame()
    assert frame.columns.tolist() == ["network", "rank", "neighbor", "distance"]
    assert len(frame) == 12
    assert json.dumps(found.summary())
    assert found.neighbors("0").words() == found.neighbors(0).words()
    with pytest.raises(InputError, match="no network named 'x'"):
        found.neighbors("x")
    with pytest.raises(InputError, match="6 rows"):
        found.neighbors(6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"k": 0}, "'k' parameter"),
        ({"k": 24}, "at most the number of other networks, 23"),
        ({"k": None}, "Got neither"),
        ({"radius": -1.0}, "'radius' parameter"),
        ({"pivots": -1}, "'pivots' parameter"),
        ({"shard": "1/2"}, "Shards need a store"),
        ({"engine": "dask"}, "Dask needs a cohort on disk"),
    ],
)
def test_bad_input(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        rs.analysis.neighbor_graph(families(), rs.GaussianShapeMetric(1.0), **options)


def test_networks_that_cannot_be_compared_are_named() -> None:
    networks = dict(zip("abc", families(1, 3), strict=True))
    short = families(1, 1, M=4)[0]
    metric = rs.GaussianShapeMetric(1.0)
    with pytest.raises(InputError, match=r"same conditions.*5 in 'a' and 4 in 'd'"):
        rs.analysis.neighbor_graph(networks | {"d": short}, metric, 1)
    with pytest.raises(InputError, match="In network 'd'"):
        rs.analysis.neighbor_graph(networks | {"d": np.full((5, 4, 3), np.inf)}, metric, 1)


def test_doubtful_pairs_are_told() -> None:
    rng = np.random.default_rng(0)
    variances = rng.uniform(0.9, 1.1, size=(6, 4, 10))
    networks = [rs.Gaussians(np.zeros((4, 10)), one[:, :, None] * np.eye(10)) for one in variances]
    metric = rs.GaussianShapeMetric(0.0, group="permutation", n_starts=8)
    with pytest.warns(SearchWarning, match=r"^\d+ of 15 solved pairs may be longer than"):
        found = rs.analysis.neighbor_graph(networks, metric, 5)  # every pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        assert (
            found.settings["doubtful_pairs"]
            == rs.pairwise(networks, metric, polish=False).n_doubtful
        )
