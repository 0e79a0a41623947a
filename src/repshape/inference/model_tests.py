"""Tests of models: differences between them, and whether they are close enough to the brains."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata
from scipy.stats import t as student

from repshape.inference.groups import holm
from repshape.inference.matrices import sign_flips
from repshape.inference.model_errors import MeanSquares
from repshape.inference.permutations import ROUNDING
from repshape.metrics.base import signed_root

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]


class PairTests(NamedTuple):
    """P-values of all pairs of models: each by itself, and corrected for the largest of all."""

    single: FloatArray
    largest: FloatArray
    smallest: float


def compare_models(
    names: tuple[str, ...],
    squared: FloatArray,
    found: MeanSquares,
    units: IntArray,
    level: float,
    n_permutations: int,
    random_state: int,
) -> pd.DataFrame:
    """Return a row for each pair of models; ``squared`` (K, P) are squared distances by brain."""
    P = len(names)
    pairs = list(combinations(range(P), 2))
    contrasts = np.zeros((len(pairs), P))
    for row, (p, q) in zip(contrasts, pairs, strict=True):
        row[p], row[q] = 1.0, -1.0
    errors = np.sqrt([found.errors.variance(one) for one in contrasts])
    gaps = contrasts @ found.values[:P]
    if found.errors.over == "brains":
        parts = np.array([np.bincount(units, column) for column in squared.T])
        own = np.sqrt([float(one @ found.errors.brains[:P, :P] @ one) for one in contrasts])
        share = np.divide(own, errors, out=np.ones_like(own), where=errors > 0)
        tests = flip_tests(contrasts @ parts, share, n_permutations, random_state)
    else:
        tests = t_tests(gaps, errors, contrasts, found, n_permutations, random_state)
    half = found.errors.quantile(level) * errors
    roots = [signed_root(float(one)) for one in found.values]
    frame = pd.DataFrame(
        {
            "first": [names[p] for p, _ in pairs],
            "second": [names[q] for _, q in pairs],
            "difference": [roots[p] - roots[q] for p, q in pairs],
            "squared_difference": gaps,
            "low": gaps - half,
            "high": gaps + half,
        }
    )
    return frame.assign(
        p_value=tests.single,
        holm_p_value=holm(tests.single),
        max_p_value=tests.largest,
        smallest_p_value=tests.smallest,
    )


def flip_tests(
    parts: FloatArray, share: FloatArray, n_permutations: int, random_state: int
) -> PairTests:
    """Return the sign-flip tests of differences, given their sums over the brains of each unit.

    The statistic is |sum_r s_r u_r| / sqrt(sum_r u_r^2) with signs s, which orders flips as a t
    statistic does. That of the data is multiplied by ``share``: the part of the standard error that
    is due to brains. The flips do not show the error of the models' own trials.

    >>> parts = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, -2.0, 3.0, -4.0, 5.0, -6.0]])
    >>> found = flip_tests(parts, np.ones(2), 9999, 0)
    >>> float(found.single[0]), found.smallest, bool(found.single[1] > 0.5)
    (0.03125, 0.03125, True)
    """
    flips, exact = sign_flips(parts.shape[1], n_permutations, random_state)
    norms = np.linalg.norm(parts, axis=1)
    scaled = np.divide(parts, norms[:, None], out=np.zeros_like(parts), where=norms[:, None] > 0)
    statistics = np.abs(flips @ scaled.T)  # (B, pairs)
    observed = statistics[0] * share - ROUNDING
    single = (statistics >= observed).mean(axis=0)
    highest = statistics.max(axis=1, initial=0.0)
    largest = (highest[:, None] >= observed).mean(axis=0)
    smallest = max(2.0 ** (1 - parts.shape[1]), 0.0 if exact else 1 / len(flips))
    return PairTests(single, largest, smallest)


def t_tests(
    gaps: FloatArray,
    errors: FloatArray,
    contrasts: FloatArray,
    found: MeanSquares,
    n_draws: int,
    random_state: int,
) -> PairTests:
    """Return t tests of differences; the largest of all is compared with a multivariate t."""
    degrees = found.errors.degrees
    t = np.abs(np.divide(gaps, errors, out=np.zeros_like(gaps), where=errors > 0))
    single = 2 * student.sf(t, degrees)
    source = found.errors
    P = contrasts.shape[1]
    both = source.brains + source.conditions  # brains add nothing to intervals over conditions
    shared = contrasts @ both[:P, :P] @ contrasts.T
    values, U = np.linalg.eigh(shared)
    rng = np.random.default_rng(random_state)
    draws = rng.normal(size=(n_draws, len(gaps))) * np.sqrt(np.maximum(values, 0.0)) @ U.T
    scale = np.sqrt(np.maximum(np.diagonal(shared), 0.0))
    draws = np.divide(draws, scale, out=np.zeros_like(draws), where=scale > 0)
    draws /= np.sqrt(rng.chisquare(degrees, size=(n_draws, 1)) / degrees)
    highest = np.abs(draws).max(axis=1, initial=0.0)
    above = (highest[:, None] >= t).sum(axis=0)
    largest = np.maximum((1 + above) / (n_draws + 1), single)
    return PairTests(single, largest, 0.0)


def closeness(found: MeanSquares, margin: float) -> FloatArray:
    r"""Return the p-value of each model for being too far from the brains, (P,).

    The hypothesis to be rejected is that :math:`d_m \ge (1 + \delta)\, d_b` with the distance
    :math:`d_b` between brains and the margin :math:`\delta`: that the contrast of squares
    :math:`d_m^2 - (1 + \delta)^2 d_b^2` is not negative.
    """
    P = len(found.values) - 2
    out = np.empty(P)
    for p in range(P):
        contrast = np.zeros(P + 1)
        contrast[p], contrast[P] = 1.0, -((1 + margin) ** 2)
        error = np.sqrt(found.errors.variance(contrast))
        gap = float(contrast @ found.values[: P + 1])
        t = gap / error if error > 0 else np.inf * np.sign(gap)
        out[p] = student.cdf(t, found.errors.degrees)
    return out


def rank_correlation_test(
    x: npt.ArrayLike, y: npt.ArrayLike, n_permutations: int
) -> tuple[float, float]:
    """Return the rank correlation of two columns, and its p-value by permutation; NaN if constant.

    >>> rank_correlation_test([1, 2, 3, 4, 5, 6], [2, 3, 5, 6, 8, 9], 9999)[0]
    1.0
    """
    ranks = [rankdata(np.asarray(one)) for one in (x, y)]
    a, b = (one - one.mean() for one in ranks)
    norm = float(np.sqrt((a @ a) * (b @ b)))
    if norm == 0.0:
        return float("nan"), float("nan")
    rows = np.tile(a, (n_permutations + 1, 1))
    rows[1:] = np.random.default_rng(0).permuted(rows[1:], axis=1)
    found = rows @ b / norm
    return float(found[0]), float(np.mean(np.abs(found) >= abs(found[0]) - ROUNDING))
