"""Tests of whether groups of networks differ, from a matrix of distances."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._arrays import extreme_unit
from repshape._compact import compact_repr
from repshape.errors import check_integer
from repshape.inference.columns import text_column
from repshape.inference.factors import (
    LEVEL,
    Factor,
    name_call,
    size_factors,
    table_of,
    warn_of_sizes,
)
from repshape.inference.group_statistics import (
    GroupSums,
    centroid_distances,
    group_sums,
    sums_of_squares,
    variance_ratio,
    welch_statistic,
)
from repshape.inference.permutations import N_PERMUTATIONS, Design, make_design
from repshape.matrix.columns import ValuesLike
from repshape.matrix.distances import DistanceMatrix, as_complete
from repshape.metrics.base import signed_root

FloatArray = npt.NDArray[np.float64]


@compact_repr
@dataclass(frozen=True, eq=False)
class GroupTest:
    """Result of a test of whether groups of networks differ.

    Attributes
    ----------
    statistic : float
        The Welch-type statistic W.
    p_value : float
        Fraction of permutations, including the data, with at least this statistic.
    smallest_p_value : float
        The smallest p-value that this design and number of permutations could give.
    effect_size : float
        Fraction of the squared distances that the groups explain, corrected for chance (as
        adjusted R squared): 0 on average if the groups do not differ, and at most 1.
    groups : pandas.DataFrame
        A row per group: number of networks, and ``spread``, the root mean square distance of its
        networks from their centroid.
    pairs : pandas.DataFrame
        A row per pair of groups: distance of the centroids (corrected for the bias that few
        networks cause, and negative if the squared estimate is), W, its p-value, the smallest
        possible p-value, and the p-value after Holm's correction for the number of pairs.
    dispersion_statistic, dispersion_p_value : float
        Test of whether the groups differ in their spread.
    permuted : str
        What was permuted.
    exact : bool
        Whether all permutations were used.
    n_permutations, random_state : int
    factors : tuple of Factor
        Sizes, norms and overlaps that the matrix records and that the groups differ in, if any.
    """

    statistic: float
    p_value: float
    smallest_p_value: float
    effect_size: float
    groups: pd.DataFrame
    pairs: pd.DataFrame
    dispersion_statistic: float
    dispersion_p_value: float
    permuted: str
    exact: bool
    n_permutations: int
    random_state: int
    factors: tuple[Factor, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.words())

    def words(self) -> list[str]:
        """Return the result in sentences."""
        sizes = ", ".join(f"{name} ({n})" for name, n in self.groups["networks"].items())
        kind = "all" if self.exact else f"{self.n_permutations} random"
        lines = [
            f"Groups: {sizes}.",
            f"W = {self.statistic:.3g}, p = {self.p_value:.3g}; the groups explain "
            f"{100 * self.effect_size:.1f} % of the squared distances.",
            f"{self.permuted[0].upper()}{self.permuted[1:]} ({kind} permutations); the smallest "
            f"possible p-value is {self.smallest_p_value:.2g}.",
        ]
        if self.dispersion_p_value <= LEVEL:
            lines.append(
                "The groups differ in their spread "
                f"(p = {self.dispersion_p_value:.3g}), which may be part of the difference."
            )
        else:
            lines.append(
                f"There is no sign that their spread differs (p = {self.dispersion_p_value:.3g})."
            )
        return lines + [one.words(self.p_value <= LEVEL) for one in self.factors]

    def summary(self) -> dict[str, Any]:
        """Return the result as JSON can hold it."""
        skipped = ("groups", "pairs", "factors")
        numbers = {name: value for name, value in vars(self).items() if name not in skipped}
        rows = self.groups.rename_axis("group").reset_index().to_dict("records")
        tables = {"groups": rows, "pairs": self.pairs.to_dict("records")}
        return numbers | tables | {"factors": table_of(self.factors)}


def groups(
    D: DistanceMatrix | npt.ArrayLike,
    labels: ValuesLike,
    blocks: ValuesLike | None = None,
    *,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> GroupTest:
    r"""Test whether groups of networks differ, by permutation of their labels.

    The statistic compares the distances of the groups' centroids with the spread of the networks
    about them. Like Welch's t-test, it does not assume that all groups have the same spread. With
    two groups of a and b networks,

    .. math:: W = \frac{c^2}{s_A^2 / a + s_B^2 / b}, \quad
              c^2 = \overline{D^2_{AB}} - \frac{1}{2 a^2} \sum_{A \times A} D^2
                    - \frac{1}{2 b^2} \sum_{B \times B} D^2, \quad
              s_g^2 = \frac{1}{n_g (n_g - 1)} \sum_{i < j \in g} D^2,

    and with more groups their generalisation after Welch (1951); see the documentation. If all
    groups have the same size, two groups are ranked as by PERMANOVA's pseudo-F.

    Parameters
    ----------
    D : DistanceMatrix or array of shape (K, K)
        Negative distances, which estimates may be, have negative squares.
    labels : str, sequence of K, Series or dict by name
        The group of each network, or the name of a column of ``D.metadata``. An index or keys that
        are the names of the networks are matched by name, in any order; a Series with any other
        index than 0, 1, ... is refused. Every group needs at least two networks.
    blocks : str, sequence of K, Series or dict by name, optional
        What networks have in common besides their group, for example the animal. If every block
        belongs to one group (animals of two genotypes), whole blocks are permuted, because
        networks of one animal are not independent. Otherwise (areas within animals) labels are
        permuted within blocks, which removes the differences between animals from the comparison.
    n_permutations : int
        Number of random permutations. If at most that many exist, all are used.
    random_state : int
        Seed.

    Warns
    -----
    UnequalNeuronsWarning, UnequalTrialsWarning, UnequalGainWarning, UnequalComponentsWarning
        If groups differ in their numbers of neurons or trials, in overall response strength, or in
        the stability of their principal components.

    Notes
    -----
    The p-value is exact under the hypothesis that labels can be exchanged. If groups have the same
    centroid but different spreads, it is approximate: close to its level if spreads differ mildly,
    and too small if they differ by a factor of two. A dispersion test is reported beside it: an
    analysis of variance of the distances to the centroid, scaled by :math:`\sqrt{n_g / (n_g -
    1)}`, with the same permutations.

    Distances depend on numbers of neurons and trials, on overall response strength, and on how
    stable principal components are, so groups that differ in these differ in their distances. If
    the matrix records them (``D.sizes``), as that of `repshape.pairwise` does, each is tested with
    the same labels and blocks (variance of mean ranks, 9999 permutations). If its p-value is at
    most 0.01, or the smallest that the design can give, and medians differ by 5 % or more, the
    result and a warning say so, and name the call of `confounds` that repeats the test with it
    matched or removed. Where a factor has nothing to do with the groups, that happens in at most
    1 % of cases, or with the smallest possible p-value.

    Recordings of one animal are not independent: without ``blocks``, equal groups are often called
    different.

    References
    ----------
    Alekseyenko (2016), Bioinformatics 32. Hamidi, Wallace, Vasu and Alekseyenko (2019), Microbiome
    7. Anderson (2001), Austral Ecology 26.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(size=(12, 3)) + np.repeat([0.0, 2.0], 6)[:, None]
    >>> D = np.linalg.norm(points[:, None] - points, axis=2)
    >>> found = groups(D, ["V1"] * 6 + ["V4"] * 6)
    >>> print(found)
    Groups: V1 (6), V4 (6).
    W = 25.6, p = 0.00216; the groups explain 69.1 % of the squared distances.
    Networks permuted freely (all permutations); the smallest possible p-value is 0.0022.
    There is no sign that their spread differs (p = 0.561).
    """
    matrix = as_complete(D)
    found = compare_groups(
        matrix, labels, blocks, n_permutations=n_permutations, random_state=random_state
    )
    warn_of_sizes(found.factors, found.p_value <= LEVEL)
    return found


def compare_groups(
    matrix: DistanceMatrix,
    labels: ValuesLike,
    blocks: ValuesLike | None = None,
    *,
    n_permutations: int = N_PERMUTATIONS,
    random_state: int = 0,
) -> GroupTest:
    """Return the result of `groups`, without a warning."""
    check_integer("n_permutations", n_permutations, 1)
    check_integer("random_state", random_state, 0)
    unit = extreme_unit(matrix.values)
    values = matrix.values / unit
    squared = values * np.abs(values)
    others = None if blocks is None else text_column(matrix, blocks, "blocks")
    design = make_design(text_column(matrix, labels, "labels"), others)
    allowed = design.arrange(n_permutations, random_state)
    found = group_sums(squared, allowed.rows, len(design.names))
    statistics = welch_statistic(found)
    z = centroid_distances(squared, design.codes, len(design.names))
    ratios = variance_ratio(z, allowed.rows, len(design.names))
    return GroupTest(
        statistic=float(statistics[0]),
        p_value=allowed.p_value(statistics),
        smallest_p_value=allowed.smallest_p_value,
        effect_size=_effect_size(found),
        groups=_group_table(found, design, unit),
        pairs=_pair_table(squared, design, found, unit, n_permutations, random_state),
        dispersion_statistic=float(ratios[0]),
        dispersion_p_value=allowed.p_value(ratios),
        permuted=design.words,
        exact=allowed.exact,
        n_permutations=len(allowed.rows) - 1,
        random_state=random_state,
        factors=name_call(size_factors(matrix, design), labels, blocks),
    )


def evidence_words(p_value: float) -> str:
    """Return the answer to a question that was tested.

    >>> evidence_words(0.0312), evidence_words(0.492)
    ('Yes (p = 0.0312)', 'No evidence (p = 0.492)')
    """
    answer = "Yes" if p_value <= LEVEL else "No evidence"
    return f"{answer} (p = {p_value:.3g})"


def _effect_size(found: GroupSums) -> float:
    """Return 1 - [SS_within / (K - k)] / [SS_total / (K - 1)] of the data."""
    inside, total = (float(one[0]) for one in sums_of_squares(found))
    K, k = found.counts[0].sum(), found.counts.shape[1]
    return float(1 - (inside / (K - k)) / (total / (K - 1))) if total else 0.0


def _group_table(found: GroupSums, design: Design, unit: float) -> pd.DataFrame:
    spreads = [signed_root(float(one)) * unit for one in found.spreads[0]]
    columns = {"networks": found.counts[0].astype(int), "spread": spreads}
    return pd.DataFrame(columns, index=pd.Index(design.names, name="group"))


def _pair_table(
    squared: FloatArray,
    design: Design,
    found: GroupSums,
    unit: float,
    n_permutations: int,
    random_state: int,
) -> pd.DataFrame:
    """Return the comparison of each pair of groups, with the networks of these two alone."""
    rows = []
    k = len(design.names)
    unbiased = found.between[0] - (found.spreads / found.counts)[0][:, None]
    unbiased -= (found.spreads / found.counts)[0][None, :]
    for g, h in combinations(range(k), 2):
        index, part = design.subset((g, h))
        allowed = part.arrange(n_permutations, random_state)
        values = welch_statistic(group_sums(squared[np.ix_(index, index)], allowed.rows, 2))
        rows.append(
            {
                "first": design.names[g],
                "second": design.names[h],
                "distance": signed_root(float(unbiased[g, h])) * unit,
                "statistic": float(values[0]),
                "p_value": allowed.p_value(values),
                "smallest_p_value": allowed.smallest_p_value,
            }
        )
    frame = pd.DataFrame(rows)
    frame["holm_p_value"] = holm(frame["p_value"].to_numpy())
    return frame


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values corrected for their number, after Holm (1979).

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    out = np.empty(len(p_values))
    out[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return out
