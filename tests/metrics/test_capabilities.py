"""A metric of one's own, with the two methods it must have, works everywhere by the defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.analysis.lower_bounds import NoBounds, lower_bounds
from repshape.groups import Transform
from repshape.metrics.base import Alignment, Prepared, ShapeMetric

FloatArray = npt.NDArray[np.float64]


class NormMetric(ShapeMetric[Any]):
    """The difference of the norms of the mean responses."""

    title = "norms"
    full_title = "differences of norms"
    key_parameter = ("power", "p")

    def __init__(self, power: float = 1.0, *, preprocess: Any = None, weights: Any = None) -> None:
        self.power, self.preprocess, self.weights = power, preprocess, weights

    def _prepare(self, network: Any, phi: Any) -> Any:
        found = Prepared(phi, network.n_conditions, network.n_neurons, network.conditions)
        object.__setattr__(found, "size", float(np.linalg.norm(network.means)))
        return found

    def _align_prepared(self, x: Any, y: Any) -> Alignment:
        gap = abs(x.size - y.size) ** self.power
        still = Transform(np.eye(y.n_neurons, x.n_neurons))
        nan = float("nan")
        return Alignment(gap, gap, nan, nan, True, 1, 1, 1, still, (x.phi, y.phi))


@pytest.fixture
def networks() -> dict[str, FloatArray]:
    rng = np.random.default_rng(0)
    return {name: (k + 1) * rng.normal(3.0, 1.0, size=(4, 16, 3)) for k, name in enumerate("abcd")}


def test_a_metric_with_two_methods_has_intervals_tests_and_floors(
    networks: dict[str, FloatArray],
) -> None:
    x, y, metric = networks["a"], networks["d"], NormMetric()
    sizes = [np.linalg.norm(one.mean(axis=1)) for one in (x, y)]
    assert metric.distance(x, y) == pytest.approx(abs(sizes[0] - sizes[1]))
    found = rs.inference.distance(x, y, metric, progress=False)
    assert found.interval[0] < metric.distance(x, y) < found.interval[1] * 1.2
    assert rs.inference.equality(x, y, metric, progress=False).p_value < 0.05
    assert rs.inference.floor(x, metric, progress=False).estimate < metric.distance(x, y)


def test_a_metric_with_two_methods_has_neighbours_without_bounds(
    networks: dict[str, FloatArray],
) -> None:
    given = list(networks.values())
    assert isinstance(lower_bounds(NormMetric(), given, list(networks)), NoBounds)
    graph = rs.analysis.neighbor_graph(networks, NormMetric(), k=1)
    D = np.asarray(rs.pairwise(networks, NormMetric()))
    np.fill_diagonal(D := D.copy(), np.inf)
    assert [int(one) for one in graph.indices[:, 0]] == D.argmin(axis=1).tolist()


def test_a_metric_with_two_methods_has_a_report(
    networks: dict[str, FloatArray], tmp_path: Path
) -> None:
    D = rs.pairwise(networks, NormMetric())
    rs.write_report(D, tmp_path / "page.html", cohort=rs.Cohort.from_networks(networks))
    assert "norms" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (rs.GaussianShapeMetric(2.0), 1),
        (rs.GaussianShapeMetric(2.0, covariance="unbiased"), 2),
        (rs.GaussianShapeMetric(1.0), 2),
        (rs.ProcrustesShapeMetric(), 1),
        (rs.EnergyShapeMetric(), 2),
        (NormMetric(), 2),
    ],
)
def test_covariances_need_two_trials_and_means_one(metric: Any, expected: int) -> None:
    assert metric._fewest_trials() == expected


def test_the_norm_of_a_gaussian_metric_is_the_distance_to_silence() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5, 9, 3)) @ rng.normal(size=(3, 3)) + 1
    metric = rs.GaussianShapeMetric(0.7)
    silent = np.zeros((5, 9, 3))
    assert metric._norm(rs.Trials(x)) == pytest.approx(metric.distance(x, silent))
