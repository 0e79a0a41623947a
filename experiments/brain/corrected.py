"""What the paper lacks: distances corrected for noise, with intervals and noise floors.

PCA is refitted in every part of the trials, through `repshape.inference`. Distances are
estimated by the jackknife, which extrapolates to infinitely many trials: with 50 trials and 19
components there are more than the two trials per dimension that it needs, which matched halves of
25 trials do not have.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np

import repshape as rs
from experiments.brain.claims import LEVEL
from experiments.brain.protocol import Networks, search
from experiments.brain.settings import Settings

COLUMNS = ("estimate", "low", "high", "plug_in", "floor")
# Unstable components are the rule in these data. What matters is kept: the overlap of the
# components of two halves of the trials, and ratios without an upper end, go into the results.
EXPECTED = (
    rs.inference.FewTrialsWarning,
    rs.inference.UnboundedRatioWarning,
    rs.inference.UnstableSubspaceWarning,
)


@contextmanager
def expecting_few_trials() -> Iterator[None]:
    """Silence the warnings that are reported in the results instead."""
    with warnings.catch_warnings():
        for category in EXPECTED:
            warnings.simplefilter("ignore", category)
        yield


def corrected_metric(settings: Settings, alpha: float, n_components: int) -> Any:
    """Return the metric of the corrected distances: sample covariances, PCA inside."""
    return rs.GaussianShapeMetric(
        alpha,
        preprocess=rs.Preprocess(n_components=n_components),
        **search(settings.resampling_starts),
    )


def measure_class(
    networks: Networks, settings: Settings, alpha: float, n_components: int, workers: int
) -> dict[str, Any]:
    """Estimate all distances of a class; return columns by pair, in the order of the names."""
    metric = corrected_metric(settings, alpha, n_components)
    floors = noise_floors(networks, metric, settings, workers)
    rows, overlaps = [], []
    for x, y in combinations(networks, 2):
        with expecting_few_trials():
            found = rs.inference.distance(
                networks[x], networks[y], metric, **options(settings, workers)
            )
        floor = float(np.sqrt((floors[x] ** 2 + floors[y] ** 2) / 2))
        rows.append([found.estimate, *found.interval, found.plug_in, floor])
        overlaps.append(found.overlap)
    columns = dict(zip(COLUMNS, np.array(rows).T.tolist(), strict=True))
    known = [one for one in overlaps if one is not None]
    return {"names": list(networks), "overlap": min(known, default=None), **columns}


def noise_floors(
    networks: Networks, metric: Any, settings: Settings, workers: int
) -> dict[str, float]:
    """Return the noise floor of each session, from random halves of its trials."""
    out = {}
    for name, trials in networks.items():
        with expecting_few_trials():
            found = rs.inference.floor(
                trials,
                metric,
                n_splits=settings.n_splits,
                random_state=settings.seed,
                workers=workers,
                progress=False,
            )
        out[name] = found.estimate
    return out


def options(settings: Settings, workers: int) -> dict[str, Any]:
    """Return how distances and ratios are estimated: by the jackknife over groups of trials."""
    return {
        "method": "jackknife",
        "n_groups": settings.n_groups,
        "level": LEVEL,
        "random_state": settings.seed,
        "workers": workers,
        "progress": False,
    }


def pair_ratios(networks: Networks, settings: Settings, workers: int) -> dict[str, Any]:
    """Estimate d_0 / d_2 of the first session with each of the others, with intervals."""
    metric = corrected_metric(settings, 1.0, settings.n_components)
    first, *others = networks
    rows = {}
    for name in others:
        with expecting_few_trials():
            found = rs.inference.ratio(
                networks[first], networks[name], metric, **options(settings, workers)
            )
        rows[f"{first}, {name}"] = [found.estimate, *found.interval, found.plug_in]
    return {"pairs": list(rows), "values": list(rows.values())}
