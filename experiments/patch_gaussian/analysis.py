"""Everything that is reported of measured distances, beside the claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

import repshape as rs
from experiments.common.results import Arrays
from experiments.common.samples import Folds, Sample, fold_interval
from experiments.common.stores import alpha_name
from experiments.common.verdicts import CORRELATION, FAMILY_LEVEL, SHARE
from experiments.patch_gaussian.claims import (
    ALPHAS,
    HALVED_TAUS,
    MANIPULATION,
    TOLERATED_LOSS,
)
from experiments.patch_gaussian.folds import (
    agreement,
    between_seeds,
    correlate_ranks,
    matrix_name,
    named_folds,
    neighbours,
    patched,
    shuffled_within,
    taus_of,
    vote,
)
from experiments.patch_gaussian.manipulation import check_manipulation, robust_gain
from experiments.patch_gaussian.statistics import EMBEDDED

NULL_PERMUTATIONS = 199
NULL_PERCENTILE = 95
KINDS = {"raw": False, "centred": True}


def manipulation_table(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the manipulation check, and what it would be at a clean loss of at most 0.05."""
    check = check_manipulation(records)
    seeds = sorted({record["seed"] for record in records})
    rows = []
    for criterion in MANIPULATION.criteria:
        values = check.folds[criterion.name]
        folds: Folds = {(seed,): value for seed, value in zip(seeds, values, strict=True)}
        row = {"name": criterion.name, "above": criterion.above, "note": criterion.note}
        row |= {"statistic": criterion.statistic, "verdict": check.verdicts[criterion.name].value}
        rows.append(
            row | fold_interval(folds, FAMILY_LEVEL).summary() | {"folds": named_folds(folds)}
        )
    losses = check.folds["clean loss"]
    noises = list(records[0]["accuracy"])
    return {
        "verdict": check.verdict.value,
        "criteria": rows,
        "clean loss within 0.05": all(loss > -TOLERATED_LOSS for loss in losses),
        "gain by noise": {
            noise: [robust_gain([r for r in records if r["seed"] == s], noise) for s in seeds]
            for noise in noises
        },
    }


def accuracy_table(sample: Sample) -> list[dict[str, Any]]:
    """Return the mean accuracy and spread of each cell, and how many networks failed."""
    rows = []
    columns = [c for c in sample.metadata if str(c).startswith(("accuracy-", "spread-"))]
    for cell, part in sample.metadata.groupby("cell", sort=False):
        row: dict[str, Any] = {"cell": cell, "networks": len(part)}
        row["failed"] = int(part["failed"].sum())
        rows.append(row | {str(c): finite(part[c].mean()) for c in columns})
    return rows


def tables_of_distances(sample: Sample, permutations: int) -> dict[str, Any]:
    """Return the tables that stored distances and accuracies give."""
    return {
        "accuracy": accuracy_table(sample),
        "neighbors": neighbor_table(sample),
        "nearest": nearest_table(sample),
        "mantel": mantel_table(sample, permutations),
        "reliability": reliability_table(sample),
        "to_none": distances_to_none(sample),
    }


# Neighbours


def neighbor_table(sample: Sample) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the k-NN accuracy of W, sigma and seed with its null level, by target and matrix."""
    part = patched(sample)
    targets = {"W": (part, "width", "seed"), "sigma": (part, "sigma", "seed")}
    targets["seed"] = (sample, "seed", "cell")
    names = {
        matrix_name(alpha, tau, centred=centred)
        for alpha in ALPHAS
        for tau in taus_of(sample)
        for centred in KINDS.values()
        if matrix_name(alpha, tau, centred=centred) in sample.distances
    }
    return {
        target: {name: neighbor_row(own, name, column, groups) for name in sorted(names)}
        for target, (own, column, groups) in targets.items()
        if len(set(own.column(groups))) > 1
    }


def nearest_table(sample: Sample) -> dict[str, dict[str, dict[str, float]]]:
    """Return what the nearest of all other networks shares, by tau and alpha.

    ``cell`` and ``seed`` are shares of networks whose nearest one has the same hyper-parameters,
    or the same seed; ``cell, chance`` and ``seed, chance`` those of a random other network.
    """
    seed, cell = sample.column("seed"), sample.column("cell")
    others = len(sample) - 1
    chance = {
        f"{name}, chance": float(((one[:, None] == one).sum() - len(one)) / len(one) / others)
        for name, one in (("cell", cell), ("seed", seed))
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    for tau in taus_of(sample):
        for alpha in ALPHAS:
            D = sample.distances[matrix_name(alpha, tau)]
            nearest = (D + np.diag(np.full(len(D), np.inf))).argmin(axis=1)
            shares = {
                "cell": float((cell[nearest] == cell).mean()),
                "seed": float((seed[nearest] == seed).mean()),
            }
            found.setdefault(f"{tau:g}", {})[f"{alpha:g}"] = shares | chance
    return found


def neighbor_row(sample: Sample, name: str, column: str, left_out: str) -> dict[str, Any]:
    """Return the accuracy, its interval over seeds, and the level that shuffled labels reach."""
    labels = sample.column(column).astype(np.float64)
    groups, seed = sample.column(left_out), sample.column("seed")
    nearest = neighbours(sample.distances[name], groups)
    correct = vote(labels[nearest]) == labels
    folds: Folds = {(one,): float(correct[seed == one].mean()) for one in sample.seeds}
    rng = np.random.default_rng(0)
    null = []
    for _ in range(NULL_PERMUTATIONS):
        drawn = labels[shuffled_within(groups, rng)]
        null.append(float((vote(drawn[nearest]) == drawn).mean()))
    return fold_interval(folds, FAMILY_LEVEL, SHARE).summary() | {
        "chance": 1 / len(np.unique(labels)),
        "null": float(np.mean(null)),
        "null_high": float(np.percentile(null, NULL_PERCENTILE)),
    }


# Matrices


def mantel_table(sample: Sample, permutations: int) -> dict[str, dict[str, Any]]:
    """Return rank correlations between alphas at each tau.

    ``estimate`` and interval are over pairs of seeds, ``p_value`` is that of a Mantel test, and
    ``agreement`` is relative to the highest value that sampling error allows.
    """
    found: dict[str, dict[str, Any]] = {}
    for tau in taus_of(sample):
        row: dict[str, Any] = {}
        for first, second in combinations(ALPHAS, 2):
            names = [matrix_name(alpha, tau) for alpha in (first, second)]
            A, B = (between_seeds(sample, name) for name in names)
            folds: Folds = {pair: correlate_ranks(A[pair].ravel(), B[pair].ravel()) for pair in A}
            entry: dict[str, Any] = {**fold_interval(folds, FAMILY_LEVEL, CORRELATION).summary()}
            if len(sample) > 3:
                D = [sample.distances[name] for name in names]
                test = rs.inference.mantel(*D, method="spearman", n_permutations=permutations)
                entry |= {"mantel": finite(test.correlation), "p_value": test.p_value}
            if tau in HALVED_TAUS:
                both = agreement(sample, (first, tau), (second, tau))
                entry["agreement"] = fold_interval(both, FAMILY_LEVEL, CORRELATION).summary()
            row[f"{first:g} and {second:g}"] = entry
        found[f"{tau:g}"] = row
    return found


def reliability_table(sample: Sample) -> dict[str, dict[str, float | None]]:
    """Return the rank correlation between halves of the passes, mean over pairs of seeds."""
    found: dict[str, dict[str, float | None]] = {}
    for tau in (tau for tau in HALVED_TAUS if tau in taus_of(sample)):
        for alpha in ALPHAS:
            names = [matrix_name(alpha, tau, half=half) for half in (1, 2)]
            if names[0] not in sample.distances:
                continue
            A, B = (between_seeds(sample, name) for name in names)
            values = [correlate_ranks(A[pair].ravel(), B[pair].ravel()) for pair in A]
            row = found.setdefault(f"{tau:g}", {})
            row[alpha_name(alpha)] = finite(np.mean(values)) if values else None
    return found


def distances_to_none(sample: Sample) -> dict[str, dict[str, float]]:
    """Return by matrix the mean distance of each cell to networks without patches.

    Only networks of other seeds are compared, so that the cell ``none`` has a distance, too.
    """
    cell, seed = sample.column("cell"), sample.column("seed")
    plain = np.isnan(sample.column("width").astype(np.float64))
    other = seed[:, None] != seed[None, :]
    found: dict[str, dict[str, float]] = {}
    for name in (matrix_name(alpha, tau) for tau in taus_of(sample) for alpha in ALPHAS):
        row = {}
        for one in dict.fromkeys(cell):
            pairs = (cell == one)[:, None] & plain[None, :] & other
            if pairs.any():
                row[str(one)] = float(sample.distances[name][pairs].mean())
        found[name] = row
    return found


def planes(sample: Sample) -> Arrays:
    """Return two principal components of embeddings; each is aligned with the one before it.

    The order is by alpha, then by tau.
    """
    names = [matrix_name(alpha, tau) for alpha in ALPHAS for tau in taus_of(sample)]
    dimensions = min(EMBEDDED, len(sample) - 1)
    if dimensions < 2:
        return {}
    points: list[npt.NDArray[Any]] = [
        rs.embed(sample.distances[name], pca_from=dimensions, n_init=1).points for name in names
    ]
    aligned = points[:1]
    for _, second in pairwise(points):
        aligned.append(rs.analysis.align_embeddings(second, aligned[-1]).points)
    return {
        f"points/{name}": one.astype(np.float32) for name, one in zip(names, aligned, strict=True)
    }


def finite(value: Any) -> float | None:
    """Return a number for JSON, or None if it is not finite."""
    return float(value) if np.isfinite(value) else None
