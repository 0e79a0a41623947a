"""Arrays of a report page as compact text, and the drawings of pairs made of them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape.report.pairs import PairViews

FloatArray = npt.NDArray[np.float64]
Packed = dict[str, str]

# NumPy dtypes and the JavaScript arrays that read them.
DTYPES = {
    "f8": "Float64Array",
    "f4": "Float32Array",
    "i4": "Int32Array",
    "i2": "Int16Array",
    "u2": "Uint16Array",
    "u1": "Uint8Array",
}
# The largest number of 16 bits, which stands for the largest of the numbers that are rounded. A
# picture of 400 pixels would need a hundredth of this.
STEPS = 32767
# Shorter texts are not worth a reference to an equal one.
WORTH_SHARING = 1000


def packed(array: npt.ArrayLike, kind: str) -> Packed:
    """Return an array as base64 text of little-endian bytes, with its JavaScript type."""
    raw = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return {"type": DTYPES[kind], "data": base64.b64encode(raw).decode("ascii")}


def packed_counts(counts: npt.NDArray[Any]) -> Packed:
    """Return counts in as few bytes as hold the largest."""
    largest = counts.max(initial=0)
    return packed(counts, "u1" if largest < 2**8 else "u2" if largest < 2**16 else "i4")


def rounded(array: FloatArray) -> dict[str, Packed]:
    """Return each entry of the first axis in 16 bits, as multiples of its own unit.

    >>> found = rounded(np.array([[1.0, -0.5], [0.0, 0.0]]))
    >>> np.frombuffer(base64.b64decode(found["steps"]["data"]), "<i2").tolist()
    [32767, -16384, 0, 0]
    """
    flat = array.reshape(len(array), -1)
    units = np.abs(flat).max(axis=1, initial=0.0) / STEPS
    steps = np.rint(flat / np.where(units > 0.0, units, 1.0)[:, None])
    return {"units": packed(units, "f8"), "steps": packed(steps, "i2")}


def shared(value: Any, known: dict[str, int] | None = None) -> Any:
    """Return data in which each long array is kept once; equal ones refer to it by number.

    >>> array = packed(np.zeros(200), "f8")
    >>> found = shared({"a": array, "b": array})
    >>> found["a"]["number"], found["b"]
    (0, {'same': 0})
    """
    known = {} if known is None else known
    if isinstance(value, list):
        return [shared(one, known) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"type", "data"}:
        return {key: shared(one, known) for key, one in value.items()}
    if len(value["data"]) < WORTH_SHARING:
        return value
    text = value["type"] + value["data"]
    if text in known:
        return {"same": known[text]}
    known[text] = len(known)
    return value | {"number": known[text]}


def packed_pairs(view: PairViews) -> dict[str, Any]:
    """Return moments and planes, from which the page draws pairs.

    Single precision has a small range, so lengths are divided by the largest. Covariances are kept
    as signed square roots, so that small ones have as many digits as means.
    """
    if not len(view.index):
        return {"note": view.note, "conditions": [], "own": None}
    centres = view.means.mean(axis=1)
    moved = np.abs(np.concatenate([centres.ravel(), view.planes_before[:, -1].ravel()]))
    unit = float(moved.max(initial=0.0)) or 1.0
    longest = float(view.parts[:, 0].max(initial=0.0)) or 1.0
    covariances, diagonal = _entries(view.covariances)
    # Only the first network of a pair is drawn in its own components; others are kept where
    # several matrices share them.
    own = view.own[np.unique(view.index[:, 0])] if view.by_pair else view.own
    return {
        "note": view.note,
        "conditions": list(view.conditions),
        "width": view.means.shape[-1],
        "diagonal": diagonal,
        "by_pair": view.by_pair,
        "index": packed_counts(view.index),
        "own": rounded(own[..., :2]),
        "spreads": rounded(_roots(own[..., 2:])),
        "unit": unit,
        "centres": packed(centres / unit, "f4"),
        "means": rounded(view.means - centres[:, None]),
        "covariances": rounded(_roots(covariances)),
        "before": _before(view, unit),
        "after": _planes(view.planes_after, unit),
        "longest": longest,
        "far": packed(view.parts[:, 0] / longest, "f4"),
        "shares": _mean_shares(view.parts),
    }


def _entries(covariances: FloatArray) -> tuple[FloatArray, bool]:
    """Return the upper half of covariances, or their diagonals if there is nothing else."""
    i, j = np.triu_indices(covariances.shape[-1])
    upper = covariances[..., i, j]
    if upper[..., i != j].any():
        return upper, False
    return upper[..., i == j], True


def _roots(values: FloatArray) -> FloatArray:
    return np.asarray(np.sign(values) * np.sqrt(np.abs(values)))


def _planes(planes: FloatArray, unit: float) -> dict[str, Any]:
    """Return planes: their directions in 16 bits, all of one unit, and their places."""
    directions = rounded(planes[None, :, :-1])
    return {"directions": directions, "places": packed(planes[:, -1] / unit, "f4")}


def _before(view: PairViews, unit: float) -> dict[str, Any]:
    """Return planes before alignment; by network if all pairs of a network have the same one."""
    first = view.index[:, 0]
    by_first = np.zeros((len(view.own), *view.planes_before.shape[1:]))
    by_first[first] = view.planes_before
    same = len(by_first) < len(first) and np.array_equal(by_first[first], view.planes_before)
    planes = by_first if same else view.planes_before
    return _planes(planes, unit) | {"by_first": same}


def _mean_shares(parts: FloatArray) -> Packed | None:
    """Return the share of the squared distance that means make; None if no pair has parts."""
    whole = parts[:, 2] + parts[:, 3]
    if np.isnan(whole).all():
        return None
    return packed(parts[:, 2] / np.where(whole > 0.0, whole, 1.0), "f4")
