"""What the paper lacks: distances corrected for noise, with intervals and noise floors.

PCA is fitted anew in every part of the trials, through `repshape.inference`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import repshape as rs
from experiments.brain.claims import LEVEL
from experiments.brain.protocol import Networks
from experiments.brain.settings import Settings

COLUMNS = ("estimate", "low", "high", "plug_in", "floor")
# Fewer than two trials per dimension and half, and unstable components, are the rule in these data.
# What matters of it is kept: the overlap of components goes into the results.
EXPECTED = (rs.inference.FewTrialsWarning, rs.inference.UnstableSubspaceWarning)


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
        n_starts=settings.n_starts,
        tol=1e-5,
        max_iter=200,
    )


def measure_class(
    networks: Networks, settings: Settings, alpha: float, n_components: int, workers: int
) -> dict[str, Any]:
    """Estimate all distances of a class; return columns by pair, in the order of the names."""
    metric = corrected_metric(settings, alpha, n_components)
    with expecting_few_trials():
        found = rs.inference.matrix(
            networks,
            metric,
            n_groups=settings.n_groups,
            n_splits=settings.n_splits,
            level=LEVEL,
            random_state=settings.seed,
            workers=workers,
            progress=False,
        )
    frame = found.to_frame()
    columns = {name: frame[name].tolist() for name in COLUMNS}
    return {"names": list(networks), "overlap": found.overlap, **columns}


def pair_ratios(networks: Networks, settings: Settings, workers: int) -> dict[str, Any]:
    """Estimate d_0 / d_2 of the first session with each of the others, with intervals."""
    metric = corrected_metric(settings, 1.0, settings.n_components)
    first, *others = networks
    rows = {}
    for name in others:
        with expecting_few_trials():
            found = rs.inference.ratio(
                networks[first],
                networks[name],
                metric,
                n_groups=settings.n_groups,
                level=LEVEL,
                random_state=settings.seed,
                workers=workers,
                progress=False,
            )
        low, high = found.interval
        rows[f"{first}, {name}"] = [found.estimate, low, high, found.plug_in]
    return {"pairs": list(rows), "values": list(rows.values())}
