"""Networks of a study arranged by seed, so that statistics keep seeds apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from experiments.common.samples import FloatArray, Folds, Sample
from experiments.common.stores import CENTRED, alpha_name
from experiments.patch_gaussian.claims import NEIGHBOURS, SMALLEST_RELIABILITY

IntArray = npt.NDArray[np.intp]


def matrix_name(alpha: float, tau: float, *, centred: bool = False, half: int = 0) -> str:
    """Return the name of a matrix.

    >>> matrix_name(0, 0.1), matrix_name(2, 0.5, half=1), matrix_name(1, 0.1, centred=True)
    ('tau-0.1/alpha-0', 'tau-0.5/alpha-2-half-1', 'tau-0.1/centred-alpha-1')
    """
    prefix = f"{CENTRED}-" if centred and alpha else ""  # at alpha 0 both are the same
    suffix = f"-half-{half}" if half else ""
    return f"tau-{tau:g}/{prefix}{alpha_name(alpha)}{suffix}"


def taus_of(sample: Sample) -> list[float]:
    """Return the taus of the matrices of a sample, ascending."""
    return sorted({float(name.split("/")[0].removeprefix("tau-")) for name in sample.distances})


def patched(sample: Sample) -> Sample:
    """Return the networks that were trained with patches."""
    return sample.keep(np.isfinite(sample.column("width").astype(np.float64)))


def seed_index(sample: Sample) -> dict[int, IntArray]:
    """Return the places of the networks of each seed; cells are in the same order in all."""
    seed, cell = sample.column("seed"), sample.column("cell")
    places = {one: np.flatnonzero(seed == one) for one in sample.seeds}
    return {one: index[np.argsort(cell[index], kind="stable")] for one, index in places.items()}


def between_seeds(sample: Sample, name: str) -> dict[tuple[int, int], FloatArray]:
    """Return the distances (cells, cells) between the networks of each pair of seeds."""
    index, D = seed_index(sample), sample.distances[name]
    return {(a, b): D[np.ix_(index[a], index[b])] for a, b in combinations(index, 2)}


def correlate_ranks(x: FloatArray, y: FloatArray) -> float:
    """Return Spearman's correlation, or not a number if one of them is constant.

    >>> correlate_ranks(np.array([1.0, 2.0, 9.0]), np.array([3.0, 4.0, 5.0]))
    1.0
    """
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.clip(np.corrcoef(rankdata(x), rankdata(y))[0, 1], -1, 1))


# Agreement of matrices


def agreement(sample: Sample, first: tuple[float, float], second: tuple[float, float]) -> Folds:
    """Return the agreement of two matrices, each given by alpha and tau, by pairs of seeds.

    With halves of the passes it is relative to the highest value that sampling error allows.
    """
    halves = matrix_name(*first, half=1) in sample.distances
    found: Folds = {}
    if not halves:
        A, B = (between_seeds(sample, matrix_name(*one)) for one in (first, second))
        return {pair: correlate_ranks(A[pair].ravel(), B[pair].ravel()) for pair in A}
    parts = [
        between_seeds(sample, matrix_name(*one, half=half))
        for one in (first, second)
        for half in (1, 2)
    ]
    for pair in parts[0]:
        found[pair] = disattenuated(*(part[pair].ravel() for part in parts))
    return found


def disattenuated(A1: FloatArray, A2: FloatArray, B1: FloatArray, B2: FloatArray) -> float:
    """Return (r(A1, B2) + r(A2, B1)) / 2 / sqrt(r(A1, A2) r(B1, B2)), with rank correlations r.

    It is not a number if either matrix is too unreliable.
    """
    reliability = correlate_ranks(A1, A2), correlate_ranks(B1, B2)
    if not min(reliability) >= SMALLEST_RELIABILITY:
        return float("nan")
    mean = (correlate_ranks(A1, B2) + correlate_ranks(A2, B1)) / 2
    return float(mean / np.sqrt(reliability[0] * reliability[1]))


# Predictions from neighbours


def neighbours(D: FloatArray, groups: npt.NDArray[np.generic]) -> IntArray:
    """Return the nearest networks of other groups (networks, neighbours), nearest first."""
    masked = np.where(groups[:, None] == groups[None, :], np.inf, D)
    order = np.argsort(masked, axis=1, kind="stable")[:, :NEIGHBOURS]
    fewest = int(np.isfinite(masked).sum(axis=1).min())
    return order[:, :fewest]


def vote(labels: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Return the most frequent label of the last axis; among equals that of the nearest.

    >>> vote(np.array([[1, 2, 2], [3, 1, 2]])).tolist()
    [2, 3]
    """
    counts = (labels[..., :, None] == labels[..., None, :]).sum(axis=-1)
    best = counts.argmax(axis=-1)
    return np.take_along_axis(labels, best[..., None], axis=-1)[..., 0]


def shuffled_within(groups: npt.NDArray[np.generic], rng: np.random.Generator) -> IntArray:
    """Return an order that permutes the members of each group among themselves."""
    order = np.arange(len(groups))
    for one in np.unique(groups):
        places = np.flatnonzero(groups == one)
        order[places] = rng.permutation(places)
    return order


def named_folds(folds: Folds) -> dict[str, float | None]:
    """Return folds by the numbers of their seeds, ready for JSON.

    >>> named_folds({(0, 1): 0.5, (0, 2): float("nan")})
    {'0 and 1': 0.5, '0 and 2': None}
    """
    return {
        " and ".join(map(str, fold)): float(value) if value == value else None
        for fold, value in folds.items()
    }
