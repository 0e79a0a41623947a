"""How well a second sample of trials would reproduce the principal components of a network."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.inference.resampling import has_halves, split_halves
from repshape.metrics.base import ShapeMetric
from repshape.responses import Trials

FloatArray = npt.NDArray[np.float64]

# Below this overlap, at least a quarter of the subspace is chosen by noise.
STABLE_OVERLAP = 0.75


class UnstableSubspaceWarning(UserWarning):
    """Half of the trials give principal components that are quite different."""


def check_subspaces(
    networks: Sequence[Trials], metric: ShapeMetric[Any], random_state: int, stacklevel: int
) -> float | None:
    """Return the smallest overlap of the networks, and warn if it is small; None without PCA."""
    phi = metric.preprocess
    if phi is None or phi.n_components is None:
        return None
    found = min(
        subspace_overlap(network, metric, np.random.default_rng([random_state, k]))
        for k, network in enumerate(networks)
    )
    if found < STABLE_OVERLAP:
        warnings.warn(
            f"The {phi.n_components} principal components are unstable: those of two halves of "
            f"the trials overlap by {found:.2f} only (1 is identical). The components are fitted "
            "again in every resample, so results allow for it, but distances depend on which "
            "components noise happens to choose. Fewer components may be more reliable.",
            UnstableSubspaceWarning,
            stacklevel=stacklevel,
        )
    return found


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
