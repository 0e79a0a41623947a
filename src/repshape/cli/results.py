"""Results of the analysis as the tables, numbers and words that the commands give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from repshape.analysis.distortion import distortion
from repshape.analysis.embedding import Embedding
from repshape.analysis.neighbors import knn_classify, knn_regress, nearest_neighbors
from repshape.analysis.panels import align_embeddings
from repshape.analysis.protocol import NeighborScore
from repshape.io.tables import read_metadata, read_points
from repshape.matrix.distances import DistanceMatrix


def embedding_summary(D: DistanceMatrix, found: Embedding) -> dict[str, Any]:
    """Return how well an embedding keeps the distances, ready for JSON."""
    percentiles = distortion(D, found).percentiles if len(D) > 1 else {}
    return {
        "networks": len(D),
        "method": found.method,
        "stress": found.stress,
        "explained": found.explained.tolist(),
        "distortion_percentiles": {f"p{p:g}": value for p, value in percentiles.items()},
    }


def aligned_points(
    found: Embedding, onto: Path, scale: bool
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the points of an embedding rotated onto saved ones, and how well they fit."""
    aligned = align_embeddings(found, read_points(onto, found.labels), scaling=scale)
    table = found.to_frame()
    table.loc[:, :] = aligned.points
    return table, {"align_scale": aligned.scale, "align_residual": aligned.residual}


def with_metadata(table: pd.DataFrame, D: DistanceMatrix) -> pd.DataFrame:
    """Return a table with the metadata of its networks in front."""
    columns = [name for name in D.metadata.columns if name not in table.columns]
    return D.metadata[columns].join(table)


def join_metadata(D: DistanceMatrix, path: Path | None) -> DistanceMatrix:
    """Return the matrix with the columns of a CSV table besides its own; those of the table win."""
    if path is None:
        return D
    added = read_metadata(path, D.labels)
    kept = [name for name in D.metadata.columns if name not in added.columns]
    return D.replace(metadata=D.metadata[kept].join(added))


def neighbor_table(D: DistanceMatrix, names: Sequence[str], count: int) -> pd.DataFrame:
    """Return the neighbours of several networks, a row each."""
    rows = [
        {"network": name, "rank": rank, "neighbor": label, "distance": float(distance)}
        for name in names
        for found in [nearest_neighbors(D, name, count)]
        for rank, (label, distance) in enumerate(zip(found.labels, found.distances, strict=True), 1)
    ]
    return pd.DataFrame(rows, columns=["network", "rank", "neighbor", "distance"])


def neighbor_words(table: pd.DataFrame) -> list[str]:
    """List the neighbours of each network in a line."""
    return [
        f"{name}: " + ", ".join(f"{r.neighbor} ({r.distance:.4g})" for r in rows.itertuples())
        for name, rows in table.groupby("network", sort=False)
    ]


def predict(
    D: DistanceMatrix,
    target: str,
    kind: str,
    groups: str | None,
    repeats: int,
    permutations: int,
    seed: int,
) -> NeighborScore:
    """Predict a column of the metadata, as classes or as numbers."""
    numbers = kind == "numbers"
    if kind == "auto" and target in D.metadata:
        numbers = D.metadata[target].dtype.kind == "f"
    judge = knn_regress if numbers else knn_classify
    return judge(
        D,
        target,
        groups=groups,
        n_repeats=repeats,
        n_permutations=permutations,
        random_state=seed,
    )


def score_table(score: NeighborScore) -> pd.DataFrame:
    """Return the score of each test set, a row each."""
    return pd.DataFrame(
        {
            "split": range(score.n_splits),
            score.score: score.scores,
            "n_neighbors": score.n_neighbors,
        }
    )


def score_words(target: str, score: NeighborScore) -> str:
    """Say how well neighbours predict a column."""
    p = "" if score.p_value is None else f", p = {score.p_value:.3g}"
    return (
        f"{target}: {score.score} {score.estimate:.3f} +- {score.spread:.3f} over test sets, "
        f"chance {score.chance:.3f}{p} ({score.method})."
    )
