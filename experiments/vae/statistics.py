"""The numbers that decide the claims: functions of networks and their distances.

`claims` states them in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr, wasserstein_distance

import repshape as rs
from experiments.common.samples import BoolArray, FloatArray, Sample
from experiments.common.stores import CENTRED, alpha_name
from experiments.vae.claims import ALPHAS, BELOW_TWO, BETWEEN, ENERGY, K_CHOICES
from experiments.vae.scores import NAMES
from repshape.analysis import _knn

# A k-NN score needs this many groups: one to predict, and two to choose k.
FEWEST_GROUPS = 3
PLATEAU = 0.1


def log_ratio(sample: Sample, sign: float = 1.0, *, centred: bool = False) -> float:
    """Return log2(mean d_2 / mean d_0) over pairs with different seeds, times a sign.

    With ``centred``, d_2 is that of networks whose mean over all images is zero; d_0 does not
    depend on means.
    """
    prefix = f"{CENTRED}-" if centred else ""
    names = f"{prefix}{alpha_name(2.0)}", alpha_name(0.0)
    means, covariances = (sample.between_seeds(name) for name in names)
    if not len(means):
        return np.nan
    return float(sign * np.log2(means.mean() / covariances.mean()))


# Clusters


def cell_sums(sample: Sample, matrix: str) -> tuple[FloatArray, FloatArray, npt.NDArray[Any]]:
    """Return sums and counts of distances between cells, over pairs with different seeds.

    The third result is the objective of each cell.
    """
    cells, codes = np.unique(sample.column("cell"), return_inverse=True)
    member = (codes == np.arange(len(cells))[:, None]).astype(np.float64)
    seed = sample.column("seed")
    other = (seed[:, None] != seed[None, :]).astype(np.float64)
    sums = member @ (other * sample.distances[matrix]) @ member.T
    objective = dict(zip(sample.column("cell"), sample.column("objective"), strict=True))
    return sums, member @ other @ member.T, np.array([objective[cell] for cell in cells])


def contrast(
    sums: FloatArray, counts: FloatArray, objective: npt.NDArray[Any], own: str | None = None
) -> float:
    """Return (mean between objectives - mean within) / mean, over pairs of different cells.

    With ``own``, only pairs with that objective count, between it and others or within it.
    """
    others = ~np.eye(len(sums), dtype=bool)
    same = objective[:, None] == objective[None, :]
    used = others if own is None else (objective == own)[:, None] & others
    between, within = (
        sums[pairs].sum() / counts[pairs].sum() if counts[pairs].sum() else np.nan
        for pairs in (~same & used, same & used)
    )
    return float((between - within) / (sums[others].sum() / counts[others].sum()))


def separation(sample: Sample, matrix: str, own: str | None = None) -> float:
    """Return how far objectives, or one of them, are apart, relative to the mean distance."""
    if len(sample.seeds) < 2:
        return np.nan
    return contrast(*cell_sums(sample, matrix), own)


def separation_p_value(
    sample: Sample, matrix: str, permutations: int, own: str | None = None
) -> float:
    """Return the share of permutations of cells over objectives with as large a separation."""
    sums, counts, objective = cell_sums(sample, matrix)
    rng = np.random.default_rng(0)
    found = contrast(sums, counts, objective, own)
    draws = [contrast(sums, counts, rng.permutation(objective), own) for _ in range(permutations)]
    return float((1 + (np.array(draws) >= found - 1e-12).sum()) / (1 + permutations))


# Predictions from neighbours


def predict(
    sample: Sample, matrix: str, target: npt.NDArray[Any], left_out: str, *, classify: bool
) -> npt.NDArray[Any] | None:
    """Return what nearest neighbours say of each network, where groups are left out in turn.

    None if there are too few groups, or one target only.
    """
    groups = sample.column(left_out)
    count = len(set(groups))
    if count < FEWEST_GROUPS or len(set(target)) < 2:
        return None
    method = rs.analysis.knn_classify if classify else rs.analysis.knn_regress
    D = sample.distances[matrix]
    return method(
        D, target, n_neighbors=K_CHOICES, groups=groups, n_folds=count - 1, n_permutations=0
    ).predictions


def hits(sample: Sample, matrix: str, target: npt.NDArray[Any], left_out: str) -> FloatArray:
    """Return 1 for each network whose class is predicted, 0 for the others, NaN without classes."""
    found = predict(sample, matrix, target, left_out, classify=True)
    return np.full(len(sample), np.nan) if found is None else (found == target).astype(np.float64)


def cell_accuracy(sample: Sample, matrix: str) -> float:
    """Return the k-NN accuracy of objective and strength, leaving out one seed at a time."""
    found = sample.predicted(
        ("cells", matrix), lambda whole: hits(whole, matrix, whole.column("cell"), "seed")
    )
    return float(found.mean())


def extreme_accuracy(sample: Sample, matrix: str) -> float:
    """Return the same among networks with the highest or lowest strength of their objective."""

    def compute(whole: Sample) -> FloatArray:
        chosen = is_extreme(whole)
        part = whole.keep(chosen)
        found = np.zeros(len(whole))
        found[chosen] = hits(part, matrix, part.column("cell"), "seed")
        return found

    chosen = is_extreme(sample.whole)[sample.index]
    return float(sample.predicted(("extremes", matrix), compute)[chosen].mean())


def is_extreme(sample: Sample) -> BoolArray:
    """Return which networks have the highest or lowest strength of their objective."""
    strength = sample.metadata.groupby("objective")["strength"]
    own = sample.metadata["strength"]
    ends = strength.transform("min"), strength.transform("max")
    return ((own == ends[0]) | (own == ends[1])).to_numpy()


def seed_accuracy(sample: Sample, matrix: str) -> float:
    """Return the k-NN accuracy of the seed, leaving out one cell at a time."""
    return float(_seed_hits(sample, matrix).mean())


def seed_excess(sample: Sample, matrix: str) -> float:
    """Return the accuracy of the seed, minus chance."""
    return seed_accuracy(sample, matrix) - seed_chance(sample)


def seed_chance(sample: Sample) -> float:
    """Return the accuracy that is due to chance for the seed."""
    return 1 / len(sample.whole.seeds)


def _seed_hits(sample: Sample, matrix: str) -> FloatArray:
    return sample.predicted(
        ("seed", matrix), lambda whole: hits(whole, matrix, whole.column("seed"), "cell")
    )


def seed_p_value(sample: Sample, matrix: str, permutations: int) -> float:
    """Return the p-value of `seed_accuracy`, with seeds permuted within every cell."""
    rng = np.random.default_rng(0)
    codes = np.unique(sample.column("seed"), return_inverse=True)[1].astype(np.float64)
    cell = np.unique(sample.column("cell"), return_inverse=True)[1]
    drawn = np.tile(codes, (permutations, 1))
    for row in drawn:
        for one in range(cell.max() + 1):
            row[cell == one] = rng.permutation(codes[cell == one])
    found, null = seed_accuracy(sample, matrix), accuracies(sample, matrix, drawn, cell)
    return float((1 + (null >= found - 1e-12).sum()) / (1 + permutations))


def accuracies(
    sample: Sample, matrix: str, targets: FloatArray, groups: npt.NDArray[np.intp]
) -> FloatArray:
    """Return the accuracy of `hits` for many targets (rows, networks), all predicted at once.

    Neighbours do not depend on the targets, so they are sorted only once.
    """
    splits = _knn.group_splits(
        sample.distances[matrix], max(K_CHOICES), groups, len(np.unique(groups)) - 1
    )
    right = np.zeros(len(targets))
    for split in splits:
        found, _ = _knn.predict_split(split, targets, np.array(K_CHOICES), _knn.CLASSIFICATION)
        right += (found == targets[:, split.outer.test]).sum(axis=1)
    return right / len(sample)


def r_squared(sample: Sample, matrix: str, column: str) -> float:
    """Return the k-NN R^2 of a column, leaving out one seed at a time.

    Networks without a finite value are left out.
    """

    def compute(whole: Sample) -> FloatArray:
        values = whole.column(column).astype(np.float64)
        finite = np.isfinite(values)
        found = predict(whole.keep(finite), matrix, values[finite], "seed", classify=False)
        predictions = np.full(len(whole), np.nan)
        if found is not None:
            predictions[finite] = found
        return predictions

    predictions = sample.predicted((column, matrix), compute)
    known = np.isfinite(predictions)
    truth = sample.column(column).astype(np.float64)[known]
    total = ((truth - truth.mean()) ** 2).sum() if known.any() else 0.0
    return float(1 - ((truth - predictions[known]) ** 2).sum() / total) if total else np.nan


def mean_r_squared(sample: Sample, alphas: tuple[float, ...]) -> FloatArray:
    """Return the mean over alphas of the k-NN R^2 of each score, A to O."""
    return np.array(
        [np.mean([r_squared(sample, alpha_name(a), one) for a in alphas]) for one in NAMES]
    )


def accuracy_gain(sample: Sample, accuracy: Callable[[Sample, str], float]) -> float:
    """Return the mean accuracy over alpha < 2, minus that at alpha = 2."""
    below = [accuracy(sample, alpha_name(alpha)) for alpha in BELOW_TWO]
    return float(np.mean(below) - accuracy(sample, alpha_name(2.0)))


def score_gain(sample: Sample) -> float:
    """Return the mean R^2 over scores and 0 < alpha < 2, minus that over scores at alpha = 2."""
    return float(np.mean(mean_r_squared(sample, BETWEEN) - mean_r_squared(sample, (2.0,))))


def score_share(sample: Sample) -> float:
    """Return the share of scores with a higher mean R^2 over 0 < alpha < 2 than at alpha = 2."""
    inside, at_two = mean_r_squared(sample, BETWEEN), mean_r_squared(sample, (2.0,))
    if not np.isfinite(inside + at_two).all():
        return np.nan
    return float(np.mean(inside > at_two))


# Energy distances


def upper(D: FloatArray) -> FloatArray:
    """Return the distances of all pairs."""
    return D[np.triu_indices(len(D), 1)]


def energy_mismatch(sample: Sample, alpha: float) -> float:
    """Return the Wasserstein distance between rescaled energy distances and d_alpha."""
    energy, other = (upper(sample.distances[name]) for name in (ENERGY, alpha_name(alpha)))
    return float(wasserstein_distance(energy / energy.max(), other / other.max()))


def rank_gap(sample: Sample) -> float:
    """Return how much less energy agrees with any d_alpha than neighbours of d_1 do with d_1."""
    values = {a: upper(sample.distances[alpha_name(a)]) for a in ALPHAS}
    energy = upper(sample.distances[ENERGY])
    near = min(_spearman(values[1.0], values[a]) for a in (0.5, 1.5))
    return near - max(_spearman(energy, values[a]) for a in ALPHAS)


def _spearman(x: FloatArray, y: FloatArray) -> float:
    return float(spearmanr(x, y).statistic)


# Distortion


def median_distortions(
    sample: Sample, matrix: str, dimensions: tuple[int, ...]
) -> dict[int, float]:
    """Return the median distortion of embeddings in several dimensions."""
    curve = rs.analysis.distortion_curve(sample.distances[matrix], dimensions, percentiles=(50.0,))
    return dict(zip(dimensions, curve.values[:, 0].tolist(), strict=True))


def plateau(sample: Sample, matrix: str) -> float:
    """Return 0.1 - (f(15) - f(20)) / (f(1) - f(20)), with f the median distortion.

    Where nothing falls between 1 and 20 dimensions, it is not a number.
    """
    f = median_distortions(sample, matrix, (1, 15, 20))
    if f[1] == f[20]:
        return np.nan
    return PLATEAU - (f[15] - f[20]) / (f[1] - f[20])
