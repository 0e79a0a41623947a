"""Shortest paths in shape space, and the maps between networks and tangent vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from repshape._arrays import float_array
from repshape.analysis.tangent_space import ShapeSpace, TangentVector
from repshape.errors import InputError


@overload
def geodesic(x: Any, y: Any, t: float, metric: Any = ...) -> Any: ...
@overload
def geodesic(x: Any, y: Any, t: Sequence[float], metric: Any = ...) -> list[Any]: ...
def geodesic(x: Any, y: Any, t: float | Sequence[float], metric: Any = None) -> Any:
    r"""Return the network at a fraction t of the shortest path from x to y.

    With the best alignment T, factors A and C of the covariances, and the polar factor U of
    :math:`A' T C`,

    .. math:: \mu_t = (1-t)\, \mu_x + t\, T \mu_y, \qquad A_t = (1-t)\, A + t\, T C U',

    for each condition. The path has constant speed: the distance between two of its networks is
    :math:`|s - t|\, d(x, y)`.

    Parameters
    ----------
    x, y : networks
        The path is in the coordinates of x. The smaller network gets silent neurons.
    t : float, or sequence of floats
        0 is x, 1 is y, and 0.5 is halfway. Values outside [0, 1] extrapolate the path.
    metric : GaussianShapeMetric or ProcessShapeMetric, optional
        By default ``GaussianShapeMetric()``. Its preprocessing is applied to both networks.

    Returns
    -------
    Gaussians or PositionNetwork
        A list of them for several t. In the marginal mode of `ProcessShapeMetric`, different time
        steps are independent, because that mode ignores their correlations.

    Notes
    -----
    If several alignments are equally good, there are several shortest paths, of which one is
    returned. If the search missed the best alignment, the path is longer than necessary.

    Examples
    --------
    >>> from repshape import Gaussians, GaussianShapeMetric
    >>> x = Gaussians([[0.0, 0.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]])
    >>> y = Gaussians([[0.0, 0.0], [0.0, 3.0]], [[9.0, 1.0], [1.0, 1.0]])
    >>> half = geodesic(x, y, 0.5)
    >>> distance = GaussianShapeMetric().distance
    >>> [round(distance(one, half) / distance(x, y), 6) for one in (x, y)]
    [0.5, 0.5]
    """
    times = float_array(t, "t")
    if times.ndim > 1 or not np.isfinite(times).all():
        raise InputError(f"The 't' parameter must be finite numbers. Got {t!r} instead.")
    space = ShapeSpace(metric)
    first, second = space.points([x, y], ["x", "y"])
    whole = space.log(first, second)
    found = [space.exp(first, whole * one).network for one in np.atleast_1d(times).tolist()]
    return found if times.ndim else found[0]


def log_map(x: Any, y: Any, metric: Any = None) -> TangentVector:
    r"""Return the tangent vector at x that points to y along the shortest path.

    .. math:: v = \big( \sqrt{a w_m}\, (T \mu^y_m - \mu^x_m),\;
              \sqrt{(2-a) w_m}\, (T C_m U_m' - A_m) \big)

    Its length is the distance, |v| = d(x, y). No inverse is needed, so covariances may be singular.

    Parameters
    ----------
    x, y, metric
        As in `geodesic`.

    Examples
    --------
    >>> import numpy as np
    >>> log_map(([[1.0]], [[4.0]]), ([[3.0]], [[9.0]])).vector  # means 1 and 3, sd 2 and 3
    array([2., 1.])
    """
    space = ShapeSpace(metric)
    first, second = space.points([x, y], ["x", "y"])
    return space.log(first, second)


def exp_map(x: Any, tangent: TangentVector, metric: Any = None) -> Any:
    """Return the network that a tangent vector at x leads to; the inverse of `log_map`.

    Parameters
    ----------
    x : network
        The network at which the vector is.
    tangent : TangentVector
        From `log_map`, or a multiple of it.
    metric : GaussianShapeMetric or ProcessShapeMetric, optional
        The metric of the vector.

    Returns
    -------
    Gaussians or PositionNetwork

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.random.default_rng(0).normal(size=(2, 5, 20, 3))
    >>> from repshape import GaussianShapeMetric
    >>> GaussianShapeMetric().distance(exp_map(x, log_map(x, y)), y) < 1e-8
    True
    """
    space = ShapeSpace(metric)
    (point,) = space.points([x], ["x"])
    size = tangent.means.shape[-1]
    if size > point.means.shape[2]:  # the vector points to a larger network
        extra = size - point.means.shape[2]
        means = np.pad(point.means, ((0, 0), (0, 0), (0, extra)))
        factors = np.pad(point.factors, ((0, 0), (0, 0), (0, extra), (0, 0)))
        point = space.point(means, factors, point.network)
    return space.exp(point, tangent).network
