"""Representational dissimilarity matrices (RDMs), and how to compare them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import squareform

from repshape._arrays import FloatArray, Labels, converted
from repshape._compact import compact_repr
from repshape.baselines.comparisons import COMPARISONS, ranks, similarity
from repshape.baselines.dissimilarities import (
    DISSIMILARITIES,
    TRIALS,
    Noise,
    dissimilarities,
    given_noise,
)
from repshape.errors import InputError, InputTypeError, check_choice
from repshape.responses import NetworkLike, as_network


@compact_repr
@dataclass(frozen=True, eq=False)
class RDM:
    """The dissimilarities between the conditions of one network.

    Attributes
    ----------
    values : ndarray, shape (M (M - 1) / 2,)
        One dissimilarity for each pair of conditions, in the order of `scipy.spatial.distance`:
        (0, 1), (0, 2), ..., (1, 2), ...
    method : str
        The dissimilarity.
    conditions : tuple of str, or None
        Labels of the conditions, if the network has any.

    Notes
    -----
    ``np.asarray(rdm)`` is the square matrix (M, M), with zeros on its diagonal.
    """

    values: FloatArray
    method: str
    conditions: Labels = None

    @property
    def n_conditions(self) -> int:
        """Number of conditions, M."""
        return (1 + isqrt(1 + 8 * len(self.values))) // 2

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the square matrix of dissimilarities."""
        return converted(np.asarray(squareform(self.values, checks=False)), dtype, copy)

    def compare(self, other: RDM, method: str = "cosine") -> float:
        r"""Return how similar two RDMs of the same conditions are; 1 if they are the same.

        Parameters
        ----------
        other : RDM
        method : str
            - ``"cosine"``, ``"pearson"``, ``"spearman"``: of the values, their deviations from the
              mean, or their ranks.
            - ``"rho-a"``: the mean Spearman correlation if ties are broken at random,
              :math:`12\, \langle r - \bar r, s - \bar s \rangle / (P^3 - P)` with ranks r, s of the
              P pairs. It does not favour RDMs with ties.
            - ``"tau-a"``: pairs of dissimilarities in the same order minus those in the opposite
              order, as a fraction of all pairs of dissimilarities.
            - ``"whitened-cosine"``: the cosine between :math:`-H D H / 2`,
              :math:`H = I - 11'/M`. It takes into account that estimated dissimilarities with a
              common condition are correlated, for conditions with equal noise. For squared
              Euclidean distances it is linear CKA.

        Returns
        -------
        float
            In [-1, 1], or in [0, 1] for a cosine of non-negative values.

        References
        ----------
        Schutt, Kipnis, Diedrichsen and Kriegeskorte, "Statistical inference on representational
        geometries", eLife 12:e82566, 2023. Diedrichsen et al., "Comparing representational
        geometries using whitened unbiased-distance-matrix similarity", NBDT 2021.

        Examples
        --------
        >>> x, y = rdm([[0.0], [1.0], [3.0]]), rdm([[0.0], [2.0], [3.0]])
        >>> round(x.compare(y, "spearman"), 6), round(x.compare(y), 6)
        (0.5, 0.908163)
        """
        check_choice("method", method, COMPARISONS, owner="RDM.compare")
        _check_comparable([self, other])
        return similarity(self.values, other.values, method, ("the first RDM", "the second RDM"))


def rdm(
    x: NetworkLike,
    method: str = "euclidean",
    *,
    noise: npt.ArrayLike | None = None,
    trials: str = "independent",
) -> RDM:
    r"""Return the dissimilarities between all pairs of conditions of one network.

    Parameters
    ----------
    x : network
        At least 3 conditions and n neurons, with mean responses :math:`\mu`.
    method : str
        Dissimilarity of conditions a and b:

        - ``"euclidean"``: :math:`|\mu_a - \mu_b|^2 / n`, squared as is usual for RDMs.
        - ``"correlation"``, ``"cosine"``: 1 minus the correlation, or the cosine, of the mean
          responses over neurons.
        - ``"mahalanobis"``: :math:`(\mu_a - \mu_b)' S^{-1} (\mu_a - \mu_b) / n` with the noise
          covariance S.
        - ``"crossnobis"``: the same without the bias by noise, from products of different trials
          only. It may be negative. Its expectation is that of the true means, if S is not
          estimated from the same trials, and nearly so otherwise.
        - ``"poisson"``: :math:`\sum_i (\lambda_{ai} - \lambda_{bi})
          (\log \lambda_{ai} - \log \lambda_{bi}) / n`, the symmetric Kullback-Leibler divergence
          of Poisson distributions, with :math:`\lambda = (\mu + 0.1) / 1.1`, for spike counts.
    noise : array of shape (n, n), optional
        Noise covariance S for "mahalanobis" and "crossnobis". By default the Ledoit-Wolf estimate
        from the pooled residuals of all trials, or the mean covariance of Gaussians. The identity
        gives distances without weights.
    trials : {"independent", "runs"}
        For "crossnobis". "independent": all pairs of different trials of each condition, which may
        differ in number. "runs": trial l of every condition belongs to run l, whose noise may be
        shared, and one run at a time is compared with the others.

    Returns
    -------
    RDM
        With the method `RDM.compare`.

    Notes
    -----
    Values are those of rsatoolbox's ``calc_rdm``, which calls runs a ``cv_descriptor`` and expects
    the inverse of S.

    References
    ----------
    Walther et al., "Reliability of dissimilarity measures for multi-voxel pattern analysis",
    NeuroImage 137, 2016.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> rdm(x).values
    array([12.5, 50. , 12.5])
    """
    check_choice("method", method, DISSIMILARITIES, owner="rdm")
    check_choice("trials", trials, TRIALS, owner="rdm")
    network = as_network(x, "x")
    if network.n_conditions < 3:
        raise InputError(f"An RDM needs at least 3 conditions. Got {network.n_conditions}.")
    S = None if noise is None else given_noise(noise, network.n_neurons, method)
    found, unit = dissimilarities(network, "x", method, Noise(S, trials))
    with np.errstate(over="ignore", invalid="ignore"):
        values = found * unit * unit
    if not np.isfinite(values).all():
        raise InputError(
            "The dissimilarities are too large for numbers. Divide the responses by their size."
        )
    return RDM(values, method, network.conditions)


@compact_repr
@dataclass(frozen=True)
class RDMCeiling:
    """Bounds of the mean similarity that any RDM can reach with those of several networks.

    Attributes
    ----------
    lower : float
        Mean similarity of each RDM and the average of the others.
    upper : float
        Mean similarity of each RDM and the average of all. For cosines and Pearson and Spearman
        correlations, no RDM has a larger mean similarity.
    method : str
        How RDMs are compared.
    """

    lower: float
    upper: float
    method: str


def rdm_ceiling(rdms: Sequence[RDM], method: str = "cosine") -> RDMCeiling:
    """Return the noise ceiling of RSA: how well the best model could do, given several networks.

    RDMs are averaged after division by their norms ("cosine", "whitened-cosine"), after
    standardisation ("pearson"), or as ranks (others).

    Parameters
    ----------
    rdms : sequence of RDM
        At least 2, of the same conditions: one for each brain.
    method : str
        As in `RDM.compare`.

    References
    ----------
    Nili et al., "A toolbox for representational similarity analysis", PLoS Computational Biology
    10, 2014.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(6, 4))
    >>> found = rdm_ceiling([rdm(x), rdm(2 * x)])
    >>> round(found.lower, 12), round(found.upper, 12)
    (1.0, 1.0)
    """
    check_choice("method", method, COMPARISONS, owner="rdm_ceiling")
    given = list(rdms)
    _check_comparable(given)
    if len(given) < 2:
        raise InputError(f"A ceiling needs at least 2 RDMs. Got {len(given)}.")
    rows = np.array([_poolable(one.values, method) for one in given])
    names = ("an average", "an RDM")
    lower = [
        similarity(np.delete(rows, k, axis=0).mean(axis=0), one.values, method, names)
        for k, one in enumerate(given)
    ]
    upper = [similarity(rows.mean(axis=0), one.values, method, names) for one in given]
    return RDMCeiling(float(np.mean(lower)), float(np.mean(upper)), method)


def _poolable(values: FloatArray, method: str) -> FloatArray:
    if method in ("cosine", "whitened-cosine"):
        return np.asarray(values / np.linalg.norm(values))
    if method == "pearson":
        return np.asarray((values - values.mean()) / values.std())
    return ranks(values)


def _check_comparable(rdms: Sequence[Any]) -> None:
    """Raise unless all are RDMs of the same conditions."""
    for one in rdms:
        if not isinstance(one, RDM):
            raise InputTypeError(f"RDMs are compared with RDMs. Got {type(one).__name__} instead.")
    for one in rdms[1:]:
        named = rdms[0].conditions is not None and one.conditions is not None
        if len(one.values) != len(rdms[0].values) or (
            named and one.conditions != rdms[0].conditions
        ):
            raise InputError(
                "RDMs must have the same conditions in the same order. "
                f"Got {rdms[0].n_conditions} and {one.n_conditions} conditions"
                + (" with other names." if len(one.values) == len(rdms[0].values) else ".")
            )
