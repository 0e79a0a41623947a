"""Principal components of networks in the tangent space at their Frechet mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._compact import compact_repr
from repshape.analysis.frechet import frechet_mean
from repshape.analysis.tangent_mean import mean_point
from repshape.analysis.tangent_space import Point, ShapeSpace, TangentVector
from repshape.errors import InputError, check_integer
from repshape.metrics.process import PositionShapeMetric

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TangentCloud:
    """Networks as tangent vectors at their Frechet mean.

    Attributes
    ----------
    space : ShapeSpace
    mean : Point
    logs : list of K TangentVectors
    """

    space: ShapeSpace
    mean: Point
    logs: list[TangentVector]

    @classmethod
    def of(cls, networks: Iterable[Any], metric: Any, workers: int | None) -> TangentCloud:
        """Find the Frechet mean, and the tangent vectors of all networks at it."""
        given = list(networks)
        if len(given) < 2:
            raise InputError(
                f"The 'networks' parameter must hold at least two networks. Got {len(given)}."
            )
        space = ShapeSpace(metric)
        points = space.points(given, [f"network {k}" for k in range(len(given))])
        share = np.full(len(points), 1 / len(points))
        if isinstance(space.given, PositionShapeMetric):
            found = mean_point(space, points, share, tol=1e-8, max_iter=100, workers=workers)
            mean, transforms = found.mean, [T.T for T in found.transforms]
        else:
            center = frechet_mean([one.network for one in points], space.metric, workers=workers)
            mean = space.point(
                center.mean.means[:, None], center.mean.factors[:, None], center.mean
            )
            transforms = list(center.transforms)
        logs = [space.log(mean, *pair) for pair in zip(points, transforms, strict=True)]
        return cls(space, mean, logs)

    @cached_property
    def vectors(self) -> FloatArray:
        """The tangent vectors as rows, (K, D)."""
        return np.stack([one.vector for one in self.logs])

    def network(self, vector: FloatArray) -> Any:
        """Return the network that a row leads to."""
        split = self.logs[0].means.size
        means = vector[:split].reshape(self.logs[0].means.shape)
        factors = vector[split:].reshape(self.logs[0].factors.shape)
        return self.space.exp(self.mean, TangentVector(means, factors)).network


@compact_repr
@dataclass(frozen=True, eq=False)
class TangentPCA:
    """Principal components of K networks at their Frechet mean.

    Attributes
    ----------
    scores : ndarray, shape (K, k)
        Coordinates of the networks, in units of distance.
    explained_variance_ratio : ndarray, shape (k,)
        Share of the squared distances to the mean along each component.
    distances : ndarray, shape (K,)
        Distance of each network to the mean: the length of its tangent vector.
    components : ndarray, shape (k, D)
        Orthonormal directions, as rows of `TangentVector.vector`.
    mean : Gaussians or PositionNetwork
        The Frechet mean, which has the scores 0.
    """

    scores: FloatArray
    explained_variance_ratio: FloatArray
    distances: FloatArray
    components: FloatArray
    mean: Any
    _cloud: TangentCloud

    def network_at(self, scores: npt.ArrayLike) -> Any:
        """Return the network with the given scores, of which missing ones are 0.

        Small scores give networks near the mean. Large ones may lead beyond the region in which
        tangent vectors and networks correspond one to one.
        """
        given = np.atleast_1d(np.asarray(scores, dtype=np.float64))
        k = len(self.components)
        if given.ndim != 1 or len(given) > k or not np.isfinite(given).all():
            raise InputError(
                f"The 'scores' parameter must be at most {k} finite numbers. "
                f"Got {scores!r} instead."
            )
        return self._cloud.network(given @ self.components[: len(given)])

    @cached_property
    def tangent_distances(self) -> FloatArray:
        """Distances between the networks as they appear in the tangent space, (K, K).

        They use all directions, not only the components. Shape space has no negative curvature, so
        they are never shorter than the distances between the networks, if those are minimal.
        """
        vectors = self._cloud.vectors
        squares = (vectors**2).sum(axis=1)
        gaps = squares[:, None] + squares - 2 * vectors @ vectors.T
        np.fill_diagonal(gaps, 0.0)
        return np.asarray(np.sqrt(np.maximum(gaps, 0.0)))

    def stretch(self, distances: npt.ArrayLike) -> float:
        """Return the sum of squared tangent distances, relative to that of the given distances.

        Parameters
        ----------
        distances : DistanceMatrix or array of shape (K, K)
            From `repshape.pairwise` with the same networks and metric. A ratio close to 1 means
            that the tangent space represents the networks faithfully.
        """
        D = np.asarray(distances, dtype=np.float64)
        if D.shape != self.tangent_distances.shape:
            K = len(self.scores)
            raise InputError(f"The distances must have shape {(K, K)}. Got {D.shape} instead.")
        return float((self.tangent_distances**2).sum() / (D**2).sum())


def tangent_pca(
    networks: Iterable[Any],
    metric: Any = None,
    *,
    n_components: int = 2,
    workers: int | None = None,
) -> TangentPCA:
    """Return the principal components of networks in the tangent space at their Frechet mean.

    Every network is mapped to the tangent vector at the mean that points to it (`log_map`). Unlike
    an embedding of distances, components are directions in the space of networks: each of them says
    how means and covariances change along it, and `TangentPCA.network_at` returns the networks
    along it.

    Parameters
    ----------
    networks : iterable of K networks
    metric : GaussianShapeMetric or ProcessShapeMetric, optional
        By default ``GaussianShapeMetric()``.
    n_components : int
        Number of components k, at most K.
    workers : int, optional
        Number of threads; all cores by default.

    Notes
    -----
    Where the mean has singular covariances, tangent vectors are not unique: several changes of its
    factors lead to the same network.

    Examples
    --------
    Networks that differ in the scale of their noise only:

    >>> from repshape import Gaussians
    >>> networks = [Gaussians([[1.0, 0.0]], [[s**2, 0.0]]) for s in (1.0, 2.0, 3.0)]
    >>> found = tangent_pca(networks)
    >>> np.round(np.abs(found.scores[:, 0]), 6), found.explained_variance_ratio[0].round(6)
    (array([1., 0., 1.]), np.float64(1.0))
    >>> found.network_at(0.0).covariances[0].round(6)
    array([[4., 0.],
           [0., 0.]])
    """
    check_integer("n_components", n_components, 1)
    cloud = TangentCloud.of(networks, metric, workers)
    vectors = cloud.vectors
    k = min(n_components, len(vectors))
    U, s, Vt = np.linalg.svd(vectors, full_matrices=False)
    signs = np.where(U[np.argmax(np.abs(U), axis=0), np.arange(len(s))] < 0, -1.0, 1.0)
    total = float((s**2).sum())
    share = s[:k] ** 2 / total if total > 0 else np.zeros(k)
    return TangentPCA(
        scores=(U * s * signs)[:, :k],
        explained_variance_ratio=share,
        distances=np.array([one.norm for one in cloud.logs]),
        components=(Vt * signs[:, None])[:k],
        mean=cloud.mean.network,
        _cloud=cloud,
    )
