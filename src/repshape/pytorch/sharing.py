"""Do the trials of one forward pass share noise? A permutation test on repeated passes.

The same input fills the rows of a batch, which runs many times with other random numbers. If every
row has noise of its own, all rows of all passes are exchangeable. Noise that rows of a pass share
brings them closer together than rows of different passes; noise that every pass repeats does the
same with rows of different passes at the same place in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from repshape._arrays import FloatArray

# Columns to which responses are reduced by random signs; the test is exact with any number.
COLUMNS = 32
# The test has this level, so that independent noise is taken for shared in one of 100 collections.
LEVEL, PERMUTATIONS = 0.01, 199


def reduce_columns(rows: FloatArray) -> FloatArray:
    """Return responses (..., neurons) as at most `COLUMNS` sums with random signs."""
    n = rows.shape[-1]
    if n <= COLUMNS:
        return rows
    signs = np.random.default_rng(n).choice([-1.0, 1.0], size=(n, COLUMNS))
    reduced: FloatArray = rows @ signs
    return reduced


def find_sharing(blocks: Sequence[FloatArray], tolerances: Sequence[float]) -> bool:
    """Whether rows of a pass share noise, or passes repeat it, in at least one block.

    Parameters
    ----------
    blocks : sequence of arrays of shape (passes, rows, columns)
        Responses to one input each. Passes and rows are the same in all blocks.
    tolerances : sequence of float
        Differences that may be due to rounding, in each block.
    """
    varying = []
    for block, tolerance in zip(blocks, tolerances, strict=True):
        passes = bool(np.ptp(block, axis=0).max() > tolerance)
        rows = bool(np.ptp(block, axis=1).max() > tolerance)
        if passes != rows:
            return True  # all rows of a pass are equal, or all passes are
        if passes:
            varying.append(block)
    return bool(varying) and permutation_test(varying) <= LEVEL


def permutation_test(blocks: Sequence[FloatArray]) -> float:
    """Return the p-value of exchangeable rows against shared or repeated noise.

    The statistic of a block is the sum of squares of the means of passes, or of places in the
    batch, whichever exceeds its average over permutations by the larger factor; that of all blocks
    is the largest of theirs. Under independent noise, p <= a has a probability of at most a.
    """
    n_passes, n_rows = blocks[0].shape[:2]
    standardized = []
    for block in blocks:
        flat = block.reshape(n_passes * n_rows, -1)
        deviation = flat.std(axis=0)
        varying = deviation > 1e-9 * deviation.max()
        standardized.append((flat - flat.mean(axis=0))[:, varying] / deviation[varying])
    values = np.concatenate(standardized, axis=1)
    starts = np.cumsum([0, *(one.shape[1] for one in standardized[:-1])])
    rng = np.random.default_rng(0)
    orders = [np.arange(len(values)), *(rng.permutation(len(values)) for _ in range(PERMUTATIONS))]
    found = np.empty((len(orders), 2 * len(blocks)))
    for k, order in enumerate(orders):
        grid = values[order].reshape(n_passes, n_rows, -1)
        squares = [(grid.mean(axis=axis) ** 2).sum(axis=0) for axis in (1, 0)]
        found[k] = np.concatenate([np.add.reduceat(one, starts) for one in squares])
    largest = (found / found.mean(axis=0)).max(axis=1)
    return float(np.mean(largest >= largest[0] * (1 - 1e-12)))
