"""The data of a report page, as compact arrays and plain values that are ready for JSON."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from repshape.analysis.distortion import DistortionCurve
from repshape.analysis.panels import align_embeddings
from repshape.report.pairs import PairViews
from repshape.report.quality import FULL, Quality
from repshape.report.sources import Inputs, Source

FloatArray = npt.NDArray[np.float64]

# NumPy dtypes and the JavaScript arrays that read them.
DTYPES = {"f8": "Float64Array", "i4": "Int32Array", "i2": "Int16Array", "u1": "Uint8Array"}
# On a page with many networks: the number of neighbours whose distances are kept in full, and the
# number of levels for all other distances (255 means "not computed").
NEIGHBOURS = 10
LEVELS = 254
# Sequential and colour-blind safe. The maps for points are cut where the colours would be hard to
# see on a light or a dark page.
MAPS = {
    "heat": ("viridis", 0.0, 1.0),
    "light": ("plasma", 0.0, 0.88),
    "dark": ("plasma", 0.22, 1.0),
}


def page_data(
    inputs: Inputs, qualities: Sequence[Quality], views: Sequence[PairViews]
) -> dict[str, Any]:
    """Return everything that the page draws."""
    metadata = inputs.metadata
    matrices = zip(inputs.sources, qualities, aligned_points(qualities), views, strict=True)
    return {
        "labels": list(inputs.labels),
        "columns": [_column(str(name), metadata[name]) for name in metadata.columns],
        "full": len(inputs.labels) <= FULL,
        "matrices": [
            {"name": source.name, "coincide": source.coincide}
            | _distances(source)
            | _plane(quality, points)
            | {"order": _packed(quality.order, "i4"), "pairs": _pairs(view)}
            for source, quality, points, view in matrices
        ],
        "colours": {name: _colours(*how) for name, how in MAPS.items()},
    }


def aligned_points(qualities: Sequence[Quality]) -> list[FloatArray | None]:
    """Return the embeddings, each aligned with the one before it, so that they are comparable."""
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
        # Points that coincide cannot serve as a target.
        target = points if target is None or _spread(points) > 1e-6 * _spread(target) else target
    return found


def _spread(points: FloatArray) -> float:
    return float(np.abs(points - points.mean(axis=0)).max())


def _packed(array: npt.ArrayLike, kind: str) -> dict[str, str]:
    """Return an array as base64 text of little-endian bytes, with its JavaScript type."""
    raw = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return {"type": DTYPES[kind], "data": base64.b64encode(raw).decode("ascii")}


def _column(name: str, column: pd.Series[Any]) -> dict[str, Any]:
    """Return a column as numbers, or as levels and the level of each network (-1: unknown)."""
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


def _distances(source: Source) -> dict[str, Any]:
    """Return all distances; with many networks, only the nearest in full, the others as levels."""
    D, distances = source.matrix, source.distances
    size = len(D.values)
    rows, columns = np.triu_indices(size, 1)
    known = distances[~np.isnan(distances)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    content: dict[str, Any] = {"low": low, "high": high, "missing": source.n_missing}
    if size <= FULL:
        chosen = np.arange(len(rows))
    else:
        chosen = near_pairs(D.values)
        scaled = (distances - low) / ((high - low) or 1.0) * LEVELS
        content["levels"] = _packed(np.nan_to_num(np.rint(scaled), nan=LEVELS + 1), "u1")
        content["rows"] = _packed(rows[chosen], "i4")
        content["columns"] = _packed(columns[chosen], "i4")
    content["distances"] = _packed(distances[chosen], "f8")
    i, j = rows[chosen], columns[chosen]
    if D.lower_bounds is not None:
        content["bounds"] = _packed(D.lower_bounds[i, j], "f8")
    if D.converged is not None:
        content["converged"] = _packed(D.converged[i, j], "u1")
    if D.n_starts is not None and D.n_agreeing is not None:
        content["starts"] = _packed(D.n_starts[i, j], "i4")
        content["agreeing"] = _packed(D.n_agreeing[i, j], "i4")
    return content


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
    """Return the drawings of pairs, each rounded to 16 bits of its size."""
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
    """Return 256 colours as six hexadecimal digits each."""
    from matplotlib import colormaps  # slow to import, so only when it is needed

    table = colormaps[name](np.linspace(start, stop, 256))[:, :3]
    return bytes(np.rint(255 * table).astype(np.uint8).ravel().tolist()).hex()
