"""Scores A and E: codes tell which factor was held fixed in a group of images."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from experiments.vae.scores.fitting import quiet_fit
from experiments.vae.scores.table import CodeTable
from experiments.vae.settings import ScoreSettings
from experiments.vae.sprites import FloatArray, IntArray

# Codes whose standard deviation is below this are left out of E.
SMALLEST_DEVIATION = 0.05
CHUNK = 1000  # groups drawn at a time; bounds the memory


def beta_vae_accuracy(table: CodeTable, settings: ScoreSettings, rng: np.random.Generator) -> float:
    """Return score A (Higgins et al. 2017).

    A point is the mean of |z1 - z2| over 64 pairs of images that share one factor, chosen at
    random. A logistic regression tells from a point which factor it was; the score is its accuracy
    on new points.
    """
    points, labels = difference_points(table, settings.n_train, settings.group, rng)
    model = quiet_fit(LogisticRegression(), points, labels)
    points, labels = difference_points(table, settings.n_test, settings.group, rng)
    return float(model.score(points, labels))


def difference_points(
    table: CodeTable, count: int, group: int, rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Return points (count, codes), and for each of them the factor that its pairs share."""
    labels = rng.integers(len(table.sizes), size=count)
    points = []
    for start in range(0, count, CHUNK):
        fixed = labels[start : start + CHUNK]
        first = table.draw_factors(rng, len(fixed), group)
        second = table.draw_factors(rng, len(fixed), group)
        rows = np.arange(len(fixed))
        second[rows, :, fixed] = first[rows, :, fixed]
        points.append(abs(table.at(first) - table.at(second)).mean(axis=1))
    return np.concatenate(points), labels


def factor_vae_accuracy(
    table: CodeTable, settings: ScoreSettings, rng: np.random.Generator
) -> float:
    """Return score E (Kim and Mnih 2018).

    One factor is held fixed in 64 images; the code with the smallest variance, relative to its
    variance over all images, casts a vote for that factor. Each code stands for the factor that
    most of its votes are for; the score is the share of new votes that agree. Without a code that
    varies, it is 0.
    """
    codes, _ = table.draw(rng, settings.n_train)
    variances = codes.var(axis=0, ddof=1)
    kept = np.sqrt(variances) >= SMALLEST_DEVIATION
    if not kept.any():
        return 0.0
    votes = count_votes(table, settings.n_train, settings.group, variances, kept, rng)
    winner = votes.argmax(axis=0)
    votes = count_votes(table, settings.n_test, settings.group, variances, kept, rng)
    return float(votes[winner, np.arange(votes.shape[1])].sum() / votes.sum())


def count_votes(
    table: CodeTable,
    count: int,
    group: int,
    variances: FloatArray,
    kept: FloatArray,
    rng: np.random.Generator,
) -> IntArray:
    """Return how often each kept code varied least while each factor was fixed: (factors, kept)."""
    labels = rng.integers(len(table.sizes), size=count)
    votes = np.zeros((len(table.sizes), int(kept.sum())), dtype=np.int64)
    for start in range(0, count, CHUNK):
        fixed = labels[start : start + CHUNK]
        factors = table.draw_factors(rng, len(fixed), group)
        rows = np.arange(len(fixed))
        factors[rows, :, fixed] = factors[rows, :1, fixed]
        local = table.at(factors).var(axis=1, ddof=1)[:, kept]
        np.add.at(votes, (fixed, (local / variances[kept]).argmin(axis=1)), 1)
    return votes
