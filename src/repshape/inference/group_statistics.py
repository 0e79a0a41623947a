"""Statistics of groups of networks, from squared distances alone, for many labellings at once.

With squared distances D2 (K, K) and groups g of n_g networks, the centroid of a group is never
formed. In a Euclidean space these are the usual quantities; in others they define them.

    within   V_g = sum over ordered pairs of D2 in g / (2 n_g^2), the mean square about the centroid
    spread   s_g^2 = V_g n_g / (n_g - 1), its unbiased version
    between  c_gh^2 = mean of D2 between g and h - V_g - V_h, the squared distance of centroids
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# Number of labellings whose sums are computed together.
CHUNK = 2000
# The least spread of a group, relative to the largest sum of squared distances.
SMALLEST_SPREAD = 1e-12


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums of squared distances of B labellings with g groups.

    Attributes
    ----------
    counts : array of shape (B, g)
        Networks per group.
    sums : array of shape (B, g, g)
        Sums of squared distances over the ordered pairs of two groups.
    """

    counts: FloatArray
    sums: FloatArray

    @property
    def within(self) -> FloatArray:
        """V_g, (B, g)."""
        return np.asarray(np.diagonal(self.sums, axis1=1, axis2=2) / (2 * self.counts**2))

    @property
    def spreads(self) -> FloatArray:
        """s_g^2, (B, g)."""
        return np.asarray(self.within * self.counts / (self.counts - 1))

    @property
    def between(self) -> FloatArray:
        """c_gh^2, (B, g, g); zero on the diagonal."""
        means = self.sums / (self.counts[:, :, None] * self.counts[:, None, :])
        within = self.within
        return np.asarray(means - within[:, :, None] - within[:, None, :])


def group_sums(squared: FloatArray, rows: IntArray, n_groups: int) -> GroupSums:
    """Return the sums of each labelling, a row (K,) of group indices."""
    sums = np.empty((len(rows), n_groups, n_groups))
    counts = np.empty((len(rows), n_groups))
    for begin in range(0, len(rows), CHUNK):
        part = slice(begin, begin + CHUNK)
        members = (rows[part, None, :] == np.arange(n_groups)[:, None]).astype(np.float64)
        sums[part] = members @ squared @ members.swapaxes(1, 2)
        counts[part] = members.sum(axis=2)
    return GroupSums(counts, sums)


def welch_statistic(found: GroupSums) -> FloatArray:
    r"""Return the Welch-type statistic W of each labelling, (B,).

    Welch's analysis of variance weights the means of groups by their precision,
    :math:`w_g = n_g / s_g^2`. The sum of squares about the weighted mean of the centroids needs
    only their distances: :math:`\sum_g w_g |c_g - \bar c|^2 = \sum_{g<h} w_g w_h c_{gh}^2 / W`
    with :math:`W = \sum_g w_g`. So, for k groups,

    .. math:: W_d = \frac{\sum_{g<h} w_g w_h c_{gh}^2 / W}{(k - 1)
              \left(1 + \frac{2 (k - 2)}{k^2 - 1} \sum_g h_g\right)}, \quad
              h_g = \frac{(1 - w_g / W)^2}{n_g - 1}

    (Hamidi et al., 2019). For two groups it is :math:`c^2 / (s_A^2 / a + s_B^2 / b)` (Alekseyenko,
    2016), and for numbers with D = |x - y| it is the F of Welch (1951). A group whose spread is 0,
    or negative because its distances are estimates, counts as one with a tiny spread.
    """
    n_groups = found.counts.shape[1]
    least = SMALLEST_SPREAD * np.abs(found.sums).max(initial=0.0)
    weights = found.counts / np.maximum(found.spreads, least if least > 0 else 1.0)
    total = weights.sum(axis=1)
    shares = weights / total[:, None]
    gaps = np.einsum("bg,bh,bgh->b", shares, weights, found.between) / 2
    h = ((1 - shares) ** 2 / (found.counts - 1)).sum(axis=1)
    correction = 1 + 2 * (n_groups - 2) / (n_groups**2 - 1) * h
    return np.asarray(gaps / ((n_groups - 1) * correction))


def pseudo_f(found: GroupSums) -> FloatArray:
    """Return the pseudo-F of PERMANOVA (Anderson, 2001) of each labelling, (B,).

    SS_total = sum over pairs of D2 / K, SS_within = sum over groups of n_g V_g, and
    F = [(SS_total - SS_within) / (k - 1)] / [SS_within / (K - k)].
    """
    k = found.counts.shape[1]
    K = found.counts.sum(axis=1)
    inside, total = sums_of_squares(found)
    least = SMALLEST_SPREAD * np.abs(total).max(initial=0.0)
    inside = np.maximum(inside, least if least > 0 else 1.0)
    return np.asarray((total - inside) / (k - 1) / (inside / (K - k)))


def sums_of_squares(found: GroupSums) -> tuple[FloatArray, FloatArray]:
    """Return SS_within and SS_total of each labelling."""
    inside = (found.counts * found.within).sum(axis=1)
    total = found.sums.sum(axis=(1, 2)) / (2 * found.counts.sum(axis=1))
    return np.asarray(inside), np.asarray(total)


def centroid_distances(squared: FloatArray, codes: IntArray, n_groups: int) -> FloatArray:
    """Return the distance of each network to the centroid of its group, (K,), made comparable.

    z_i^2 = mean of D2 from i to its group, i included, - V_g. On average it is (n_g - 1) / n_g
    of the variance, so z is multiplied by sqrt(n_g / (n_g - 1)): otherwise networks of small
    groups would seem to be less dispersed.
    """
    found = group_sums(squared, codes[None], n_groups)
    counts, within = found.counts[0], found.within[0]
    same = codes[:, None] == codes[None, :]
    mean = (squared * same).sum(axis=1) / counts[codes]
    factor = counts / (counts - 1)
    return np.asarray(np.sqrt(np.maximum(mean - within[codes], 0.0) * factor[codes]))


def variance_ratio(values: FloatArray, rows: IntArray, n_groups: int) -> FloatArray:
    """Return the F of a one-way analysis of variance of values (K,) for each labelling, (B,)."""
    return pseudo_f(group_sums((values[:, None] - values[None, :]) ** 2, rows, n_groups))
