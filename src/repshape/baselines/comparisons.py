"""Comparisons of two vectors of dissimilarities: cosines, and correlations of values or ranks."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import squareform
from scipy.stats import kendalltau, rankdata

from repshape._arrays import FloatArray
from repshape.baselines._common import unit
from repshape.errors import InputError

COSINES = ("pearson", "spearman", "cosine", "whitened-cosine")
"""Comparisons that are the cosine of an angle between two vectors."""
COMPARISONS = (*COSINES, "rho-a", "tau-a")

TIE = 1e-10
"""Dissimilarities that differ by less than this fraction of the largest are ties."""


def similarity(rdm: FloatArray, other: FloatArray, method: str, names: tuple[str, str]) -> float:
    """Return the similarity of two vectors of dissimilarities, which is at most 1."""
    if method in COSINES:
        u, v = (direction(*one, method) for one in ((rdm, names[0]), (other, names[1])))
        return float(u @ v)
    first, second = (_checked_ranks(*one, method) for one in ((rdm, names[0]), (other, names[1])))
    if method == "rho-a":
        count = len(first)
        product = float((first - first.mean()) @ (second - second.mean()))
        return 12 * product / (count**3 - count)
    return _tau_a(first, second)


def direction(rdm: FloatArray, name: str, method: str) -> FloatArray:
    """Return a vector of norm 1; the inner product of two such vectors is the similarity."""
    if method in ("cosine", "whitened-cosine"):
        values = rdm if method == "cosine" else _whitened(rdm)
        if not values.any():
            raise InputError(
                f"The {method} needs dissimilarities other than zero. Got only zeros in {name}."
            )
        return unit(values)
    values = _checked_ranks(rdm, name, method) if method == "spearman" else rdm
    check_varied(rdm, name, method)
    return unit(values - values.mean())


def check_varied(rdm: FloatArray, name: str, method: str) -> None:
    """Raise if all dissimilarities are equal, so that they have no correlation."""
    if np.ptp(rdm) <= TIE * np.abs(rdm).max():
        raise InputError(
            f"The {method} correlation needs dissimilarities that differ. "
            f"Got the same one for all pairs of conditions in {name}."
        )


def _checked_ranks(rdm: FloatArray, name: str, method: str) -> FloatArray:
    check_varied(rdm, name, method)
    return ranks(rdm)


def ranks(rdm: FloatArray) -> FloatArray:
    """Return ranks, with equal ranks for values that differ only by rounding."""
    order = np.argsort(rdm, kind="stable")
    level = np.zeros(len(rdm))
    level[order[1:]] = np.cumsum(np.diff(rdm[order]) > TIE * np.abs(rdm).max())
    return np.asarray(rankdata(level))


def _whitened(rdm: FloatArray) -> FloatArray:
    """Return -H D H / 2, the centred Gram matrix that belongs to squared distances D.

    Estimates of squared distances that share a condition are correlated. The entries of the Gram
    matrix are not, if all conditions are measured with the same error (Diedrichsen et al. 2021).
    """
    D = squareform(rdm, checks=False)
    means = D.mean(axis=0)
    return np.asarray(-(D - means[:, None] - means + means.mean()) / 2).ravel()


def _tau_a(first: FloatArray, second: FloatArray) -> float:
    """Return (concordant - discordant) / all pairs, from tau-b, which leaves out ties."""
    pairs = len(first) * (len(first) - 1) / 2
    untied = [pairs - _ties(one) for one in (first, second)]
    tau_b = float(kendalltau(first, second).statistic)
    return tau_b * float(np.sqrt(untied[0]) * np.sqrt(untied[1])) / pairs


def _ties(values: FloatArray) -> float:
    counts = np.unique(values, return_counts=True)[1]
    return float((counts * (counts - 1) / 2).sum())
