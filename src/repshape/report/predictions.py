"""The table of predictions from nearest neighbours: a dot, its null and chance for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from repshape.report.quality import Prediction

# Of the drawing, in its own units: scores from 0 to 1 lie between these.
LEFT, RIGHT = 4.0, 196.0
# Percentiles of the scores with permuted metadata that are drawn as a bar.
NULL = (5, 95)


def prediction_rows(predictions: Sequence[Sequence[Prediction]], k: int) -> list[dict[str, Any]]:
    """Return the rows of the matrix k, best scores first, with the scores of other matrices.

    Columns that could not be predicted have no row.
    """
    rows = [
        (
            one.found.estimate,
            prediction_row(one, [row[c] for row in predictions if row[c] is not one]),
        )
        for c, one in enumerate(predictions[k])
        if one.found is not None
    ]
    return [row for _, row in sorted(rows, key=lambda pair: -pair[0])]


def prediction_row(one: Prediction, others: Sequence[Prediction] = ()) -> dict[str, Any]:
    """Return what a row shows of a column that could be predicted."""
    found = one.found
    assert found is not None
    null = (
        [place(float(edge)) for edge in np.percentile(found.null, NULL)] if found.null.size else []
    )
    p, floor = found.p_value, 1.0 / (found.null.size + 1)
    return {
        "column": one.column,
        "score": "R²" if found.score == "R2" else found.score,
        "estimate": f"{found.estimate:.2f} ± {found.spread:.2f}",
        "chance": f"{found.chance:.2f}",
        "p": "–" if p is None else f"≤ {floor:.2g}" if p <= floor else f"{p:.2g}",
        "null": null,
        "chance_x": place(found.chance),
        "score_x": place(found.estimate),
        "others_x": [place(other.found.estimate) for other in others if other.found is not None],
    }


def place(score: float) -> float:
    """Return where a score is drawn; negative ones at zero.

    >>> place(0.0), place(0.5), place(-3.0)
    (4.0, 100.0, 4.0)
    """
    return round(LEFT + (RIGHT - LEFT) * min(max(score, 0.0), 1.0), 1)


def unpredicted_words(predictions: Sequence[Prediction]) -> str:
    """Return which columns are not predicted and why, each reason once."""
    reasons: dict[str, list[str]] = {}
    for one in predictions:
        if one.found is None and one.column not in reasons.setdefault(one.reason, []):
            reasons[one.reason].append(one.column)
    return " ".join(f"{', '.join(names)} ({why.rstrip('.')})." for why, names in reasons.items())
