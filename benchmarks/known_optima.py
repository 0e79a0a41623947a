"""Searches compared with optima that are known: permutations, copies, and transport by restarts.

    python -m benchmarks.known_optima [permutations | larger | copies | transport | all] [--share S]

Permutations of up to six neurons are compared with all of them (10 000 pairs), and of seven and
eight neurons as well (200 pairs); larger ones with long runs. Copies are rotated networks without
means. ``--share`` reduces the numbers of pairs. Saves benchmarks/results/known_optima.json.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt

import repshape as rs
from benchmarks.solver import show
from benchmarks.stamps import RESULTS, write
from repshape.groups import GROUPS

FloatArray = npt.NDArray[np.float64]
Row = dict[str, Any]
ALPHAS = (0.0, 0.5, 1.0)
KINDS = ("independent", "relatives", "low rank")
# An excess above this is more than rounding.
WRONG = 1e-6


def gaussian_pair(rng: np.random.Generator, n: int, M: int, kind: str) -> list[rs.Gaussians]:
    """Return two networks; relatives are permuted and perturbed by half."""
    rank = 2 if kind == "low rank" else n
    A, B = rng.normal(size=(2, M, n, rank)) / np.sqrt(rank)
    mu, nu = rng.normal(size=(2, M, n))
    if kind == "relatives":
        order = rng.permutation(n)
        B, nu = np.concatenate([A, B], axis=2)[:, order] / np.sqrt(2), (mu + 0.7 * nu)[:, order]
    return [rs.Gaussians.from_factors(mu, A), rs.Gaussians.from_factors(nu, B)]


def best_permutation(x: rs.Gaussians, y: rs.Gaussians, alpha: float) -> float:
    """Return the distance by evaluating every permutation in plain NumPy."""
    n, total = x.n_neurons, 0.0
    for net in (x, y):
        total += alpha * (net.means**2).sum() + (2 - alpha) * (net.factors**2).sum()
    every = np.array(list(permutations(range(n))))
    highest = -np.inf
    for part in np.array_split(every, max(1, len(every) // 2000)):
        moved = np.moveaxis(x.factors[:, part], 0, 1)  # (permutations, M, n, r)
        nuclear = np.linalg.svd(np.swapaxes(moved, 2, 3) @ y.factors, compute_uv=False).sum((1, 2))
        mean = np.einsum("mpk,mk->p", x.means[:, part], y.means)
        highest = max(highest, float((alpha * mean + (2 - alpha) * nuclear).max()))
    return float(np.sqrt(max(total - 2 * highest, 0.0) / x.n_conditions))


def study_permutations(n: int, M: int, count: int) -> Row:
    """Compare the default with all permutations."""
    rng = np.random.default_rng([n, M])
    wrong, worst, seconds = 0, 0.0, 0.0
    for k in range(count):
        x, y = gaussian_pair(rng, n, M, KINDS[k % 3])
        metric = rs.GaussianShapeMetric(ALPHAS[k // 3 % 3], group="permutation")
        begin = time.process_time()
        found = metric.distance(x, y)
        seconds += time.process_time() - begin
        excess = abs(found / best_permutation(x, y, metric.alpha) - 1)
        wrong, worst = wrong + int(excess > WRONG), max(worst, excess)
    return {
        "n": n,
        "M": M,
        "pairs": count,
        "wrong": wrong,
        "worst": worst,
        "ms": 1e3 * seconds / count,
    }


def study_larger(n: int, M: int, kind: str, alpha: float, count: int, runs: int = 12) -> Row:
    """Compare the default with the best of many runs of it with other seeds."""
    rng = np.random.default_rng([n, M, 1])
    excess, seconds, agreement = [], 0.0, []
    for _ in range(count):
        x, y = gaussian_pair(rng, n, M, kind)
        begin = time.process_time()
        found = rs.GaussianShapeMetric(alpha, group="permutation").align(x, y)
        seconds += time.process_time() - begin
        others = (
            rs.GaussianShapeMetric(alpha, group="permutation", random_state=seed).distance(x, y)
            for seed in range(1, runs)
        )
        excess.append(100 * (found.distance / min(found.distance, *others) - 1))
        agreement.append(found.agreement)
    return {
        "family": kind,
        "n": n,
        "M": M,
        "alpha": alpha,
        "pairs": count,
        "mean_%": float(np.mean(excess)),
        "max_%": float(np.max(excess)),
        "agreement": float(np.mean(agreement)),
        "ms": 1e3 * seconds / count,
    }


def study_copies(group: str, n: int, count: int) -> Row:
    """Count the copies without means that are farther from each other than 1e-6 of their norm."""
    rng = np.random.default_rng(n)
    missed, worst = 0, 0.0
    for k in range(count):
        M, rank = int(rng.integers(2, 12)), n if k % 2 else max(1, n // 2)
        A, T = rng.normal(size=(M, n, rank)), GROUPS[group](rng.normal(size=(n, n)))
        still = np.zeros((M, n))
        pair = rs.Gaussians.from_factors(still, A), rs.Gaussians.from_factors(still, T @ A)
        metric = rs.GaussianShapeMetric(ALPHAS[k % 3], group=group)
        share = metric.distance(*pair) / float(np.sqrt((A**2).sum() / M))
        missed, worst = missed + int(share > 1e-6), max(worst, share)
    return {"group": group, "n": n, "pairs": count, "missed": missed, "worst": worst}


def trial_pair(rng: np.random.Generator, kind: str) -> tuple[FloatArray, FloatArray]:
    n, M, L = int(rng.integers(3, 8)), int(rng.integers(4, 16)), int(rng.integers(6, 20))
    x, y = rng.normal(size=(2, M, L, n)) @ rng.normal(size=(2, M, n, n)) / np.sqrt(n)
    x, y = x + rng.normal(size=(M, 1, n)), y + rng.normal(size=(M, 1, n))
    if kind == "relatives":
        y = (x + 0.5 * rng.normal(size=x.shape)) @ GROUPS["orthogonal"](rng.normal(size=(n, n)))
    return x, y


def study_transport(p: float, kind: str, count: int) -> Row:
    """Compare the default with the best of 60 restarts, all finished."""
    rng = np.random.default_rng([int(p), len(kind)])
    excess, seconds = [], 0.0
    for _ in range(count):
        x, y = trial_pair(rng, kind)
        begin = time.process_time()
        found = rs.WassersteinShapeMetric(p).distance(x, y)
        seconds += time.process_time() - begin
        many = rs.WassersteinShapeMetric(p, n_starts=60, random_state=7).distance(x, y)
        excess.append(100 * (found / min(found, many) - 1))
    return {
        "p": p,
        "family": kind,
        "pairs": count,
        "above_0.1_%": float(np.mean(np.array(excess) > 0.1)),
        "max_%": float(np.max(excess)),
        "ms": 1e3 * seconds / count,
    }


def studies(share: float) -> dict[str, Callable[[], Iterator[Row]]]:
    def pairs(count: int) -> int:
        return max(1, round(share * count))

    small = ((2, 4, 1000), (3, 4, 2000), (4, 4, 3000), (5, 4, 2000), (6, 4, 2000))
    return {
        "permutations": lambda: (
            study_permutations(n, M, pairs(count))
            for n, M, count in (*small, (7, 4, 100), (8, 4, 100))
        ),
        "larger": lambda: (
            study_larger(n, 20, kind, alpha, pairs(20))
            for n in (10, 20)
            for kind in KINDS
            for alpha in ALPHAS
        ),
        "copies": lambda: (
            study_copies(group, n, pairs(100))
            for group in ("orthogonal", "rotation", "permutation")
            for n in (2, 3, 5, 8, 12, 20)
        ),
        "transport": lambda: (
            study_transport(p, kind, pairs(60))
            for p in (1.0, 2.0, 3.0)
            for kind in ("relatives", "independent")
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="?", default="all", choices=["all", *studies(1.0)])
    parser.add_argument("--share", type=float, default=1.0, help="share of the pairs to compute")
    options = parser.parse_args()
    path = RESULTS / "known_optima.json"
    saved = json.loads(path.read_text()) if path.exists() else {}
    for name, study in studies(options.share).items():
        if options.study in (name, "all"):
            saved[name] = list(study())
            show(saved[name], name)
            write(path, saved, continues=True)


if __name__ == "__main__":
    main()
