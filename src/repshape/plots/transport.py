"""The optimal transport map between the responses of two networks to one condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from repshape.coordinates.factors import factorise
from repshape.errors import InputError, check_integer
from repshape.metrics.base import Alignment, check_same_conditions
from repshape.moments import CovarianceEstimator, check_estimator
from repshape.plots.alignment import LOOKS, as_aligned, draw_pair_key
from repshape.plots.captions import UNIT, deviations
from repshape.plots.picture import Limits, Picture, set_window
from repshape.plots.planes import Ellipses, Plane, as_moments, limits_of
from repshape.plots.style import COLUMN_WIDTH, FAINT, INK, plain, short
from repshape.responses import Gaussians, NetworkLike, Trials, as_network

FloatArray = npt.NDArray[np.float64]

# Times, between the start (0) and the end (1), at which intermediate distributions are shown.
BETWEEN = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class TransportPicture(Picture):
    """Two Gaussians and samples that the optimal map moves from one to the other.

    Attributes
    ----------
    plane : Plane
        First two principal components of both Gaussians together.
    ellipses : Ellipses
        Ellipses of x and of y.
    between : Ellipses
        Ellipses of the intermediate distributions at 1/4, 1/2 and 3/4 of the way.
    starts, ends : ndarray, shape (N, 2)
        Samples of x, and their images under the optimal map.
    mean_distance, covariance_distance : float
        Distance between the means, and Bures distance between the covariances. The root of the
        sum of their squares is the 2-Wasserstein distance.
    names : tuple of two str
    limits : tuple
    caption : str

    Examples
    --------
    >>> x, y = (np.zeros((1, 2)), np.ones((1, 2))), (np.zeros((1, 2)), np.full((1, 2), 9.0))
    >>> picture = TransportPicture.of(x, y)
    >>> bool(np.allclose(picture.ends, 3.0 * picture.starts))
    True
    """

    plane: Plane
    ellipses: Ellipses
    between: Ellipses
    starts: FloatArray
    ends: FloatArray
    mean_distance: float
    covariance_distance: float
    names: tuple[str, str]
    limits: Limits
    caption: str

    size: ClassVar[tuple[float, float]] = (COLUMN_WIDTH, 2.7)

    @property
    def distance(self) -> float:
        """The 2-Wasserstein distance for this condition."""
        return float(np.hypot(self.mean_distance, self.covariance_distance))

    @classmethod
    def of(
        cls,
        x: NetworkLike,
        y: NetworkLike,
        condition: int | str = 0,
        alignment: Alignment | None = None,
        *,
        names: tuple[str, str] = ("x", "y"),
        n_particles: int = 60,
        n_std: float = 1.0,
        covariance: str | CovarianceEstimator = "mle",
        unit: str = UNIT,
        random_state: int = 0,
    ) -> TransportPicture:
        """Make the picture of one condition; the parameters are those of `plot_transport`."""
        check_integer("n_particles", n_particles, 0)
        check_estimator(covariance)
        m, means, roots = _pair(x, y, condition, alignment, covariance)
        A, C = roots[0], roots[1] @ optimal_turn(*roots)
        plane = Plane.of(Gaussians.from_factors(means, np.stack([A, C])))
        flat, origin = plane.basis, plane.offset @ plane.basis
        centres = means @ flat - origin
        noise = np.random.default_rng(random_state).standard_normal((n_particles, A.shape[1]))
        starts, ends = (centres[k] + noise @ (one.T @ flat) for k, one in enumerate((A, C)))
        ellipses = _between(centres, A.T @ flat, C.T @ flat, (0.0, 1.0), n_std)
        gaps = float(np.linalg.norm(means[0] - means[1])), float(np.linalg.norm(A - C))
        return cls(
            plane=plane,
            ellipses=ellipses,
            between=_between(centres, A.T @ flat, C.T @ flat, BETWEEN, n_std),
            starts=starts,
            ends=ends,
            mean_distance=gaps[0],
            covariance_distance=gaps[1],
            names=(plain(names[0]), plain(names[1])),
            limits=limits_of(ellipses, points=np.concatenate([starts, ends])),
            caption=_caption(m, A.shape[0], gaps, alignment is not None, n_std, unit),
        )

    def _draw(self, ax: Axes) -> None:
        self.between.draw(ax, FAINT, fill=0.0, zorder=1)
        for k, (colour, line, marker) in enumerate(LOOKS):
            one = self.ellipses.take([k])
            one.draw(ax, colour, fill=0.12, linestyle=line)
            across, up = (self.starts, self.ends)[k].T
            ax.scatter(across, up, s=4, color=colour, marker=marker, linewidths=0, zorder=3)
            across, up = one.centres.T
            ax.scatter(across, up, s=24, color=colour, marker=marker, zorder=4, edgecolor="w")
        self._draw_arrows(ax)
        set_window(ax, self.limits, self.plane.axis_labels())
        draw_pair_key(ax, self.names, loc="upper left", bbox_to_anchor=(1, 1))

    def _draw_arrows(self, ax: Axes) -> None:
        way = self.ends - self.starts
        ax.quiver(
            *self.starts.T,
            *way.T,
            angles="xy",
            scale_units="xy",
            scale=1,
            width=0.0025,
            color=INK,
            alpha=0.45,
            zorder=2.5,
        )


def optimal_turn(A: FloatArray, C: FloatArray) -> FloatArray:
    """Return the orthogonal W that minimises |A - C W|_F, for factors A and C of shape (n, r).

    If z is standard normal, A z and C W z have covariances A A' and C C', and this coupling of
    the two is optimal: |A - C W|_F is the Bures distance. If A is square and invertible, the
    coupling is the map x -> C W A^-1 x, whose matrix is symmetric (Brenier); no inverse is needed
    here.
    """
    U, _, Vt = np.linalg.svd(A.T @ C)
    return np.asarray(Vt.T @ U.T)


def _pair(
    x: NetworkLike,
    y: NetworkLike,
    condition: int | str,
    alignment: Alignment | None,
    covariance: str | CovarianceEstimator,
) -> tuple[str, FloatArray, list[FloatArray]]:
    """Return the name of the condition, both means, (2, n), and factors of equal width."""
    networks = as_network(x, "x"), as_network(y, "y")
    check_same_conditions(*networks)
    if alignment is not None:
        networks = as_aligned(*networks, alignment)
    elif networks[0].n_neurons != networks[1].n_neurons:
        raise InputError(
            "The 'alignment' parameter is required for networks with different numbers of neurons. "
            f"Got {networks[0].n_neurons} and {networks[1].n_neurons} neurons and no alignment."
        )
    m = _position(networks[0], condition)
    one = [as_moments(network, covariance) for network in networks]
    means = [network.means[m] for network in one]
    roots = [_root(network, m) for network in one]
    if alignment is not None:
        # The smaller network is moved, so that all dimensions of the larger one are kept.
        k = 0 if len(means[0]) < len(means[1]) else 1
        move = alignment._map.apply if k else alignment._map.reversed().apply
        means[k], roots[k] = move(means[k]), move(roots[k].T).T
    width = max(root.shape[1] for root in roots)
    roots = [np.pad(root, ((0, 0), (0, width - root.shape[1]))) for root in roots]
    labels = networks[0].conditions
    return str(m if labels is None else labels[m]), np.stack(means), roots


def _root(network: Gaussians, m: int) -> FloatArray:
    """Return a factor A, (n, r), of the covariance of condition m."""
    part = slice(m, m + 1)
    single = Gaussians._trusted(network.means[part], network.stored[part], network.kind)
    found = factorise(single)
    return np.diag(found.factors[0]) if found.diagonal else found.factors[0]


def _position(network: Trials | Gaussians, condition: int | str) -> int:
    if isinstance(condition, str):
        if network.conditions is None or condition not in network.conditions:
            raise InputError(f"There is no condition named {condition!r}.")
        return network.conditions.index(condition)
    if check_integer("condition", condition, 0) >= network.n_conditions:
        raise InputError(f"There are {network.n_conditions} conditions. Got index {condition}.")
    return int(condition)


def _between(
    centres: FloatArray, A: FloatArray, C: FloatArray, times: tuple[float, ...], n_std: float
) -> Ellipses:
    """Return the interpolated Gaussians at some times.

    A and C, (r, 2), are transposed factors in the plane.
    """
    t = np.array(times)[:, None]
    roots = (1 - t[..., None]) * A + t[..., None] * C
    return Ellipses.of(
        (1 - t) * centres[0] + t * centres[1], np.swapaxes(roots, 1, 2) @ roots, n_std
    )


def _caption(
    condition: str,
    n_neurons: int,
    gaps: tuple[float, float],
    aligned: bool,
    n_std: float,
    unit: str,
) -> str:
    words = f"Condition {short(condition)}, {'after' if aligned else 'without'} alignment"
    if n_neurons > 2:
        words += (
            f"; {n_neurons} neurons, projected onto the first two principal components of both "
            "networks"
        )
    return (
        f"{words}. Arrows: optimal transport map, which minimises the mean squared displacement. "
        f"Grey: intermediate distributions. Ellipses: {deviations(n_std)}. 2-Wasserstein distance "
        f"{np.hypot(*gaps):.4g} (means {gaps[0]:.4g}, covariances {gaps[1]:.4g}). Axes in {unit}."
    )


def plot_transport(
    x: NetworkLike,
    y: NetworkLike,
    condition: int | str = 0,
    alignment: Alignment | None = None,
    *,
    names: tuple[str, str] = ("x", "y"),
    n_particles: int = 60,
    n_std: float = 1.0,
    covariance: str | CovarianceEstimator = "mle",
    unit: str = UNIT,
    random_state: int = 0,
    ax: Axes | None = None,
    caption: bool = False,
) -> Axes:
    r"""Draw the optimal transport map between the responses of two networks to one condition.

    Between Gaussians, the optimal map is

    .. math:: u \mapsto \mu_y + G (u - \mu_x), \qquad
              G = S_x^{-1/2} (S_x^{1/2} S_y S_x^{1/2})^{1/2} S_x^{-1/2}.

    Each arrow starts at a random sample of x and ends where the map takes it. The map is computed
    from factors, without an inverse, so covariances may be rank deficient.

    Parameters
    ----------
    x, y : networks
    condition : int or str
        Index or name of the condition.
    alignment : Alignment, optional
        Result of ``metric.align(x, y)``. If given, y is aligned to x first; if y has more
        neurons, x is aligned to y instead, so that all dimensions of y are kept.
    names : tuple of two str
        Names of the networks, for the legend.
    n_particles : int
        Number of arrows.
    n_std, covariance, unit
        As in `plot_responses`.
    random_state : int
        Seed of the random samples.
    ax, caption
        As in `plot_matrix`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> x = (np.zeros((1, 2)), np.ones((1, 2)))
    >>> y = (np.array([[3.0, 0.0]]), np.full((1, 2), 4.0))
    >>> round(TransportPicture.of(x, y).distance ** 2, 9)
    11.0
    >>> len(plot_transport(x, y, n_particles=5, ax=Figure().subplots()).collections)
    10
    """
    picture = TransportPicture.of(
        x,
        y,
        condition,
        alignment,
        names=names,
        n_particles=n_particles,
        n_std=n_std,
        covariance=covariance,
        unit=unit,
        random_state=random_state,
    )
    return picture.draw(ax, caption=caption)
