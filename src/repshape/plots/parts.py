"""Covariance distance against mean distance, for all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from repshape._arrays import count
from repshape.analysis.interpolation import Interpolation
from repshape.errors import InputError
from repshape.matrix.columns import ValuesLike, find_column
from repshape.matrix.distances import DistanceMatrix, as_complete
from repshape.plots.captions import UNIT
from repshape.plots.colouring import Colouring
from repshape.plots.picture import Picture, set_window
from repshape.plots.style import COLUMN_WIDTH, FAINT, plain

FloatArray = npt.NDArray[np.float64]

BETWEEN = "between groups"
MARGIN = 1.06
# Area of a marker in square points, up to this many pairs.
AREAS = ((300, 14.0), (3000, 7.0), (np.inf, 3.0))


@dataclass(frozen=True, eq=False)
class PartsPicture(Picture):
    """Mean and covariance distances of all pairs, ready to be drawn.

    Attributes
    ----------
    points : ndarray, shape (P, 2)
        Distances at alpha = 2 (means) and at alpha = 0 (covariances), in the order of
        `DistanceMatrix.condensed`.
    colouring : Colouring
        Pairs within a group have the colour of that group; all other pairs share one level.
    area : float
        Area of each marker, in square points.
    reach : float
        Upper limit of both axes; the lower limit is 0.
    unit : str
    caption : str

    Examples
    --------
    >>> PartsPicture.of([[0, 3], [3, 0]], [[0, 1], [1, 0]]).points
    array([[3., 1.]])
    """

    points: FloatArray
    colouring: Colouring
    area: float
    reach: float
    unit: str
    caption: str

    size: ClassVar[tuple[float, float]] = (COLUMN_WIDTH, 2.7)

    @classmethod
    def of(
        cls,
        means: Interpolation | DistanceMatrix | npt.ArrayLike,
        covariances: DistanceMatrix | npt.ArrayLike | None = None,
        *,
        groups: ValuesLike | None = None,
        unit: str = UNIT,
    ) -> PartsPicture:
        """Make the picture of all pairs; the parameters are those of `plot_parts`."""
        d_2, d_0 = _matrices(means, covariances)
        points = np.column_stack([d_2.condensed(), d_0.condensed()])
        if not len(points):
            raise InputError("The 'means' parameter must hold at least two networks. Got one.")
        colouring = Colouring.one(len(points))
        if groups is not None:
            name = groups if isinstance(groups, str) else "group"
            colouring = _pair_colours(find_column(d_2, groups, "groups").tolist(), name)
        ratios = np.full(len(points), np.inf)
        np.divide(points[:, 1], points[:, 0], out=ratios, where=points[:, 0] > 0)
        above = int((points[:, 1] > points[:, 0]).sum())
        return cls(
            points=points,
            colouring=colouring,
            area=next(area for most, area in AREAS if len(points) <= most),
            reach=MARGIN * float(points.max()) or 1.0,
            unit=plain(unit),
            caption=(
                f"{count(len(d_2), 'network')}, {count(len(points), 'pair')}. Gaussian Wasserstein "
                "shape distances of means only (alpha = 2) and of covariances only (alpha = 0), "
                "each with its own alignment and on the same scale. Above the diagonal: "
                f"{count(above, 'pair')}. Median ratio d_0 / d_2: {np.median(ratios):.3g}. Pairs "
                "share networks, so they are not independent."
            ),
        )

    def _draw(self, ax: Axes) -> None:
        ax.plot([0, self.reach], [0, self.reach], color=FAINT, linewidth=0.8, zorder=1)
        self.colouring.scatter(ax, self.points, np.full(len(self.points), self.area))
        limits = 0.0, self.reach
        labels = f"mean distance ({self.unit})", "covariance distance"
        set_window(ax, (limits, limits), labels)
        self.colouring.draw_key(ax)


def _matrices(means: Any, covariances: Any) -> tuple[DistanceMatrix, DistanceMatrix]:
    if isinstance(means, Interpolation):
        if covariances is not None:
            raise InputError(
                "The 'covariances' parameter must be None if 'means' is an Interpolation, which "
                "holds both."
            )
        # An interpolation has all pairs, in order, and always includes alpha 0 and 2.
        d_2, d_0 = (_square(means, means.distances[end]) for end in (-1, 0))
        return d_2, d_0
    if covariances is None:
        raise InputError("The 'covariances' parameter must hold distances at alpha = 0. Got None.")
    d_2, d_0 = as_complete(means), as_complete(covariances)
    if d_2.labels != d_0.labels:
        raise InputError("Both matrices must have the same networks in the same order.")
    for matrix, alpha in ((d_2, 2.0), (d_0, 0.0)):
        found = (matrix.description.get("parameters") or {}).get("alpha", alpha)
        if found != alpha:
            raise InputError(f"Expected distances at alpha = {alpha:g}. Got alpha = {found:g}.")
    return d_2, d_0


def _square(sweep: Interpolation, distances: FloatArray) -> DistanceMatrix:
    size = len(sweep.labels)
    values = np.zeros((size, size))
    values[sweep.pairs[:, 0], sweep.pairs[:, 1]] = distances
    return DistanceMatrix(values + values.T, sweep.labels)


def _pair_colours(groups: list[Any], name: str) -> Colouring:
    """Colour each pair by the group of its two networks, or as a pair between groups."""
    first, second = np.triu_indices(len(groups), 1)
    texts = [str(group) for group in groups]
    values = [
        texts[i] if texts[i] == texts[j] else None for i, j in zip(first, second, strict=True)
    ]
    found = Colouring.of(values, name, "categorical")
    return found.with_missing_as(BETWEEN)


def plot_parts(
    means: Interpolation | DistanceMatrix | npt.ArrayLike,
    covariances: DistanceMatrix | npt.ArrayLike | None = None,
    *,
    groups: ValuesLike | None = None,
    unit: str = UNIT,
    ax: Axes | None = None,
    caption: bool = False,
) -> Axes:
    """Draw covariance distances against mean distances, for all pairs.

    Parameters
    ----------
    means : DistanceMatrix, array_like of shape (K, K), or Interpolation
        Distances at alpha = 2, or a result of `repshape.analysis.interpolate`, which has both.
    covariances : DistanceMatrix or array_like, shape (K, K), optional
        Distances at alpha = 0 between the same networks.
    groups : str, sequence of length K, Series or dict by name, optional
        A column of the metadata, or a value for each network. Pairs within a group have the
        colour of the group; all others are grey.
    unit, ax, caption
        As in `plot_matrix`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_parts([[0, 3], [3, 0]], [[0, 1], [1, 0]], ax=Figure().subplots())
    >>> ax.collections[0].get_offsets().tolist()
    [[3.0, 1.0]]
    """
    picture = PartsPicture.of(means, covariances, groups=groups, unit=unit)
    return picture.draw(ax, caption=caption)
