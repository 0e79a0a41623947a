"""The distortion of distances by an embedding (Duong et al. 2023, Appendix B.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial.distance import pdist

from repshape._compact import compact_repr
from repshape.analysis.embedding import Embedding, checked_distances, embed
from repshape.errors import InputError, check_integer, check_real
from repshape.matrix.columns import in_order_of
from repshape.matrix.distances import DistanceMatrix

FloatArray = npt.NDArray[np.float64]

PERCENTILES = (5.0, 25.0, 50.0, 75.0, 95.0)


@compact_repr
@dataclass(frozen=True, eq=False)
class Distortion:
    """The distortion of every pair.

    Attributes
    ----------
    values : ndarray, shape (K(K-1)/2,)
        max(r, 1/r) for each pair, in the order of `DistanceMatrix.condensed`. At least 1; infinite
        if the points coincide but the networks do not, or vice versa.
    percentiles : dict of float to float
        Percentiles of ``values`` over pairs.
    """

    values: FloatArray
    percentiles: dict[float, float]

    def summary(self) -> dict[str, float]:
        """Return the percentiles as ``p5``, ``p25``, ..., ready for JSON."""
        return {f"p{percentile:g}": value for percentile, value in self.percentiles.items()}

    @property
    def median(self) -> float:
        """The median distortion over pairs."""
        return float(np.median(self.values))

    @property
    def largest(self) -> float:
        """The largest distortion of a pair."""
        return float(self.values.max())


@compact_repr
@dataclass(frozen=True, eq=False)
class DistortionCurve:
    """Distortion as a function of the dimension of the embedding.

    Attributes
    ----------
    dimensions : ndarray of int, shape (d,)
        Dimensions of the embeddings.
    percentiles : tuple of float
        The percentiles over pairs.
    values : ndarray, shape (d, p)
        Distortion at these percentiles, with a row for each dimension.
    stress : ndarray, shape (d,)
        Stress-1 of each embedding.
    """

    dimensions: npt.NDArray[np.int64]
    percentiles: tuple[float, ...]
    values: FloatArray
    stress: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return columns ``p5``, ``p25``, ... and ``stress``, indexed by dimension."""
        columns = [f"p{percentile:g}" for percentile in self.percentiles]
        frame = pd.DataFrame(self.values.copy(), columns=columns)
        frame["stress"] = self.stress
        frame.index = pd.Index(self.dimensions, name="dimension")
        return frame


def distortion(
    D: DistanceMatrix | npt.ArrayLike,
    points: Embedding | npt.ArrayLike,
    *,
    percentiles: Sequence[float] = PERCENTILES,
) -> Distortion:
    r"""Compare distances between networks with the distances between their points.

    .. math:: \max(r, 1/r), \qquad r = D_{ij} / |p_i - p_j|

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Non-negative distances.
    points : Embedding or array_like, shape (K, dimension)
        A point for each network.
    percentiles : sequence of float
        Percentiles over pairs to report, each in [0, 100].

    Returns
    -------
    Distortion

    Examples
    --------
    >>> D = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> distortion(D, [[0.0], [1.0], [3.0]]).values
    array([1. , 1.5, 2. ])
    """
    matrix = checked_distances(D)
    if isinstance(points, Embedding) and len(points.labels) == len(matrix):
        matrix = in_order_of(matrix, points.labels, "D")
    array = np.asarray(points.points if isinstance(points, Embedding) else points, np.float64)
    if array.ndim != 2 or len(array) != len(matrix) or not array.shape[1]:
        raise InputError(
            f"'points' must have a row for each of {len(matrix)} networks. Got shape {array.shape}."
        )
    if not np.isfinite(array).all():
        raise InputError("The points must be finite. Got NaN or infinity.")
    if len(matrix) < 2:
        raise InputError("Distortion needs at least two networks. Got one.")
    wanted = _check_percentiles(percentiles)
    values = _ratios(matrix.condensed(), pdist(array))
    values.setflags(write=False)
    # Interpolating between infinite values would give NaN, so use values that occur.
    found = np.percentile(values, wanted, method="lower")
    return Distortion(values, dict(zip(wanted, found.tolist(), strict=True)))


def distortion_curve(
    D: DistanceMatrix | npt.ArrayLike,
    dimensions: Iterable[int] = range(1, 21),
    *,
    method: str = "metric",
    percentiles: Sequence[float] = PERCENTILES,
    n_init: int = 1,
    random_state: int | np.random.Generator | None = 0,
) -> DistortionCurve:
    """Embed in several dimensions, and report the distortion of each embedding.

    Duong et al. (2023) chose the dimension of their embeddings, 15 or 20, from this curve.

    Parameters
    ----------
    D : DistanceMatrix or array_like, shape (K, K)
        Non-negative distances.
    dimensions : iterable of int
        Dimensions to try.
    method, n_init, random_state
        As in `embed`. One start, from classical scaling, is enough for most dimensions.
    percentiles : sequence of float
        Percentiles over pairs to report.

    Returns
    -------
    DistortionCurve

    Examples
    --------
    >>> square = [[0, 1, 2**0.5, 1], [1, 0, 1, 2**0.5], [2**0.5, 1, 0, 1], [1, 2**0.5, 1, 0]]
    >>> distortion_curve(square, [1, 2]).to_frame()["p95"].round(3).tolist()[-1]
    1.0
    """
    matrix = checked_distances(D)
    tried = [check_integer("dimensions", dimension, 1) for dimension in dimensions]
    if not tried:
        raise InputError("There must be at least one dimension to try. Got none.")
    wanted = _check_percentiles(percentiles)
    values, stress = [], []
    for dimension in tried:
        embedding = embed(
            matrix, dimension, method=method, n_init=n_init, random_state=random_state
        )
        found = distortion(matrix, embedding, percentiles=wanted).percentiles
        values.append([found[percentile] for percentile in wanted])
        stress.append(embedding.stress)
    table, stresses = np.array(values), np.array(stress)
    table.setflags(write=False)
    stresses.setflags(write=False)
    return DistortionCurve(np.array(tried, dtype=np.int64), wanted, table, stresses)


def _ratios(given: FloatArray, held: FloatArray) -> FloatArray:
    """Return max(r, 1/r): 1 if both distances are zero, and infinity if one of them is."""
    low, high = np.minimum(given, held), np.maximum(given, held)
    ratios = np.full(len(low), np.inf)
    np.divide(high, low, out=ratios, where=low > 0.0)
    ratios[high == 0.0] = 1.0
    return ratios


def _check_percentiles(percentiles: Sequence[float]) -> tuple[float, ...]:
    return tuple(check_real("percentiles", p, 0.0, 100.0) for p in percentiles)
