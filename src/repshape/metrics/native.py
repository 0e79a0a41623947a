"""What the metrics with a native solver share: many pairs in one call, without the GIL."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from repshape.metrics.base import PairResults, Prepared, ShapeMetric, check_same_conditions

FloatArray = npt.NDArray[np.float64]
N = TypeVar("N", bound="PreparedNative")


@dataclass(frozen=True)
class PreparedNative(Prepared):
    """A network as a handle of a native solver, in coordinates of its own.

    Attributes
    ----------
    native : handle
        With the number of coordinates as ``neurons``.
    basis : array of shape (n, s) or None
        Orthonormal columns: neurons = basis @ coordinates.
    """

    native: Any
    basis: FloatArray | None


class NativeShapeMetric(ShapeMetric[N]):
    """A shape metric whose pairs are solved natively."""

    @abstractmethod
    def _options(self, n_conditions: int, size: int) -> Any:
        """Return the native settings for pairs whose larger network has ``size`` dimensions."""

    @abstractmethod
    def _solve_natively(
        self,
        handles: list[Any],
        index: npt.NDArray[np.int64],
        options: dict[int, Any],
        starts: list[FloatArray],
        keep: bool,
    ) -> PairResults:
        """Solve pairs of handles; ``starts`` is empty or has an array for each pair."""

    def solve_pairs(
        self,
        prepared: Sequence[N],
        pairs: npt.ArrayLike,
        *,
        starts: Sequence[FloatArray] | None = None,
        keep: bool = False,
    ) -> PairResults:
        """Solve many pairs of prepared networks, given as rows of two indices, natively.

        Parameters
        ----------
        prepared : sequence of prepared networks
        pairs : array of shape (P, 2)
        starts : sequence of P arrays of shape (S, s_y, s_x), optional
            Transforms to start from instead of the metric's own starts, in the coordinates of
            the prepared networks.
        keep : bool
            Return the transforms too.
        """
        index = np.ascontiguousarray(np.asarray(pairs, dtype=np.int64).reshape(-1, 2))
        used = [prepared[k] for k in np.unique(index)]
        for network in used[1:]:
            check_same_conditions(used[0], network)
        M = used[0].n_conditions if used else 0
        options = {size: self._options(M, size) for size in {net.native.neurons for net in used}}
        given = [] if starts is None else [np.ascontiguousarray(one) for one in starts]
        handles = [network.native for network in prepared]
        return self._solve_natively(handles, index, options, given, keep)
