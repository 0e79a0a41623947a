"""Scores H, I and O: mutual information of codes in bins, in nats."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import mutual_info_score

from experiments.vae.scores.table import CodeTable
from experiments.vae.settings import ScoreSettings
from experiments.vae.sprites import FloatArray, IntArray


def in_bins(codes: FloatArray, bins: int) -> IntArray:
    """Return the bin of every code, from 1; a code's bins have equal width over its range.

    >>> in_bins(np.array([[0.0], [0.4], [0.6], [1.0]]), 2).ravel().tolist()
    [1, 1, 2, 2]
    """
    columns = [np.digitize(code, np.histogram(code, bins)[1][:-1]) for code in codes.T]
    return np.stack(columns, axis=1)


def information(left: IntArray, right: IntArray) -> FloatArray:
    """Return the mutual information of every column on the left with every one on the right."""
    return np.array([[mutual_info_score(a, b) for b in right.T] for a in left.T])


def mutual_information_gap(
    table: CodeTable, settings: ScoreSettings, rng: np.random.Generator
) -> float:
    """Return score H, MIG (Chen et al. 2018).

    The mean over factors of the difference between the two codes that say most about a factor,
    divided by the entropy of the factor.
    """
    codes, factors = table.draw(rng, settings.n_train)
    shared = np.sort(information(in_bins(codes, settings.bins), factors), axis=0)
    entropies = np.diagonal(information(factors, factors))
    return float(np.mean((shared[-1] - shared[-2]) / entropies))


def modularity(table: CodeTable, settings: ScoreSettings, rng: np.random.Generator) -> float:
    """Return score I (Ridgeway and Mozer 2018): how far each code depends on one factor only.

    mean over codes of 1 - sum_{f != best} I_f^2 / (I_best^2 (F - 1)), and 0 for a code that says
    nothing.
    """
    codes, factors = table.draw(rng, settings.n_train)
    return modularity_of(information(in_bins(codes, settings.bins), factors))


def modularity_of(shared: FloatArray) -> float:
    """Return the modularity from mutual information (codes x factors).

    >>> modularity_of(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    0.5
    """
    squared = shared**2
    best = squared.max(axis=1)
    others = squared.sum(axis=1) - best
    said = best > 0
    purity = 1 - others[said] / (best[said] * (shared.shape[1] - 1))
    return float(purity.sum() / len(shared))


def code_information(table: CodeTable, settings: ScoreSettings, rng: np.random.Generator) -> float:
    """Return score O: the mean mutual information of two different codes."""
    codes, _ = table.draw(rng, settings.n_train)
    binned = in_bins(codes, settings.bins)
    shared = information(binned, binned)
    count = len(shared)
    return float((shared.sum() - np.trace(shared)) / (count * (count - 1)))
