"""Scores L, M and N: how far codes are from independence, if they were Gaussian."""

from __future__ import annotations

import numpy as np

from experiments.vae.scores.table import CodeTable
from experiments.vae.settings import ScoreSettings
from experiments.vae.sprites import FloatArray


def code_covariance(
    table: CodeTable, settings: ScoreSettings, rng: np.random.Generator
) -> FloatArray:
    """Return the sample covariance of the codes, without codes that never vary."""
    codes, _ = table.draw(rng, settings.n_train)
    covariance = np.atleast_2d(np.cov(codes.T))
    varies = np.diagonal(covariance) > 0  # the others are independent of everything
    return np.asarray(covariance[np.ix_(varies, varies)])


def gaussian_total_correlation(C: FloatArray) -> float:
    """Return score L: 1/2 (sum_i log C_ii - log det C), infinite if C is singular.

    >>> C = np.array([[1.0, 0.6], [0.6, 1.0]])
    >>> bool(np.isclose(gaussian_total_correlation(C), -np.log(1 - 0.36) / 2))
    True
    """
    return float((np.log(np.diagonal(C)).sum() - np.linalg.slogdet(C)[1]) / 2)


def gaussian_wasserstein_correlation(C: FloatArray) -> float:
    """Return score M: 2 tr C - 2 tr (D C)^(1/2), with D the diagonal of C.

    It is the squared Wasserstein distance from N(0, C) to the same codes made independent. The
    trace of the root is the sum of the roots of the eigenvalues of D^(1/2) C D^(1/2).
    """
    scale = np.sqrt(np.diagonal(C))
    eigenvalues = np.linalg.eigvalsh(scale[:, None] * C * scale)
    return float(2 * np.trace(C) - 2 * np.sqrt(eigenvalues.clip(0)).sum())


def normalised_wasserstein_correlation(C: FloatArray) -> float:
    """Return score N: score M divided by tr C, or 0 if no code varies."""
    total = float(np.trace(C))
    return gaussian_wasserstein_correlation(C) / total if total else 0.0
