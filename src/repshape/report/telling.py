"""The pair of networks that a page shows first: the one that tells most about the matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repshape.report.evidence import Grouping

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TellingPair:
    """Two networks, and why they are shown first."""

    first: int
    second: int
    why: str


def telling_pair(
    values: FloatArray, grouping: Grouping | None, points: FloatArray | None
) -> TellingPair | None:
    """Return the nearest pair of different groups, or else the pair that an embedding fits worst.

    Without an embedding it is the nearest pair, and without distances there is none.

    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 3.0, 7.0], [0.0, 1.0, 3.0, 7.0]))
    >>> telling_pair(D, Grouping("area", ("V1", "V1", "LM", "LM")), None)
    TellingPair(first=1, second=2, why="Nearest pair of different groups by 'area'")
    >>> telling_pair(D, None, None).why
    'Nearest pair'
    """
    rows, columns = np.triu_indices(len(values), 1)
    distances = values[rows, columns]
    known = ~np.isnan(distances)
    if not known.any():
        return None
    if grouping is not None:
        labels = np.array(grouping.labels)
        across = known & (labels[rows] != labels[columns])
        if across.any():
            best = int(np.where(across, distances, np.inf).argmin())
            why = f"Nearest pair of different groups by {grouping.column!r}"
            return TellingPair(int(rows[best]), int(columns[best]), why)
    if points is not None and len(values) > 2:
        drawn = np.linalg.norm(points[rows] - points[columns], axis=1)
        worst = int(np.where(known, np.abs(drawn - distances), -1.0).argmax())
        why = "Pair that the embedding fits worst"
        return TellingPair(int(rows[worst]), int(columns[worst]), why)
    best = int(np.where(known, distances, np.inf).argmin())
    return TellingPair(int(rows[best]), int(columns[best]), "Nearest pair")
