"""What the tests of the report share: reading a page's data back, and networks on a line."""

from __future__ import annotations

import base64
import json
import re
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
