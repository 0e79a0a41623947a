"""What else groups of networks differ in, and whether that could explain their distances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from repshape._compact import compact_repr
from repshape.errors import InputError, RepshapeWarning, warn_user
from repshape.inference.permutations import ROUNDING, Arrangements, Design, make_design
from repshape.io.tables import is_numeric
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.sizes import SIZES

FloatArray = npt.NDArray[np.float64]

# Up to this p-value groups are called different.
LEVEL = 0.05
# Groups differ in a factor if permuted labels separate it as well with at most this probability.
# It bounds the rate of false alarms, unless there are so few permutations that the smallest
# possible p-value is larger: then complete separation is reported.
FACTOR_LEVEL = 0.01
# A smaller ratio of medians is not reported, however sure it is.
LEAST_RATIO = 1.05
# Permutations of a test of a factor, which are cheap: few would not reach that level.
FACTOR_PERMUTATIONS = 9999
# Permutations where each takes a tenth of a millisecond or more.
SLOW_PERMUTATIONS = 999
NOUNS = {
    "neurons": "their number of neurons",
    "trials": "their number of trials",
    "gain": "their overall response strength",
    "components": "how well two halves of the trials agree about principal components",
}


class UnequalSizesWarning(RepshapeWarning):
    """Groups of networks differ in something that alone can make their distances differ."""


class UnequalNeuronsWarning(UnequalSizesWarning):
    """Groups of networks have different numbers of neurons, which alone can make them differ."""


class UnequalTrialsWarning(UnequalSizesWarning):
    """Groups of networks have different numbers of trials, which alone can make them differ."""


class UnequalGainWarning(UnequalSizesWarning):
    """Groups of networks differ in overall response strength, and perhaps in nothing else."""


class UnequalComponentsWarning(UnequalSizesWarning):
    """Groups of networks differ in how stable their principal components are."""


WARNINGS = {
    "neurons": UnequalNeuronsWarning,
    "trials": UnequalTrialsWarning,
    "gain": UnequalGainWarning,
    "components": UnequalComponentsWarning,
}
# The columns of `DistanceMatrix.sizes` with each factor.
COLUMNS = {"neurons": "neurons", "trials": "trials", "gain": "norm", "components": "overlap"}
# What `confounds` does about the factors that are not matched.
REMEDIES = {
    "gain": "to compare networks that are scaled to norm 1",
    "components": "to remove the part of the distances that the overlap of components predicts",
}


@compact_repr
@dataclass(frozen=True)
class Factor:
    """Something besides distances in which groups of networks differ.

    Attributes
    ----------
    name : {"neurons", "trials", "gain", "components"}
    medians : dict of str to float
        Median of each group.
    p_value : float
        Of the test whether the groups differ in it: the variance of mean ranks, labels permuted.
    repeated_p_value : float or None
        The p-value of the groups with this factor matched or removed; None if the test was not
        repeated.
    how : str
        How the factor was matched or removed, or else the call that does it.
    noun : str
        What it is called in sentences.
    """

    name: str
    medians: dict[str, float]
    p_value: float
    repeated_p_value: float | None = None
    how: str = ""
    noun: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "noun", self.noun or NOUNS[self.name])

    def words(self, differ: bool) -> str:
        """Return the result in sentences, given whether the groups differ in their distances.

        >>> found = Factor("neurons", {"A": 21.0, "B": 9.0}, 0.002, 0.31, "With 9 neurons drawn")
        >>> print(found.words(differ=True))
        Groups also differ in their number of neurons (median A 21, B 9). With 9 neurons drawn, \
p = 0.31: it could explain the difference.
        """
        listed = ", ".join(f"{name} {value:.3g}" for name, value in self.medians.items())
        start = f"Groups {'also ' * differ}differ in {self.noun} (median {listed})"
        p = self.repeated_p_value
        if p is None:
            run = f": {self.how}" if self.how else ""
            return f"{start}, which alone can make distances differ{run}."
        words = f"{start}. {self.how}, p = {p:.3g}"
        if not differ:
            return f"{words}."
        so = "it could explain the difference" if p > LEVEL else "a difference remains"
        return f"{words}: {so}."


def find_factor(
    name: str, values: npt.ArrayLike, design: Design, allowed: Arrangements
) -> Factor | None:
    """Return a factor if the groups differ in it, or None.

    The statistic is the sum over groups of n_g (mean rank - overall mean rank)^2, which ranks
    labellings as the test of Kruskal and Wallis does.
    """
    column = np.asarray(values, dtype=np.float64)
    if np.isnan(column).any() or np.ptp(column) == 0.0:
        return None
    p = allowed.p_value(rank_variance(column, allowed.rows, len(design.names)))
    medians = pd.Series(column).groupby(np.array(design.names)[design.codes]).median()
    low, high = float(medians.min()), float(medians.max())
    if p > max(FACTOR_LEVEL, allowed.smallest_p_value) or high < LEAST_RATIO * low:
        return None
    return Factor(name, {str(one): float(value) for one, value in medians.items()}, p)


def rank_variance(values: FloatArray, rows: npt.NDArray[np.intp], n_groups: int) -> FloatArray:
    """Return sum_g n_g (mean rank of g - mean rank)^2 for each labelling, (B,).

    >>> rank_variance(np.array([5.0, 7.0, 9.0, 9.0]), np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), 2)
    array([4.  , 0.25])
    """
    ranks = rankdata(values)
    ranks -= ranks.mean()
    found = np.zeros(len(rows))
    for g in range(n_groups):
        members = rows == g
        found += (members @ ranks) ** 2 / members.sum(axis=1)
    return found


def find_factors(columns: Mapping[str, npt.ArrayLike], design: Design) -> tuple[Factor, ...]:
    """Return the columns in which groups differ, as factors."""
    allowed = design.arrange(FACTOR_PERMUTATIONS, 0)
    found = (find_factor(name, one, design, allowed) for name, one in columns.items())
    return tuple(one for one in found if one is not None)


def size_factors(D: DistanceMatrix, design: Design) -> tuple[Factor, ...]:
    """Return the sizes, norms and overlaps that a matrix records and groups differ in."""
    if D.sizes is None:
        return ()
    known = {name: column for name, column in COLUMNS.items() if column in D.sizes}
    found = find_factors({name: D.sizes[one].to_numpy() for name, one in known.items()}, design)
    return name_gain(found, (D.description.get("parameters") or {}).get("alpha"))


def strength(alpha: Any) -> str:
    """Return what the norm of a network measures: at alpha = 0, that of covariances alone.

    >>> strength(0.0), strength(1.0), strength(None)
    ('noise strength', 'response strength', 'response strength')
    """
    return f"{'noise' if isinstance(alpha, Real) and alpha == 0 else 'response'} strength"


def name_gain(factors: Sequence[Factor], alpha: Any) -> tuple[Factor, ...]:
    """Return the factors, with the noun of a gain that fits this alpha.

    >>> name_gain([Factor("gain", {"A": 1.0, "B": 2.0}, 0.002)], 0.0)[0].noun
    'their overall noise strength'
    """
    noun = f"their overall {strength(alpha)}"
    return tuple(replace(one, noun=noun) if one.name == "gain" else one for one in factors)


def name_call(factors: Sequence[Factor], labels: Any, blocks: Any) -> tuple[Factor, ...]:
    """Return the factors with the call that repeats the test with each matched or removed."""
    given = {"labels": labels, "blocks": blocks}
    texts = [
        f"{key}={value!r}" if isinstance(value, str) else f"{key}={key}"
        for key, value in given.items()
        if value is not None
    ]
    names = [one.name for one in factors if one.name in SIZES]
    matched = repr(names[0]) if len(names) == 1 else repr(tuple(names))
    match = f", match={matched}" if names else ""
    call = f"rs.inference.confounds(cohort, metric, {', '.join(texts)}{match})"
    same = "to compare networks of the same size"
    return tuple(replace(one, how=f"run {call} {REMEDIES.get(one.name, same)}") for one in factors)


def warn_of_sizes(factors: Sequence[Factor], differ: bool) -> None:
    """Warn of everything besides distances in which groups differ."""
    for one in factors:
        warn_user(one.words(differ), WARNINGS[one.name])


def size_sentences(D: DistanceMatrix) -> Iterator[str]:
    """Yield what `D.summary` says: columns of text in the metadata whose groups differ otherwise.

    With several columns, the level is divided by their number.
    """
    designs = dict(_designs(D.metadata))
    for column, design in designs.items():
        least = design.arrange(FACTOR_PERMUTATIONS, 0).smallest_p_value
        level = max(FACTOR_LEVEL / len(designs), least)
        found = [one for one in size_factors(D, design) if one.p_value <= level]
        for one in name_call(found, column, None):
            yield f"By {column!r}: {one.words(differ=False)}"


def _designs(table: pd.DataFrame) -> Iterator[tuple[str, Design]]:
    """Yield the columns of text that divide the networks into groups."""
    for name in table.columns:
        column = table[name]
        if is_numeric(column) or column.isna().any() or column.nunique() > len(column) / 2:
            continue
        try:
            yield str(name), make_design(list(column.astype(str)), None)
        except InputError:
            continue


def without(
    squared: FloatArray, covariate: npt.ArrayLike, design: Design, allowed: Arrangements
) -> float:
    r"""Return the p-value of groups after regression of the squared distances on a covariate.

    With :math:`G = -\tfrac12 J D^2 J`, J the centring matrix, the sums of squares that the groups X
    explain beyond the covariate Z, and that neither explains, are :math:`\mathrm{tr}(H_{X|Z} G)`
    and :math:`\mathrm{tr}((I - H_{XZ}) G)` (McArdle and Anderson, 2001). Their ratio is compared
    with its values for permuted labels, the covariate staying with its network.
    """
    K, k = len(squared), len(design.names)
    centring = np.eye(K) - 1.0 / K
    gower = -0.5 * centring @ squared @ centring
    z = centring @ np.asarray(covariate, dtype=np.float64)
    constant = np.abs(z).max() <= ROUNDING * np.abs(covariate).max()
    rest = centring if constant else centring - np.outer(z, z) / (z @ z)
    left = float(np.trace(rest @ gower))
    found = np.empty(len(allowed.rows))
    for b, row in enumerate(allowed.rows):
        X = rest @ (row[:, None] == np.arange(1, k)).astype(np.float64)
        explained = float(np.trace(np.linalg.pinv(X.T @ X) @ (X.T @ gower @ X)))
        found[b] = explained / left if left > 0.0 else 0.0  # the ratio grows with this share
    return allowed.p_value(found)


def table_of(factors: Sequence[Factor]) -> list[Mapping[str, Any]]:
    """Return factors as JSON can hold them."""
    return [dict(vars(one)) for one in factors]
