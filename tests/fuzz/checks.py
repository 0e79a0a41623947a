"""What every case checks: values, transforms, bounds and sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from repshape.groups import BlockOrthogonal, Group, SignedPermutations

from .draws import Array

# A distance and its plain twin agree to this fraction of the largest response, per root of a
# number of terms: both are roots of sums of squared residuals.
TWIN = 1e-7
# Distances between a network and itself, as a fraction of the largest response.
NOTHING = 1e-6
ORTHONORMAL = 1e-9


class WrongError(Exception):
    """A function returned something that is not true."""


def demand(truth: Any, words: str) -> None:
    """Raise unless something is true."""
    if not truth:
        raise WrongError(words)


def close(value: float, expected: float, margin: float, words: str) -> None:
    """Raise unless two numbers agree up to a margin."""
    demand(
        abs(value - expected) <= margin,
        f"{words}: {value!r} instead of {expected!r} (margin {margin:.3g})",
    )


def numbers(result: Any, skip: Iterable[str] = ()) -> list[tuple[str, Array]]:
    """Return all arrays and numbers of a result, by name."""
    if isinstance(result, np.ndarray) or np.isscalar(result):
        array = np.asarray(result)
        return [("result", array)] if array.dtype.kind in "fc" else []
    if isinstance(result, list | tuple):
        return [found for one in result for found in numbers(one, skip)]
    if not dataclasses.is_dataclass(result):
        return []
    found = []
    for one in dataclasses.fields(result):
        if not one.name.startswith("_") and one.name not in skip:
            inside = numbers(getattr(result, one.name), skip)
            found += [(f"{one.name} {name}", array) for name, array in inside]
    return found


def no_nan(result: Any, skip: Iterable[str] = ()) -> None:
    """Raise if a result holds a NaN or an infinity, except in fields that may."""
    for name, array in numbers(result, skip):
        demand(np.isfinite(array).all(), f"{name} is not finite: {array!r}")


def one_sentence(error: Exception) -> None:
    """Raise unless an error has words for the user."""
    words = str(error)
    good = words.endswith(".") and "\n" not in words and 20 < len(words) < 700
    demand(good and not words[0].islower(), f"not a sentence: {words!r}")


def in_group(T: Array, group: str | Group, *, padded: bool) -> None:
    """Raise unless T (n_x, n_y) is an element of a group, or a part of one."""
    small = T.T if T.shape[0] < T.shape[1] else T
    n_large, n_small = small.shape
    demand(np.isfinite(T).all(), "the transform is not finite")
    if isinstance(group, BlockOrthogonal):
        blocks = np.repeat(np.arange(len(group.sizes)), group.sizes)
        demand((T[blocks[:, None] != blocks] == 0).all(), "a transform leaves its blocks")
    if isinstance(group, SignedPermutations):
        demand(np.isin(T, (-1.0, 0.0, 1.0)).all(), "a signed permutation has other entries")
    if group == "soft":
        demand((T >= 0).all(), "a plan has negative masses")
        plan = T / T.shape[0]
        wrong = np.abs(plan.sum(0) - 1 / T.shape[1]).max(initial=0.0)
        wrong = max(wrong, np.abs(plan.sum(1) - 1 / T.shape[0]).max(initial=0.0))
        demand(wrong < 1e-9, f"the masses of a plan are wrong by {wrong}")
        return
    if group == "identity":
        demand((np.eye(*T.shape) == T).all(), "the transform is not the identity")
        return
    if group == "permutation":
        demand(np.isin(T, (0.0, 1.0)).all(), "a permutation has other entries than 0 and 1")
        columns, rows = small.sum(axis=0), small.sum(axis=1)
        demand((rows <= 1).all() and (columns <= 1).all(), "a neuron is matched twice")
        demand(padded or (columns == 1).all(), "a neuron is not matched")
        return
    wrong = np.abs(small.T @ small - np.eye(n_small)).max()
    demand(wrong < ORTHONORMAL, f"the transform is not orthogonal, by {wrong}")
    if group == "rotation" and n_large == n_small and not padded:
        demand(np.linalg.det(T) > 0, "a rotation is a reflection")


def sound(alignment: Any, group: str | Group, *, parts: bool, padded: bool) -> None:
    """Raise unless an alignment is finite, in the group, and not below its bound."""
    demand(np.isfinite(alignment.distance), f"the distance is {alignment.distance}")
    demand(np.isfinite(alignment.lower_bound), f"the bound is {alignment.lower_bound}")
    demand(alignment.lower_bound <= alignment.distance, "the distance is below its lower bound")
    if parts:
        demand(np.isfinite(alignment.mean_distance), "the distance of means is not finite")
        demand(np.isfinite(alignment.covariance_distance), "that of covariances is not finite")
    demand(0 <= alignment.n_agreeing <= alignment.n_starts, "more starts agree than were tried")
    in_group(alignment.transform.T, group, padded=padded)
