"""The data of a report page, as compact arrays and plain values that are ready for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape._colours import PALETTE, SHAPES, cyclic_table, level_order, period_of
from repshape.analysis.distortion import DistortionCurve
from repshape.analysis.embedding import Embedding, collapse_words
from repshape.analysis.panels import align_embeddings
from repshape.io.tables import is_numeric
from repshape.report.info import is_exact
from repshape.report.intervals import Intervals
from repshape.report.packing import packed, packed_counts, packed_pairs, shared
from repshape.report.quality import FULL
from repshape.report.responses import Facts
from repshape.report.sources import Inputs, Source
from repshape.report.study import Studied

FloatArray = npt.NDArray[np.float64]

# On a page with many networks: the number of neighbours whose distances are kept in full, and the
# number of levels for all other distances (255 means "not computed").
NEIGHBOURS = 10
LEVELS = 254
# Distances above this multiple of the median, and metadata farther than this multiple of the
# interquartile range from the quartiles, do not stretch the colours: all of them get the last one.
FAR_DISTANCE, FAR_VALUE = 4.0, 3.0
# Sequential and colour-blind safe. The maps for points are cut where the colours would be hard to
# see on a light or a dark page.
MAPS = {
    "heat": ("viridis", 0.0, 1.0),
    "light": ("plasma", 0.0, 0.88),
    "dark": ("plasma", 0.22, 1.0),
}


def page_data(inputs: Inputs, studied: Sequence[Studied]) -> dict[str, Any]:
    """Return everything that the page draws."""
    metadata = inputs.metadata
    points = aligned_points([one.quality.embedding for one in studied])
    facts = [one.evidence.facts for one in studied]
    cohorts = [source.cohort for source in inputs.sources]
    first = [next(k for k, one in enumerate(cohorts) if one is mine) for mine in cohorts]
    distinct = sorted({k for k in first if facts[k] is not None})
    data = {
        "labels": list(inputs.labels),
        "columns": [_column(str(name), metadata[name]) for name in metadata.columns],
        "full": len(inputs.labels) <= FULL,
        "cohorts": [_cohort(known) for k in distinct if (known := facts[k]) is not None],
        "matrices": [
            _matrix(one, place) | {"cohort": distinct.index(k) if k in distinct else None}
            for one, place, k in zip(studied, points, first, strict=True)
        ],
        "colours": {name: colours(*how) for name, how in MAPS.items()}
        | {"cyclic": _hexadecimal(cyclic_table()), "levels": PALETTE},
        "shapes": list(SHAPES.values()),
    }
    found: dict[str, Any] = shared(data)
    return found


def _matrix(one: Studied, points: FloatArray | None) -> dict[str, Any]:
    """Return everything that is drawn of one matrix."""
    source = one.source
    return (
        {"name": source.name, "coincide": source.coincide}
        | _distances(source)
        | _noise(one)
        | _plane(one, points)
        | {"order": packed(one.quality.order, "i4"), "pairs": packed_pairs(one.views)}
        | {"telling": None if one.telling is None else asdict(one.telling)}
    )


def _cohort(facts: Facts) -> dict[str, Any]:
    """Return neurons and numbers of trials by network, and by condition over networks."""
    given = facts.trials[facts.trials.min(axis=1) > 0]
    found: dict[str, Any] = {
        "conditions": list(facts.conditions),
        "named": facts.named,
        "neurons": packed(facts.neurons, "i4"),
        "fewest": packed(facts.trials.min(axis=1), "i4"),
        "most": packed(facts.trials.max(axis=1), "i4"),
        "trials": None,
    }
    if len(given):
        three = [given.min(axis=0), np.median(given, axis=0), given.max(axis=0)]
        found["trials"] = [packed(row, "f8") for row in three]
    return found


def _noise(one: Studied) -> dict[str, Any]:
    """Return norms and squared noise floors by network, or floors and plug-in values by pair."""
    facts, matrix = one.evidence.facts, one.source.matrix
    found: dict[str, Any] = {"intervals": _intervals(one.intervals, len(matrix))}
    if facts is not None:
        found["dimensions"] = packed(facts.dimensions, "i4")
        found["norms"] = None if np.isnan(facts.norms).all() else packed(facts.norms, "f8")
    if matrix.error_bars is not None:
        upper = _pairs_kept(matrix.values)
        found["pair_floors"] = packed(matrix.error_bars.floors[upper], "f8")
        found["plug_in"] = packed(matrix.error_bars.plug_in[upper], "f8")
    elif facts is not None and not np.isnan(facts.floors).all():
        found["floors"] = packed(facts.floors, "f8")
    return found


def _intervals(given: Intervals, size: int) -> dict[str, Any]:
    """Return the estimates and intervals, with the place of each pair in the upper triangle."""
    i, j = given.index.T
    return {
        "places": packed(i * (2 * size - i - 1) // 2 + j - i - 1, "i4"),
        "values": packed(given.values, "f8"),
        "level": given.level,
        "note": given.note,
    }


def _pairs_kept(values: FloatArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return rows and columns of the pairs in the table: all, or nearest neighbours only."""
    rows, columns = np.triu_indices(len(values), 1)
    if len(values) <= FULL:
        return rows, columns
    chosen = near_pairs(values)
    return rows[chosen], columns[chosen]


def aligned_points(embeddings: Sequence[Embedding | None]) -> list[FloatArray | None]:
    """Return the embeddings, each aligned with the one before it, so that they are comparable."""
    found: list[FloatArray | None] = []
    target: FloatArray | None = None
    for embedding in embeddings:
        if embedding is None:
            found.append(None)
            continue
        points = embedding.points
        if target is not None and np.abs(target).max() > 0.0:
            points = align_embeddings(points, target).points
        found.append(points)
        # Points that coincide cannot serve as a target.
        target = points if target is None or _spread(points) > 1e-6 * _spread(target) else target
    return found


def _spread(points: FloatArray) -> float:
    return float(np.abs(points - points.mean(axis=0)).max())


def _column(name: str, column: pd.Series[Any]) -> dict[str, Any]:
    """Return a column as numbers, or as levels and the level of each network (-1: unknown)."""
    if is_numeric(column):
        numbers = column.to_numpy(dtype=np.float64)
        known = np.where(np.isfinite(numbers), numbers, np.nan)
        limits = value_limits(known)
        period = period_of(name, known)
        if period is not None:
            limits = (0.0, period)
        found = {"name": name, "kind": "number", "values": packed(known, "f8"), "limits": limits}
        return found | {"period": period}
    texts = column.astype(str).where(column.notna())
    levels = level_order(texts.dropna().unique())
    codes = pd.Categorical(texts, categories=levels).codes
    return {
        "name": name,
        "kind": "category",
        "levels": levels,
        "codes": packed(codes, "i4"),
    }


def value_limits(values: FloatArray) -> tuple[float, float]:
    """Return the range of the colours of numbers, which single extreme numbers do not stretch.

    >>> value_limits(np.array([1.0, 2.0, 3.0, 4.0, 1000.0]))
    (1.0, 10.0)
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = (float(one) for one in np.quantile(known, [0.25, 0.75]))
    room = FAR_VALUE * (high - low) if high > low else np.inf
    return max(float(known.min()), low - room), min(float(known.max()), high + room)


def colour_limit(distances: FloatArray) -> float:
    """Return the distance of the last colour, which a single far network does not stretch.

    It is the largest distance up to four times the median of those above zero.

    >>> colour_limit(np.array([1.0, 2.0, 3.0, 400.0])), colour_limit(np.array([1.0, 2.0, 5.0]))
    (3.0, 5.0)
    """
    known = distances[distances > 0.0]
    if not known.size:
        return 1.0
    return float(known[known <= FAR_DISTANCE * np.median(known)].max())


def _distances(source: Source) -> dict[str, Any]:
    """Return all distances; with many networks, only the nearest in full, the others as levels."""
    D, distances = source.matrix, source.distances
    size = len(D.values)
    known = distances[~np.isnan(distances)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    top = high if source.coincide else colour_limit(known)
    content: dict[str, Any] = {"low": low, "high": high, "top": top, "missing": source.n_missing}
    i, j = _pairs_kept(D.values)
    if size > FULL:
        scaled = (np.minimum(distances, top) - low) / ((top - low) or 1.0) * LEVELS
        content["levels"] = packed(np.nan_to_num(np.rint(scaled), nan=LEVELS + 1), "u1")
        content["rows"] = packed(i, "u2")
        content["columns"] = packed(j, "u2")
    content["distances"] = packed(D.values[i, j], "f8")
    if D.lower_bounds is not None:
        content["bounds"] = packed(_bound_shares(D.lower_bounds[i, j], D.values[i, j]), "f4")
    if D.converged is not None:
        content["converged"] = packed(D.converged[i, j], "u1")
    if D.n_starts is not None and D.n_agreeing is not None:
        content["exact"] = is_exact(D)
        content["starts"] = packed_counts(D.n_starts[i, j])
        content["agreeing"] = packed_counts(D.n_agreeing[i, j])
    return content


def _bound_shares(bounds: FloatArray, distances: FloatArray) -> FloatArray:
    """Return bounds as shares of their distances, rounded down so that they stay bounds.

    >>> _bound_shares(np.array([0.0, 1.0, 3.0]), np.array([0.0, 3.0, 3.0])).tolist()
    [0.0, 0.3333333134651184, 1.0]
    """
    shares = np.divide(bounds, distances, out=np.zeros(len(bounds)), where=distances != 0.0)
    near = shares.astype(np.float32)
    below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near > shares, below, near).astype(np.float64)


def near_pairs(values: FloatArray) -> npt.NDArray[np.intp]:
    """Return the pairs of nearest neighbours, as indices into the upper triangle."""
    size = len(values)
    filled = np.where(np.isnan(values), np.inf, values)
    np.fill_diagonal(filled, np.inf)
    nearest = np.argsort(filled, axis=1, kind="stable")[:, :NEIGHBOURS]
    own = np.repeat(np.arange(size), nearest.shape[1])
    i, j = np.unique(np.sort([own, nearest.ravel()], axis=0), axis=1)
    place = i * (2 * size - i - 1) // 2 + j - i - 1  # in the upper triangle, row by row
    known: npt.NDArray[np.intp] = place[~np.isnan(values[i, j])]
    return known


def _plane(one: Studied, points: FloatArray | None) -> dict[str, Any]:
    quality = one.quality
    if points is None or quality.embedding is None:
        return {"points": None, "curve": None}
    return {
        "points": packed(points, "f8"),
        "stress": quality.embedding.stress,
        "method": quality.embedding.method,
        "collapse": collapse_words(points),
        "curve": None if quality.curve is None else _curve(quality.curve),
    }


def _curve(curve: DistortionCurve) -> dict[str, Any]:
    return {
        "dimensions": curve.dimensions.tolist(),
        "percentiles": list(curve.percentiles),
        "values": curve.values.tolist(),
        "stress": curve.stress.tolist(),
    }


def colours(name: str, start: float, stop: float) -> str:
    """Return 256 colours as six hexadecimal digits each."""
    from matplotlib import colormaps  # slow to import, so only when it is needed

    table = colormaps[name](np.linspace(start, stop, 256))[:, :3]
    return _hexadecimal(table)


def _hexadecimal(table: FloatArray) -> str:
    return bytes(np.rint(255 * table).astype(np.uint8).ravel().tolist()).hex()
