"""What a matrix records of its networks besides their sizes: norms, and stable components."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from repshape.errors import InputError, InputTypeError
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import ShapeMetric
from repshape.metrics.subspaces import overlaps
from repshape.responses import Gaussians, Trials

# Networks with more numbers in all are not measured: reading and reducing them again takes long.
MOST_NUMBERS = 20_000_000
# Random splits of the trials of each network into halves, for the overlap of its components.
N_SPLITS = 1


def with_measures(D: DistanceMatrix, networks: Sequence[Any], metric: Any) -> DistanceMatrix:
    """Return a matrix whose sizes have norms and overlaps, where the metric has any.

    Networks are read once more, so large ones are left out; see `MOST_NUMBERS`.
    """
    if not isinstance(metric, ShapeMetric) or D.sizes is None or not len(networks):
        return D
    reduces = metric.preprocess is not None and metric.preprocess.n_components is not None
    if not (metric._splits_gain or reduces) or _numbers(D, networks[0]) > MOST_NUMBERS:
        return D
    columns: dict[str, list[float]] = {"norm": [], "overlap": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what the distances have warned already
        for label, one in zip(D.labels, networks, strict=True):
            try:
                network = metric._read(one, label)
                flat = isinstance(network, Trials | Gaussians)
                norm = metric._norm(network) if flat and metric._splits_gain else np.nan
                overlap = float(overlaps([network], metric, N_SPLITS, 0)[0]) if flat else np.nan
            except (InputError, InputTypeError):  # what has a distance, but no norm
                norm = overlap = np.nan
            columns["norm"].append(norm)
            columns["overlap"].append(overlap)
    known = {name: one for name, one in columns.items() if not np.isnan(one).all()}
    return D.replace(sizes=D.sizes.assign(**known)) if known else D


def _numbers(D: DistanceMatrix, first: Any) -> float:
    """Return about how many numbers the networks hold."""
    assert D.sizes is not None
    if hasattr(first, "n_conditions"):
        conditions = first.n_conditions
    else:  # means and covariances, or responses by condition
        conditions = len(first[0]) if isinstance(first, tuple) else len(first)
    neurons = D.sizes["neurons"].fillna(0)
    return float(conditions * (neurons * D.sizes["trials"].fillna(neurons)).sum())
