r"""The variance of a mean over splits of the same trials into halves.

An estimate from halves is a product of noise in one half and noise in the other, plus a part that
is linear in the noise. In the simplest case, with :math:`u_g` the difference of the two networks'
means in group g of the trials, a split into the halves A and B gives
:math:`\bar u_A \cdot \bar u_B`, and the mean over splits is

.. math:: \sum_{g \ne h} C_{gh}\, u_g \cdot u_h

with weights C that follow from the splits. If the :math:`u_g` are independent with mean
:math:`\delta` and covariance V, its variance is

.. math:: 4\, \delta' V \delta \sum_g \Big(\sum_h C_{gh}\Big)^2
          + 2\, \mathrm{tr}(V^2) \sum_{g h} C_{gh}^2 .

After PCA or with few trials there is a third part: what differs from split to split as if it were
independent, because principal components and alignments are chosen again. Its variance falls with
the number of splits.

The jackknife counts the quadratic part about twice (Efron and Stein, 1981) and the independent part
about G times, and so makes intervals too wide. Here three statistics of the same estimates are
compared with their expectations, and the three parts are added with their own weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SplitDesign:
    """What splits say about the parts of a variance.

    Attributes
    ----------
    expected : array of shape (3, 3)
        Expectation of each statistic (see `statistics`) for a unit of each part: linear, quadratic
        and independent.
    variance : array of shape (3,)
        Variance of the mean over splits for a unit of each part.
    """

    expected: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, splits: Sequence[tuple[int, ...]], n_groups: int, n_deleted: int) -> SplitDesign:
        """Return the design of splits of G groups, each given by its first half.

        The first ``n_deleted`` splits are also estimated without each group.
        """
        weights = split_weights(splits, n_groups)
        rows, forms = weights.sum(axis=-1), weights.reshape(n_groups + 1, len(splits), -1)
        deleted, R = n_groups - 1, n_deleted
        expected = [
            4 * statistics(rows[0], rows[1:, :R]),
            2 * statistics(forms[0], forms[1:, :R]),
            np.array([deleted**2 / (n_groups * R), deleted * (R - 1), 1.0]),
        ]
        linear, quadratic = (np.sum(one[0].mean(axis=0) ** 2) for one in (rows, forms))
        variance = np.array([4 * linear, 2 * quadratic, 1 / len(splits)])
        return cls(np.stack(expected, axis=1), variance)

    def variances(
        self, whole: FloatArray, deleted: FloatArray, *, cautious: bool = False
    ) -> FloatArray:
        """Return the variance of the mean over splits of each term.

        The parts are the non-negative solution of least squares, in units in which the statistics
        of a quadratic part are equal.

        Parameters
        ----------
        whole : array of shape (splits, terms)
            Estimates of each split from all groups.
        deleted : array of shape (G, R, terms)
            Estimates of the first R splits without each group.
        cautious : bool
            Return at least the variance of the jackknife.
        """
        scale = self.expected[:, 1]
        design = self.expected / scale[:, None]
        out = []
        for all_groups, without in zip(whole.T, np.moveaxis(deleted, 2, 0), strict=True):
            found = statistics(all_groups[:, None], without[..., None])
            variance = float(self.variance @ nnls(design, found / scale)[0])
            out.append(max(variance, float(found[0])) if cautious else variance)
        return np.array(out)


def split_weights(splits: Sequence[tuple[int, ...]], n_groups: int) -> FloatArray:
    """Return the weights C of every split, with all groups and without each; (1 + G, R, G, G).

    >>> split_weights([(0, 1)], 4)[0, 0]
    array([[0.   , 0.   , 0.125, 0.125],
           [0.   , 0.   , 0.125, 0.125],
           [0.125, 0.125, 0.   , 0.   ],
           [0.125, 0.125, 0.   , 0.   ]])
    """
    first = np.array([[g in split for g in range(n_groups)] for split in splits])
    kept = np.vstack([np.ones(n_groups), 1 - np.eye(n_groups)]).astype(bool)[:, None]
    A, B = (side / side.sum(axis=2, keepdims=True) for side in (first & kept, ~first & kept))
    outer = A[..., :, None] * B[..., None, :]
    return np.asarray((outer + np.swapaxes(outer, 2, 3)) / 2)


def statistics(whole: FloatArray, deleted: FloatArray) -> FloatArray:
    """Return three sums of squares of estimates (splits, d) and (G, R, d), over their last axis.

    The jackknife variance of the mean over R splits; the sum of squares over deleted groups and
    splits without row and column means; and the variance between splits of all groups.
    """
    count = len(deleted)
    means = deleted.mean(axis=1)
    jackknife = (count - 1) / count * np.sum((means - means.mean(axis=0)) ** 2)
    rest = deleted - means[:, None] - deleted.mean(axis=0) + means.mean(axis=0)
    between = np.sum((whole - whole.mean(axis=0)) ** 2) / (len(whole) - 1)
    return np.array([jackknife, np.sum(rest**2), between])
