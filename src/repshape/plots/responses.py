"""The responses of one network, projected onto its first two principal components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from repshape._arrays import count
from repshape._joins import in_order
from repshape.errors import check_boolean
from repshape.moments import CovarianceEstimator, check_estimator
from repshape.plots.captions import UNIT, deviations
from repshape.plots.colouring import Colouring
from repshape.plots.picture import Limits, Picture, set_window
from repshape.plots.planes import Ellipses, Plane, as_moments, limits_of, projected
from repshape.plots.style import COLUMN_WIDTH, FAINT
from repshape.responses import Gaussians, NetworkLike, Trials, as_network

FloatArray = npt.NDArray[np.float64]

# More ellipses than this would hide each other.
MOST_ELLIPSES = 120


@dataclass(frozen=True, eq=False)
class ResponsesPicture(Picture):
    """The responses of one network, ready to be drawn.

    Attributes
    ----------
    plane : Plane
        The first two principal components.
    ellipses : Ellipses
        Mean and noise of each condition that is shown.
    colouring : Colouring
        Colour of each of these conditions.
    trials : ndarray, shape (N, 2)
        Single trials of these conditions; empty if they are not shown.
    trial_conditions : ndarray of int, shape (N,)
        Index of the condition of each trial, among those that are shown.
    connect : bool
        Whether a line connects the means in the order of the conditions.
    limits : tuple
        Limits of both axes.
    caption : str

    Examples
    --------
    >>> picture = ResponsesPicture.of((np.eye(2), np.full((2, 2), 0.25)), n_std=2.0)
    >>> picture.ellipses.widths.round(6)  # four standard deviations of 0.5
    array([2., 2.])
    """

    plane: Plane
    ellipses: Ellipses
    colouring: Colouring
    trials: FloatArray
    trial_conditions: npt.NDArray[np.intp]
    connect: bool
    limits: Limits
    caption: str

    size: ClassVar[tuple[float, float]] = (COLUMN_WIDTH, 2.6)

    @classmethod
    def of(
        cls,
        network: NetworkLike,
        *,
        colour: Sequence[Any] | npt.NDArray[Any] | pd.Series[Any] | Mapping[str, Any] | None = None,
        kind: str = "auto",
        n_std: float = 1.0,
        trials: bool = True,
        connect: bool = False,
        covariance: str | CovarianceEstimator = "mle",
        unit: str = UNIT,
    ) -> ResponsesPicture:
        """Make the picture of a network; the parameters are those of `plot_responses`."""
        check_boolean("trials", trials)
        check_boolean("connect", connect)
        estimator = check_estimator(covariance)
        checked = as_network(network)
        values = _values(colour, checked)
        plane = Plane.of(checked)
        shown = shown_conditions(checked.n_conditions)
        moments = as_moments(checked, covariance)
        means, covariances = projected(moments, plane.basis, plane.offset @ plane.basis)
        ellipses = Ellipses.of(means[shown], covariances[shown], n_std)
        dots, owners = _trials(checked if trials else moments, plane, shown)
        name = str(colour.name or "") if isinstance(colour, pd.Series) else "condition"
        return cls(
            plane=plane,
            ellipses=ellipses,
            colouring=Colouring.of([values[m] for m in shown], name, kind),
            trials=dots,
            trial_conditions=owners,
            connect=connect,
            limits=limits_of(ellipses, points=dots),
            caption=_caption(checked, len(shown), estimator.name, n_std, len(dots) > 0, unit),
        )

    def _draw(self, ax: Axes) -> None:
        centres = self.ellipses.centres
        if self.connect:
            ax.plot(centres[:, 0], centres[:, 1], color=FAINT, linewidth=0.8, zorder=1)
        if len(self.trials):
            ax.scatter(
                self.trials[:, 0],
                self.trials[:, 1],
                s=2.0,
                c=self.colouring.colours[self.trial_conditions],
                linewidths=0,
                alpha=0.5,
                zorder=1.5,
                rasterized=True,
            )
        self.ellipses.draw(ax, self.colouring.colours)
        self.colouring.scatter(ax, centres, np.full(len(centres), 18.0))
        set_window(ax, self.limits, self.plane.axis_labels())
        self.colouring.draw_key(ax)


def _values(colour: Any, network: Trials | Gaussians) -> list[Any]:
    """Return a value for each condition; by default its index."""
    if colour is None:
        return list(range(network.n_conditions))
    return list(in_order(colour, network.conditions, network.n_conditions, "colour", "condition"))


def shown_conditions(n_conditions: int) -> npt.NDArray[np.intp]:
    """Return the indices of the conditions to show: all, or evenly spaced ones if too many."""
    wanted = min(n_conditions, MOST_ELLIPSES)
    return np.unique(np.linspace(0, n_conditions - 1, wanted).round().astype(np.intp))


def _trials(
    network: Trials | Gaussians, plane: Plane, shown: npt.NDArray[np.intp]
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    if isinstance(network, Gaussians):
        return np.zeros((0, 2)), np.zeros(0, dtype=np.intp)
    kept = [network.responses[m] for m in shown]
    dots = (np.concatenate(kept) - plane.offset) @ plane.basis
    return dots, np.repeat(np.arange(len(kept)), [len(one) for one in kept])


def _caption(
    network: Trials | Gaussians,
    n_shown: int,
    estimator: str,
    n_std: float,
    dots: bool,
    unit: str,
) -> str:
    words = f"{count(network.n_neurons, 'neuron')}, {count(network.n_conditions, 'condition')}"
    if n_shown < network.n_conditions:
        words += f" ({n_shown}, evenly spaced, are shown)"
    words += f". Ellipses: {deviations(n_std)} of the noise"
    if isinstance(network, Trials):
        words += f", with covariances estimated by {estimator!r} from "
        low, high = int(network.n_trials.min()), int(network.n_trials.max())
        words += f"{low} trials each" if low == high else f"{low} to {high} trials"
    words += ". Small dots: trials." if dots else "."
    return f"{words} Principal components, with fractions of the variance; axes in {unit}."


def plot_responses(
    network: NetworkLike,
    *,
    colour: Sequence[Any] | npt.NDArray[Any] | pd.Series[Any] | Mapping[str, Any] | None = None,
    kind: str = "auto",
    n_std: float = 1.0,
    trials: bool = True,
    connect: bool = False,
    covariance: str | CovarianceEstimator = "mle",
    unit: str = UNIT,
    ax: Axes | None = None,
    caption: bool = False,
) -> Axes:
    """Draw the responses of a network in the plane of its first two principal components.

    Parameters
    ----------
    network : Trials, Gaussians or anything that `repshape.as_network` accepts
    colour : sequence of length M, Series or dict by condition, optional
        A value for each condition; by default its index.
    kind : {"auto", "categorical", "continuous", "cyclic"}
        How to colour values, as in `plot_embedding`.
    n_std : float
        Size of the ellipses, in standard deviations. With 1, an ellipse contains 39 % of Gaussian
        responses in the plane; with 2, 86 %.
    trials : bool
        Whether to show single trials, if there are any.
    connect : bool
        Whether to connect the means in the order of the conditions.
    covariance : str or CovarianceEstimator
        How to estimate covariances from trials; see `repshape.estimate_moments`.
    unit : str
        Unit of the responses.
    ax, caption
        As in `plot_matrix`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> x = np.random.default_rng(0).normal(size=(5, 20, 3))
    >>> plot_responses(x, ax=Figure().subplots()).get_aspect()
    1.0
    """
    picture = ResponsesPicture.of(
        network,
        colour=colour,
        kind=kind,
        n_std=n_std,
        trials=trials,
        connect=connect,
        covariance=covariance,
        unit=unit,
    )
    return picture.draw(ax, caption=caption)
