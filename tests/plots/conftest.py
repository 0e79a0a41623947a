"""Axes without pyplot, and a small cohort."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import repshape as rs


@pytest.fixture(autouse=True)
def no_figures() -> None:
    """Close what tests of other folders left open in this process."""
    pyplot.close("all")


@pytest.fixture
def ax() -> Axes:
    return Figure(figsize=(3.5, 2.8), layout="constrained").subplots()


@pytest.fixture(scope="session")
def line() -> rs.DistanceMatrix:
    """Six networks on a line, in a mixed order, of two groups."""
    places = np.array([0.0, 10.0, 1.0, 12.0, 3.0, 11.0])
    metadata = pd.DataFrame(
        {"area": ["V1", "V4", "V1", "V4", "V1", "V4"], "place": places, "cost $": list("abcabc")}
    )
    return rs.DistanceMatrix(
        np.abs(places[:, None] - places),
        labels=[f"n{k}" for k in range(6)],
        metadata=metadata,
        description={
            "metric": "GaussianShapeMetric",
            "parameters": {"alpha": 0.5, "group": "rotation"},
        },
    )


@pytest.fixture(scope="session")
def pair() -> tuple[rs.Trials, rs.Trials]:
    """Two networks of unequal numbers of neurons and of trials."""
    rng = np.random.default_rng(1)
    x = 2 * rng.normal(size=(6, 1, 4)) + rng.normal(size=(6, 15, 4)) * [1.0, 0.5, 0.3, 0.2]
    y = 2 * rng.normal(size=(6, 1, 3)) + rng.normal(size=(6, 20, 3))
    return rs.Trials(x), rs.Trials(y)
