"""How well two halves of the trials agree about the principal components of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError
from repshape.metrics.base import ShapeMetric
from repshape.responses import Gaussians, Trials
from repshape.responses.halves import has_halves, split_halves

FloatArray = npt.NDArray[np.float64]


def subspace_overlap(network: Trials, metric: ShapeMetric[Any], rng: np.random.Generator) -> float:
    """Return the mean squared cosine of the principal angles between two halves, up to 1.

    PCA is fitted to random halves of the trials. With orthonormal components P and Q (n, k), the
    overlap is |P' Q|^2 / k: 1 if they span the same subspace, and about k / n by chance.

    >>> from repshape.metrics.gaussian import GaussianShapeMetric
    >>> from repshape.preprocess import Preprocess
    >>> rng = np.random.default_rng(0)
    >>> network = Trials(rng.normal(size=(9, 20, 6)) * [9.0, 9.0, 1.0, 1.0, 1.0, 1.0])
    >>> for k in (2, 4):
    ...     metric = GaussianShapeMetric(preprocess=Preprocess(n_components=k))
    ...     print(round(subspace_overlap(network, metric, rng), 1))
    1.0
    0.8
    """
    if metric.preprocess is None or (not has_halves(network) and network.n_trials.min() < 2):
        return float("nan")
    P, Q = (_components(half, metric) for half in split_halves(network, rng))
    return float(np.sum((P.T @ Q) ** 2) / P.shape[1])


def _components(network: Trials, metric: ShapeMetric[Any]) -> FloatArray:
    """Return the principal components, of length one, as columns."""
    assert metric.preprocess is not None
    linear = metric.preprocess.fit(network, metric.weights).linear
    assert linear is not None
    return np.asarray(np.linalg.qr(linear)[0])


def overlaps(
    networks: Sequence[Trials | Gaussians],
    metric: ShapeMetric[Any],
    n_splits: int,
    random_state: int,
) -> FloatArray:
    """Return the mean overlap of the principal components of two halves; NaN without PCA."""
    found = np.full(len(networks), np.nan)
    phi = metric.preprocess
    if phi is None or phi.n_components is None:
        return found
    for k, network in enumerate(networks):
        if not isinstance(network, Trials) or network.n_trials.min() < 2:
            continue
        rng = np.random.default_rng([random_state, k])
        try:
            found[k] = np.mean([subspace_overlap(network, metric, rng) for _ in range(n_splits)])
        except InputError:  # halves with fewer trials than components
            continue
    return found
