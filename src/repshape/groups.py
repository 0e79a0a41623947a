"""The groups of nuisance transforms: their linear oracles, and the transform of one pair.

A transform ``T`` maps the responses of y onto x: it has shape (n_x, n_y) and acts on columns. If
the networks differ in size, T is a part of a square transform of the larger size: its columns are
orthonormal if n_x >= n_y, and its rows otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from repshape.errors import InputError, check_choice, check_integer

FloatArray = npt.NDArray[np.float64]
Oracle = Callable[[FloatArray], FloatArray]

# Dense transforms with more entries than this (2 GiB) are refused; `Transform.apply` needs none.
LARGEST_MATRIX = 2**28
# Groups for which a distance depends on the number of silent neurons that pad the networks, because
# a neuron may be matched with a silent one, or a silent dimension reversed.
PADDED_GROUPS = ("permutation", "rotation")
# Groups for which an orthogonal change of each network's coordinates does not change a distance.
FREE_COORDINATES = ("orthogonal", "rotation")


def nearest_orthogonal(G: FloatArray) -> FloatArray:
    """Return the orthogonal T that maximises <T, G>: the polar factor of G.

    If G is not square, T has orthonormal columns or rows.

    >>> nearest_orthogonal(np.array([[2.0, 0.0], [0.0, -3.0]])) + 0.0
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    U, _, Vt = np.linalg.svd(G, full_matrices=False)
    return np.asarray(U @ Vt)


def nearest_rotation(G: FloatArray) -> FloatArray:
    """Return the rotation (determinant +1) that maximises <T, G>.

    If G is not square, this is the polar factor: every T with orthonormal columns is then part of
    a rotation.

    >>> nearest_rotation(np.array([[2.0, 0.0], [0.0, -3.0]])) + 0.0
    array([[-1.,  0.],
           [ 0., -1.]])
    """
    U, _, Vt = np.linalg.svd(G, full_matrices=False)
    if G.shape[0] == G.shape[1] and np.linalg.det(U @ Vt) < 0:
        U[:, -1] *= -1  # flip the direction that costs least
    return np.asarray(U @ Vt)


def nearest_permutation(G: FloatArray) -> FloatArray:
    """Return the permutation matrix that maximises <T, G>.

    If G is not square, each neuron of the smaller network is matched with one of the larger.

    >>> nearest_permutation(np.array([[1.0, 2.0], [4.0, 1.0], [3.0, 3.0]]))
    array([[0., 0.],
           [1., 0.],
           [0., 1.]])
    """
    from scipy.optimize import linear_sum_assignment  # takes long to import

    rows, columns = linear_sum_assignment(G, maximize=True)
    T = np.zeros(G.shape)
    T[rows, columns] = 1.0
    return T


def padded_permutation(G: FloatArray, spare: int) -> FloatArray:
    """Return the best permutation if x has ``spare`` silent neurons besides its own.

    The last ``spare`` rows of T (n_x + spare, n_y) belong to the silent neurons.

    >>> padded_permutation(np.array([[3.0, 0.0], [0.0, -1.0]]), 1)
    array([[1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    return nearest_permutation(np.vstack([G, np.zeros((spare, G.shape[1]))]))


def spare_neurons(pad_to: int | None, n_x: int, n_y: int) -> int:
    """Return how many silent neurons to add to x, the larger network, for ``pad_to`` neurons.

    More of them than y has neurons make no difference.

    >>> spare_neurons(10, 7, 2), spare_neurons(None, 7, 2)
    (2, 0)
    """
    return 0 if pad_to is None else min(max(pad_to - n_x, 0), n_y)


def compose(second: FloatArray, first: FloatArray) -> FloatArray:
    """Return the transform ``second @ first`` of j onto i, (n_j, n_i), from those through k.

    Neurons of j and i that are both matched with silent neurons of k are matched with each other:
    the result belongs to the group again.

    >>> compose(np.array([[0.0], [1.0]]), np.array([[0.0, 1.0]]))
    array([[1., 0.],
           [0., 1.]])
    """
    product = second @ first
    left, right = np.flatnonzero(~second.any(axis=1)), np.flatnonzero(~first.any(axis=0))
    shared = min(len(left), len(right))
    product[left[:shared], right[:shared]] = 1.0
    return product


def identity(G: FloatArray) -> FloatArray:
    """Return the identity; extra neurons of the larger network are matched with nothing."""
    return np.eye(*G.shape)


GROUPS: dict[str, Oracle] = {
    "orthogonal": nearest_orthogonal,
    "rotation": nearest_rotation,
    "permutation": nearest_permutation,
    "identity": identity,
}


def oracle(group: str | Group) -> Oracle:
    """Return the linear oracle of a group, given by its name or as an object."""
    if isinstance(group, Group):
        return group.nearest
    return GROUPS[check_choice("group", group, GROUPS)]


def check_group(name: str, value: Any, *, choices: Iterable[str] = GROUPS, owner: str = "") -> None:
    """Raise unless ``value`` names a group or is one."""
    if not isinstance(value, Group):
        check_choice(name, value, choices, owner=owner)


class Group(ABC):
    """A group of isometries of the neurons, given by its linear oracle.

    The distance minimised over any such group is a metric (Prop. 1). To use another group than
    those with a name, derive a class and pass an object of it as the ``group`` of a metric. The
    search alternates in Python, which is slower than the compiled search of the named groups, and
    needs responses between 1e-38 and 1e38.

    Attributes
    ----------
    takes_unequal_sizes : bool
        Whether networks may differ in their numbers of neurons. Set it to True only if `nearest`
        accepts rectangular matrices and silent neurons, as many as you like, change no distance.
    """

    takes_unequal_sizes: ClassVar[bool] = False

    @abstractmethod
    def nearest(self, G: FloatArray) -> FloatArray:
        """Return the transform T (n_x, n_y) of the group that maximises <T, G>."""

    def check_size(self, n_neurons: int) -> None:  # noqa: B027 - most groups act on all sizes
        """Raise if the group does not act on networks of this size."""


@dataclass(frozen=True)
class SignedPermutations(Group):
    """Permutations of neurons, each of which may also be reversed.

    Examples
    --------
    >>> SignedPermutations().nearest(np.array([[1.0, -5.0], [2.0, 3.0]]))
    array([[ 0., -1.],
           [ 1.,  0.]])
    """

    takes_unequal_sizes: ClassVar[bool] = True

    def nearest(self, G: FloatArray) -> FloatArray:
        """Return the signed permutation that maximises <T, G>."""
        return nearest_permutation(np.abs(G)) * np.where(G < 0, -1.0, 1.0)


@dataclass(frozen=True)
class BlockOrthogonal(Group):
    """Orthogonal transforms of consecutive groups of neurons, such as those of several areas.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of neurons of the blocks; every network has their sum.

    Examples
    --------
    >>> BlockOrthogonal([1, 2]).nearest(np.array([[-3.0, 9, 9], [9, 2, 0], [9, 0, -1]])) + 0.0
    array([[-1.,  0.,  0.],
           [ 0.,  1.,  0.],
           [ 0.,  0., -1.]])
    """

    sizes: tuple[int, ...]

    def __init__(self, sizes: Sequence[int]) -> None:
        checked = tuple(check_integer("sizes", one, 1, owner="BlockOrthogonal") for one in sizes)
        object.__setattr__(self, "sizes", checked)

    def nearest(self, G: FloatArray) -> FloatArray:
        """Return the block-orthogonal transform that maximises <T, G>."""
        T, start = np.zeros(G.shape), 0
        for size in self.sizes:
            block = slice(start, start + size)
            T[block, block] = nearest_orthogonal(G[block, block])
            start += size
        return T

    def check_size(self, n_neurons: int) -> None:
        """Raise unless a network has as many neurons as all blocks together."""
        if n_neurons != sum(self.sizes):
            raise InputError(
                f"{self!r} acts on networks of {sum(self.sizes)} neurons. Got {n_neurons}."
            )


class Transform:
    """The transform of one pair, as rows use it: ``y @ matrix`` is aligned to x.

    Networks that span few dimensions are solved in their own coordinates, y = eta Q_y' and
    x = xi Q_x'. This class holds the solution ``core`` (s_y, s_x) and the two bases. It completes
    the solution to an element of the group when needed, and applies it without forming the
    n_y x n_x matrix.

    Parameters
    ----------
    core : array of shape (s_y, s_x)
        The transform between the coordinates.
    basis_y, basis_x : array of shape (n, s) or None
        Orthonormal columns. None means that the coordinates are the neurons.
    rotation : bool
        Whether to complete the transform to determinant +1.
    """

    def __init__(
        self,
        core: FloatArray,
        basis_y: FloatArray | None = None,
        basis_x: FloatArray | None = None,
        rotation: bool = False,
    ) -> None:
        self.core = core
        self._basis_y = basis_y
        self._basis_x = basis_x
        self._rotation = rotation
        n_y = core.shape[0] if basis_y is None else basis_y.shape[0]
        n_x = core.shape[1] if basis_x is None else basis_x.shape[0]
        self.shape = (n_y, n_x)

    @property
    def _whole(self) -> bool:
        """Whether the coordinates span all neurons, so that there is nothing to complete."""
        return self.core.shape == self.shape

    @cached_property
    def _completed(self) -> tuple[FloatArray, FloatArray]:
        """Basis B (N, d) of both spans and orthogonal K (d, d): the transform is I + B (K - I) B'.

        K is the orthogonal matrix closest to the core, expressed in B. Directions outside B are
        not changed.
        """
        size = max(self.shape)
        Q_y, Q_x = (_padded(Q, size) for Q in (self._basis_y, self._basis_x))
        extra = [_direction_outside(Q_y, Q_x)] if self._rotation else []
        B = _orthonormal_span(np.hstack([Q_y, Q_x, *extra]))
        # The axis that is reversed is a direction in which neither network responds.
        nearest = nearest_rotation if self._rotation else nearest_orthogonal
        return B, nearest((B.T @ Q_y) @ self.core @ (Q_x.T @ B))

    def apply(self, responses: FloatArray) -> FloatArray:
        """Return ``responses @ matrix`` for responses of shape (..., n_y)."""
        if self._whole:
            inner = responses if self._basis_y is None else responses @ self._basis_y
            moved = inner @ self.core
            return moved if self._basis_x is None else moved @ self._basis_x.T
        B, K = self._completed
        n_y, n_x = self.shape
        out = np.zeros((*responses.shape[:-1], n_x))
        shared = min(n_y, n_x)
        out[..., :shared] = responses[..., :shared]
        out += (responses @ B[:n_y]) @ (K - np.eye(len(K))) @ B[:n_x].T
        return out

    def between(self, basis_y: FloatArray | None, basis_x: FloatArray | None) -> FloatArray:
        """Return ``basis_y.T @ matrix @ basis_x``, the transform in other coordinates.

        The bases have few columns, so the matrix itself is not formed. None stands for the
        coordinates of the neurons.

        >>> swap = Transform(np.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> swap.between(np.eye(2)[:, :1], None)
        array([[0., 1.]])
        """
        moved = self.apply(np.eye(self.shape[0]) if basis_y is None else basis_y.T)
        return moved if basis_x is None else moved @ basis_x

    def reversed(self) -> Transform:
        """Return the transform in the other direction: ``x @ matrix.T`` is aligned to y."""
        other = Transform(self.core.T, self._basis_x, self._basis_y, self._rotation)
        if not self._whole:  # complete it in the same way
            B, K = self._completed
            other.__dict__["_completed"] = (B, K.T)
        return other

    @property
    def unmatched(self) -> npt.NDArray[np.bool_]:
        """Which neurons of y are matched with silent neurons, (n_y,)."""
        if self._basis_x is not None or self._basis_y is not None:
            return np.zeros(self.shape[0], dtype=bool)
        return np.asarray(~np.any(self.core, axis=1))

    def with_silent_neurons(self) -> Transform:
        """Return the transform onto x and as many silent neurons as are needed for all of y.

        >>> Transform(np.array([[0.0, 1.0], [0.0, 0.0]])).with_silent_neurons().matrix
        array([[0., 1., 0.],
               [0., 0., 1.]])
        """
        lost = np.flatnonzero(self.unmatched)
        more = np.zeros((self.shape[0], len(lost)))
        more[lost, np.arange(len(lost))] = 1.0
        return Transform(np.hstack([self.core, more])) if len(lost) else self

    @cached_property
    def matrix(self) -> FloatArray:
        """The dense matrix of shape (n_y, n_x)."""
        if self.shape[0] * self.shape[1] > LARGEST_MATRIX:
            raise InputError(
                f"The transform would be a dense matrix of shape {self.shape}. "
                "Use Alignment.apply(responses), which does not form it."
            )
        matrix = self.apply(np.eye(self.shape[0]))
        matrix.flags.writeable = False
        return matrix


def _padded(basis: FloatArray | None, size: int) -> FloatArray:
    if basis is None:
        raise AssertionError("a transform without bases is whole")
    return np.pad(basis, ((0, size - basis.shape[0]), (0, 0)))


def _direction_outside(Q_y: FloatArray, Q_x: FloatArray) -> FloatArray:
    """Return a unit vector outside both spans if there is one, and outside one of them if not."""
    probe = np.cos(np.arange(1.0, len(Q_y) + 1.0))[:, None]  # generic and reproducible
    both = _orthonormal_span(np.hstack([Q_y, Q_x]))
    for Q in (both, Q_y, Q_x):
        left = probe - Q @ (Q.T @ probe)
        left -= Q @ (Q.T @ left)
        if np.linalg.norm(left) > 1e-8 * np.linalg.norm(probe):
            return np.asarray(left / np.linalg.norm(left))
    return np.zeros((len(Q_y), 0))


def _orthonormal_span(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of columns of norm one."""
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(U[:, s > 1e-10])
