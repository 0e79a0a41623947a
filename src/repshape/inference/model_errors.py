"""Means over brains, and their errors: a jackknife over brains, over conditions, or over both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from repshape.inference.model_estimates import PairEstimates

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

OVER = ("brains", "conditions", "both")
# Ceilings come after the models: distances of pairs of brains, and to the mean of the others.
CEILINGS = ("pairs", "mean")


def mean_squares(to_models: FloatArray, between: FloatArray, units: IntArray) -> FloatArray:
    """Return mean squared distances (P + 2, ...): of each model, of pairs, and to flat means.

    Parameters
    ----------
    to_models : array of shape (K, P, ...)
    between : array of shape (K, K, ...)
    units : array of int, shape (K,)
        Brains of the same unit, such as an animal, are not compared with each other.

    Notes
    -----
    The distance from a brain b to the mean of a set S of others is that of a flat space,
    mean_{i in S} d^2(b, i) - mean_{i, j in S} d^2(i, j) / 2.

    >>> x = np.array([0.0, 1.0, 5.0])
    >>> mean_squares(x[:, None] ** 2, (x[:, None] - x) ** 2, np.arange(3))
    array([ 8.66666667, 14.        , 10.5       ])
    """
    apart = (units[:, None] != units).astype(np.float64)
    share = apart / apart.sum(axis=1, keepdims=True)
    pairs = np.tensordot(apart / apart.sum(), between, axes=2)
    to_others = np.einsum("bi,bi...->b...", share, between)
    spread = np.einsum("bi,bj,ij...->b...", share, share, between)
    flat = (to_others - spread / 2).mean(axis=0)
    return np.concatenate([to_models.mean(axis=0), pairs[None], flat[None]])


@dataclass(frozen=True, eq=False)
class Errors:
    """Covariances of mean squared distances, by source.

    Attributes
    ----------
    over : {"brains", "conditions", "both"}
    brains, conditions, both : arrays of shape (S, S)
        What a jackknife over brains finds, one over blocks of conditions, and what both have in
        common: the interaction of brains and conditions, and noise.
    models : array of shape (S, S)
        What is due to the trials of the models.
    degrees : int
        Degrees of freedom.
    """

    over: str
    brains: FloatArray
    conditions: FloatArray
    both: FloatArray
    models: FloatArray
    degrees: int

    def variance(self, contrast: FloatArray) -> float:
        """Return the variance of a linear combination."""
        used = np.flatnonzero(contrast)  # others may be unknown
        c = contrast[used]
        v_r, v_c, v_rc, v_m = (
            float(c @ one[np.ix_(used, used)] @ c)
            for one in (self.brains, self.conditions, self.both, self.models)
        )
        if self.over == "brains":
            return v_r + max(v_m, 0.0)
        return v_c if self.over == "conditions" else max(v_r + v_c - v_rc, v_r, v_c)

    def quantile(self, level: float) -> float:
        """Return the quantile of Student's t distribution for two-sided intervals."""
        return float(student.ppf((1 + level) / 2, self.degrees))


@dataclass(frozen=True, eq=False)
class MeanSquares:
    """Mean squared distances of P models and two ceilings, S = P + 2, with their errors.

    Attributes
    ----------
    values, plug_in : arrays of shape (S,)
    errors : Errors
    """

    values: FloatArray
    plug_in: FloatArray
    errors: Errors


def summarise(found: PairEstimates, units: IntArray, over: str, curvature: float) -> MeanSquares:
    """Return mean squared distances with their errors.

    Parameters
    ----------
    found : PairEstimates
    units : array of int, shape (K,)
        Brains of one unit are left out together.
    over : {"brains", "conditions", "both"}
    curvature : float
        Squared distances to Frechet means are those to flat means, multiplied by this.
    """
    factor = np.ones(found.to_models.shape[1] + len(CEILINGS))
    factor[-1] = curvature

    def part(kept: npt.NDArray[np.bool_]) -> FloatArray:
        squares = mean_squares(
            found.to_models[kept], found.between[np.ix_(kept, kept)], units[kept]
        )
        return squares.T * factor  # (1 + J, S)

    everyone = np.ones(len(units), dtype=bool)
    table = [part(everyone)]
    if over != "conditions":
        table += [part(units != unit) for unit in np.unique(units)]
    plug_in = mean_squares(found.to_models_plug_in, found.between_plug_in, units) * factor
    return MeanSquares(table[0][0], plug_in, jackknife(np.array(table), over, found.model_noise))


def jackknife(table: FloatArray, over: str, model_noise: FloatArray) -> Errors:
    r"""Return the errors of statistics, given those without units, blocks of conditions, or both.

    ``table`` (1 + R, 1 + J, S) has the statistics of everything first. In a model with effects of
    brains, of conditions and of their combinations, the variance of a mean over R brains and J
    blocks is :math:`v_r + v_c - v_{rc}`: the jackknife variances over brains and over conditions
    both contain that of the combinations,

    .. math:: v_{rc} = \frac{(R - 1)(J - 1)}{R J} \sum_{r, j} (S_{-r, -j} - S_{-r, \cdot}
              - S_{\cdot, -j} + S_{\cdot, \cdot})^2 .

    It is kept from being smaller than either of the two (as in Schuett et al., 2023, where the
    three variances are those of bootstraps).
    """
    R, J, S = table.shape[0] - 1, table.shape[1] - 1, table.shape[2]
    models = np.zeros((S, S))
    models[: len(model_noise), : len(model_noise)] = model_noise
    return Errors(
        over=over,
        brains=jackknife_covariance(table[1:, 0]),
        conditions=jackknife_covariance(table[0, 1:]),
        both=jackknife_covariance(table[1:, 1:]),
        models=models,
        degrees={"brains": R, "conditions": J, "both": min(R, J)}[over] - 1,
    )


def jackknife_covariance(replicates: FloatArray) -> FloatArray:
    """Return the covariance (S, S) of statistics without each of some parts, (..., S).

    With several axes, it is that of the interaction of their parts. 0 if nothing was left out.

    >>> jackknife_covariance(np.array([[1.0], [3.0]]))
    array([[1.]])
    >>> jackknife_covariance(np.array([[[1.0], [3.0]], [[2.0], [4.0]]]))  # no interaction
    array([[0.]])
    """
    S = replicates.shape[-1]
    if not replicates.size:
        return np.zeros((S, S))
    scale = 1.0
    for axis, count in enumerate(replicates.shape[:-1]):
        replicates = replicates - replicates.mean(axis=axis, keepdims=True)
        scale *= (count - 1) / count
    flat = replicates.reshape(-1, S)
    return np.asarray(scale * flat.T @ flat)
