"""Distances over a range of alphas, from covariances alone (0) to means alone (2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape import _native
from repshape._compact import compact_repr
from repshape._parallel import run_all
from repshape.errors import InputError, check_real
from repshape.matrix.checks import check_labels
from repshape.metrics.base import check_same_conditions
from repshape.metrics.gaussian import GaussianShapeMetric, check_gaussian
from repshape.metrics.native import PreparedNative
from repshape.metrics.soft import refuse_soft
from repshape.responses import NetworkLike

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

# The search restarts from a transform found at another alpha if that is better by this fraction.
BETTER = 1e-9
MAX_ROUNDS = 5


@compact_repr
@dataclass(frozen=True, eq=False)
class Interpolation:
    """Distances of all pairs of networks at several alphas.

    Attributes
    ----------
    alphas : ndarray, shape (A,)
        In ascending order, including 0 and 2.
    labels : tuple of str
        Names of the networks.
    pairs : ndarray of int, shape (P, 2)
    distances, lower_bounds : ndarray, shape (A, P)
        Distances, and proven lower bounds of the minimum over transforms.
    mean_distances, covariance_distances : ndarray, shape (A, P)
        The parts m and c of each distance at its transform: d^2 = alpha m^2 + (2-alpha) c^2.
    """

    alphas: FloatArray
    labels: tuple[str, ...]
    pairs: IntArray
    distances: FloatArray
    lower_bounds: FloatArray
    mean_distances: FloatArray
    covariance_distances: FloatArray

    @property
    def ratios(self) -> FloatArray:
        """d_0 / d_2 of each pair, (P,); infinite if the means coincide."""
        d_0, d_2 = self.distances[0], self.distances[-1]
        out = np.full(len(d_0), np.inf)
        np.divide(d_0, d_2, out=out, where=d_2 > 0)
        out[(d_0 == 0) & (d_2 == 0)] = np.nan
        return out

    @property
    def interpolation_bounds(self) -> FloatArray:
        r"""The bound of Appendix E.2, (A, P).

        .. math:: d_a^2 \ge \tfrac{a}{2} d_2^2 + \tfrac{2-a}{2} d_0^2

        No transform is better for either part than the best transform of that part alone. The
        bound uses the d_0 that was found, which may be above the minimum; ``lower_bounds`` does
        not depend on it.
        """
        a = self.alphas[:, None]
        return np.asarray(
            np.sqrt(a / 2 * self.distances[-1] ** 2 + (2 - a) / 2 * self.distances[0] ** 2)
        )

    def ratio_summary(self) -> pd.Series[float]:
        """Return the median, quartiles and range of d_0 / d_2 over pairs.

        Pairs that share a network are not independent: this is a spread, not an error bar.
        """
        names = {"min": 0, "lower_quartile": 25, "median": 50, "upper_quartile": 75, "max": 100}
        values = np.percentile(self.ratios, list(names.values()))
        return pd.Series(values, index=list(names), name="d_0 / d_2")

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each alpha and pair."""
        count = len(self.alphas)
        first, second = (np.array(self.labels, dtype=object)[self.pairs[:, k]] for k in (0, 1))
        return pd.DataFrame(
            {
                "alpha": np.repeat(self.alphas, len(self.pairs)),
                "x": np.tile(first, count),
                "y": np.tile(second, count),
                "distance": self.distances.ravel(),
                "lower_bound": self.lower_bounds.ravel(),
                "interpolation_bound": self.interpolation_bounds.ravel(),
                "mean_distance": self.mean_distances.ravel(),
                "covariance_distance": self.covariance_distances.ravel(),
            }
        )


@dataclass(frozen=True)
class _Found:
    """One pair at one alpha: squared parts, lower bound, and transform in solver coordinates."""

    means: float
    covariances: float
    lower_bound: float
    core: FloatArray

    def squared(self, alpha: float) -> float:
        """Return the squared distance at this transform, for any alpha."""
        return alpha * self.means + (2 - alpha) * self.covariances


def interpolate(
    networks: Iterable[NetworkLike],
    alphas: Sequence[float] = (0.0, 0.5, 1.0, 1.5, 2.0),
    metric: GaussianShapeMetric | None = None,
    *,
    labels: Sequence[str] | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> Interpolation:
    r"""Return the distances of all pairs over a range of alphas.

    Networks are prepared once for all alphas. A transform T with parts m(T) and c(T) is an upper
    bound of the distance at *every* alpha, :math:`d_a^2 \le a\, m(T)^2 + (2-a)\, c(T)^2`. If a
    transform found at another alpha is better than the one found at this alpha, the search restarts
    from it. As a result, d_a^2 is concave in alpha on the grid, as it should be.

    Parameters
    ----------
    networks : iterable of K networks
    alphas : sequence of float in [0, 2]
        0 and 2 are added if they are missing.
    metric : GaussianShapeMetric, optional
        Its alpha is ignored. By default ``GaussianShapeMetric()``.
    labels, workers, progress
        As in `repshape.pairwise`.

    Returns
    -------
    Interpolation

    Examples
    --------
    >>> x = (np.zeros((1, 2)), np.ones((1, 2)))
    >>> y = (np.full((1, 2), [[3.0, 4.0]]), np.full((1, 2), 4.0))
    >>> sweep = interpolate([x, y], alphas=[1.0])
    >>> sweep.alphas
    array([0., 1., 2.])
    >>> (sweep.distances[:, 0] ** 2).round(6)
    array([ 4., 27., 50.])
    >>> sweep.ratios.round(6)
    array([0.282843])
    """
    template = check_gaussian(metric)
    refuse_soft(template, "A sweep over alphas")
    grid = np.unique([0.0, 2.0, *(check_real("alphas", one, 0, 2) for one in alphas)])
    metrics = [template.with_parameters(alpha=float(alpha)) for alpha in grid]
    prepared = [metrics[0].prepare(network) for network in networks]
    if len(prepared) < 2:
        raise InputError(f"A sweep needs at least two networks. Got {len(prepared)}.")
    for network in prepared[1:]:
        check_same_conditions(prepared[0], network)
    names = check_labels(labels, len(prepared))
    pairs = np.column_stack(np.triu_indices(len(prepared), 1))
    found = run_all(
        lambda pair: sweep_pair(metrics, prepared[pair[0]], prepared[pair[1]]),
        list(pairs),
        what="pairs",
        workers=workers,
        progress=progress,
    )
    table = np.array(found).transpose(2, 1, 0)  # (quantity, alpha, pair)
    return Interpolation(grid, names, pairs, *table)


class SweepPoint(NamedTuple):
    """One pair at one alpha: its distance, lower bound, and parts."""

    distance: float
    lower_bound: float
    mean_distance: float
    covariance_distance: float


def sweep_pair(
    metrics: Sequence[GaussianShapeMetric], x: PreparedNative, y: PreparedNative
) -> list[SweepPoint]:
    """Solve one pair under metrics that differ only in alpha, one point per metric."""
    found = [_solve(metric, x, y) for metric in metrics]
    alphas = [float(metric.alpha) for metric in metrics]
    for _ in range(MAX_ROUNDS):
        changed = False
        for k, alpha in enumerate(alphas):
            best = min(found, key=lambda one: one.squared(alpha))
            if best.squared(alpha) < (1 - BETTER) * found[k].squared(alpha):
                found[k] = _resolve(metrics[k], x, y, best, found[k].lower_bound)
                changed = True
        if not changed:
            break
    return [
        SweepPoint(one.squared(alpha) ** 0.5, one.lower_bound, one.means**0.5, one.covariances**0.5)
        for alpha, one in zip(alphas, found, strict=True)
    ]


def _solve(metric: GaussianShapeMetric, x: PreparedNative, y: PreparedNative) -> _Found:
    one = metric.align_prepared(x, y)
    parts = one.mean_distance**2, one.covariance_distance**2
    return _Found(*parts, one.lower_bound, one._map.core)


def _resolve(
    metric: GaussianShapeMetric,
    x: PreparedNative,
    y: PreparedNative,
    start: _Found,
    lower_bound: float,
) -> _Found:
    """Search from a transform of another alpha; the result is never worse than that transform."""
    result = metric.solve_pairs([x, y], [[0, 1]], starts=[start.core[None]], keep=True)
    core = (result.transforms or [])[0]
    parts = _native.evaluate(x.native, y.native, core, metric._weights(x.n_conditions))
    new = _Found(parts.means, parts.covariances, lower_bound, core)
    alpha = float(metric.alpha)
    if new.squared(alpha) <= start.squared(alpha):
        return new
    return _Found(start.means, start.covariances, lower_bound, start.core)
