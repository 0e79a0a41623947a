"""Everything that is reported of measured distances: claims, tables, and arrays for the figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import repshape as rs
from experiments.common.results import Arrays
from experiments.common.samples import PairSample, Sample, jackknife, store_sample
from experiments.common.stores import CENTRED, alpha_name
from experiments.common.verdicts import EXPLAINED, FAMILY_LEVEL, SHARE
from experiments.vae import statistics as st
from experiments.vae.claims import ALPHAS, DIMENSIONS, ENERGY, K_CHOICES
from experiments.vae.cohorts import SPRITES
from experiments.vae.measure import CENTRED_ALPHAS
from experiments.vae.scores import NAMES

# As in the paper's figure of distortions: the median and the middle 50 % and 80 %.
PERCENTILES = (10.0, 25.0, 50.0, 75.0, 90.0)
EMBEDDED = 15  # dimensions of the embeddings before their principal components are drawn
MATRICES = (*map(alpha_name, ALPHAS), ENERGY)
TARGETS: dict[str, Callable[..., float]] = {
    "objective and every strength": st.cell_accuracy,
    "objective, high or low strength": st.extreme_accuracy,
    "seed": st.seed_accuracy,
    "reconstruction": partial(st.r_squared, column="training_reconstruction"),
}
CLASSES = tuple(TARGETS)[:3]  # targets that are classes, whose scores are shares


def neighbor_table(sample: Sample) -> dict[str, dict[str, Any]]:
    """Return each k-NN score with its 95 % interval, by target and matrix."""
    targets = TARGETS | {letter: partial(st.r_squared, column=letter) for letter in NAMES}
    return {
        target: {
            matrix: jackknife(
                partial(score, matrix=matrix),
                sample,
                FAMILY_LEVEL,
                SHARE if target in CLASSES else EXPLAINED,
                predictions=True,
            ).summary()
            for matrix in MATRICES
        }
        for target, score in targets.items()
    }


def chances(sample: Sample) -> dict[str, float]:
    """Return chance for each target that is a class."""
    cells = sample.metadata.groupby("objective")["cell"].nunique()
    return {
        "objective and every strength": 1 / int(cells.sum()),
        "objective, high or low strength": 1 / int(np.minimum(cells, 2).sum()),
        "seed": 1 / len(sample.seeds),
    }


def centred_table(sample: Sample) -> dict[str, dict[str, float | None]]:
    """Return k-NN scores of raw and of centred networks, without intervals."""
    found: dict[str, dict[str, float | None]] = {}
    raw = [alpha_name(alpha) for alpha in ALPHAS]
    for name in (*raw, *(f"{CENTRED}-{alpha_name(alpha)}" for alpha in CENTRED_ALPHAS)):
        row = {target: score(sample, name) for target, score in TARGETS.items()}
        row["mean of A to O"] = float(np.mean([st.r_squared(sample, name, s) for s in NAMES]))
        found[name] = {target: _finite(value) for target, value in row.items()}
    return found


# Six folds of what is left when a fifth is held out need as many networks.
FEWEST_NETWORKS = 8


def random_test_sets(sample: Sample) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return k-NN scores by the paper's own protocol, by target and matrix.

    Networks are held out at random, also those whose cell or seed is among the others; k is chosen
    by six-fold cross-validation. ``spread`` is the standard deviation over test sets, which share
    networks: it is not a standard error.
    """
    ends = sample.keep(st.is_extreme(sample))
    targets = {
        CLASSES[0]: (sample, "cell"),
        CLASSES[1]: (ends, "cell"),
        CLASSES[2]: (sample, "seed"),
        "reconstruction": (sample, "training_reconstruction"),
    } | {letter: (sample, letter) for letter in NAMES}
    return {
        target: {name: _random_score(part, name, column) for name in MATRICES}
        for target, (part, column) in targets.items()
    }


def _random_score(sample: Sample, matrix: str, column: str) -> dict[str, float | None]:
    values = sample.column(column)
    method = rs.analysis.knn_classify
    if column not in ("cell", "seed"):
        method = rs.analysis.knn_regress
        finite = np.isfinite(values.astype(np.float64))
        sample, values = sample.keep(finite), values[finite]
    if len(set(values)) < 2 or len(values) < FEWEST_NETWORKS:
        return {"estimate": None, "spread": None}
    found = method(sample.distances[matrix], values, n_neighbors=K_CHOICES, n_permutations=0)
    return {"estimate": _finite(found.estimate), "spread": _finite(found.spread)}


def group_tests(sample: Sample, permutations: int) -> dict[str, dict[str, float]]:
    """Return for each matrix how much of it objectives explain, and Mantel tests with energy."""
    found = {}
    objective, seed = (sample.column(name).tolist() for name in ("objective", "seed"))
    energy = sample.distances[ENERGY]
    for name in MATRICES:
        D = sample.distances[name]
        test = rs.inference.groups(D, objective, seed, n_permutations=permutations)
        row = {"explained": test.effect_size, "p_value": test.p_value}
        if name != ENERGY:
            both = rs.inference.mantel(D, energy, method="spearman", n_permutations=permutations)
            row |= {"mantel_with_energy": both.correlation, "mantel_p_value": both.p_value}
        found[name] = row
    return found


def distance_table(samples: Mapping[str, Sample]) -> dict[str, dict[str, Any]]:
    """Return mean distances at alpha 0 and 2 of every group, over pairs with different seeds.

    ``log_ratio`` and ``centred_log_ratio`` are log2(mean d_2 / mean d_0) of raw and of centred
    networks with 95 % intervals over the units, seeds or pairs.
    """
    found = {}
    for name, sample in samples.items():
        names = ("alpha-0", "alpha-2", f"{CENTRED}-alpha-2")
        if len(sample.between_seeds(names[0])):
            row: dict[str, Any] = {one: float(sample.between_seeds(one).mean()) for one in names}
            row |= {"units": len(sample.seeds), "unit": unit_of(sample)}
            for key, centred in (("log_ratio", False), ("centred_log_ratio", True)):
                statistic = partial(st.log_ratio, centred=centred)
                row[key] = jackknife(statistic, sample, FAMILY_LEVEL).summary()
            found[name] = row
    return found


def unit_of(sample: Sample) -> str:
    """Return what is left out, one at a time: "pairs" or "seeds"."""
    return "pairs" if isinstance(sample, PairSample) else "seeds"


def training_table(metadata: pd.DataFrame) -> list[dict[str, Any]]:
    """Return means over the networks of each cell, and how many failed."""
    rows = []
    for cell, part in metadata.groupby("cell", sort=False):
        row: dict[str, Any] = {
            "cell": cell,
            "networks": len(part),
            "failed": int(part["failed"].sum()),
        }
        for column in ("explained", "reconstruction", "kl", "active_latents"):
            row[column] = _finite(part[column].mean())
        rows.append(row)
    return rows


def sweep_table(sample: Sample, trials: tuple[int, ...]) -> dict[str, dict[str, Any]]:
    """Return how energy distances and their k-NN scores depend on the number of samples."""
    most = sample.distances[f"{ENERGY}-{max(trials)}"]
    found = {}
    for name, D in sample.distances.items():
        row: dict[str, Any] = {
            "objective and every strength": _finite(st.cell_accuracy(sample, name)),
            "mean of A to O": _finite(np.mean([st.r_squared(sample, name, s) for s in NAMES])),
            "negative": int((st.upper(D) < 0).sum()),
        }
        if name.startswith(ENERGY):
            change = np.abs(st.upper(D) - st.upper(most)).mean() / np.abs(st.upper(most)).mean()
            row["relative difference to most"] = float(change)
            row["rank correlation with most"] = st._spearman(st.upper(D), st.upper(most))
        found[name] = row
    return found


# Arrays for the figures


def planes(sample: Sample) -> Arrays:
    """Return two principal components of embeddings in 15 dimensions, aligned with the first."""
    found: Arrays = {}
    first = None
    for name in MATRICES:
        points = rs.embed(sample.distances[name], pca_from=EMBEDDED, n_init=1)
        first = points if first is None else first
        for kind, scaling in (("points", False), ("scaled", True)):
            moved = rs.analysis.align_embeddings(points, first, scaling=scaling)
            found[f"{kind}/{name}"] = moved.points.astype(np.float32)
    return found


def distortions(sample: Sample) -> Arrays:
    """Return percentiles of the distortion by dimension, (dimensions, percentiles)."""
    return {
        f"distortion/{name}": rs.analysis.distortion_curve(
            sample.distances[name], DIMENSIONS, percentiles=PERCENTILES
        ).values.astype(np.float32)
        for name in MATRICES
    }


def stored_arrays(samples: Mapping[str, Sample]) -> Arrays:
    """Return all distances, and the metadata that figures and the report use."""
    words = ("objective", "cell", "initialisation")
    numbers = ["strength", "seed", "reconstruction", "training_reconstruction", "kl"]
    numbers += ["active_latents", "explained", "failed", *NAMES]
    found: Arrays = {}
    for group, sample in samples.items():
        found |= store_sample(group, sample, words, numbers)
    return found


def derived_numbers(samples: Mapping[str, Sample]) -> dict[str, Any]:
    """Return the numbers that stored distances give in seconds."""
    distances = distance_table(samples)
    others = {name: row for name, row in distances.items() if not name.startswith(SPRITES.dataset)}
    numbers: dict[str, Any] = {"distances": distances, "other_distances": others}
    if SPRITES.name in samples:
        numbers["random_test_sets"] = random_test_sets(samples[SPRITES.name])
    return numbers


def sprite_analysis(sample: Sample, permutations: int) -> tuple[dict[str, Any], Arrays]:
    """Return the numbers and arrays that need the trained sprite networks."""
    numbers = {
        "neighbors": neighbor_table(sample),
        "chance": chances(sample),
        "centred": centred_table(sample),
        "groups": group_tests(sample, permutations),
        "training": training_table(sample.metadata),
    }
    return numbers, planes(sample) | distortions(sample)


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
