"""The Frechet mean of networks: their mean in shape space."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._joins import in_order, network_names
from repshape.analysis.mean_problem import FrechetMean, mean_problem
from repshape.engine.inputs import as_sequence
from repshape.errors import InputError, NotConvergedWarning, check_integer, check_real
from repshape.metrics.base import ShapeMetric
from repshape.responses import NetworkLike

FloatArray = npt.NDArray[np.float64]


def frechet_mean(
    networks: Iterable[NetworkLike] | Mapping[str, NetworkLike],
    metric: ShapeMetric[Any] | None = None,
    *,
    weights: npt.ArrayLike | pd.Series[Any] | Mapping[str, float] | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    workers: int | None = None,
) -> FrechetMean:
    r"""Return the network with the smallest weighted mean of squared distances to the given ones.

    .. math:: \bar F = \arg\min_F \sum_k w_k\, d(F, F_k)^2

    The algorithm alternates between aligning every network to the mean, and averaging the aligned
    networks. The variance never increases, but the result may be a local minimum. The average
    depends on the metric:

    - `GaussianShapeMetric`, `ProcessShapeMetric`, `ConvShapeMetric`: means, and covariances by the
      Bures-Wasserstein fixed point;
    - `CovarianceShapeMetric`: means, and roots, logarithms or geodesics of covariances;
    - `ProcrustesShapeMetric`: mean responses, or their mean direction for angles. The mean is a
      network without noise;
    - `EnergyShapeMetric` with ``estimator="v"``: the mixture of the aligned samples. It needs equal
      weights, and as many trials of each condition in all networks. The mean has the trials of
      all of them.

    Parameters
    ----------
    networks : Cohort, or iterable or dict of K networks
    metric : ShapeMetric, optional
        One of those above, and a group of orthogonal transforms; ``GaussianShapeMetric()`` by
        default. The preprocessing is applied once to each network, so the mean is in the
        preprocessed space.
    weights : array of shape (K,), Series or dict by name, optional
        Weights of the networks; equal by default.
    tol : float
        Stop when an iteration reduces the variance by less than this fraction; for networks of 48
        neurons or more, at the ``tol`` of the metric if it is larger, because alignments are not
        more precise.
    max_iter : int
        Maximum number of iterations.
    workers : int, optional
        Number of threads; all cores by default.

    Warns
    -----
    NotConvergedWarning
        If ``max_iter`` iterations were not enough.

    Notes
    -----
    If the noise is much larger than the differences between networks, the mean of *estimated*
    shapes is biased away from the mean of the true ones, because alignment also fits noise
    (Miolane, Holmes and Pennec, 2017). Compare the variance with the noise floor of the networks.

    Examples
    --------
    >>> from repshape import Gaussians, GaussianShapeMetric
    >>> x = Gaussians([[0.0, 0.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]])
    >>> y = Gaussians([[0.0, 0.0], [0.0, 3.0]], [[9.0, 1.0], [1.0, 1.0]])
    >>> result = frechet_mean([x, y])
    >>> distance = GaussianShapeMetric().distance(x, y)
    >>> np.round(result.distances / distance, 6)
    array([0.5, 0.5])
    """
    check_real("tol", tol, 0, 1, closed="neither")
    check_integer("max_iter", max_iter, 1)
    given = list(as_sequence(networks, "networks"))
    shares: Any = weights
    if shares is not None:
        shares = in_order(weights, network_names(networks), len(given), "weights")
    problem = mean_problem(given, metric, workers)
    found = problem.solve(network_shares(shares, len(problem.networks)), tol, max_iter)
    warn_unconverged(found.converged, "Frechet mean", max_iter, stacklevel=3)
    return found


def warn_unconverged(converged: bool, what: str, max_iter: int, stacklevel: int) -> None:
    """Warn if an iteration stopped at its limit."""
    if not converged:
        warnings.warn(
            f"The {what} did not converge in {max_iter} iterations, so a better one may exist. "
            "Increase max_iter.",
            NotConvergedWarning,
            stacklevel=stacklevel,
        )


def network_shares(weights: npt.ArrayLike | None, count: int) -> FloatArray:
    """Return one weight per network, with sum 1; equal by default."""
    share = np.ones(count) if weights is None else np.array(weights, dtype=np.float64)
    if share.shape != (count,) or not np.isfinite(share).all() or share.min() < 0:
        raise InputError(
            f"The 'weights' parameter must be {count} non-negative numbers, one per network. "
            f"Got {weights!r} instead."
        )
    if share.sum() == 0:
        raise InputError("At least one of the weights must be positive. Got only zeros.")
    return np.asarray(share / share.sum())
