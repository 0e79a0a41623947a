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

ARRAYS = {"Float64Array": "<f8", "Int32Array": "<i4", "Int16Array": "<i2", "Uint8Array": "u1"}


def unpack(packed: dict[str, str]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(packed["data"]), ARRAYS[packed["type"]])


def read_data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


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
