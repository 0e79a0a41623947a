"""All fifteen scores of one network."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.vae.scores.correlation import (
    code_covariance,
    gaussian_total_correlation,
    gaussian_wasserstein_correlation,
    normalised_wasserstein_correlation,
)
from experiments.vae.scores.information import (
    code_information,
    modularity,
    mutual_information_gap,
)
from experiments.vae.scores.interventions import beta_vae_accuracy, factor_vae_accuracy
from experiments.vae.scores.prediction import (
    boosted_trees,
    explicitness,
    logistic_accuracy,
    separated_predictability,
)
from experiments.vae.scores.table import CodeTable
from experiments.vae.settings import ScoreSettings
from repshape.datasets.vaes import SCORES as NAMES

Score = Callable[[CodeTable, ScoreSettings, np.random.Generator], Any]


def _trees(table: CodeTable, settings: ScoreSettings, rng: np.random.Generator) -> list[float]:
    found = boosted_trees(table, settings, rng)
    return [found.disentanglement, found.completeness, found.informativeness, found.accuracy]


def _gaussian(table: CodeTable, settings: ScoreSettings, rng: np.random.Generator) -> list[float]:
    C = code_covariance(table, settings, rng)
    return [
        gaussian_total_correlation(C),
        gaussian_wasserstein_correlation(C),
        normalised_wasserstein_correlation(C),
    ]


def _one(score: Callable[..., float]) -> Score:
    return lambda table, settings, rng: [score(table, settings, rng)]


# Letters that come from one set of draws stand together. All networks see the same draws.
SCORES: dict[str, Score] = {
    "A": _one(beta_vae_accuracy),
    "BCDG": _trees,
    "E": _one(factor_vae_accuracy),
    "F": _one(logistic_accuracy),
    "H": _one(mutual_information_gap),
    "I": _one(modularity),
    "J": _one(explicitness),
    "K": _one(separated_predictability),
    "LMN": _gaussian,
    "O": _one(code_information),
}


def all_scores(table: CodeTable, settings: ScoreSettings) -> dict[str, Any]:
    """Return scores A to O, and the seconds they took, ready for JSON.

    A score that is not finite (L of codes that determine each other) is None.
    """
    scores: dict[str, float | None] = {}
    seconds: dict[str, float] = {}
    for letters, score in SCORES.items():
        start = time.perf_counter()
        rng = np.random.default_rng([settings.seed, list(NAMES).index(letters[0])])
        with threadpool_limits(limits=1):  # one core for each process, and the same bits on any
            values = score(table, settings, rng)
        for letter, value in zip(letters, values, strict=True):
            scores[letter] = value if np.isfinite(value) else None
        seconds[letters] = round(time.perf_counter() - start, 2)
    scores = {letter: scores[letter] for letter in NAMES}
    return {"scores": scores, "seconds": seconds, "settings": asdict(settings)}
