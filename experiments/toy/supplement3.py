"""Supplementary Figure 3: classical dissimilarities between the toy networks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import Settings, ToyData
from experiments.toy.result import Arrays, FigureResult
from repshape.demo.findings import Check, Finding, GridRecovery, grid_recovery

Measure = Callable[[Any, Any], float]

COINCIDE = 1e-6
# An embedding fails if it explains less than half of the variance of either parameter.
FAILS = 0.5

# The five measures of the paper, in its order.
MEASURES: dict[str, Measure] = {
    "RSA, Euclidean, Spearman": partial(rs.baselines.rsa, compare="spearman"),
    "RSA, Euclidean, Pearson": partial(rs.baselines.rsa, compare="pearson"),
    "RSA, Mahalanobis, Spearman": partial(
        rs.baselines.rsa, dissimilarity="mahalanobis", compare="spearman"
    ),
    "RSA, Mahalanobis, Pearson": partial(
        rs.baselines.rsa, dissimilarity="mahalanobis", compare="pearson"
    ),
    "CKA, linear": rs.baselines.cka,
}
# The text of the paper mentions CCA too, but it has no panel.
ALSO: dict[str, Measure] = {"CCA": rs.baselines.cca}


def measure(data: ToyData) -> FigureResult:
    """Measure Supplementary Figure 3 and decide its claims."""
    exact = {
        name: float(np.abs(rs.pairwise(data.exact, measure, progress=False).values).max())
        for name, measure in (MEASURES | ALSO).items()
    }
    seen = {name: recovered(data, measure) for name, measure in (MEASURES | ALSO).items()}
    return FigureResult(
        "Supplementary Figure 3",
        "Embeddings by metric scaling of classical dissimilarities between the toy networks, from "
        f"{data.settings.n_trials} trials per condition; colours as in Figure 2. With exact "
        "moments, all of these dissimilarities are zero: what is visible here is the sampling "
        "noise of the trials. Each panel has its own scale, given by the largest dissimilarity d.",
        (blind(exact), fail(seen)),
        {name: numbers(seen[name], exact[name]) for name in seen},
        {
            "points": np.array([seen[name].embedding.points for name in MEASURES]),
            "largest": np.array([seen[name].largest_distance for name in MEASURES]),
        },
    )


def recovered(data: ToyData, measure: Measure) -> GridRecovery:
    """Measure how well an embedding from trials recovers the grid."""
    matrix = rs.pairwise(data.sampled(data.settings.n_trials), measure, progress=False)
    # 1 - r may be slightly negative by rounding, and negative values cannot be embedded.
    raised = rs.DistanceMatrix(
        np.maximum(matrix.values, 0.0), labels=matrix.labels, metadata=matrix.metadata
    )
    return grid_recovery(raised, rs.embed(raised, random_state=data.settings.seed))


def blind(exact: dict[str, float]) -> Finding:
    """Decide the claim that explains the failure."""
    return Finding(
        "Section 3.1",
        "RSA, CKA and CCA find no difference, because mean responses agree up to a rotation.",
        tuple(
            Check(f"largest dissimilarity of exact moments, {name}", value, "<", COINCIDE)
            for name, value in exact.items()
        ),
    )


def fail(seen: dict[str, GridRecovery]) -> Finding:
    """Decide the claim of the figure."""
    return Finding(
        "Supplementary Figure 3",
        "With trials, too, no classical measure gives an embedding that recovers the grid.",
        tuple(
            Check(f"worse R2, {name}", min(one.r2_correlation, one.r2_scale), "<", FAILS)
            for name, one in seen.items()
        ),
        {f"better R2, {name}": max(one.r2_correlation, one.r2_scale) for name, one in seen.items()},
    )


def numbers(seen: GridRecovery, exact: float) -> dict[str, float]:
    """Return the numbers of one measure."""
    return {
        "r2_correlation": seen.r2_correlation,
        "r2_scale": seen.r2_scale,
        "unfolded": seen.unfolded,
        "stress": seen.embedding.stress,
        "largest_from_trials": seen.largest_distance,
        "largest_from_exact_moments": exact,
    }


def draw(stored: Arrays, settings: Settings) -> Figure:
    """Draw the stored embedding of each measure."""
    figure, axes = panels.row(len(MEASURES), 1.9)
    metadata = ToyData(settings).exact.metadata
    largest = stored["largest"]
    for k, (axis, name, points) in enumerate(zip(axes, MEASURES, stored["points"], strict=True)):
        reach = 1.1 * float(np.abs(points).max()) or 1.0
        panels.plane(axis, metadata, points, reach, lines=False)
        family, _, kind = name.partition(", ")
        panels.title(axis, "", f"{family}, d = {largest[k]:.2g}\n{kind}")
        axis.set(xticks=[], yticks=[])
    return figure
