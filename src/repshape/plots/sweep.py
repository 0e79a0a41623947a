"""The distance of one pair as a function of alpha."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from repshape.analysis.interpolation import Interpolation
from repshape.errors import InputError, check_integer
from repshape.plots.captions import UNIT
from repshape.plots.picture import Picture
from repshape.plots.style import INK, PALETTE, plain, short

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SweepPicture(Picture):
    """Distances of one pair as a function of alpha, with two lower bounds.

    Attributes
    ----------
    alphas, distances : ndarray, shape (A,)
    interpolation_bounds : ndarray, shape (A,)
        Lower bounds from the distances at 0 and 2 (Appendix E.2 of Duong et al., 2023).
    lower_bounds : ndarray, shape (A,)
        Lower bounds that the solver proved.
    top : float
        Upper limit of the distance axis; the lower limit is 0.
    unit : str
    caption : str

    Examples
    --------
    >>> from repshape import datasets
    >>> from repshape.analysis import interpolate
    >>> picture = SweepPicture.of(interpolate(datasets.toy_networks(2, 1), [1.0]))
    >>> bool((picture.distances >= picture.lower_bounds).all())
    True
    """

    alphas: FloatArray
    distances: FloatArray
    interpolation_bounds: FloatArray
    lower_bounds: FloatArray
    top: float
    unit: str
    caption: str

    @classmethod
    def of(
        cls, sweep: Interpolation, pair: int | tuple[str, str] = 0, *, unit: str = UNIT
    ) -> SweepPicture:
        """Make the picture of one pair of a sweep; the parameters are those of `plot_sweep`."""
        k = find_pair(sweep, pair)
        first, second = (short(sweep.labels[int(i)]) for i in sweep.pairs[k])
        distances = sweep.distances[:, k]
        gap = float((distances - sweep.interpolation_bounds[:, k]).max())
        largest = float(distances.max())
        share = f" by at most {100 * gap / largest:.2g} % of the largest" if largest > 0 else ""
        return cls(
            alphas=sweep.alphas,
            distances=distances,
            interpolation_bounds=sweep.interpolation_bounds[:, k],
            lower_bounds=sweep.lower_bounds[:, k],
            top=1.08 * largest or 1.0,
            unit=plain(unit),
            caption=(
                f"Gaussian Wasserstein shape distance between {first} and {second}, with a new "
                f"alignment at each of {len(sweep.alphas)} values of alpha, from covariances only "
                "(0) to means only (2). Dashed: lower bound from the distances at 0 and 2, which "
                "is reached only if one alignment is optimal for means and for covariances; the "
                f"distance exceeds it{share}. Dotted: lower bound that the solver proved."
            ),
        )

    def _draw(self, ax: Axes) -> None:
        blue = PALETTE[0]
        ax.fill_between(
            self.alphas, self.lower_bounds, self.distances, color=blue, alpha=0.12, linewidth=0
        )
        ax.plot(self.alphas, self.distances, "-o", color=blue, label="distance", zorder=3)
        ax.plot(
            self.alphas,
            self.interpolation_bounds,
            linestyle="--",
            color=PALETTE[1],
            label="bound from 0 and 2",
        )
        ax.plot(self.alphas, self.lower_bounds, linestyle=":", color=INK, label="proven bound")
        ax.set(xlim=(-0.04, 2.04), ylim=(0.0, self.top))
        ax.set_xticks([0, 0.5, 1, 1.5, 2], ["0\ncovariances", "0.5", "1", "1.5", "2\nmeans"])
        ax.set_xlabel("\N{GREEK SMALL LETTER ALPHA}")
        ax.set_ylabel(f"distance ({self.unit})")
        ax.legend(loc="lower center")


def find_pair(sweep: Interpolation, pair: int | tuple[str, str]) -> int:
    """Return the index of a pair, given as an index or as the names of its networks."""
    if not isinstance(pair, tuple):
        if check_integer("pair", pair, 0) >= len(sweep.pairs):
            raise InputError(f"There are {len(sweep.pairs)} pairs. Got index {pair}.")
        return int(pair)
    for name in pair:
        if name not in sweep.labels:
            raise InputError(f"There is no network named {name!r}.")
    wanted = {sweep.labels.index(name) for name in pair}
    found = [k for k, row in enumerate(sweep.pairs.tolist()) if set(row) == wanted]
    if not found:
        raise InputError(
            f"The 'pair' parameter must name two different networks. Got {pair!r} instead."
        )
    return found[0]


def plot_sweep(
    sweep: Interpolation,
    pair: int | tuple[str, str] = 0,
    *,
    unit: str = UNIT,
    ax: Axes | None = None,
    caption: bool = False,
) -> Axes:
    """Draw the distance of one pair against alpha, with its lower bounds.

    Parameters
    ----------
    sweep : Interpolation
        Result of `repshape.analysis.interpolate`.
    pair : int, or tuple of two str
        Index of the pair in ``sweep.pairs``, or the names of its networks.
    unit, ax, caption
        As in `plot_matrix`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from repshape import datasets
    >>> from repshape.analysis import interpolate
    >>> sweep = interpolate(datasets.toy_networks(2, 1), labels=["left", "right"])
    >>> ax = plot_sweep(sweep, ("left", "right"), ax=Figure().subplots())
    >>> len(ax.lines)
    3
    """
    return SweepPicture.of(sweep, pair, unit=unit).draw(ax, caption=caption)
