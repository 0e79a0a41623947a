"""Distances of held-out conditions under alignments that were found on other conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from repshape._compact import compact_repr
from repshape._labels import find_labels
from repshape._parallel import run_all
from repshape.errors import InputError, check_integer, check_real
from repshape.inference.columns import read_networks
from repshape.inference.resampling import take_conditions, with_conditions
from repshape.inference.terms import check_metric
from repshape.io.cohort import Cohort
from repshape.matrix.distances import DistanceMatrix
from repshape.metrics.base import ShapeMetric
from repshape.metrics.identity import describe
from repshape.responses import Gaussians, Trials

IntArray = npt.NDArray[np.intp]


@compact_repr
@dataclass(frozen=True, eq=False)
class HeldOut:
    """Distances on the conditions that alignments were fitted to, and on others.

    Attributes
    ----------
    train : DistanceMatrix
        Distances on the conditions that preprocessing and alignments were fitted to.
    test : DistanceMatrix
        Distances of the same pairs on the other conditions, with nothing fitted again.
    train_conditions, test_conditions : array of int
        Positions of the conditions.
    """

    train: DistanceMatrix
    test: DistanceMatrix
    train_conditions: IntArray
    test_conditions: IntArray

    @property
    def growth(self) -> float:
        """Median over pairs of test / train: 1 if alignments hold for other conditions."""
        fitted, other = self.train.condensed(), self.test.condensed()
        return float(np.median(other[fitted > 0] / fitted[fitted > 0]))


def held_out(
    cohort: Cohort | Iterable[Any],
    metric: ShapeMetric[Any] | None = None,
    *,
    test: float | Sequence[int] | Sequence[str] = 0.5,
    random_state: int = 0,
    workers: int | None = None,
    progress: bool | None = None,
) -> HeldOut:
    """Fit alignments on some conditions, and measure distances on others, for a whole cohort.

    A flexible alignment makes networks look alike on the conditions that it was fitted to. The
    same alignment on other conditions does not have this advantage: if its distances are much
    larger, there are too few conditions for the number of dimensions. Both sets of distances
    still contain the noise of the trials; see `matrix` for that.

    Parameters
    ----------
    cohort : Cohort, mapping or iterable of K networks
    metric : ShapeMetric, optional
        By default ``GaussianShapeMetric()``. Preprocessing is fitted to the training conditions
        of each network.
    test : float, or sequence of int or str
        The fraction of conditions to hold out, chosen at random, or the positions or labels of
        these conditions.
    random_state : int
        Seed of the random choice.
    workers, progress
        As in `repshape.pairwise`.

    Notes
    -----
    Each matrix is symmetric, but only ``train`` is a minimum over the group. The test distances
    need not satisfy the triangle inequality.

    Examples
    --------
    Ten conditions and eight neurons leave the alignment much freedom:

    >>> rng = np.random.default_rng(0)
    >>> networks = [(rng.normal(size=(20, 8)), np.ones((20, 8))) for _ in range(3)]
    >>> found = held_out(networks, test=range(10, 20))
    >>> found.growth > 1.3
    True
    """
    chosen = check_metric(metric)
    chosen._check_score()
    networks, names = read_networks(cohort)
    check_integer("random_state", random_state, 0)
    train_set, test_set = _divide(networks[0], test, random_state)
    total = networks[0].n_conditions
    fitted, other = (with_conditions(chosen, part, total) for part in (train_set, test_set))
    prepared = [fitted._prepare_checked(take_conditions(one, train_set)) for one in networks]
    tests = [take_conditions(one, test_set) for one in networks]

    def solve(pair: tuple[int, int]) -> tuple[float, float]:
        i, j = pair
        found = fitted.align_prepared(prepared[i], prepared[j])
        return found.distance, other.score(found, tests[i], tests[j])

    pairs = list(combinations(range(len(networks)), 2))
    values = np.array(run_all(solve, pairs, what="pairs", workers=workers, progress=progress))
    matrices = {}
    for column, part in zip(values.T, ("train", "test"), strict=True):
        square = np.zeros((len(networks), len(networks)))
        square[tuple(np.array(pairs).T)] = column
        about = describe(chosen, None) | {"held_out": part}
        matrices[part] = DistanceMatrix(square + square.T, description=about, **names)
    return HeldOut(matrices["train"], matrices["test"], train_set, test_set)


def _divide(network: Trials | Gaussians, test: Any, random_state: int) -> tuple[IntArray, IntArray]:
    """Return the positions of training and test conditions, or raise one clear sentence."""
    total = network.n_conditions
    if isinstance(test, float):
        check_real("test", test, 0, 1, closed="neither")
        size = min(max(round(test * total), 1), total - 1)
        order = np.random.default_rng(random_state).permutation(total)
        held = np.sort(order[:size])
    else:
        held = _positions(network, test)
    rest = np.setdiff1d(np.arange(total), held)
    if not len(held) or not len(rest):
        raise InputError(
            "There must be at least one condition to fit and one to hold out. "
            f"Got {len(rest)} and {len(held)}."
        )
    return rest.astype(np.intp), held.astype(np.intp)


def _positions(network: Trials | Gaussians, test: Any) -> IntArray:
    items = list(test) if not isinstance(test, str) else [test]
    if items and all(isinstance(one, str) for one in items):
        labels = network.conditions or ()
        return np.unique(np.array(find_labels(items, labels, "condition"), dtype=np.intp))
    for one in items:
        if check_integer("test", one, 0) >= network.n_conditions:
            raise InputError(f"There are {network.n_conditions} conditions. Got position {one}.")
    return np.unique(np.array(items, dtype=np.intp))
