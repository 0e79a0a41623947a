"""Findings about the toy networks (Duong et al. 2023, Figure 2), decided by numbers."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._compact import compact_repr
from repshape.analysis.embedding import Embedding, embed
from repshape.errors import InputError, check_choice
from repshape.matrix.distances import DistanceMatrix, as_complete

FloatArray = npt.NDArray[np.float64]

# Networks closer than this coincide. Their responses are of order 1, and rounding errors enter the
# distance through a square root, as about 1e-8.
COINCIDE = 1e-6
# A parameter is recovered if the embedding explains at least the first fraction of its variance,
# and lost if it explains less than the second.
RECOVERED, LOST = 0.95, 0.05
# Opposite correlations are distinguished if the smallest distance between networks with the two
# extreme correlations is above this fraction of the largest distance.
APART = 0.1
RELATIONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
ALPHAS = (1.0, 2.0, 0.0)
LARGEST_COUNT = 1e9  # larger numbers are not counts, and are shown with three digits


@compact_repr
@dataclass(frozen=True)
class Check:
    """A measured number, and a bound that it must satisfy. NaN never satisfies it.

    Attributes
    ----------
    name : str
        What was measured.
    value : float
        The result.
    relation : {"<", "<=", ">", ">=", "=="}
        The required relation of the value to the bound.
    bound : float

    Examples
    --------
    >>> check = Check("stress", 0.004, "<", 0.1)
    >>> check.holds, str(check)
    (True, 'stress 0.004 < 0.1')
    >>> print(Check("stress", 0.3, "<", 0.1))
    stress 0.3, not < 0.1
    """

    name: str
    value: float
    relation: str
    bound: float

    def __post_init__(self) -> None:
        check_choice("relation", self.relation, RELATIONS, owner="Check")

    @property
    def holds(self) -> bool:
        """Whether the value has the required relation to the bound."""
        return bool(RELATIONS[self.relation](self.value, self.bound))

    def __str__(self) -> str:
        link = " " if self.holds else ", not "
        return f"{self.name} {number_words(self.value)}{link}{self.relation} {self.bound:g}"

    def summary(self) -> dict[str, Any]:
        """Return the check, ready for JSON."""
        return {
            "name": self.name,
            "value": float(self.value),
            "relation": self.relation,
            "bound": float(self.bound),
            "holds": self.holds,
        }


@compact_repr
@dataclass(frozen=True)
class Finding:
    """A statement about data, with the checks that decide whether it holds.

    Attributes
    ----------
    name : str
        A short, unique name, such as the panel of a figure.
    sentence : str
        The statement.
    checks : tuple of Check
        At least one check; all of them must hold.
    context : mapping of str to float
        Further numbers, which do not affect the verdict.

    Examples
    --------
    >>> finding = Finding("2D", "All networks coincide.", (Check("largest", 0.0, "<", 1e-6),))
    >>> finding.verdict
    'holds'
    >>> print(finding)
    2D holds: All networks coincide. (largest 0 < 1e-06)
    """

    name: str
    sentence: str
    checks: tuple[Check, ...]
    context: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.checks:
            raise InputError(f"Finding {self.name!r} must have at least one check. Got none.")

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    @property
    def verdict(self) -> str:
        """``"holds"`` or ``"does not hold"``."""
        return "holds" if self.holds else "does not hold"

    def __str__(self) -> str:
        numbers = "; ".join(map(str, self.checks))
        return f"{self.name} {self.verdict}: {self.sentence} ({numbers})"

    def summary(self) -> dict[str, Any]:
        """Return the finding, ready for JSON."""
        return {
            "name": self.name,
            "sentence": self.sentence,
            "holds": self.holds,
            "checks": [check.summary() for check in self.checks],
            "context": {name: float(value) for name, value in self.context.items()},
        }


@compact_repr
@dataclass(frozen=True, eq=False)
class GridRecovery:
    """How well a two-dimensional embedding recovers the grid of correlations and scales.

    Attributes
    ----------
    embedding : Embedding
    r2_correlation, r2_scale : float
        Fraction of the variance of a parameter that the best quadratic map of the embedding
        explains.
    unfolded : float
        Fraction of the cells of the grid that have the same orientation in the embedding: 1 for a
        grid without folds, 0.5 for one that is folded in half, 0 for a single point.
    largest_distance : float
        The largest distance of all pairs.
    smallest_opposite, largest_opposite : float
        Distances between networks with the same scale and opposite correlations: the smallest
        among pairs with the extreme correlations, and the largest among all such pairs.
    """

    embedding: Embedding
    r2_correlation: float
    r2_scale: float
    unfolded: float
    largest_distance: float
    smallest_opposite: float
    largest_opposite: float

    def checks(self, relation: str, bound: float) -> tuple[Check, Check]:
        """Return the checks that both R2 have a relation to a bound."""
        return (
            Check("R2 of correlation", self.r2_correlation, relation, bound),
            Check("R2 of scale", self.r2_scale, relation, bound),
        )


def grid_recovery(D: DistanceMatrix, embedding: Embedding | None = None) -> GridRecovery:
    """Measure how well distances between toy networks recover their correlations and scales.

    Parameters
    ----------
    D : DistanceMatrix
        Distances between the networks of `toy_networks`, with their metadata.
    embedding : Embedding, optional
        A two-dimensional embedding; by default ``embed(D)``.

    Returns
    -------
    GridRecovery

    Examples
    --------
    >>> import repshape as rs
    >>> D = rs.pairwise(rs.datasets.toy_networks(5, 3), rs.GaussianShapeMetric(alpha=1.0))
    >>> found = grid_recovery(D)
    >>> found.r2_correlation > 0.95, found.unfolded
    (True, 1.0)
    """
    matrix = as_complete(D)
    order = _grid_order(matrix)
    if embedding is None:
        embedding = embed(matrix)
    if embedding.points.shape != (len(matrix), 2):
        raise InputError(
            f"The 'embedding' parameter must hold {len(matrix)} points in two dimensions. "
            f"Got shape {embedding.points.shape}."
        )
    mirrored = matrix.values[order, order[::-1]]  # (c, s) and (-c, s)
    return GridRecovery(
        embedding=embedding,
        r2_correlation=quadratic_r2(embedding.points, matrix.metadata["correlation"]),
        r2_scale=quadratic_r2(embedding.points, matrix.metadata["scale"]),
        unfolded=_unfolded(embedding.points[order]),
        largest_distance=float(matrix.values.max()),
        smallest_opposite=float(mirrored[0].min()),
        largest_opposite=float(mirrored.max()),
    )


def toy_findings(
    distances: Mapping[float, DistanceMatrix],
    embeddings: Mapping[float, Embedding] | None = None,
) -> tuple[Finding, Finding, Finding]:
    r"""Decide the three findings of Figure 2 C-E of Duong et al. (2023).

    C: means and covariances together (:math:`\alpha = 1`) recover the grid of networks. D: means
    alone (:math:`\alpha = 2`) do not, because all networks coincide. E: covariances alone
    (:math:`\alpha = 0`) do not, because a rotation by 90 degrees changes the sign of the
    correlation.

    Parameters
    ----------
    distances : mapping of alpha to DistanceMatrix
        Distances at alpha 0, 1 and 2 between the networks of `toy_networks`, with metadata.
    embeddings : mapping of alpha to Embedding, optional
        Two-dimensional embeddings of these matrices; by default they are computed.

    Returns
    -------
    tuple of three Finding
        In the order of the panels.

    Examples
    --------
    >>> import repshape as rs
    >>> metrics = {f"{a}": rs.GaussianShapeMetric(alpha=a) for a in (0.0, 1.0, 2.0)}
    >>> found = rs.pairwise_many(rs.datasets.toy_networks(5, 3), metrics)
    >>> findings = toy_findings({float(name): D for name, D in found.items()})
    >>> [finding.verdict for finding in findings]
    ['holds', 'holds', 'holds']
    """
    missing = [alpha for alpha in ALPHAS if alpha not in distances]
    if missing:
        raise InputError(
            "The 'distances' parameter must hold a matrix for alpha 0, 1 and 2. "
            f"Got none for {missing[0]:g}."
        )
    given = embeddings or {}
    both, means, covariances = (
        grid_recovery(distances[alpha], given.get(alpha)) for alpha in ALPHAS
    )
    return _both_recover(both), _means_fail(means), _covariances_fail(covariances)


def number_words(value: float) -> str:
    """Return an integer in full, and any other number with three digits.

    >>> number_words(36336.0), number_words(0.06349)
    ('36336', '0.0635')
    """
    whole = float(value).is_integer() and abs(value) < LARGEST_COUNT
    return f"{value:.0f}" if whole else f"{value:.3g}"


def quadratic_r2(points: npt.ArrayLike, target: npt.ArrayLike) -> float:
    """Return R^2 of the best quadratic map from points, shape (K, 2), to a target, shape (K,).

    It is 0 if all points coincide.

    >>> x, y = np.random.default_rng(0).normal(size=(2, 50))
    >>> round(quadratic_r2(np.column_stack([x, y]), 1 + 2 * x - x * y), 9)
    1.0
    """
    cloud, values = np.asarray(points, dtype=np.float64), np.asarray(target, dtype=np.float64)
    cloud = cloud - cloud.mean(axis=0)
    size = np.abs(cloud).max()
    if size < COINCIDE:
        return 0.0
    u, v = (cloud / size).T
    features = np.column_stack([np.ones_like(u), u, v, u * u, u * v, v * v])
    fitted = features @ np.linalg.lstsq(features, values, rcond=None)[0]
    unexplained = ((values - fitted) ** 2).sum() / ((values - values.mean()) ** 2).sum()
    return max(float(1.0 - unexplained), 0.0)  # only rounding could make it negative


def _both_recover(seen: GridRecovery) -> Finding:
    return Finding(
        "Figure 2 C",
        "Means and covariances together (alpha = 1) recover the grid of networks.",
        (
            *seen.checks(">", RECOVERED),
            Check("fraction of cells unfolded", seen.unfolded, "==", 1.0),
            Check(
                "smallest distance of opposites / largest distance",
                seen.smallest_opposite / seen.largest_distance if seen.largest_distance else 0.0,
                ">",
                APART,
            ),
        ),
        {"stress": seen.embedding.stress, "largest distance": seen.largest_distance},
    )


def _means_fail(seen: GridRecovery) -> Finding:
    return Finding(
        "Figure 2 D",
        "Means alone (alpha = 2) recover nothing: all networks coincide.",
        (
            Check("largest distance", seen.largest_distance, "<", COINCIDE),
            *seen.checks("<", LOST),
        ),
        {"fraction of cells unfolded": seen.unfolded},
    )


def _covariances_fail(seen: GridRecovery) -> Finding:
    return Finding(
        "Figure 2 E",
        "Covariances alone (alpha = 0) do not recover the sign of the correlation.",
        (
            Check("largest distance of opposites", seen.largest_opposite, "<", COINCIDE),
            Check("largest distance of all", seen.largest_distance, ">", COINCIDE),
            Check("R2 of correlation", seen.r2_correlation, "<", LOST),
        ),
        {"R2 of scale": seen.r2_scale, "fraction of cells unfolded": seen.unfolded},
    )


def _grid_order(matrix: DistanceMatrix) -> npt.NDArray[np.intp]:
    """Return the index of each network on the grid, shape (correlations, scales)."""
    absent = {"correlation", "scale"} - set(matrix.metadata.columns)
    if absent:
        raise InputError(f"The metadata must have the column {min(absent)!r}.")
    values = matrix.metadata[["correlation", "scale"]].to_numpy(dtype=np.float64)
    correlations, scales = (len(np.unique(column)) for column in values.T)
    if correlations < 2 or scales < 2 or len(np.unique(values, axis=0)) != correlations * scales:
        raise InputError(
            "The networks must form a grid of two or more correlations and scales. "
            f"Got {len(matrix)} networks of {correlations} correlations and {scales} scales."
        )
    if len(matrix) != correlations * scales:
        raise InputError(f"Each cell of the grid must hold one network. Got {len(matrix)} in all.")
    order = np.lexsort((values[:, 1], values[:, 0]))
    return order.reshape(correlations, scales)


def _unfolded(grid: FloatArray) -> float:
    """Return the fraction of cells in a grid of points, (A, B, 2), with the same orientation."""
    across, along = grid[1:, 1:] - grid[:-1, :-1], grid[:-1, 1:] - grid[1:, :-1]
    areas = (across[..., 0] * along[..., 1] - across[..., 1] * along[..., 0]) / 2.0
    # Cells that are flat up to rounding have no orientation.
    flat = COINCIDE * max(float(np.ptp(grid.reshape(-1, 2), axis=0).max()), COINCIDE) ** 2
    return float(max((areas > flat).mean(), (areas < -flat).mean()))
