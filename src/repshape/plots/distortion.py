"""Distortion of the distances by embeddings of increasing dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from repshape.analysis.distortion import DistortionCurve
from repshape.errors import InputError
from repshape.plots.picture import Picture
from repshape.plots.style import FAINT, INK, PALETTE

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DistortionPicture(Picture):
    """Percentiles of the distortion as a function of dimension.

    Attributes
    ----------
    dimensions : ndarray of int, shape (d,)
        In ascending order.
    middle : ndarray, shape (d,)
        The middle percentile.
    bands : tuple of (str, ndarray, ndarray)
        Name, lower and upper curve of each pair of percentiles, the widest first.
    top : float
        Upper limit of the axis, just above the largest finite percentile. Infinite percentiles
        lie outside it.
    middle_name : str
    caption : str

    Examples
    --------
    >>> from repshape.analysis import distortion_curve
    >>> curve = distortion_curve(1.0 - np.eye(4), [3, 1])
    >>> DistortionPicture.of(curve).dimensions
    array([1, 3])
    """

    dimensions: npt.NDArray[np.int64]
    middle: FloatArray
    bands: tuple[tuple[str, FloatArray, FloatArray], ...]
    top: float
    middle_name: str
    caption: str

    @classmethod
    def of(cls, curve: DistortionCurve) -> DistortionPicture:
        """Make the picture of a curve; the parameter is that of `plot_distortion`."""
        if not curve.percentiles:
            raise InputError("The 'curve' parameter must have at least one percentile. Got none.")
        columns = np.argsort(curve.percentiles, kind="stable")
        rows = np.argsort(curve.dimensions, kind="stable")
        values = curve.values[np.ix_(rows, columns)]
        levels = [curve.percentiles[k] for k in columns]
        finite = values[np.isfinite(values)]
        top = float(finite.max()) if finite.size else 2.0
        # Outside the limits of the axis, so that a band leaves the picture instead of ending.
        values = np.where(np.isfinite(values), values, 10.0 * top)
        centre, bands = len(levels) // 2, []
        for k in range(centre):
            name = f"{_ordinal(levels[k])} to {_ordinal(levels[-1 - k])} percentile"
            bands.append((name, values[:, k], values[:, -1 - k]))
        infinite = int((~np.isfinite(curve.values)).any(axis=1).sum())
        last, stress = int(curve.dimensions[rows[-1]]), float(curve.stress[rows[-1]])
        caption = (
            "Distortion max(r, 1/r) over pairs, where r is the distance between networks divided "
            "by that between their points; 1 means no distortion. "
            f"Stress in {last} dimensions: {stress:.2g}."
        )
        if infinite:
            caption += f" At {infinite} of {len(rows)} dimensions a percentile is infinite."
        name = "median" if levels[centre] == 50 else f"{_ordinal(levels[centre])} percentile"
        return cls(
            dimensions=curve.dimensions[rows],
            middle=values[:, centre],
            bands=tuple(bands),
            top=1 + 1.05 * (top - 1),
            middle_name=name,
            caption=caption,
        )

    def _draw(self, ax: Axes) -> None:
        blue = PALETTE[0]
        for k, (name, low, high) in enumerate(self.bands):
            opacity = 0.18 + 0.14 * k
            ax.fill_between(
                self.dimensions, low, high, color=blue, alpha=opacity, linewidth=0, label=name
            )
        ax.plot(self.dimensions, self.middle, "-o", color=INK, label=self.middle_name)
        ax.axhline(1.0, color=FAINT, linewidth=0.8, zorder=1)
        ax.set_ylim(1 - 0.03 * (self.top - 1 or 1.0), self.top if self.top > 1 else 2.0)
        ax.set_xlabel("dimension of the embedding")
        ax.set_ylabel("distortion")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(loc="upper right")


def _ordinal(percentile: float) -> str:
    last = int(percentile) % 10
    teens = 10 <= int(percentile) % 100 <= 20
    ending = "th" if teens or percentile % 1 else {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
    return f"{percentile:g}{ending}"


def plot_distortion(
    curve: DistortionCurve, *, ax: Axes | None = None, caption: bool = False
) -> Axes:
    """Draw distortion against the dimension of the embedding.

    Parameters
    ----------
    curve : DistortionCurve
        Result of `repshape.analysis.distortion_curve`.
    ax, caption
        As in `plot_matrix`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from repshape.analysis import distortion_curve
    >>> D = 1.0 - np.eye(6)
    >>> ax = plot_distortion(distortion_curve(D, range(1, 6)), ax=Figure().subplots())
    >>> len(ax.collections)
    2
    """
    return DistortionPicture.of(curve).draw(ax, caption=caption)
