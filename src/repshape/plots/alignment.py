"""Two networks before and after alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from repshape._arrays import count
from repshape.errors import InputError
from repshape.metrics.base import Alignment, ShapeMetric, check_same_conditions
from repshape.metrics.identity import caption
from repshape.moments import CovarianceEstimator, check_estimator
from repshape.plots.captions import UNIT, deviations
from repshape.plots.picture import Limits, Picture, new_axes, set_window
from repshape.plots.planes import Ellipses, Plane, as_moments, limits_of, projected
from repshape.plots.responses import shown_conditions
from repshape.plots.style import COLUMN_WIDTH, FAINT, PALETTE, plain
from repshape.responses import Gaussians, NetworkLike, Trials, as_network

FloatArray = npt.NDArray[np.float64]

# Colour, line style and marker of the first and the second network.
LOOKS: tuple[tuple[str, Literal["-", "--"], str], ...] = (
    (PALETTE[0], "-", "o"),
    (PALETTE[1], "--", "s"),
)


@dataclass(frozen=True, eq=False)
class PanelPicture(Picture):
    """Two networks in one plane, with lines between corresponding conditions.

    Attributes
    ----------
    first, second : Ellipses
        Means and noise of x and of y, for each condition that is shown.
    names : tuple of two str
        Names of the networks, safe to draw.
    axis_labels : tuple of two str
    title : str
    key : bool
        Whether this panel has a legend.
    limits : tuple
        Limits of both axes.
    caption : str
    """

    first: Ellipses
    second: Ellipses
    names: tuple[str, str]
    axis_labels: tuple[str, str]
    title: str
    key: bool
    limits: Limits
    caption: str

    def _draw(self, ax: Axes) -> None:
        for start, end in zip(self.first.centres, self.second.centres, strict=True):
            ax.plot(*zip(start, end, strict=True), color=FAINT, linewidth=0.7, zorder=1)
        for one, (colour, line, marker) in zip((self.first, self.second), LOOKS, strict=True):
            one.draw(ax, colour, fill=0.1, linestyle=line)
            across, up = one.centres.T
            ax.scatter(across, up, s=9, color=colour, marker=marker, linewidths=0, zorder=3)
        set_window(ax, self.limits, self.axis_labels)
        ax.set_title(self.title)
        if self.key:
            draw_pair_key(ax, self.names, loc="upper left", bbox_to_anchor=(1, 1))


def draw_pair_key(ax: Axes, names: tuple[str, str], **place: Any) -> None:
    """Draw the legend of two networks."""
    handles = [
        Line2D([], [], color=colour, linestyle=line, marker=marker, markersize=3)
        for colour, line, marker in LOOKS
    ]
    ax.legend(handles, names, handlelength=2.2, **place)


@dataclass(frozen=True, eq=False)
class AlignmentPicture:
    """Two networks before and after alignment: two panels with the same axes.

    Attributes
    ----------
    plane : Plane
        First two principal components of x.
    before, after : PanelPicture
        x with y as it is (neuron k of y on neuron k of x), and x with ``y @ transform``.
    caption : str

    Examples
    --------
    >>> from repshape import GaussianShapeMetric
    >>> x = np.array([[0.0, 2.0], [1.0, 0.0], [-1.0, 0.0]])  # points: no noise
    >>> picture = AlignmentPicture.of(x, -x, GaussianShapeMetric().align(x, -x))
    >>> gaps = (one.first.centres - one.second.centres for one in (picture.before, picture.after))
    >>> [round(float(np.abs(gap).max()), 6) for gap in gaps]
    [4.0, 0.0]
    """

    plane: Plane
    before: PanelPicture
    after: PanelPicture
    caption: str

    size: ClassVar[tuple[float, float]] = (2 * COLUMN_WIDTH, 2.9)

    @classmethod
    def of(
        cls,
        x: NetworkLike,
        y: NetworkLike,
        alignment: Alignment,
        metric: ShapeMetric[Any] | None = None,
        *,
        names: tuple[str, str] = ("x", "y"),
        n_std: float = 1.0,
        covariance: str | CovarianceEstimator = "mle",
        unit: str = UNIT,
    ) -> AlignmentPicture:
        """Make the picture of a pair; the parameters are those of `plot_alignment`."""
        check_estimator(covariance)
        networks = as_aligned(as_network(x, "x"), as_network(y, "y"), alignment)
        plane = Plane.of(networks[0])
        origin = plane.offset @ plane.basis
        shown = shown_conditions(networks[0].n_conditions)
        moments = [as_moments(network, covariance) for network in networks]
        size = (networks[1].n_neurons, networks[0].n_neurons)
        # y @ T projected onto the plane is y @ (T Q), and T Q = (Q' T')' needs no dense T.
        turned = alignment._map.reversed().apply(plane.basis.T).T
        fixed, before, after = (
            _ellipses(one, linear, origin, shown, n_std)
            for one, linear in (
                (moments[0], plane.basis),
                (moments[1], np.eye(*size) @ plane.basis),
                (moments[1], turned),
            )
        )
        limits = limits_of(fixed, before, after)
        caption = _caption(networks, alignment, metric, len(shown), n_std, unit)
        shared = (plain(names[0]), plain(names[1])), plane.axis_labels()
        return cls(
            plane,
            PanelPicture(fixed, before, *shared, "before alignment", False, limits, caption),
            PanelPicture(fixed, after, *shared, "after alignment", True, limits, caption),
            caption,
        )

    def draw(
        self, axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None, *, caption: bool = False
    ) -> tuple[Axes, Axes]:
        """Draw on two axes, by default those of a new pyplot figure, and return them."""
        if axes is not None and len(axes) != 2:
            raise InputError(f"The 'axes' parameter must hold two axes. Got {len(axes)}.")
        pair = new_axes(self.size, 2) if axes is None else axes
        first, second = self.before.draw(pair[0]), self.after.draw(pair[1])
        if caption:
            self.before._write(first, own=axes is None)
        return first, second


def as_aligned(
    x: Trials | Gaussians, y: Trials | Gaussians, alignment: Alignment
) -> tuple[Trials | Gaussians, Trials | Gaussians]:
    """Return the networks after the preprocessing of the alignment."""
    check_same_conditions(x, y)
    first, second = (
        one if phi is None else phi.apply(one)
        for one, phi in zip((x, y), alignment._phi, strict=True)
    )
    sizes = (second.n_neurons, first.n_neurons)
    if sizes != alignment._map.shape:
        raise InputError(
            f"The alignment maps {alignment._map.shape[0]} neurons onto "
            f"{alignment._map.shape[1]}, but y has {sizes[0]} and x has {sizes[1]}."
        )
    return first, second


def _ellipses(
    network: Gaussians,
    linear: FloatArray,
    origin: FloatArray,
    shown: npt.NDArray[np.intp],
    n_std: float,
) -> Ellipses:
    means, covariances = projected(network, linear, origin)
    return Ellipses.of(means[shown], covariances[shown], n_std)


def _caption(
    networks: tuple[Trials | Gaussians, Trials | Gaussians],
    alignment: Alignment,
    metric: ShapeMetric[Any] | None,
    n_shown: int,
    n_std: float,
    unit: str,
) -> str:
    x, y = networks
    neurons = f"{count(x.n_neurons, 'neuron')}"
    if x.n_neurons != y.n_neurons:
        neurons = f"{x.n_neurons} and {y.n_neurons} neurons"
        if x.n_neurons < y.n_neurons:
            neurons += " (dimensions of the second without a counterpart in the first are omitted)"
    words = f"{neurons}, {count(x.n_conditions, 'condition')}"
    if n_shown < x.n_conditions:
        words += f" ({n_shown}, evenly spaced, are shown)"
    name = caption({} if metric is None else metric.describe())
    words += f". {name}: {alignment.distance:.4g}; proven lower bound {alignment.lower_bound:.4g}"
    if np.isfinite(alignment.mean_distance):
        words += (
            f"; parts at this alignment: means {alignment.mean_distance:.4g}, "
            f"covariances {alignment.covariance_distance:.4g}"
        )
    return (
        f"{words}. Ellipses: {deviations(n_std)} of the noise. Grey lines connect the two means "
        "of each condition. Both panels show the first two principal components of the first "
        f"network, with fractions of its variance; axes in {unit}."
    )


def plot_alignment(
    x: NetworkLike,
    y: NetworkLike,
    alignment: Alignment,
    metric: ShapeMetric[Any] | None = None,
    *,
    names: tuple[str, str] = ("x", "y"),
    n_std: float = 1.0,
    covariance: str | CovarianceEstimator = "mle",
    unit: str = UNIT,
    axes: Sequence[Axes] | npt.NDArray[np.object_] | None = None,
    caption: bool = False,
) -> tuple[Axes, Axes]:
    """Draw two networks before and after alignment, side by side.

    Both panels show the plane of the first two principal components of x, after the
    preprocessing of the metric. The first panel shows y as it is, with neuron k of y on neuron k
    of x; the second shows ``y @ transform``.

    Parameters
    ----------
    x, y : networks
        The networks that were aligned.
    alignment : Alignment
        Result of ``metric.align(x, y)``.
    metric : ShapeMetric, optional
        The metric, to be named in the caption.
    names : tuple of two str
        Names of the networks, for the legend.
    n_std, covariance, unit
        As in `plot_responses`.
    axes : two matplotlib.axes.Axes, optional
        The axes to draw on. By default a new pyplot figure is made.
    caption : bool
        As in `plot_matrix`.

    Returns
    -------
    tuple of two matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from repshape import GaussianShapeMetric
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(5, 1, 3)) + 0.2 * rng.normal(size=(5, 20, 3))
    >>> y = x[..., ::-1]
    >>> found = GaussianShapeMetric().align(x, y)
    >>> picture = AlignmentPicture.of(x, y, found)
    >>> bool(np.allclose(picture.after.second.centres, picture.after.first.centres))
    True
    >>> [ax.get_title() for ax in plot_alignment(x, y, found, axes=Figure().subplots(1, 2))]
    ['before alignment', 'after alignment']
    """
    picture = AlignmentPicture.of(
        x, y, alignment, metric, names=names, n_std=n_std, covariance=covariance, unit=unit
    )
    return picture.draw(axes, caption=caption)
