"""Projections of networks onto a plane: means as points, and covariances as ellipses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection

from repshape.errors import check_real
from repshape.moments import CovarianceEstimator, estimate_moments
from repshape.plots.picture import Limits
from repshape.preprocess import Preprocess
from repshape.responses import Gaussians, Trials

FloatArray = npt.NDArray[np.float64]

MARGIN = 0.06


@dataclass(frozen=True, eq=False)
class Ellipses:
    """Ellipses of Gaussians in a plane.

    The ellipse of a covariance S is the set of points y with
    (y - centre)' S^-1 (y - centre) = n_std^2. Along each principal axis it extends ``n_std``
    standard deviations from the centre.

    Attributes
    ----------
    centres : ndarray, shape (M, 2)
    widths, heights : ndarray, shape (M,)
        Full lengths of the long and the short axis.
    angles : ndarray, shape (M,)
        Angle between the long axis and the first coordinate, in degrees.
    reaches : ndarray, shape (M, 2)
        Half the width and height of the bounding box of each ellipse.
    """

    centres: FloatArray
    widths: FloatArray
    heights: FloatArray
    angles: FloatArray
    reaches: FloatArray

    @classmethod
    def of(cls, centres: npt.ArrayLike, covariances: npt.ArrayLike, n_std: float = 1.0) -> Ellipses:
        """Return the ellipses of covariances, shape (M, 2, 2), around centres, shape (M, 2).

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
        """Return the ellipses at the given indices."""
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
        """Draw all ellipses: their outlines, and their interiors with opacity ``fill``."""
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
    """Return axis limits, ((left, right), (bottom, top)), that contain everything with a margin."""
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
        Grand mean of the network, which becomes the origin.
    basis : ndarray, shape (n, 2)
        Orthonormal columns. If there is only one neuron, the second column is zero.
    shares : tuple of two floats
        Fraction of the total variance (of means and noise) along each component.

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
        """Return the plane of a network, with equal weights for all conditions."""
        width = min(2, network.n_neurons)
        fitted = Preprocess(n_components=width).fit(network)
        if fitted.linear is None:
            raise AssertionError("a fit with n_components has a linear map")
        moments = fitted.apply(as_moments(network))
        assert isinstance(moments, Gaussians)
        along = (moments.means**2 + moments.variances).mean(axis=0)
        share = fitted.explained_variance * along / (along.sum() or 1.0)
        basis = np.pad(fitted.linear, ((0, 0), (0, 2 - width)))
        shares = np.pad(share, (0, 2 - width)).tolist()
        return cls(fitted.offset, basis, (shares[0], shares[1]))

    def axis_labels(self) -> tuple[str, str]:
        """Return the labels of both axes."""
        first, second = (f"PC {k + 1} ({100 * share:.0f} %)" for k, share in enumerate(self.shares))
        return first, second


def as_moments(
    network: Trials | Gaussians, covariance: str | CovarianceEstimator = "mle"
) -> Gaussians:
    """Return Gaussians unchanged, and estimate the moments of trials."""
    return network if isinstance(network, Gaussians) else estimate_moments(network, covariance)


def projected(
    network: Gaussians, linear: FloatArray, offset: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return projected means, mu L - offset, (M, 2), and covariances, L' S L, (M, 2, 2).

    No dense covariance between neurons is formed.
    """
    means = network.means @ linear - offset
    if network.kind == "factors":
        factors = linear.T @ network.stored
        return means, factors @ np.swapaxes(factors, 1, 2)
    if network.kind == "diagonal":
        return means, (linear.T * network.stored[:, None, :]) @ linear
    return means, linear.T @ network.stored @ linear
