"""The data of a report page: compact arrays and plain values, ready for JSON."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.analysis.distortion import DistortionCurve
from repshape.analysis.panels import align_embeddings
from repshape.matrix.distances import DistanceMatrix
from repshape.report.pairs import PairViews
from repshape.report.quality import FULL, Quality
from repshape.report.sources import Source

FloatArray = npt.NDArray[np.float64]

# How arrays are called in the page: name of the JavaScript array, and the dtype that fills it.
DTYPES = {"f8": "Float64Array", "i4": "Int32Array", "i2": "Int16Array", "u1": "Uint8Array"}
# In a page with many networks: neighbours whose distances are kept in full, and grey levels of the
# others (255 is "not computed").
NEIGHBOURS = 10
LEVELS = 254
# Sequential, readable in print and with any kind of colour vision. Those of points are cut where
# they would fade into a light or a dark page.
MAPS = {
    "heat": ("viridis", 0.0, 1.0),
    "light": ("plasma", 0.0, 0.88),
    "dark": ("plasma", 0.22, 1.0),
}


def page_data(
    sources: Sequence[Source],
    metadata: pd.DataFrame,
    qualities: Sequence[Quality],
    views: Sequence[PairViews],
) -> dict[str, Any]:
    """Return everything that the page draws."""
    points = aligned_points(qualities)
    return {
        "labels": list(sources[0].matrix.labels),
        "columns": [_column(str(name), metadata[name]) for name in metadata.columns],
        "full": len(sources[0].matrix) <= FULL,
        "matrices": [
            {"name": source.name, "coincide": source.coincide}
            | _distances(source.matrix)
            | _plane(quality, where)
            | {"order": _packed(quality.order, "i4"), "pairs": _pairs(view)}
            for source, quality, where, view in zip(sources, qualities, points, views, strict=True)
        ],
        "colours": {name: _colours(*how) for name, how in MAPS.items()},
    }


def aligned_points(qualities: Sequence[Quality]) -> list[FloatArray | None]:
    """Return the planes, each turned onto the one before it, so that the eye can follow."""
    found: list[FloatArray | None] = []
    target: FloatArray | None = None
    for quality in qualities:
        if quality.embedding is None:
            found.append(None)
            continue
        points = quality.embedding.points
        if target is not None and np.abs(target).max() > 0.0:
            points = align_embeddings(points, target).points
        found.append(points)
        # Points that coincide give no direction to follow.
        target = points if target is None or _spread(points) > 1e-6 * _spread(target) else target
    return found


def _spread(points: FloatArray) -> float:
    return float(np.abs(points - points.mean(axis=0)).max())


def _packed(array: npt.ArrayLike, kind: str) -> dict[str, str]:
    """Return an array as text: little-endian bytes in base64, and the type to read them with."""
    raw = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return {"type": DTYPES[kind], "data": base64.b64encode(raw).decode("ascii")}


def _column(name: str, column: pd.Series[Any]) -> dict[str, Any]:
    """Return a column as numbers, or as levels with a code for each network (-1: unknown)."""
    if column.dtype.kind in "iuf":
        numbers = column.to_numpy(dtype=np.float64)
        known = np.where(np.isfinite(numbers), numbers, np.nan)
        return {"name": name, "kind": "number", "values": _packed(known, "f8")}
    codes, levels = pd.factorize(column.astype(str).where(column.notna()), sort=True)
    return {
        "name": name,
        "kind": "category",
        "levels": [str(level) for level in levels],
        "codes": _packed(codes, "i4"),
    }


def _distances(D: DistanceMatrix) -> dict[str, Any]:
    """Return all distances, or of many networks the nearest in full and the others as levels."""
    rows, columns = np.triu_indices(len(D), 1)
    known = D.condensed()[~np.isnan(D.condensed())]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    content: dict[str, Any] = {"low": low, "high": high, "missing": D.n_missing}
    if len(D) <= FULL:
        chosen = np.arange(len(rows))
    else:
        chosen = _near(D)
        scaled = (D.condensed() - low) / ((high - low) or 1.0) * LEVELS
        content["levels"] = _packed(np.nan_to_num(np.rint(scaled), nan=LEVELS + 1), "u1")
        content["rows"] = _packed(rows[chosen], "i4")
        content["columns"] = _packed(columns[chosen], "i4")
    content["distances"] = _packed(D.condensed()[chosen], "f8")
    i, j = rows[chosen], columns[chosen]
    if D.lower_bounds is not None:
        content["bounds"] = _packed(D.lower_bounds[i, j], "f8")
    if D.converged is not None:
        content["converged"] = _packed(D.converged[i, j], "u1")
    return content


def _near(D: DistanceMatrix) -> npt.NDArray[np.intp]:
    """Return the pairs, as positions of the upper triangle, of each network's nearest."""
    filled = np.where(np.isnan(D.values), np.inf, D.values)
    np.fill_diagonal(filled, np.inf)
    nearest = np.argsort(filled, axis=1, kind="stable")[:, :NEIGHBOURS]
    own = np.repeat(np.arange(len(D)), nearest.shape[1])
    i, j = np.unique(np.sort([own, nearest.ravel()], axis=0), axis=1)
    place = i * (2 * len(D) - i - 1) // 2 + j - i - 1  # in the upper triangle, row by row
    known: npt.NDArray[np.intp] = place[~np.isnan(D.condensed()[place])]
    return known


def _plane(quality: Quality, points: FloatArray | None) -> dict[str, Any]:
    if points is None or quality.embedding is None:
        return {"points": None, "curve": None}
    return {
        "points": _packed(points, "f8"),
        "stress": quality.embedding.stress,
        "method": quality.embedding.method,
        "curve": None if quality.curve is None else _curve(quality.curve),
    }


def _curve(curve: DistortionCurve) -> dict[str, Any]:
    return {
        "dimensions": curve.dimensions.tolist(),
        "percentiles": list(curve.percentiles),
        "values": curve.values.tolist(),
        "stress": curve.stress.tolist(),
    }


def _pairs(view: PairViews) -> dict[str, Any]:
    """Return the pictures of pairs, to 16 bits of the size of each."""
    width = 10 * len(view.conditions)
    drawn = np.concatenate([view.before, view.after], axis=1).reshape(len(view.index), width)
    unit = np.abs(drawn).max(axis=1, initial=0.0, keepdims=True) / 32767.0
    levels = np.rint(np.divide(drawn, unit, out=np.zeros_like(drawn), where=unit > 0.0))
    return {
        "note": view.note,
        "conditions": list(view.conditions),
        "index": _packed(view.index, "i4"),
        "own": _packed(view.own, "f8"),
        "drawn": _packed(levels, "i2"),
        "unit": _packed(unit, "f8"),
        "parts": _packed(view.parts, "f8"),
    }


def _colours(name: str, start: float, stop: float) -> str:
    """Return 256 colours as hexadecimal digits, six each."""
    from matplotlib import colormaps  # slow to import: not with the package

    table = colormaps[name](np.linspace(start, stop, 256))[:, :3]
    return bytes(np.rint(255 * table).astype(np.uint8).ravel().tolist()).hex()
