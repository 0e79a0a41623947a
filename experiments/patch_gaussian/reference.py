"""Compare time and result with the public reference code, netrep, on two pairs of networks.

It runs if NETREP_PATH names a checkout of netrep. netrep fails where a covariance has no full rank,
so both programs are given covariances to which the paper's 1e-4 is added.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import warnings
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  its BLAS must be loaded before threads are limited
from threadpoolctl import threadpool_limits

import repshape as rs
from experiments.common import files
from experiments.patch_gaussian.claims import ALPHAS, SPREAD_TAU
from experiments.patch_gaussian.measure import Measurement

PATH_VARIABLE = "NETREP_PATH"
REFERENCE = "reference.json"
RIDGE = 1e-4
N_PAIRS = 2


def compare_reference(measurement: Measurement) -> dict[str, Any]:
    """Return the rows of the comparison, from their file if it is there; empty without netrep."""
    path = measurement.study.out / REFERENCE
    if not path.exists():
        if not os.environ.get(PATH_VARIABLE):
            return {}
        files.write_json(path, measure_reference(measurement))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def measure_reference(measurement: Measurement) -> dict[str, Any]:
    """Align the first with other networks by both programs, on one core."""
    sys.path.insert(0, os.environ[PATH_VARIABLE])
    theirs = importlib.import_module("netrep.metrics").GaussianStochasticMetric
    networks = measurement.networks(SPREAD_TAU, 0)
    names = list(measurement.metadata.index)
    others = np.linspace(1, len(names) - 1, N_PAIRS).astype(int)
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # netrep uses deprecated functions of NumPy
        x = dense(networks[0])
        for other in dict.fromkeys(others.tolist()):
            y = dense(networks[other])
            for alpha in ALPHAS:
                row: dict[str, Any] = {"pair": [names[0], names[other]], "alpha": alpha}
                row["netrep_distance"], row["netrep_seconds"] = timed(theirs(alpha).fit_score, x, y)
                ours = rs.GaussianShapeMetric(alpha)
                row["distance"], row["seconds"] = timed(ours.distance, x, y)
                rows.append(row)
    return {"tau": SPREAD_TAU, "ridge": RIDGE, "rows": rows}


def dense(network: rs.Gaussians) -> tuple[Any, Any]:
    """Return means and covariances with the paper's addition to the diagonal."""
    return network.means, network.covariances + RIDGE * np.eye(network.means.shape[1])


def timed(function: Any, *arguments: Any) -> tuple[float, float]:
    """Return the result and the processor time of a call."""
    start = time.process_time()
    result = float(function(*arguments))
    return result, round(time.process_time() - start, 3)
