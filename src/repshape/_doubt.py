"""When the best alignment that a search found may not be the best there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

# A lower bound this close to the distance, relative to it, proves that the distance is minimal.
PROVEN = 1e-6
# Otherwise, few agreeing starts are informative only if at least this many starts were made.
TELLING_STARTS = 8
# At most this many starts or compositions in the best optimum leave a doubt. `benchmarks.doubt`
# measures how many missed pairs this catches and how many right ones it flags.
FEW_HITS = 2
# An optimum this much shorter than all others, as a share, is beyond doubt: a needle in a haystack,
# such as the alignment of copies.
CLEAR = 1.0
# Missed optima are up to about this many times as far below the best found as the second-best is
# above it.
EXCESS_PER_GAP = 5.0


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
    """Return whether best optima were found at most twice, and are not proven to be minimal.

    At most FEW_HITS of at least TELLING_STARTS starts ended there, compositions of other alignments
    included, or one composition only. Optima that are far better than all others are not doubtful.

    >>> is_doubtful([1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0], [8, 8, 4, 24], [2, 2, 1, 3])
    array([ True, False, False, False])
    """
    starts, agreeing, composed = (np.asarray(one) for one in (n_starts, n_agreeing, n_composed))
    found = agreeing + composed
    few = (found >= 1) & (found <= FEW_HITS) & (starts >= TELLING_STARTS)
    few |= (agreeing == 0) & (composed == 1)
    few &= ~(np.asarray(gap) > CLEAR)
    doubt = few if lower_bound is None else few & ~is_proven(distance, lower_bound)
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

    It is EXCESS_PER_GAP times the gap between the best and the second-best optimum that the search
    found: NaN for doubtful distances whose gap is not known.

    >>> possible_excess([1.0, 1.0], [0.0, 1.0], [8, 8], [1, 1], gap=[0.02, 0.02])
    array([0.1, 0. ])
    """
    doubtful = is_doubtful(distance, lower_bound, n_starts, n_agreeing, n_composed, gap)
    return np.where(doubtful, EXCESS_PER_GAP * np.asarray(gap), 0.0)


def is_single_of_few(
    distance: npt.ArrayLike,
    lower_bound: npt.ArrayLike | None,
    n_starts: npt.ArrayLike,
    n_agreeing: npt.ArrayLike,
) -> BoolArray:
    """Return whether a single start found the best optimum, of too few starts to be informative."""
    starts = np.asarray(n_starts)
    single = (np.asarray(n_agreeing) == 1) & (starts > 1) & (starts < TELLING_STARTS)
    doubt = single if lower_bound is None else single & ~is_proven(distance, lower_bound)
    return np.asarray(doubt)
