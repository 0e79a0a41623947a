"""What metrics prepare from a network, and two of them as a pair in canonical order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from repshape._arrays import digest
from repshape.groups import Group, Oracle, nearest_orthogonal, oracle
from repshape.preprocess import FittedPreprocess

FloatArray = npt.NDArray[np.float64]

GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Prepared:
    """A network prepared for one metric: everything that does not depend on its partner.

    Attributes
    ----------
    phi : FittedPreprocess or None
        The preprocessing, as fitted to this network.
    n_conditions, n_neurons : int
        Numbers of conditions, and of neurons after preprocessing.
    conditions : tuple of str or None
        Names of the conditions.
    basis : array of shape (n, s) or None
        Orthonormal columns: neurons = basis @ coordinates, with the s coordinates in which pairs
        are solved. None if the coordinates are the neurons.
    padded : bool
        Whether the group acts on a space of more neurons than the network has.
    place : tuple of float and str
        What orders networks of one size, so that both orders of a pair solve the same problem; see
        `place_of`.
    """

    phi: FittedPreprocess | None
    n_conditions: int
    n_neurons: int
    conditions: tuple[str, ...] | None
    basis: FloatArray | None = field(default=None, kw_only=True)
    padded: bool = field(default=False, kw_only=True)
    place: tuple[float, str] = field(default=(0.0, ""), kw_only=True)

    def precedes(self, other: Any) -> bool:
        """Return whether the network comes first in its pairs: larger networks, then by content."""
        return (self.n_neurons, self.place) > (other.n_neurons, other.place)


def place_of(*arrays: FloatArray) -> tuple[float, str]:
    """Return a sum of all numbers with generic weights, and a digest of them.

    Rounding, which differs between processors, hardly changes the sum, and so not the order of a
    pair either. Searches that begin with the other network may end elsewhere. The digest decides
    between copies so close that their sums are equal.
    """
    total = 0.0
    for array in arrays:
        values = array.ravel()
        weights = np.modf(GOLDEN * np.arange(1, values.size + 1))[0]
        total += float(weights @ (np.abs(values) + values / 2))
    return total, digest("network", *arrays)


P = TypeVar("P", bound=Prepared)


class OrderedPair(Generic[P]):
    """A pair in canonical order, so that both orders in which it is given are the same problem.

    Attributes
    ----------
    first, second : prepared networks
        The first has at least as many coordinates as the second.
    swapped : bool
        Whether the first is the caller's y.
    """

    def __init__(self, x: P, y: P) -> None:
        self.swapped = y.precedes(x)
        self.first, self.second = (y, x) if self.swapped else (x, y)

    def outward(self, T: FloatArray) -> FloatArray:
        """Return T (s_first, s_second) as the caller's rows use it, (s_y, s_x)."""
        return np.ascontiguousarray(T if self.swapped else T.T)

    def inward(self, core: FloatArray) -> FloatArray:
        """Return the caller's core (s_y, s_x) as T (s_first, s_second)."""
        return core if self.swapped else np.ascontiguousarray(core.T)


def pair_oracle(group: str | Group, x: Prepared, y: Prepared, sizes: Iterable[int]) -> Oracle:
    """Return the linear oracle for a pair of networks, solved in coordinates of these sizes.

    If a dimension is without responses, flipping it turns any orthogonal transform into a rotation.
    """
    whole = len({x.n_neurons, y.n_neurons, *sizes}) == 1 and not x.padded
    return nearest_orthogonal if group == "rotation" and not whole else oracle(group)
