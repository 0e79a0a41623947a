"""What comes out of the compiled core, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Solution:
    """The best transform of one pair.

    Attributes
    ----------
    distance, lower_bound : float
        The distance at the transform, and a proven lower bound of the minimum.
    mean_distance, covariance_distance : float
        The two parts of a Gaussian distance; NaN for energy distances.
    converged : bool
    n_iterations, n_starts : int
        Gradient evaluations of the best start, and the number of starts.
    n_agreeing : int
        Number of starts that ended in the best optimum.
    transform : array of shape (s_y, s_x)
    gap : float
        By what share the second-best optimum found is longer than the best: 0 if no start ended
        anywhere else, NaN if not known.
    """

    distance: float
    lower_bound: float
    mean_distance: float
    covariance_distance: float
    converged: bool
    n_iterations: int
    n_starts: int
    n_agreeing: int
    transform: FloatArray
    gap: float = float("nan")


@dataclass(frozen=True)
class PairResults:
    """The best transforms of P pairs.

    Attributes
    ----------
    distance, lower_bound : array of shape (P,)
    converged : bool array of shape (P,)
    n_starts, n_agreeing : int array of shape (P,)
        Numbers of independent starts, and of those that ended in the best optimum.
    n_composed : int array of shape (P,), or None
        Number of compositions of other pairs' transforms that ended in the best optimum; None if
        none were tried.
    transforms : list of P arrays of shape (s_y, s_x), or None
        The transforms in the coordinates of the prepared networks; None unless they were asked for.
    gap : array of shape (P,), or None
        By what share the second-best optimum found is longer than the best: 0 if no start ended
        anywhere else, NaN where not known.
    """

    distance: FloatArray
    lower_bound: FloatArray
    converged: npt.NDArray[np.bool_]
    n_starts: IndexArray
    n_agreeing: IndexArray
    transforms: list[FloatArray] | None = None
    n_composed: IndexArray | None = None
    gap: FloatArray | None = None

    @classmethod
    def of(cls, found: Sequence[Any], *, keep: bool = False) -> PairResults:
        """Collect single solutions, or alignments if their transforms are not kept."""
        return cls(
            distance=np.array([one.distance for one in found]),
            lower_bound=np.array([one.lower_bound for one in found]),
            converged=np.array([one.converged for one in found], dtype=bool),
            n_starts=np.array([one.n_starts for one in found], dtype=np.int64),
            n_agreeing=np.array([one.n_agreeing for one in found], dtype=np.int64),
            transforms=[one.transform for one in found] if keep else None,
            gap=np.array([one.gap for one in found]),
        )


@dataclass(frozen=True)
class Parts:
    """Squared Gaussian distance at a fixed transform: the parts of means and of covariances."""

    means: float
    covariances: float


@dataclass(frozen=True)
class Slope:
    """An objective and its gradient, of shape (s_x, s_y)."""

    value: float
    gradient: FloatArray
