"""Measure what the brief search of the study misses, on some pairs of every matrix.

The whole search of the library, with its own number of starts and tolerance, is the standard.
"""

from __future__ import annotations

import json
import warnings
from itertools import combinations
from typing import Any

import numpy as np

import repshape as rs
from experiments.common import files
from experiments.common.stores import gaussian_metrics
from experiments.patch_gaussian.claims import ALPHAS
from experiments.patch_gaussian.measure import Measurement, tau_name
from repshape.errors import SearchWarning

SEARCH = "search.json"
N_PAIRS = 6


def check_search(
    measurement: Measurement, matrices: dict[str, rs.DistanceMatrix]
) -> dict[str, dict[str, float]]:
    """Return the excess of the matrices over the whole search, from its file if it is there.

    ``mean`` and ``largest`` are shares of the distance over the pairs; ``between`` is the standard
    deviation between the distances of all pairs, as a share of their mean.
    """
    path = measurement.study.out / f"{len(measurement.plans)}-{SEARCH}"
    if not path.exists():
        files.write_json(path, measure_search(measurement, matrices))
    found: dict[str, dict[str, float]] = json.loads(path.read_text())
    return found


def measure_search(
    measurement: Measurement, matrices: dict[str, rs.DistanceMatrix]
) -> dict[str, dict[str, float]]:
    """Search some pairs of every raw matrix that has to be searched."""
    pairs = list(combinations(range(len(measurement.plans)), 2))
    chosen = np.random.default_rng(0).choice(pairs, min(N_PAIRS, len(pairs)), replace=False)
    searched = tuple(alpha for alpha in ALPHAS if alpha < 2)
    found = {}
    for tau in measurement.study.settings.taus:
        networks = measurement.networks(tau, 0)
        for name, metric in gaussian_metrics(searched, centred=False).items():
            values = np.asarray(matrices[f"{tau_name(tau)}/{name}"].values)
            with warnings.catch_warnings():
                # Where starts disagree, the whole search may miss the best as well.
                warnings.simplefilter("ignore", SearchWarning)
                excess = [
                    values[i, j] / metric.distance(networks[i], networks[j]) - 1 for i, j in chosen
                ]
            found[f"{tau_name(tau)}/{name}"] = summarise(excess, values)
    return found


def summarise(excess: Any, values: Any) -> dict[str, float]:
    """Return mean and largest excess, and how much distances differ from each other.

    >>> summarise([0.0, 0.02], np.array([[0.0, 1, 3], [1, 0, 2], [3, 2, 0]]))
    {'mean': 0.01, 'largest': 0.02, 'between': 0.5}
    """
    above = values[np.triu_indices(len(values), 1)]
    spread = above.std(ddof=1) / above.mean()
    numbers = {"mean": np.mean(excess), "largest": np.max(excess), "between": spread}
    return {name: round(float(value), 8) for name, value in numbers.items()}
