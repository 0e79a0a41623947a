"""What the tests of the report share: reading a page's data back, and networks on a line."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import repshape as rs
from repshape.report.evidence import find_groups
from repshape.report.sources import read_inputs
from repshape.report.study import Plan, Studied, study

ARRAYS = {
    "Float64Array": "<f8",
    "Float32Array": "<f4",
    "Int32Array": "<i4",
    "Int16Array": "<i2",
    "Uint16Array": "<u2",
    "Uint8Array": "u1",
}

METRIC = rs.GaussianShapeMetric(n_starts=4)


def unpack(packed: dict[str, str]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(packed["data"]), ARRAYS[packed["type"]])


def read_data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def multiples(rounded: dict[str, dict[str, str]]) -> np.ndarray[Any, Any]:
    """Return numbers of 16 bits in their units, one row for each unit."""
    units = unpack(rounded["units"])
    return unpack(rounded["steps"]).reshape(len(units), -1) * units[:, None]


def squares(roots: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return roots * np.abs(roots)


def line(points: list[float], **metadata: list[Any]) -> rs.DistanceMatrix:
    values = np.abs(np.subtract.outer(points, points))
    return rs.DistanceMatrix(values, metadata=pd.DataFrame(metadata) if metadata else None)


def page_of(D: rs.DistanceMatrix, cohort: rs.Cohort | None = None) -> str:
    """Return the text of the page of one matrix."""
    with tempfile.TemporaryDirectory() as folder:
        report = rs.write_report(D, Path(folder, "a.html"), cohort=cohort, max_intervals=0)
        return report.path.read_text(encoding="utf-8")


def gain_cohort(gains: list[float]) -> rs.Cohort:
    """Networks that differ in nothing but gain and noise, with the gain as metadata."""
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(4, 1, 2))
    cohort = rs.Cohort()
    for k, gain in enumerate(gains):
        trials = gain * (means + rng.normal(size=(4, 20, 2)))
        cohort.add(f"net {k}", trials, gain=f"x {gain:g}")
    return cohort


def studied(cohort: Any, metric: Any = METRIC, D: rs.DistanceMatrix | None = None) -> Studied:
    """Study one matrix of a cohort, without drawings and intervals."""
    distances = rs.pairwise(cohort, metric, polish=False) if D is None else D
    inputs = read_inputs(distances, cohort)
    return study(inputs, Plan(find_groups(inputs, None, None)))[0]


def trials(
    counts: list[int], n: int = 2, apart: float = 3.0, seed: int = 0, **metadata: list[Any]
) -> rs.Cohort:
    """Networks of n neurons with the given numbers of trials, and means that far apart."""
    rng = np.random.default_rng(seed)
    cohort = rs.Cohort()
    for k, count in enumerate(counts):
        means = apart * rng.normal(size=(4, 1, n))
        row = {name: values[k] for name, values in metadata.items()}
        cohort.add(f"net {k}", means + rng.normal(size=(4, count, n)), **row)
    return cohort


def matrix_with(**fields: Any) -> Studied:
    """Study three networks on a line, with something else about each pair."""
    inputs = read_inputs(line([0, 1, 3]).replace(**fields))
    return study(inputs, Plan())[0]


def square(value: Any, diagonal: Any = 0) -> np.ndarray[Any, Any]:
    return np.where(np.eye(3, dtype=bool), diagonal, value)


def verdict(found: Studied, topic: str) -> str:
    """Return the verdict on one topic."""
    return {one[0]: one[1] for one in found.checks}[topic]
