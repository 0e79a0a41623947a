"""A warning where covariances are estimated from too few trials to say much about noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from repshape.errors import (
    TRIALS_PER_DIMENSION,
    FewTrialsWarning,
    RepshapeError,
    warn_user,
)
from repshape.moments import PLAIN_ESTIMATORS
from repshape.responses import Trials

REMEDY = (
    f"With fewer than {TRIALS_PER_DIMENSION} trials per dimension, noise alone is a large part "
    "of a distance: repshape.inference.floor measures it, and repshape.inference.distance corrects "
    "for it. More trials reduce it, and so do fewer dimensions (preprocess) and a shrinkage "
    "estimator of the covariance."
)


@dataclass(frozen=True)
class _Few:
    """A network with few trials: its name, trials of the condition with fewest, and dimensions."""

    name: str
    n_trials: int
    dimensions: int


def warn_of_few_trials(
    metrics: Iterable[Any], networks: Sequence[Any], names: Sequence[str]
) -> None:
    """Warn once if networks have fewer than two trials per dimension after preprocessing.

    It concerns metrics that give weight to covariances, and plain estimates of these; a shrunk
    covariance is the remedy. The networks may be records of a cohort.
    """
    found: dict[int, _Few] = {}
    for metric in metrics:
        if not gives_weight_to_covariances(metric):
            continue
        for k, (given, name) in enumerate(zip(networks, names, strict=True)):
            network = _with_sizes(given, metric)
            n_trials = fewest_trials(network, metric)
            if n_trials is None:
                continue
            size = dimensions(network, metric)
            if n_trials < TRIALS_PER_DIMENSION * size:
                found.setdefault(k, _Few(name, n_trials, size))
    if not found:
        return
    worst = min(found.values(), key=lambda few: few.n_trials / few.dimensions)
    numbers = f"{worst.n_trials} trials for {worst.dimensions} dimensions"
    numbers += f", which need {TRIALS_PER_DIMENSION * worst.dimensions}"
    words = f"The network {worst.name!r} has {numbers}."
    if len(found) > 1:
        words = f"{len(found)} of {len(names)} networks have few trials: {worst.name!r} {numbers}."
    warn_user(f"{words} {REMEDY}", FewTrialsWarning)


def gives_weight_to_covariances(metric: Any) -> bool:
    """Whether a metric compares covariances, which it estimates from trials."""
    alpha = getattr(metric, "alpha", None)
    return hasattr(metric, "covariance") and isinstance(alpha, int | float) and alpha < 2


def fewest_trials(network: Any, metric: Any) -> int | None:
    """Return the trials of the condition with fewest; None if its covariance is no plain estimate.

    Also None if the number of trials is not known.
    """
    flat = getattr(network, "flat", network)  # of a network with positions
    counts = getattr(flat, "n_trials", None)
    if counts is None:
        return None
    from_trials = isinstance(flat, Trials) or getattr(flat, "kind", "trials") == "trials"
    estimator = metric.covariance if from_trials else flat.estimator
    plain = getattr(estimator, "name", estimator) in PLAIN_ESTIMATORS
    return int(np.min(counts)) if plain else None


def dimensions(network: Any, metric: Any) -> int:
    """Return over how many numbers the metric estimates one covariance, after preprocessing."""
    kept = None if metric.preprocess is None else metric.preprocess.n_components
    return int((kept or network.n_neurons) * metric._positions_together(network))


@dataclass(frozen=True)
class _Sizes:
    """Sizes of an array of trials that has not been read yet."""

    n_trials: int
    n_neurons: int
    positions: tuple[int, ...]


def _with_sizes(network: Any, metric: Any) -> Any:
    """Return an object that knows the sizes of a network, or None if the metric cannot read it."""
    if hasattr(network, "n_neurons"):
        return network
    if isinstance(network, np.ndarray) and network.ndim > 2:
        return _Sizes(network.shape[1], network.shape[-1], network.shape[2:-1])
    with suppress(RepshapeError):  # which is for `prepare` to raise
        return metric._read(network)
    return None
