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

TOY = toy_networks(3, 2)
NETWORKS = [TOY[k] for k in range(4)]
METRIC = rs.GaussianShapeMetric()
D = rs.pairwise(TOY, METRIC)
RESULTS: dict[str, Callable[[], Any]] = {
    "FrechetMean": lambda: rs.analysis.frechet_mean(NETWORKS, METRIC),
    "Alignment": lambda: METRIC.align(NETWORKS[0], NETWORKS[1]),
    "Embedding": lambda: rs.embed(D),
    "TriangleViolations": lambda: rs.triangle_violations(D),
    "Repaired": lambda: rs.repair(D),
    "Neighbors": lambda: rs.analysis.nearest_neighbors(D, 2),
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
