"""Starting points besides the means. They are reproducible, and equal for all pairs of a size.

Networks are expressed in their principal axes (see `repshape.coordinates.factors`). So the identity
aligns principal axes with each other, and diagonal matrices of signs do so up to the direction of
each axis. Random orthogonal matrices cover the rest of the group.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# Share of the identity in the start from the means.
TIE_BREAK = 1e-8


def tie_broken(gain: FloatArray) -> FloatArray:
    """Return a gain that prefers the identity where the means leave the alignment free.

    >>> tie_broken(np.zeros((2, 1)))
    array([[1.],
           [0.]])
    """
    largest = float(np.abs(gain).max(initial=0.0))
    return gain + (TIE_BREAK * largest if largest > 0 else 1.0) * np.eye(*gain.shape)


@lru_cache(maxsize=64)
def make_starts(n: int, count: int, seed: int) -> FloatArray:
    """Return ``count`` orthogonal matrices (count, n, n): the identity, signs, and random ones.

    In one and two dimensions, a grid covers the group, and at most all of its points are returned.

    >>> make_starts(3, 2, 0).shape
    (2, 3, 3)
    >>> make_starts(1, 5, 0).ravel()
    array([ 1., -1.])
    """
    rng = np.random.default_rng([seed, n])
    if n <= 2:
        starts = _grid(n)[:count]
    else:
        starts = np.empty((count, n, n))
        for k in range(count):
            signs = np.ones(n) if k == 0 else rng.choice([-1.0, 1.0], size=n)
            starts[k] = np.diag(signs) if k % 2 == 0 else random_orthogonal(n, rng)
    starts.flags.writeable = False
    return starts


def _grid(n: int) -> FloatArray:
    """Return all of O(1), or every eighth of a turn in O(2) with and without reflection."""
    if n == 1:
        return np.array([[[1.0]], [[-1.0]]])
    angles = np.repeat(np.arange(8) * np.pi / 4, 2)
    flips = np.tile([1.0, -1.0], 8)
    rows = [[np.cos(angles), -flips * np.sin(angles)], [np.sin(angles), flips * np.cos(angles)]]
    return np.ascontiguousarray(np.moveaxis(np.array(rows), 2, 0))


def random_orthogonal(n: int, rng: np.random.Generator) -> FloatArray:
    """Return a random orthogonal matrix, from the Haar measure.

    >>> Q = random_orthogonal(4, np.random.default_rng(0))
    >>> bool(np.allclose(Q.T @ Q, np.eye(4)))
    True
    """
    Q, R = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray(Q * np.where(np.diagonal(R) < 0, -1.0, 1.0))
