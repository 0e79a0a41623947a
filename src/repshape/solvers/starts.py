"""Where the solver starts besides the means: reproducible, and the same for every pair of a size.

Networks come in their principal axes (see `repshape.kernels.factors`), so the identity aligns
principal axis with principal axis, and a diagonal of signs does so up to the directions that
noise leaves undecided. Random orthogonal matrices cover the rest.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# Starts that "auto" screens, besides the means. More gained nothing on macaque V1 and on the
# synthetic families of benchmarks/optimum.py; fewer cost up to a percent.
AUTO_STARTS = 24


@lru_cache(maxsize=64)
def make_starts(n: int, count: int, seed: int) -> FloatArray:
    """Return ``count`` orthogonal matrices (count, n, n): the identity, signs, and random ones.

    >>> make_starts(3, 2, 0).shape
    (2, 3, 3)
    """
    rng = np.random.default_rng([seed, n])
    starts = np.empty((count, n, n))
    for k in range(count):
        if k % 2 == 0:
            signs = np.ones(n) if k == 0 else rng.choice([-1.0, 1.0], size=n)
            starts[k] = np.diag(signs)
        else:
            starts[k] = random_orthogonal(n, rng)
    starts.flags.writeable = False
    return starts


def random_orthogonal(n: int, rng: np.random.Generator) -> FloatArray:
    """Return an orthogonal matrix from the Haar measure.

    >>> Q = random_orthogonal(4, np.random.default_rng(0))
    >>> bool(np.allclose(Q.T @ Q, np.eye(4)))
    True
    """
    Q, R = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray(Q * np.where(np.diagonal(R) < 0, -1.0, 1.0))
