"""The groups of nuisance transforms: their linear oracles, and the transform of one pair.

A transform ``T`` maps the responses of y onto x: it has shape (n_x, n_y) and acts on columns. If
the networks differ in size, T is a part of a square transform of the larger size: its columns are
orthonormal if n_x >= n_y, and its rows otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from repshape.errors import InputError, check_choice

FloatArray = npt.NDArray[np.float64]
Oracle = Callable[[FloatArray], FloatArray]

# Dense transforms with more entries than this (2 GiB) are refused; `Transform.apply` needs none.
LARGEST_MATRIX = 2**28
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
    rows, columns = linear_sum_assignment(G, maximize=True)
    T = np.zeros(G.shape)
    T[rows, columns] = 1.0
    return T


def identity(G: FloatArray) -> FloatArray:
    """Return the identity; extra neurons of the larger network are matched with nothing."""
    return np.eye(*G.shape)


GROUPS: dict[str, Oracle] = {
    "orthogonal": nearest_orthogonal,
    "rotation": nearest_rotation,
    "permutation": nearest_permutation,
    "identity": identity,
}


def oracle(group: str) -> Oracle:
    """Return the linear oracle of a group, by its name."""
    return GROUPS[check_choice("group", group, GROUPS)]


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
        U, _, Vt = np.linalg.svd((B.T @ Q_y) @ self.core @ (Q_x.T @ B))
        if self._rotation and np.linalg.det(U) * np.linalg.det(Vt) < 0:
            U[:, -1] *= -1  # a direction in which neither network responds
        return B, U @ Vt

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
