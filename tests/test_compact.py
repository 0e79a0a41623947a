"""Results print in a few lines, at the prompt and in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import repshape as rs
from repshape._compact import compact_repr, describe_value
from repshape.datasets import toy_networks
from repshape.metrics import ShapeMetric

TOY = toy_networks(3, 2)
NETWORKS = [TOY[k] for k in range(4)]
METRIC = rs.GaussianShapeMetric()
D = rs.pairwise(TOY, METRIC)
TRIALS = [rs.Trials(np.random.default_rng(k).normal(size=(3, 24, 2))) for k in range(3)]
GROUPED = rs.DistanceMatrix(
    np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0))),
    metadata=pd.DataFrame({"area": list("aaaabbbb")}),
)
RESULTS: dict[str, Callable[[], Any]] = {
    "FrechetMean": lambda: rs.analysis.frechet_mean(NETWORKS, METRIC),
    "Alignment": lambda: METRIC.align(NETWORKS[0], NETWORKS[1]),
    "Embedding": lambda: rs.embed(D),
    "TriangleViolations": lambda: rs.triangle_violations(D),
    "Repaired": lambda: rs.repair(D),
    "Neighbors": lambda: rs.analysis.nearest_neighbors(D, 2),
    "Estimate": lambda: rs.inference.distance(TRIALS[0], TRIALS[1], METRIC),
    "EstimatedMatrix": lambda: rs.inference.matrix(rs.Cohort.from_networks(TRIALS), METRIC),
    "GroupTest": lambda: rs.inference.groups(GROUPED, "area"),
    "MantelTest": lambda: rs.inference.mantel(GROUPED, GROUPED, n_permutations=9),
    "Record": lambda: rs.Cohort.from_networks(TRIALS).records[0],
    "Distortion": lambda: rs.analysis.distortion(D, rs.embed(D)),
    "Clustering": lambda: rs.analysis.cluster_hierarchical(D, 2),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_short(name: str) -> None:
    result = RESULTS[name]()
    text = repr(result)
    assert text.startswith(f"{name}(")
    assert len(text) < 1000
    assert "\n" not in text
    html = result._repr_html_()
    assert html.startswith(f"<p>{name}</p><table>")
    assert html.count("<tr>") == html.count("</tr>") > 0


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.float64(0.5), "0.5"),
        (1 / 3, "0.333333"),
        (float("nan"), "nan"),
        (np.array([1.0, 1 / 3]), "[1, 0.3333]"),
        (np.zeros((2, 3), dtype=np.float32), "<float32 array of shape (2, 3)>"),
        (pd.DataFrame({"a": [1, 2]}), "<table of 2 rows and 1 columns>"),
        (("a",), "('a',)"),
        ((), "()"),
        (tuple(range(9)), "<tuple of 9>"),
        ([np.zeros((3, 3))], "[<float64 array of shape (3, 3)>]"),
        ({"metric": 1, "tol": 2}, "<dict of metric, tol>"),
        ("x" * 500, "<str>"),
    ],
)
def test_values_in_a_few_words(value: Any, words: str) -> None:
    assert describe_value(value) == words


def test_names_cannot_break_the_page() -> None:
    from dataclasses import dataclass

    @compact_repr
    @dataclass
    class Result:
        label: str
        _hidden: int = 1

    assert repr(Result("<b>")).endswith("Result(label='<b>')")
    assert "&lt;b&gt;" in Result("<b>")._repr_html_()  # type: ignore[attr-defined]
    assert "hidden" not in repr(Result("<b>"))


def public_results() -> list[type]:
    """Every dataclass that a user can get from a module, besides metrics and pictures."""
    modules = (rs, rs.analysis, rs.inference, rs.baselines, rs.io, rs.datasets)
    found = [getattr(module, name) for module in modules for name in module.__all__]
    results = {one for one in found if isinstance(one, type)}
    metrics = {one for one in results if issubclass(one, ShapeMetric)}
    return [one for one in results - metrics if hasattr(one, "__dataclass_fields__")]


def test_every_result_has_a_table_for_notebooks() -> None:
    results = public_results()
    assert len(results) > 15
    plain = {one.__name__ for one in results if not hasattr(one, "_repr_html_")}
    assert plain <= {"Preprocess", "CovarianceEstimator", "SpikeCounts", "ToyNetworks", "Measure"}
