"""Two networks, as arrays and in the forms that tables and labelled arrays have."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import xarray as xr

import repshape as rs

M, L, N = 5, 7, 4
CONDITIONS = ["blank", "cat", "dog", "elk", "fox"]
NEURONS = [f"u{i}" for i in range(N)]
X, Y = (np.random.default_rng(seed).normal(size=(M, L, N)) for seed in (1, 2))
METRIC = rs.GaussianShapeMetric(alpha=1.0)
EXPECTED = METRIC.distance(X, Y)
ORDERS = list(itertools.permutations(("condition", "trial", "neuron")))


def rows(array: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return shuffled single trials with their labels; trials of a condition keep their order."""
    shuffled = np.random.default_rng(0).permuted(np.repeat(np.arange(M), L))
    taken = np.zeros(M, dtype=int)
    found = []
    for m in shuffled:
        found.append(array[m, taken[m]])
        taken[m] += 1
    return np.array(found), [CONDITIONS[m] for m in shuffled]


def frame_of(array: np.ndarray) -> pd.DataFrame:
    trials, labels = rows(array)
    return pd.DataFrame(trials, columns=NEURONS).assign(image=labels, rig="a")


def dataarray_of(array: np.ndarray, order: tuple[str, ...] = ORDERS[0]) -> xr.DataArray:
    coords = {"condition": CONDITIONS, "neuron": NEURONS}
    return xr.DataArray(array, coords, ("condition", "trial", "neuron")).transpose(*order)
