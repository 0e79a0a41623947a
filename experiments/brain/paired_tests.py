"""Sign-flip tests over animals of whether one distance is larger than another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import repshape as rs
from experiments.brain.claims import CLASSES, LEVEL
from experiments.brain.decide import relevant
from experiments.brain.statistics import ClassResults, Results, pairs

FloatArray = npt.NDArray[np.float64]


def run_tests(found: Results, seed: int) -> list[dict[str, Any]]:
    """Return the tests for corrected and for plug-in distances, ready for JSON.

    Estimates are means over pairs of logarithms of ratios. A test with a corrected square that is
    not positive cannot be done, and is left out.
    """
    both = relevant("", "", found)
    if set(both) != set(CLASSES):
        return []
    out = []
    for kind in ("corrected", "plug-in"):
        used = both if kind == "corrected" else {r: one.as_plug_in() for r, one in both.items()}
        for name, top, bottom in _comparisons(used):
            row = _test(top, bottom, both["natural"].animals, seed)
            if row is not None:
                out.append({"comparison": name, "distances": kind, **row})
    return out


def _comparisons(found: Results) -> list[tuple[str, FloatArray, FloatArray]]:
    """Return what is compared, as squared quantities."""
    artificial, natural = (found[role] for role in CLASSES)
    return [
        ("d_0 / d_2, artificial", artificial.squared[0.0], artificial.squared[2.0]),
        ("d_0 / d_2, natural", natural.squared[0.0], natural.squared[2.0]),
        ("d_0 / d_2, natural over artificial", _ratio(natural), _ratio(artificial)),
        ("d_2, natural over artificial", natural.squared[2.0], artificial.squared[2.0]),
        ("d_0, natural over artificial", natural.squared[0.0], artificial.squared[0.0]),
    ]


def _ratio(one: ClassResults) -> FloatArray:
    """Return d_0^2 / d_2^2 of all pairs; negative where it is not defined, 0 on the diagonal."""
    top, bottom = one.squared[0.0], one.squared[2.0]
    valid = (top > 0) & (bottom > 0)
    return np.where(valid, top / np.where(valid, bottom, 1.0), -1.0 + np.eye(len(top)))


def _test(
    top: FloatArray, bottom: FloatArray, animals: tuple[str, ...], seed: int
) -> dict[str, Any] | None:
    if min(pairs(top).min(), pairs(bottom).min()) <= 0 or len(set(animals)) < 3:
        return None
    roots = np.sqrt(top), np.sqrt(bottom)
    options: dict[str, Any] = {"relative": True, "level": LEVEL, "random_state": seed}
    test = rs.inference.paired(*roots, list(animals), **options)
    return {
        "estimate": test.estimate,
        "interval": list(test.interval),
        "p_value": test.p_value,
        "smallest_p_value": test.smallest_p_value,
        "animals": test.n_blocks,
        "below 0": int(np.sum(pairs(top) < pairs(bottom))),
        "pairs": len(pairs(top)),
    }
