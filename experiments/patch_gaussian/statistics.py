"""The numbers that decide the claims: functions of networks and their distances.

`claims` states them in words. Each returns its value in every fold and, where the claim needs one,
the p-value of a permutation test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

import repshape as rs
from experiments.common.samples import FloatArray, Folds, Sample
from experiments.patch_gaussian.claims import (
    BELOW_TWO,
    GRID_TAU,
    HALVED_TAUS,
    LOW_TAUS,
    ROBUST_SIGMA,
    ROBUST_WIDTH,
    SPREAD_TAU,
)
from experiments.patch_gaussian.folds import (
    IntArray,
    agreement,
    between_seeds,
    correlate_ranks,
    matrix_name,
    neighbours,
    patched,
    seed_index,
    shuffled_within,
    taus_of,
    vote,
)

EMBEDDED = 20  # dimensions of embeddings before their principal components
TARGETS = {"W": "width", "sigma": "sigma"}
ROUNDING = 1e-12


@dataclass(frozen=True)
class Found:
    """A statistic in each fold, and the p-value of its permutation test, if there is one.

    ``chance`` is what was subtracted from a share.
    """

    folds: Folds
    p_value: float | None = None
    chance: float = 0.0


def permutation_p_value(
    observed: float, draw: Callable[[np.random.Generator], float], permutations: int
) -> float:
    """Return the share of permutations, the observed one included, that reach the statistic."""
    rng = np.random.default_rng(0)
    reached = sum(draw(rng) >= observed - ROUNDING for _ in range(permutations))
    return (1 + reached) / (1 + permutations)


def mean_of(folds: Folds) -> float:
    """Return the mean over folds."""
    return float(np.mean(list(folds.values()))) if folds else float("nan")


def combine_folds(parts: Sequence[Folds], weights: Sequence[float] | None = None) -> Folds:
    """Return a weighted sum in each fold; by default the mean."""
    factors = weights or [1 / len(parts)] * len(parts)
    return {
        fold: sum(w * part[fold] for w, part in zip(factors, parts, strict=True))
        for fold in (parts[0] if parts else {})
    }


# Agreement


def distinct_alphas(sample: Sample) -> Found:
    """Return - agreement of alpha 0 and 2, mean over taus."""
    parts = [agreement(sample, (0.0, tau), (2.0, tau)) for tau in _halved(sample)]
    return Found(combine_folds(parts, [-1 / len(parts)] * len(parts)) if parts else {})


def one_is_like_two(sample: Sample) -> Found:
    """Return the agreement of alpha 1 and 2, minus that of alpha 1 and 0, mean over taus."""
    above = [agreement(sample, (1.0, tau), (2.0, tau)) for tau in _halved(sample)]
    below = [agreement(sample, (1.0, tau), (0.0, tau)) for tau in _halved(sample)]
    share = 1 / max(1, len(above))
    return Found(combine_folds(above + below, [share] * len(above) + [-share] * len(below)))


def changes_with_tau(sample: Sample, alpha: float) -> Found:
    """Return - agreement of the matrices at the lowest and the highest tau."""
    taus = _halved(sample)
    if len(taus) < 2:
        return Found({})
    folds = agreement(sample, (alpha, taus[0]), (alpha, taus[-1]))
    return Found({fold: -value for fold, value in folds.items()})


def _halved(sample: Sample) -> list[float]:
    return [tau for tau in HALVED_TAUS if tau in taus_of(sample)]


# Neighbours


def hits(sample: Sample, target: str, names: Sequence[str]) -> FloatArray:
    """Return how often each patched network is predicted from other seeds, over some matrices."""
    part = patched(sample)
    labels = part.column(TARGETS[target]).astype(np.float64)
    nearest = np.stack([_nearest(part, name) for name in names])
    return np.asarray((vote(labels[nearest]) == labels).mean(axis=0))


def _nearest(part: Sample, name: str) -> IntArray:
    return neighbours(part.distances[name], part.column("seed"))


def prediction(sample: Sample, target: str, alpha: float, permutations: int) -> Found:
    """Return the k-NN accuracy minus chance, by seeds left out, mean over taus."""
    if len(sample.seeds) < 2:
        return Found({})
    names = [matrix_name(alpha, tau) for tau in taus_of(sample)]
    return excess_accuracy(sample, target, names, permutations)


def excess_accuracy(sample: Sample, target: str, names: Sequence[str], permutations: int) -> Found:
    """Return the k-NN accuracy minus chance, mean over some matrices, with its p-value."""
    part = patched(sample)
    seed = part.column("seed")
    labels = part.column(TARGETS[target]).astype(np.float64)
    nearest = np.stack([_nearest(part, name) for name in names])
    chance = 1 / len(np.unique(labels))

    def folds(own: FloatArray) -> Folds:
        correct = (vote(own[nearest]) == own).mean(axis=0)
        return {(one,): float(correct[seed == one].mean()) - chance for one in part.seeds}

    def draw(rng: np.random.Generator) -> float:
        return mean_of(folds(labels[shuffled_within(seed, rng)]))

    found = folds(labels)
    return Found(found, permutation_p_value(mean_of(found), draw, permutations), chance)


def better_below_two(sample: Sample, permutations: int) -> Found:
    """Return the k-NN accuracy at alpha < 2 minus that at alpha 2, by seeds left out."""
    if len(sample.seeds) < 2:
        return Found({})
    taus = taus_of(sample)
    below = [matrix_name(alpha, tau) for alpha in BELOW_TWO for tau in taus]
    at_two = [matrix_name(2.0, tau) for tau in taus]
    gain = np.mean([hits(sample, t, below) - hits(sample, t, at_two) for t in TARGETS], axis=0)
    part = patched(sample)
    seed = part.column("seed")

    def folds(values: FloatArray) -> Folds:
        return {(one,): float(values[seed == one].mean()) for one in part.seeds}

    def draw(rng: np.random.Generator) -> float:
        return mean_of(folds(gain * rng.choice([-1, 1], len(gain))))

    found = folds(gain)
    return Found(found, permutation_p_value(mean_of(found), draw, permutations))


def nearest_cells(sample: Sample, alpha: float, permutations: int) -> Found:
    """Return how many networks of other cells are farther than the one of the own cell."""
    names = [matrix_name(alpha, tau) for tau in taus_of(sample)]
    shares = [{k: farther(C) for k, C in between_seeds(sample, name).items()} for name in names]
    pairs = list(shares[0])
    if not pairs:
        return Found({})
    mean = {pair: np.mean([share[pair] for share in shares], axis=0) for pair in pairs}
    count = len(next(iter(mean.values())))
    same = dict.fromkeys(sample.seeds, np.arange(count))

    def folds(order: dict[int, IntArray]) -> Folds:
        return {(a, b): float(mean[a, b][order[a], order[b]].mean()) for a, b in pairs}

    def draw(rng: np.random.Generator) -> float:
        return mean_of(folds({one: rng.permutation(count) for one in same}))

    found = folds(same)
    return Found(found, permutation_p_value(mean_of(found), draw, permutations))


def cell_or_seed(sample: Sample, alpha: float) -> Found:
    """Return how often the nearest network shares the cell, minus how often it shares the seed.

    The nearest is among all other networks; mean over the low taus, by the seed of the network.
    """
    names = [matrix_name(alpha, tau) for tau in LOW_TAUS if tau in taus_of(sample)]
    seed, cell = sample.column("seed"), sample.column("cell")
    if len(sample.seeds) < 2 or not names:
        return Found({})
    gains = []
    for name in names:
        D = sample.distances[name] + np.diag(np.full(len(sample), np.inf))
        nearest = D.argmin(axis=1)
        gains.append((cell[nearest] == cell).astype(float) - (seed[nearest] == seed))
    mean = np.mean(gains, axis=0)
    return Found({(one,): float(mean[seed == one].mean()) for one in sample.seeds})


def farther(C: FloatArray) -> FloatArray:
    """Return for each entry the share of others that are larger, mean over its row and column.

    >>> farther(np.array([[1.0, 3.0], [2.0, 2.5]])).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    rows = (C[:, None, :] > C[:, :, None]).sum(axis=2)
    columns = (C[None, :, :] > C[:, None, :]).sum(axis=1)
    return np.asarray((rows + columns) / 2 / (len(C) - 1))


# Grid


def grid(sample: Sample, target: str, permutations: int) -> Found:
    """Return R^2 of the rank of W or sigma on the first two components of an embedding."""
    name = matrix_name(0.0, GRID_TAU)
    if name not in sample.distances:
        return Found({})
    part = patched(sample)
    index = seed_index(part)
    ranks = {
        one: rankdata(part.column(TARGETS[target]).astype(np.float64)[places])
        for one, places in index.items()
    }
    planes = {one: plane_basis(part.distances[name][np.ix_(p, p)]) for one, p in index.items()}

    def folds(values: dict[int, FloatArray]) -> Folds:
        return {(one,): explained(values[one], planes[one]) for one in index}

    def draw(rng: np.random.Generator) -> float:
        return mean_of(folds({one: rng.permutation(own) for one, own in ranks.items()}))

    found = folds(ranks)
    if not np.isfinite(mean_of(found)):
        return Found(found)
    return Found(found, permutation_p_value(mean_of(found), draw, permutations))


def plane_basis(D: FloatArray) -> FloatArray:
    """Return an orthonormal basis (networks, 2) of two components of an embedding."""
    if len(D) < 3:
        return np.empty((len(D), 0))
    points = rs.embed(D, pca_from=min(EMBEDDED, len(D) - 1), n_init=1).points
    return np.linalg.qr(points - points.mean(axis=0))[0]


def explained(values: FloatArray, basis: FloatArray) -> float:
    """Return the share of the variance of values that lies in the span of a centred basis."""
    centred = values - values.mean()
    total = float(centred @ centred)
    if total == 0 or basis.shape[1] == 0:
        return float("nan")
    return float(((basis.T @ centred) ** 2).sum() / total)


# Spread


def tighter_than_none(sample: Sample, side: int) -> Found:
    """Return the mean over robust cells of log2(spread of none / spread of the cell)."""
    found: Folds = {}
    width, sigma = (sample.column(name).astype(np.float64) for name in ("width", "sigma"))
    robust = (width >= ROBUST_WIDTH * side) & (sigma >= ROBUST_SIGMA)
    column = f"spread-{SPREAD_TAU:g}"
    for seed, places in seed_index(sample).items():
        logs = np.log2(sample.column(column)[places])
        plain = np.isnan(width[places])
        if robust[places].any():
            found[(seed,)] = float(logs[plain].mean() - logs[robust[places]].mean())
    return Found(found)


def spread_and_accuracy(sample: Sample, permutations: int) -> Found:
    """Return the rank correlation between accuracy and - spread over the networks of a seed."""
    index = seed_index(sample)
    spread, accuracy = (
        {one: sample.column(f"{name}-{SPREAD_TAU:g}")[p] for one, p in index.items()}
        for name in ("spread", "accuracy")
    )

    def folds(values: dict[int, FloatArray]) -> Folds:
        return {(one,): correlate_ranks(values[one], -spread[one]) for one in index}

    def draw(rng: np.random.Generator) -> float:
        return mean_of(folds({one: rng.permutation(own) for one, own in accuracy.items()}))

    found = folds(accuracy)
    if not np.isfinite(mean_of(found)):
        return Found(found)
    return Found(found, permutation_p_value(mean_of(found), draw, permutations))
