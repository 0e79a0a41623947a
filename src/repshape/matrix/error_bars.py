"""Error bars and noise floors of a matrix of distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError, check_real

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ErrorBars:
    """Intervals and noise floors of the distances of a `DistanceMatrix`, one per pair.

    All arrays have the shape (K, K), are symmetric, and zero on the diagonal.

    Attributes
    ----------
    low, high : ndarray
        Ends of the confidence intervals of the distances.
    standard_errors : ndarray
    plug_in : ndarray
        The distances without any correction for noise.
    floors : ndarray
        What ``plug_in`` would be if the two networks of a pair were equal.
    level : float
        Nominal coverage of each interval by itself.
    method : str
        How the distances and intervals were estimated.

    Examples
    --------
    >>> zero, one = np.zeros((2, 2)), 1 - np.eye(2)
    >>> bars = ErrorBars(one, 3 * one, one, 4 * one, 2 * one, 0.9, "matched halves")
    >>> bars.n_above_zero, bars.floor_share
    (1, 0.25)
    """

    low: FloatArray
    high: FloatArray
    standard_errors: FloatArray
    plug_in: FloatArray
    floors: FloatArray
    level: float
    method: str

    def __post_init__(self) -> None:
        check_real("level", self.level, 0, 1, closed="neither")
        shape = np.shape(self.low)
        for name in ARRAYS:
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape or array.ndim != 2 or shape[0] != shape[1]:
                raise InputError(
                    "All arrays of error bars must be square matrices of one size. "
                    f"'{name}' has shape {array.shape}, and 'low' {shape}."
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)  # the class is frozen

    def __len__(self) -> int:
        return len(self.low)

    @property
    def n_above_zero(self) -> int:
        """Number of pairs whose whole interval is above 0."""
        return int(np.count_nonzero(self.low[np.triu_indices(len(self), 1)] > 0))

    @property
    def floor_share(self) -> float:
        """Fraction of the mean squared plug-in distance that noise alone produces."""
        upper = np.triu_indices(len(self), 1)
        total = float(np.sum(self.plug_in[upper] ** 2))
        return float(np.sum(self.floors[upper] ** 2) / total) if total else float("nan")

    def subset(self, index: Sequence[int]) -> ErrorBars:
        """Return the error bars of some networks."""
        block = np.ix_(index, index)
        arrays = {name: value[block] for name, value in self.arrays().items()}
        return ErrorBars(**arrays, level=self.level, method=self.method)

    def arrays(self) -> dict[str, FloatArray]:
        """Return the arrays by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    def header(self) -> dict[str, Any]:
        """Return everything but the arrays."""
        return {"level": self.level, "method": self.method}


ARRAYS = tuple(field.name for field in fields(ErrorBars))[:-2]


def check_error_bars(bars: ErrorBars | None, count: int) -> ErrorBars | None:
    """Return error bars of as many networks, or raise one clear sentence."""
    if bars is not None and (not isinstance(bars, ErrorBars) or len(bars) != count):
        size = f" for {len(bars)} networks" if isinstance(bars, ErrorBars) else ""
        raise InputError(
            f"The 'error_bars' parameter must be ErrorBars for {count} networks. "
            f"Got {type(bars).__name__}{size} instead."
        )
    return bars
