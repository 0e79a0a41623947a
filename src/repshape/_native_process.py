"""Networks with positions at the door to the compiled core: handles, options and gradients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from repshape._native import (
    GROUP_CODES,
    ProcessNetwork,
    ProcessOptions,
    Search,
    Slope,
    process_gradient,
)

FloatArray = npt.NDArray[np.float64]
# Singular values below this fraction of the largest of a block are rounding.
RANK_TOLERANCE = 1e-12


def make_network(
    means: FloatArray,
    factors: FloatArray,
    first: npt.NDArray[np.int64],
    spectra: Sequence[FloatArray],
    *,
    reduced: bool = False,
) -> ProcessNetwork:
    """Return the handle of a network with positions.

    Parameters
    ----------
    means : array of shape (M, P, s)
    factors : array of shape (K, Q, s, r)
        K / M blocks for each condition.
    first : int array of shape (K,)
        The factors of a block are zero before this position.
    spectra : sequence of arrays of shape (M, groups, values)
        Singular values for lower bounds; the first array has those of the blocks.
    reduced : bool
        Whether the coordinates span fewer dimensions than the network has neurons.
    """
    own = spectra[0].reshape(len(factors), -1)
    largest = own.max(axis=1, initial=0.0, keepdims=True)
    ranks = np.count_nonzero(own > RANK_TOLERANCE * largest, axis=1).astype(np.int64)
    return ProcessNetwork(
        np.ascontiguousarray(means),
        np.ascontiguousarray(factors),
        first,
        ranks,
        [np.ascontiguousarray(one) for one in spectra],
        reduced,
    )


def make_options(search: Search, alpha: float) -> ProcessOptions:
    """Return the options of a search."""
    return ProcessOptions(
        group=GROUP_CODES[search.group],
        alpha=float(alpha),
        weights=search.weights,
        tolerance=float(search.tol),
        max_iterations=int(search.max_iter),
        starts=search.starts,
        n_starts=len(search.starts),
        screen=search.screen,
        seed=search.seed,
        pad_to=search.pad_to,
    )


def gradient(
    x: ProcessNetwork,
    y: ProcessNetwork,
    transform: FloatArray,
    weights: FloatArray,
    *,
    alpha: float = 1.0,
) -> Slope:
    """Return the objective and its gradient at T (s_x, s_y), for s_x >= s_y."""
    return Slope(*process_gradient(x, y, transform, weights, alpha))
