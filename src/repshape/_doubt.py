"""When the best alignment that a search found may not be the best there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

# A lower bound this close to the distance, relative to it, proves that the distance is minimal.
PROVEN = 1e-6
# Otherwise, a single agreeing start is informative only if at least this many starts were made.
TELLING_STARTS = 8


def is_proven(distance: npt.ArrayLike, lower_bound: npt.ArrayLike) -> BoolArray:
    """Return whether lower bounds prove that distances are minimal.

    >>> is_proven([1.0, 1.0], [1.0, 0.9])
    array([ True, False])
    """
    return np.asarray(np.asarray(lower_bound) >= (1 - PROVEN) * np.asarray(distance))


def is_doubtful(
    distance: npt.ArrayLike,
    lower_bound: npt.ArrayLike | None,
    n_starts: npt.ArrayLike,
    n_agreeing: npt.ArrayLike,
    n_composed: Any = 0,
    gap: Any = np.nan,
) -> BoolArray:
    """Return whether best optima were found once only, and are not proven to be minimal.

    One of at least TELLING_STARTS starts ended there, or one composition of other alignments.

    >>> is_doubtful([1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [8, 8, 4], [1, 1, 1])
    array([ True, False, False])
    """
    starts, agreeing, composed = (np.asarray(one) for one in (n_starts, n_agreeing, n_composed))
    once = (agreeing == 1) & (composed == 0) & (starts >= TELLING_STARTS)
    once |= (agreeing == 0) & (composed == 1)
    doubt = once if lower_bound is None else once & ~is_proven(distance, lower_bound)
    return np.asarray(doubt)


def possible_excess(
    distance: npt.ArrayLike,
    lower_bound: npt.ArrayLike | None,
    n_starts: npt.ArrayLike,
    n_agreeing: npt.ArrayLike,
    n_composed: Any = 0,
    gap: Any = np.nan,
) -> FloatArray:
    """Return by about what share distances may be longer than necessary; 0 if not doubtful.

    It is the gap between the best and the second-best optimum that the search found: NaN for
    doubtful distances whose gap is not known.

    >>> possible_excess([1.0, 1.0], [0.0, 1.0], [8, 8], [1, 1], gap=[0.02, 0.02])
    array([0.02, 0.  ])
    """
    doubtful = is_doubtful(distance, lower_bound, n_starts, n_agreeing, n_composed, gap)
    return np.where(doubtful, gap, 0.0)


def is_single_of_few(
    distance: npt.ArrayLike,
    lower_bound: npt.ArrayLike | None,
    n_starts: npt.ArrayLike,
    n_agreeing: npt.ArrayLike,
) -> BoolArray:
    """Return whether one start found the best optimum, of too few to tell much by it."""
    starts = np.asarray(n_starts)
    single = (np.asarray(n_agreeing) == 1) & (starts > 1) & (starts < TELLING_STARTS)
    doubt = single if lower_bound is None else single & ~is_proven(distance, lower_bound)
    return np.asarray(doubt)
