"""Squared distances from nested parts of the trials: all of them, halves and quarters.

The trials of each network are divided into groups, the groups into quarters, and the quarters into
halves, in a few ways. Every part is a network of its own, preprocessed by a fit to its trials. The
same is done without each group in turn, or without some conditions. A network that is known exactly
has no trials: each of its parts is the network itself.
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
from repshape.inference.resampling import take_conditions, with_conditions
from repshape.inference.terms import Terms
from repshape.metrics.base import ShapeMetric

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
        The groups of trials of each network; none of one that is known exactly.
    divisions : list of Division
    deleted : {"groups", "conditions"}
        What is deleted in turn.
    blocks : tuple of arrays of int, optional
        The conditions that are deleted together, if conditions are.
    """

    terms: Terms
    groups: list[Rows]
    divisions: list[Division]
    deleted: str = "groups"
    blocks: tuple[IntArray, ...] = ()

    @property
    def n_groups(self) -> int:
        """Number of groups of trials, G."""
        return max(map(len, self.groups))

    @property
    def n_deletions(self) -> int:
        """Number of deletions, D: that of groups, or that of blocks of conditions."""
        return self.n_groups if self.deleted == "groups" else len(self.blocks)

    @property
    def n_deleted(self) -> int:
        """Number of divisions from which everything is deleted in turn."""
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
        return 3 * (1 + self.n_deletions) * longest

    def _networks(self, terms: Sequence[int]) -> list[int]:
        return sorted({n for k in terms for n in (self.terms.terms[k].x, self.terms.terms[k].y)})

    def part(self, k: int, groups: Sequence[int], gone: int = -1) -> Any:
        """Return the trials of network k in some groups, after deletion ``gone``; -1 is none."""
        network: Any = self.terms.networks[k]
        of_conditions = self.deleted == "conditions"
        if self.groups[k]:
            rows = [self.groups[k][g] for g in groups if of_conditions or g != gone]
            joined = [np.concatenate(one) for one in zip(*rows, strict=True)]
            network = network._take_trials(joined)
        return (
            take_conditions(network, self._kept(gone)) if of_conditions and gone >= 0 else network
        )

    def _kept(self, gone: int) -> IntArray:
        return np.delete(np.arange(self.terms.networks[0].n_conditions), self.blocks[gone])

    def metric_without(self, metric: ShapeMetric[Any], gone: int) -> ShapeMetric[Any]:
        """Return the metric with the weights of the conditions that are left."""
        if self.deleted == "groups":
            return metric
        return with_conditions(metric, self._kept(gone), self.terms.networks[0].n_conditions)

    def changes(self, k: int, groups: Sequence[int], gone: int) -> bool:
        """Return whether a deletion changes a part of network k."""
        return self.deleted == "conditions" or (bool(self.groups[k]) and gone in groups)

    def solve(self, task: Task) -> FloatArray:
        """Return squared distances between and within networks, of one division.

        For each term and then each network of the task, 3 (1 + D) numbers: of all trials (with the
        first division; NaN for single networks), and the means over halves and over quarters;
        the first of each with nothing deleted, the others after each deletion (with the first
        divisions).
        """
        metric = self.terms.terms[task.terms[0]].metric
        used = self._networks(task.terms)
        place = {k: a for a, k in enumerate(used)}
        chosen = [self.terms.terms[k] for k in task.terms]
        pairs = [(place[term.x], place[term.y]) for term in chosen]
        alone = [(place[k], place[k]) for k in task.networks]
        out = np.full((len(pairs) + len(alone), 3, 1 + self.n_deletions), np.nan)
        if task.division == 0:
            out[: len(pairs), 0] = self._full(metric, used, np.array(pairs))
        out[:, 1:] = _Divided(self, metric, used, task.division, pairs + alone).solve()
        row = np.full(self.width, np.nan)
        row[: out.size] = out.ravel()
        return row

    def _full(self, metric: ShapeMetric[Any], used: list[int], pairs: IntArray) -> FloatArray:
        """Return the squared distances of all trials, and after each deletion, (terms, 1 + D)."""

        def prepared(chosen: ShapeMetric[Any], gone: int) -> list[Any]:
            parts = [self.part(k, range(self.n_groups), gone) for k in used]
            return [chosen._prepare_checked(part) for part in parts]

        whole = prepared(metric, -1)
        found = search(metric, whole, pairs, brief=False)
        without = []
        for g in range(self.n_deletions):
            other = self.metric_without(metric, g)
            without.append(follow(other, whole, prepared(other, g), pairs, found))
        return np.array([found.squared, *without]).T

    def collect(self, rows: FloatArray) -> Nested:
        """Return what all tasks found, together."""
        R, T, D = len(self.divisions), len(self.terms.terms), self.n_deletions
        full = np.empty((T, 1 + D))
        between, within = np.empty((2, T, R, 2, 1 + D))
        inside: dict[tuple[int, int, int], FloatArray] = {}
        for task, row in zip(self.tasks, rows, strict=True):
            count = len(task.terms) + len(task.networks)
            found = row[: count * 3 * (1 + D)].reshape(count, 3, 1 + D)
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
    """Squared distances of nested parts; the last axis is before and after each of D deletions.

    Attributes
    ----------
    full : array of shape (terms, 1 + D)
        Of all trials.
    between, within : arrays of shape (terms, R, 2, 1 + D)
        Means over halves and over quarters, for each of R divisions; ``within`` is the mean of
        both networks. NaN where nothing was deleted.
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

    def parts(
        self, metric: ShapeMetric[Any], gone: int = -1, old: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return the prepared parts of all networks; old ones that a deletion does not change."""
        out: list[Any] = []
        for a, k in enumerate(self.used):
            for b, side in enumerate(self.sides):
                if old is not None and not self.plan.changes(k, side, gone):
                    out.append(old[a * len(self.sides) + b])
                elif b and not self.plan.groups[k]:
                    out.append(out[-1])  # all parts of an exact network are the same
                else:
                    out.append(metric._prepare_checked(self.plan.part(k, side, gone)))
        return out

    def solve(self) -> FloatArray:
        """Return means over halves and over quarters of each pair, (pairs, 2, 1 + D)."""
        parts = self.parts(self.metric)
        found = search(self.metric, parts, self.pairs)
        count = self.plan.n_deletions
        out = np.full((len(self.counts), 2, 1 + count), np.nan)
        out[..., 0] = self._means(found.squared)
        for g in range(count if self.r < self.plan.n_deleted else 0):
            metric = self.plan.metric_without(self.metric, g)
            squared = follow(metric, parts, self.parts(metric, g, parts), self.pairs, found)
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
