"""Squared distances from nested parts of the trials: all of them, halves and quarters.

The trials of each network are divided into groups, the groups into quarters, and the quarters into
halves, in a few ways. Every part is a network of its own, preprocessed by a fit to its trials. The
same is done without each group in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from repshape.inference.divisions import DELETED_SHARE, Division
from repshape.inference.following import follow, search
from repshape.inference.terms import Terms
from repshape.metrics.base import ShapeMetric
from repshape.responses import Trials

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Rows = list[list[IntArray]]  # trials of each group, by condition

# Pairs of networks that are solved together: their parts are prepared once.
TILE = 300


class Task(NamedTuple):
    """A division, some pairs of networks by the numbers of their terms, and single networks."""

    division: int
    terms: tuple[int, ...]
    networks: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NestedPlan:
    """How the trials of all networks are divided, and what is computed from the parts.

    Attributes
    ----------
    terms : Terms
    groups : list of Rows
        The groups of trials of each network.
    divisions : list of Division
    """

    terms: Terms
    groups: list[Rows]
    divisions: list[Division]

    @property
    def n_groups(self) -> int:
        """Number of groups of trials, G."""
        return len(self.groups[0])

    @property
    def n_deleted(self) -> int:
        """Number of divisions from which each group is deleted in turn."""
        return len(self.divisions) // DELETED_SHARE

    @cached_property
    def tiles(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Terms of one metric that are solved together, and the networks that no earlier tile has.

        The distances within a network belong to the first tile in which it occurs.
        """
        out = []
        for metric in {id(term.metric): term.metric for term in self.terms.terms}.values():
            mine = [k for k, term in enumerate(self.terms.terms) if term.metric is metric]
            seen: set[int] = set()
            for a in range(0, len(mine), TILE):
                tile = tuple(mine[a : a + TILE])
                used = self._networks(tile)
                out.append((tile, tuple(k for k in used if k not in seen)))
                seen.update(used)
        return out

    @property
    def tasks(self) -> list[Task]:
        """Every division with every tile."""
        return [Task(r, *tile) for r in range(len(self.divisions)) for tile in self.tiles]

    @property
    def width(self) -> int:
        """Number of numbers of the longest task."""
        longest = max(len(tile) + len(networks) for tile, networks in self.tiles)
        return 3 * (1 + self.n_groups) * longest

    def _networks(self, terms: Sequence[int]) -> list[int]:
        return sorted({n for k in terms for n in (self.terms.terms[k].x, self.terms.terms[k].y)})

    def part(self, k: int, groups: Sequence[int], gone: int = -1) -> Trials:
        """Return the trials of network k in some groups, without one of them."""
        rows = [self.groups[k][g] for g in groups if g != gone]
        joined = [np.concatenate(one) for one in zip(*rows, strict=True)]
        chosen: Trials = self.terms.networks[k]._take_trials(joined)
        return chosen

    def solve(self, task: Task) -> FloatArray:
        """Return squared distances between and within networks, of one division.

        For each term and then each network of the task, 3 (1 + G) numbers: of all trials (with the
        first division; NaN for single networks), and the means over halves and over quarters;
        the first of each with all groups, the others without each (with the first divisions).
        """
        metric = self.terms.terms[task.terms[0]].metric
        used = self._networks(task.terms)
        place = {k: a for a, k in enumerate(used)}
        chosen = [self.terms.terms[k] for k in task.terms]
        pairs = [(place[term.x], place[term.y]) for term in chosen]
        alone = [(place[k], place[k]) for k in task.networks]
        out = np.full((len(pairs) + len(alone), 3, 1 + self.n_groups), np.nan)
        if task.division == 0:
            out[: len(pairs), 0] = self._full(metric, used, np.array(pairs))
        out[:, 1:] = _Divided(self, metric, used, task.division, pairs + alone).solve()
        row = np.full(self.width, np.nan)
        row[: out.size] = out.ravel()
        return row

    def _full(self, metric: ShapeMetric[Any], used: list[int], pairs: IntArray) -> FloatArray:
        """Return the squared distances of all trials, and without each group, (terms, 1 + G)."""

        def prepared(gone: int) -> list[Any]:
            parts = [self.part(k, range(self.n_groups), gone) for k in used]
            return [metric._prepare_checked(part) for part in parts]

        whole = prepared(-1)
        found = search(metric, whole, pairs, brief=False)
        without = [follow(metric, whole, prepared(g), pairs, found) for g in range(self.n_groups)]
        return np.array([found.squared, *without]).T

    def collect(self, rows: FloatArray) -> Nested:
        """Return what all tasks found, together."""
        R, T, G = len(self.divisions), len(self.terms.terms), self.n_groups
        full = np.empty((T, 1 + G))
        between, within = np.empty((2, T, R, 2, 1 + G))
        inside: dict[tuple[int, int, int], FloatArray] = {}
        for task, row in zip(self.tasks, rows, strict=True):
            count = len(task.terms) + len(task.networks)
            found = row[: count * 3 * (1 + G)].reshape(count, 3, 1 + G)
            index = list(task.terms)
            between[index, task.division] = found[: len(index), 1:]
            if task.division == 0:
                full[index] = found[: len(index), 0]
            name = id(self.terms.terms[task.terms[0]].metric)
            for k, one in zip(task.networks, found[len(index) :, 1:], strict=True):
                inside[name, k, task.division] = one
        for k, term in enumerate(self.terms.terms):
            for r in range(R):
                sides = [inside[id(term.metric), one, r] for one in (term.x, term.y)]
                within[k, r] = np.mean(sides, axis=0)
        return Nested(full, between, within)


@dataclass(frozen=True, eq=False)
class Nested:
    """Squared distances of nested parts; the last axis is with all groups, then without each.

    Attributes
    ----------
    full : array of shape (terms, 1 + G)
        Of all trials.
    between, within : arrays of shape (terms, R, 2, 1 + G)
        Means over halves and over quarters, for each of R divisions; ``within`` is the mean of
        both networks. NaN where no group was deleted.
    """

    full: FloatArray
    between: FloatArray
    within: FloatArray


class _Divided:
    """The parts of some networks in one division, and the pairs of parts to solve."""

    def __init__(
        self,
        plan: NestedPlan,
        metric: ShapeMetric[Any],
        used: Sequence[int],
        r: int,
        pairs: Sequence[tuple[int, int]],
    ) -> None:
        division = plan.divisions[r]
        self.plan, self.metric, self.used, self.r = plan, metric, used, r
        self.sides, self.n_halves = division.sides, len(division.halves)
        self.n_within = len(division.within)
        sets = [division.within if x == y else division.between for x, y in pairs]
        size = len(self.sides)
        self.pairs = np.array(
            [
                (size * x + i, size * y + j)
                for (x, y), these in zip(pairs, sets, strict=True)
                for i, j in these
            ]
        )
        self.counts = [len(these) for these in sets]

    def parts(self, gone: int = -1, old: Sequence[Any] | None = None) -> list[Any]:
        """Return the prepared parts of all networks; old ones where they do not have the group."""
        out = []
        for a, k in enumerate(self.used):
            for b, side in enumerate(self.sides):
                if old is not None and gone not in side:
                    out.append(old[a * len(self.sides) + b])
                else:
                    out.append(self.metric._prepare_checked(self.plan.part(k, side, gone)))
        return out

    def solve(self) -> FloatArray:
        """Return means over halves and over quarters of each pair, (pairs, 2, 1 + G)."""
        parts = self.parts()
        found = search(self.metric, parts, self.pairs)
        out = np.full((len(self.counts), 2, 1 + self.plan.n_groups), np.nan)
        out[..., 0] = self._means(found.squared)
        for g in range(self.plan.n_groups if self.r < self.plan.n_deleted else 0):
            squared = follow(self.metric, parts, self.parts(g, parts), self.pairs, found)
            out[..., 1 + g] = self._means(squared)
        return out

    def _means(self, squared: FloatArray) -> FloatArray:
        ends = np.cumsum(self.counts)[:-1]
        out = np.full((len(self.counts), 2), np.nan)
        for row, one in zip(out, np.split(squared, ends), strict=True):
            # Pairs within a network are counted once, and those between networks in both orders.
            count = self.n_halves * len(one) // self.n_within
            row[0] = one[:count].mean()
            if count < len(one):
                row[1] = one[count:].mean()
        return out
