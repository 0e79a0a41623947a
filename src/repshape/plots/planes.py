"""Networks seen in a plane: projected means, and covariances as ellipses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection

from repshape.errors import check_real
from repshape.moments import CovarianceEstimator, estimate_moments
from repshape.preprocess import Preprocess
from repshape.responses import Gaussians, Trials

FloatArray = npt.NDArray[np.float64]
Limits = tuple[tuple[float, float], tuple[float, float]]

MARGIN = 0.06


@dataclass(frozen=True, eq=False)
class Ellipses:
    """Ellipses of Gaussians in a plane.

    The points y with (y - centre)' S^-1 (y - centre) = n_std^2, for covariances S: along an
    eigenvector they reach ``n_std`` standard deviations.

    Attributes
    ----------
    centres : ndarray, shape (M, 2)
    widths, heights : ndarray, shape (M,)
        Full length of the long and the short axis.
    angles : ndarray, shape (M,)
        Of the long axis, in degrees from the first coordinate.
    reaches : ndarray, shape (M, 2)
        Half the size of the box around each ellipse.
    """

    centres: FloatArray
    widths: FloatArray
    heights: FloatArray
    angles: FloatArray
    reaches: FloatArray

    @classmethod
    def of(cls, centres: npt.ArrayLike, covariances: npt.ArrayLike, n_std: float = 1.0) -> Ellipses:
        """Find the ellipses of covariances, shape (M, 2, 2), about centres, shape (M, 2).

        Examples
        --------
        >>> found = Ellipses.of([[0, 0]], [[[1, 0], [0, 4]]])
        >>> found.widths, found.heights, found.angles
        (array([4.]), array([2.]), array([90.]))
        """
        check_real("n_std", n_std, 0, closed="neither")
        S = np.asarray(covariances, dtype=np.float64)
        variances, axes = np.linalg.eigh(S)
        lengths = 2.0 * n_std * np.sqrt(np.maximum(variances, 0.0))
        long = axes[:, :, 1]
        angles = np.degrees(np.arctan2(long[:, 1], long[:, 0])) % 180.0
        reaches = n_std * np.sqrt(np.maximum(np.diagonal(S, axis1=1, axis2=2), 0.0))
        return cls(np.asarray(centres, np.float64), lengths[:, 1], lengths[:, 0], angles, reaches)

    def __len__(self) -> int:
        return len(self.centres)

    def take(self, chosen: list[int]) -> Ellipses:
        """Return some of the ellipses."""
        return Ellipses(*(getattr(self, one)[chosen] for one in self.__dataclass_fields__))

    def draw(
        self,
        ax: Axes,
        colours: npt.ArrayLike | str,
        *,
        fill: float = 0.18,
        linestyle: str = "-",
        zorder: float = 2.0,
    ) -> None:
        """Draw all as one collection: an outline, and a fill of the given opacity."""
        for opacity, edges, faces in ((fill, "none", colours), (1.0, colours, "none")):
            if opacity == 0.0:
                continue
            ax.add_collection(
                EllipseCollection(
                    self.widths,
                    self.heights,
                    self.angles,
                    units="xy",
                    offsets=self.centres,
                    offset_transform=ax.transData,
                    facecolors=faces,
                    edgecolors=edges,
                    linestyles=linestyle,
                    linewidths=0.9,
                    alpha=opacity,
                    zorder=zorder,
                )
            )


def limits_of(*ellipses: Ellipses, points: FloatArray | None = None) -> Limits:
    """Return the window, ((left, right), (bottom, top)), that holds all with a margin."""
    lows = [(one.centres - one.reaches).min(axis=0) for one in ellipses]
    highs = [(one.centres + one.reaches).max(axis=0) for one in ellipses]
    if points is not None and len(points):
        lows.append(points.min(axis=0))
        highs.append(points.max(axis=0))
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    pad = MARGIN * (float((high - low).max()) or 1.0)
    (left, bottom), (right, top) = (low - pad).tolist(), (high + pad).tolist()
    return (left, right), (bottom, top)


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane of the first two principal components of one network.

    Attributes
    ----------
    offset : ndarray, shape (n,)
        Grand mean of the network; it becomes the origin.
    basis : ndarray, shape (n, 2)
        Orthonormal columns. With one neuron the second is zero.
    shares : tuple of two floats
        Share of the variance, of means and noise together, along each.

    Examples
    --------
    >>> Plane.of(Gaussians.points([[0.0, 0.0, 0.0], [0.0, 4.0, 0.0]])).shares
    (1.0, 0.0)
    """

    offset: FloatArray
    basis: FloatArray
    shares: tuple[float, float]

    @classmethod
    def of(cls, network: Trials | Gaussians) -> Plane:
        """Find the plane; conditions weigh the same."""
        width = min(2, network.n_neurons)
        fitted = Preprocess(n_components=width).fit(network)
        if fitted.linear is None:
            raise AssertionError("components were asked for")
        moments = fitted.apply(as_moments(network))
        assert isinstance(moments, Gaussians)
        along = (moments.means**2 + moments.variances).mean(axis=0)
        share = fitted.explained_variance * along / (along.sum() or 1.0)
        basis = np.pad(fitted.linear, ((0, 0), (0, 2 - width)))
        shares = np.pad(share, (0, 2 - width)).tolist()
        return cls(fitted.offset, basis, (shares[0], shares[1]))

    def axis_labels(self) -> tuple[str, str]:
        """Return what to write along the axes."""
        first, second = (f"PC {k + 1} ({100 * share:.0f} %)" for k, share in enumerate(self.shares))
        return first, second


def as_moments(
    network: Trials | Gaussians, covariance: str | CovarianceEstimator = "mle"
) -> Gaussians:
    """Return Gaussians as they are, and the estimated moments of trials."""
    return network if isinstance(network, Gaussians) else estimate_moments(network, covariance)


def projected(
    network: Gaussians, linear: FloatArray, offset: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return means x L - offset and covariances L' S L in a plane, (M, 2) and (M, 2, 2).

    Covariances are never made dense in the neurons.
    """
    means = network.means @ linear - offset
    if network.kind == "factors":
        factors = linear.T @ network.stored
        return means, factors @ np.swapaxes(factors, 1, 2)
    if network.kind == "diagonal":
        return means, (linear.T * network.stored[:, None, :]) @ linear
    return means, linear.T @ network.stored @ linear
