"""How well a second sample of trials would reproduce the principal components of a network."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import RepshapeWarning
from repshape.metrics.base import ShapeMetric
from repshape.metrics.subspaces import subspace_overlap
from repshape.responses import Trials

FloatArray = npt.NDArray[np.float64]

# Below this overlap, at least a quarter of the subspace is chosen by noise.
STABLE_OVERLAP = 0.75


class UnstableSubspaceWarning(RepshapeWarning):
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
