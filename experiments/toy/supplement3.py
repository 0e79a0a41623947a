"""Supplementary Figure 3: what classical measures make of the toy networks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import repshape as rs
from experiments.toy import panels
from experiments.toy.data import ToyData
from experiments.toy.result import FigureResult
from repshape.datasets import Check, Finding, GridRecovery, grid_recovery
from repshape.responses import NetworkLike

Measure = Callable[[NetworkLike, NetworkLike], float]

COINCIDE = 1e-6
# A plane fails if, for either parameter, more of the variance is lost in it than kept.
FAILS = 0.5

# The five of the paper, in its order.
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
# The text names CCA too; it has no panel.
ALSO: dict[str, Measure] = {"CCA": rs.baselines.cca}


def make_figure(data: ToyData) -> FigureResult:
    """Draw Supplementary Figure 3 and decide its claims."""
    exact = {
        name: float(np.abs(rs.pairwise(data.exact, measure, progress=False).values).max())
        for name, measure in (MEASURES | ALSO).items()
    }
    seen = {name: recovered(data, measure) for name, measure in (MEASURES | ALSO).items()}
    return FigureResult(
        "supp3",
        "Supplementary Figure 3",
        "Planes by metric scaling of classical dissimilarities between the toy networks, from "
        f"{data.settings.n_trials} trials of each condition; colours as in Figure 2. With exact "
        "moments every network coincides with every other under each of them: what is seen here is "
        "noise of the trials. Each panel has a scale of its own, given by its largest "
        "dissimilarity d.",
        draw(data, {name: seen[name] for name in MEASURES}),
        (blind(exact), fail(seen)),
        {name: numbers(seen[name], exact[name]) for name in seen},
    )


def recovered(data: ToyData, measure: Measure) -> GridRecovery:
    """Measure what a plane from trials gives back."""
    matrix = rs.pairwise(data.sampled(data.settings.n_trials), measure, progress=False)
    # 1 - r may round to a little below zero, which cannot be embedded.
    raised = rs.DistanceMatrix(
        np.maximum(matrix.values, 0.0), labels=matrix.labels, metadata=matrix.metadata
    )
    return grid_recovery(raised, rs.embed(raised, random_state=data.settings.seed))


def blind(exact: dict[str, float]) -> Finding:
    """Decide why they fail."""
    return Finding(
        "Section 4.1",
        "RSA, CKA and CCA see no difference, because mean responses agree up to a rotation.",
        tuple(
            Check(f"largest dissimilarity of exact moments, {name}", value, "<", COINCIDE)
            for name, value in exact.items()
        ),
    )


def fail(seen: dict[str, GridRecovery]) -> Finding:
    """Decide the claim of the figure."""
    return Finding(
        "Supplementary Figure 3",
        "From trials, too, no classical measure gives a plane that recovers the networks.",
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


def draw(data: ToyData, seen: dict[str, GridRecovery]) -> panels.Figure:
    """Draw a plane for each measure."""
    figure, axes = panels.row(len(seen), 1.9)
    for axis, (name, one) in zip(axes, seen.items(), strict=True):
        points = one.embedding.points
        panels.plane(
            axis, data.distances[1.0], points, 1.1 * float(np.abs(points).max()) or 1.0, lines=False
        )
        family, _, kind = name.partition(", ")
        panels.title(axis, "", f"{family}, d = {one.largest_distance:.2g}\n{kind}")
        axis.set(xticks=[], yticks=[])
    return figure
