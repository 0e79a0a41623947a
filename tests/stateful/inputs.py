"""Networks and metrics of the stateful test, made once and the same in every process."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from repshape import Cohort, Gaussians, GaussianShapeMetric, Trials, pairwise
from repshape.metrics.base import ShapeMetric
from repshape.store.identity import Identity

NAMES = ("a", "b/2", "c", "d", "é", "f")
VERSIONS = 4
CONDITIONS = 3
Choice = tuple[str, int]  # the name of a network, and which responses it has


@cache
def network(choice: Choice) -> Trials | Gaussians:
    """Return one of the networks: relatives of two or three neurons, with many local optima."""
    name, version = choice
    n = 2 + NAMES.index(name) % 2
    base = np.random.default_rng(n).normal(size=(CONDITIONS, n, 4))
    rng = np.random.default_rng([NAMES.index(name), version])
    means = rng.normal(size=(CONDITIONS, n))
    factors = np.linalg.qr(rng.normal(size=(n, n)))[0] @ (base + 0.3 * rng.normal(size=base.shape))
    if version == 0:
        return Gaussians(means, (factors**2).sum(axis=2))
    if version == 1:
        return Trials(means[:, None, :] + factors.transpose(0, 2, 1))
    return Gaussians.from_factors(means, factors[:, :, : 4 if version == 2 else 1])


@cache
def by_fingerprint() -> dict[str, Choice]:
    """Return which network has a fingerprint."""
    every = [(name, version) for name in NAMES for version in range(VERSIONS)]
    return {network(choice).fingerprint: choice for choice in every}


def gap(x: Any, y: Any) -> float:
    """Return the difference of the sums of all means: a metric that is a plain function."""
    return float(abs(x.means.sum() - y.means.sum()))


METRICS: dict[str, Any] = {
    "means": GaussianShapeMetric(alpha=2.0),
    # One start ends in poor optima, which the polish improves.
    "polished": GaussianShapeMetric(alpha=0.0, n_starts=1),
    "permutation": GaussianShapeMetric(alpha=1.0, group="permutation"),
    "function": gap,
}
# The metric "polished" with so many starts that no polish may fall below it.
BEST = "best"
SEARCHED = GaussianShapeMetric(alpha=0.0, n_starts=100)
# What these compute does not depend on the networks that a store had before.
TIMELESS = ("means", "permutation", "function")


def space_of(identity: Identity) -> int | None:
    """Return the number of neurons of the space in which a store aligns permuted networks."""
    found: int | None = identity.description["parameters"].get("pad_to")
    return found


@cache
def alone(metric: str, space: int | None, first: str, second: str) -> float:
    """Return the distance of two networks, by fingerprint, without any polish."""
    pair = [network(by_fingerprint()[one]) for one in (first, second)]
    chosen = SEARCHED if metric == BEST else METRICS[metric]
    if isinstance(chosen, ShapeMetric) and space is not None:
        chosen = chosen.with_parameters(pad_to=space)
    D = pairwise(pair, chosen, polish=False, workers=1, progress=False)
    return float(D.values[0, 1])


def cohort_of(identity: Identity) -> Cohort:
    """Return the networks of a store, in memory."""
    choices = [by_fingerprint()[one] for one in identity.fingerprints]
    table = pd.DataFrame({"version": [version for _, version in choices]})
    return Cohort.from_networks([network(one) for one in choices], identity.labels, table)
